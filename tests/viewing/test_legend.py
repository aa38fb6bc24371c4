import numpy as np
import pytest

from pliant.envs.models.arm2 import arm2
from pliant.envs.rendering import RenderingError
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import MissingExtraError
from pliant.viewing.legend import LEGEND, legend_image, with_legend
from pliant.viewing.motions import LoopedMovement, demonstration_movement
from pliant.viewing.overlay import STIFFNESS_SCALE
from pliant.viewing.screens import Controls, FilmScreen


def test_the_legend_names_every_colour_of_the_scale_and_the_arcs():
    colours = {entry.text: entry.colour for entry in LEGEND}
    for value, colour in STIFFNESS_SCALE:
        assert colours[f"{value:g}"] == colour
    assert "0.1: 62°, 1: 120°, 10: 180°" in colours


def test_its_picture_holds_the_colours_in_order():
    pytest.importorskip("PIL")
    picture = legend_image()
    column = picture[:, 20].astype(int)
    rows = [
        np.flatnonzero((np.abs(column - np.multiply(colour, 255)) <= 1).all(axis=1))
        for _, colour in STIFFNESS_SCALE
    ]
    assert all(len(found) > 5 for found in rows)
    assert [found[0] for found in rows] == sorted(found[0] for found in rows)


def test_a_small_picture_holds_what_there_is_room_for():
    pytest.importorskip("PIL")
    small, large = np.zeros((20, 30, 3), np.uint8), np.zeros((400, 500, 3), np.uint8)
    assert (with_legend(small) > 0).any()
    marked = with_legend(large)
    assert (marked[:100, :100] > 0).any()
    assert not marked[300:].any()
    assert not large.any()


def test_without_pillow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    with pytest.raises(MissingExtraError, match=r"pliant\[report\]"):
        legend_image()


def test_f9_shows_it_in_a_film_and_hides_it():
    pytest.importorskip("PIL")
    robot, controls = SimulatedRobot(arm2(), 0.01), Controls()
    screen = FilmScreen(LoopedMovement(demonstration_movement(robot)), controls, 320, 280)
    try:
        for _ in range(3):
            screen.show()
            controls.press("F9")
    except RenderingError as error:
        pytest.skip(str(error))
    finally:
        screen.close()
    without, marked, again = screen.frames
    height, width, _ = legend_image().shape
    np.testing.assert_array_equal(marked[:height, :width], legend_image())
    np.testing.assert_array_equal(without, again)
