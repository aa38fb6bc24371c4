"""A probe on both kinds of arm: a ball on a neck, where it is, what it touches."""

import mujoco
import numpy as np
import pytest

from pliant.actuators import compile_model
from pliant.envs.models.smartsix import smartsix
from pliant.envs.models.surroundings import with_surroundings
from pliant.envs.models.tools import Probe, Tool
from pliant.envs.models.ur import ur
from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError

ARMS = [pytest.param(lambda **settings: ur("ur10", **settings), id="ur10"), pytest.param(smartsix, id="smartsix")]
PROBE = {"length": 0.186, "ball": 0.012, "neck": 0.006, "body": 0.05, "body_length": 0.06}


def at_home(robot):
    model = compile_model(robot.spec)
    data = mujoco.MjData(model)
    data.qpos[:] = list(robot.start.joints.values())
    mujoco.mj_forward(model, data)
    return model, data


def in_flange(data, point):
    flange = data.site("flange")
    return flange.xmat.reshape(3, 3).T @ (point - flange.xpos)


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize(("tcp", "reach"), [("tip", 0.186), ("centre", 0.174)])
def test_the_ball_is_in_front_and_the_centre_point_at_its_tip_or_in_its_centre(arm, tcp, reach):
    model, data = at_home(arm(tool={"mass": 2.0, "probe": {**PROBE, "tcp": tcp}}))
    ball = data.geom("tool")
    np.testing.assert_allclose(in_flange(data, ball.xpos), [0, 0, 0.174], atol=1e-12)
    assert model.geom("tool").size[0] == 0.012
    assert model.geom("tool").type[0] == mujoco.mjtGeom.mjGEOM_SPHERE
    np.testing.assert_allclose(in_flange(data, data.site("tcp").xpos), [0, 0, reach], atol=1e-12)
    for name, low, high in (("tool_body", 0.0, 0.06), ("tool_neck", 0.06, 0.174)):
        middle, half = in_flange(data, data.geom(name).xpos), model.geom(name).size[1]
        np.testing.assert_allclose([middle[2] - half, middle[2] + half], [low, high], atol=1e-12)
    assert model.body("tool").mass[0] == 2.0


@pytest.mark.parametrize("arm", ARMS)
def test_a_pad_under_it_is_touched_by_the_ball_alone_from_the_tip_on(arm):
    probe = {"probe": {"length": 0.2}}
    tip = at_home(arm(tool=probe))[1].site("tcp").xpos
    for deeper, touches in ((-1e-4, 0), (1e-4, 1)):
        pad = {"box": [0.3, 0.3, 0.02], "position": tip + np.array([0.0, 0.0, deeper - 0.01])}
        model, data = at_home(with_surroundings(arm(tool=probe), {"pad": pad}))
        assert data.ncon == touches
    assert {model.geom(geom).name for geom in data.contact.geom[0]} == {"pad", "tool"}


def test_a_centre_point_that_is_given_goes_before_the_probes():
    _, data = at_home(ur("ur10e", tool=Tool(probe=Probe(length=0.2)), tcp=[0.01, 0, 0.3, 0, 0, 0]))
    np.testing.assert_allclose(in_flange(data, data.site("tcp").xpos), [0.01, 0, 0.3], atol=1e-12)


@pytest.mark.parametrize(
    ("probe", "error", "says"),
    [
        ({"length": 0.08}, OutOfBoundsError, "probe: length = 0.08"),
        ({"neck": 0.02}, OutOfBoundsError, "probe: neck = 0.02"),
        ({"body": 0.001}, OutOfBoundsError, "probe: body = 0.001"),
        ({"tcp": "middle"}, UnknownNameError, "unknown point of a probe 'middle'.*tip, centre"),
        ({"radius": 0.01}, UnknownNameError, "unknown entry 'radius' in probe of the tool"),
        (0.2, ConfigurationError, r"probe of the tool is 0.2; a mapping such as \{length"),
        ({"ball": float("nan")}, OutOfBoundsError, "probe: ball is nan"),
    ],
)
def test_what_is_no_probe_is_refused(probe, error, says):
    with pytest.raises(error, match=says):
        ur("ur10e", tool={"probe": probe})
