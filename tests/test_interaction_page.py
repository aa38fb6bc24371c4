"""The page on tools that touch things: its arm, its commands in order, and its code."""

import json
import re
import shlex

import numpy as np
import pytest
from tests.test_documents import blocks, run_python

from pliant.envs.emulators.net_ft.box import BoxEmulation
from pliant.envs.emulators.net_ft.emulator import EmulatedNetFT
from pliant.hardware.recording import read_recording

PAGE = "docs/interaction.md"
OWN = "robot=./sixaxis.yaml"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the page's files."""
    for text in (*blocks(PAGE, "xml"), *blocks(PAGE, "yaml")):
        named = re.match(r"(?:<!--|#) (\w+\.\w+)", text)
        assert named is not None, text
        (tmp_path / named[1]).write_text(text)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["sixaxis.xml", "sixaxis.yaml"]
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commands(*words):
    """Those of the page with all of these words, split."""
    lines = [line for block in blocks(PAGE, "sh") for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if all(word in line for word in words)]


def deployed(verb, folder, arguments, *more):
    """Run it; returns the metrics and what the controller said of the tool."""
    out = folder / "out" / str(len(list(folder.glob("out/*"))))
    status, _, err = verb("deploy", *arguments[1:], f"hydra.run.dir={out}", "run.settle=0.1", *more)
    assert status == 0, f"{arguments}\n{err}"
    return json.loads((out / "metrics.json").read_text()), read_recording(out / "recording.mcap").series["/tool"]


@pytest.mark.slow
def test_an_arm_of_ones_own_gives_way_presses_and_is_led(folder, verb):
    pytest.importorskip("mcap", reason="deployments are recorded")
    way = [c for c in commands(OWN) if "hardware=emulated" not in c and "replay" not in " ".join(c)]
    gives_way, presses, led = way[:3]
    numbers, tool = deployed(verb, folder, gives_way)
    assert numbers["ended"] == "all goals are done"
    time = tool["time"] - tool["time"][0]
    inside = np.linalg.norm((tool["desired"] - tool["measured"])[:, :3], axis=1)
    pressing = np.argmin(np.abs(time - 6.5))
    assert inside[pressing] == pytest.approx(0.0105, abs=3e-4)
    assert tool["wrench"][pressing, 2] == pytest.approx(500.0 * inside[pressing], rel=0.03)
    numbers, tool = deployed(verb, folder, presses)
    slid = np.abs(tool["measured"][:, 0] - tool["measured"][0, 0])
    sliding = (slid > 0.02) & (slid < 0.08)
    assert sliding.sum() > 200
    assert np.abs(tool["wrench"][sliding, 2] - 10.0).max() < 2.0
    assert tool["wrench"][sliding, 2].mean() == pytest.approx(10.0, abs=0.1)
    assert numbers["final_force_N"] < 0.5, "it has lifted off"
    numbers, tool = deployed(verb, folder, led)
    assert (numbers["ended"], numbers["completed"]) == ("all goals are done", True)
    assert np.ptp(tool["measured"][:, :3], axis=0).max() < 1e-3, "nobody leads it"


@pytest.mark.slow
def test_the_arm_of_the_page_on_its_emulated_servos_and_sensor(folder, verb):
    pytest.importorskip("dynamixel_sdk", reason="servos are the other end of the wire")
    pytest.importorskip("mcap", reason="deployments are recorded")
    ((arguments),) = commands(OWN, "hardware=emulated")
    with EmulatedNetFT(BoxEmulation()) as box:
        box.push([0.0, 0.0, -2.94, 0.0, 0.0, 0.0])
        file = folder / "sixaxis.yaml"
        own = f"host: {box.host}, port: {box.port}, page_port: {box.page_port}"
        file.write_text(file.read_text().replace("host: 127.0.0.1, page_port: 8080", own))
        numbers, _ = deployed(verb, folder, arguments)
    assert numbers["ended"] == "all goals are done"
    assert numbers["max_difference_rad"] < 0.02
    assert numbers["max_force_N"] < 1.0


@pytest.mark.slow
def test_what_is_taught_on_the_page_is_replayed(folder, verb):
    (code,) = blocks(PAGE, "python")
    way = np.array(run_python(code, folder).strip(" []\n").split(), dtype=float)
    # v = K_i·f for 2 s
    np.testing.assert_allclose(way[1:], 2.0 * 0.01 * np.array([6.0, 2.0]), rtol=0.25)
    by_tool, by_joints = (c for c in commands(OWN) if "shown.npz" in " ".join(c))
    numbers, _ = deployed(verb, folder, by_tool)
    assert numbers["ended"] == "all goals are done"
    status, _, err = verb("deploy", *by_joints[1:], "run.settle=0.1", "hydra.run.dir=joints")
    assert status == 0, err
