"""A compliant joint's description: what goes together, what it receives, and how it lands on a spec."""

import math

import mujoco
import pytest

from pliant.actuators import (
    LINK_PID,
    PID,
    CompliantJoint,
    Mode,
    Motor,
    Reference,
    add_compliant_joint,
    compile_model,
    compliant_joints,
    find_law,
)
from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError


@pytest.mark.parametrize("mode", [6, "equilibrium_preset_motors", "EQUILIBRIUM_PRESET_MOTORS", Mode(6)])
def test_a_mode_is_given_by_number_or_name(mode):
    assert CompliantJoint(law="qbmove", mode=mode).mode is Mode.EQUILIBRIUM_PRESET_MOTORS


@pytest.mark.parametrize("mode", [7, -1, "link", 2.5, None])
def test_an_unknown_mode_is_refused_with_the_seven(mode):
    with pytest.raises(UnknownNameError, match=r"mode.*0 \(link_torque\).*6 \(equilibrium_preset_motors\)"):
        CompliantJoint(law="qbmove", mode=mode)


def test_unknown_laws_are_refused():
    with pytest.raises(UnknownNameError, match="unknown law 'spring'"):
        CompliantJoint(law="spring")


REFERENCES = [
    ("rigid", 0, [Reference("torque", "N·m", -6.0, 6.0, 0.0)]),
    ("rigid", 1, [Reference("position", "rad", -1.0, 2.0, 0.0)]),
    ("sea", 2, [Reference("motor1", "rad", -1.0, 2.0, 0.0)]),
    ("sea", 3, [Reference("equilibrium", "rad", -1.0, 2.0, 0.0)]),
    ("sea", 4, [Reference("torque1", "N·m", -6.0, 6.0, 0.0)]),
    ("sea", 5, [Reference("motor1", "rad", -1.0, 2.0, 0.0)]),
    ("sea", 6, [Reference("equilibrium", "rad", -1.0, 2.0, 0.0)]),
    ("qbmove", 2, [Reference("motor1", "rad", -1.8, 2.8, 0.0), Reference("motor2", "rad", -1.8, 2.8, 0.0)]),
    ("qbmove", 3, [Reference("equilibrium", "rad", -1.0, 2.0, 0.0), Reference("preset", "rad", -0.8, 0.8, 0.0)]),
    ("qbmove", 4, [Reference("torque1", "N·m", -6.0, 6.0, 0.0), Reference("torque2", "N·m", -6.0, 6.0, 0.0)]),
    ("awas2", 2, [Reference("motor1", "rad", -1.0, 2.0, 0.0), Reference("pivot", "m", 0.0, 0.04, 0.005)]),
    ("awas2", 4, [Reference("torque1", "N·m", -6.0, 6.0, 0.0), Reference("pivot", "m", 0.0, 0.04, 0.005)]),
    ("awas2", 6, [Reference("equilibrium", "rad", -1.0, 2.0, 0.0), Reference("pivot", "m", 0.0, 0.04, 0.005)]),
]


@pytest.mark.parametrize(("law", "mode", "references"), REFERENCES)
def test_the_references_of_a_mode_have_names_units_and_bounds(law, mode, references):
    found = CompliantJoint(law=law, mode=mode, position_range=(-1.0, 2.0)).references()
    for reference, expected in zip(found, references, strict=True):
        assert (reference.name, reference.unit) == (expected.name, expected.unit)
        numbers = (reference.low, reference.high, reference.rest)
        assert numbers == pytest.approx((expected.low, expected.high, expected.rest))


def test_a_motor_at_rest_stands_where_equilibrium_and_preset_put_it():
    joint = CompliantJoint(law="qbmove", mode=5, preset=0.3, position_range=(0.5, 1.0))
    assert [reference.rest for reference in joint.references()] == pytest.approx([0.8, 0.2])
    assert CompliantJoint(law="bavs", preset_range=(0.1, 0.2)).resting_preset == 0.1
    assert CompliantJoint(law="sea").resting_preset == 0.0


def test_the_pid_follows_the_mode():
    assert CompliantJoint(law="rigid", mode=1).pid == LINK_PID
    assert CompliantJoint(law="sea", mode=5).pid == PID()
    assert CompliantJoint(law="rigid", mode=1, pid=PID(kp=3.0)).stiffest == 3.0
    assert CompliantJoint(law="rigid", mode=0).stiffest == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"law": "qbmove", "mode": 0}, "needs the law 'rigid'; 'qbmove' runs in modes 2 to 6"),
        ({"law": "rigid", "mode": 3}, "a rigid joint has no spring for mode 3"),
        ({"law": "rigid", "mode": 1, "implicit": True}, "implicit stiffness is for springs"),
        ({"law": "sea", "preset_range": (0.0, 0.1)}, "'sea' has no stiffness preset"),
        ({"law": "sea", "preset": 0.1}, "'sea' has no stiffness preset"),
        ({"law": "sea", "position_range": (1.0, 1.0)}, "must be ascending"),
        ({"law": "sea", "position_range": (math.nan, 1.0)}, "must be ascending"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        CompliantJoint(**arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"preset": 0.9},
        {"preset": math.nan},
        {"preset": 0.3, "preset_range": (0.0, 0.2)},
        {"preset_range": (0.0, 0.9)},
        {"delay": -1e-3},
        {"delay": math.nan},
    ],
)
def test_numbers_out_of_bounds_are_refused(arguments):
    with pytest.raises(OutOfBoundsError):
        CompliantJoint(law="qbmove", **arguments)


def test_an_unknown_joint_is_refused_with_those_of_the_model(pendulum):
    with pytest.raises(UnknownNameError, match=r"joint 'hing' in the model. Did you mean 'hinge'\?"):
        add_compliant_joint(pendulum(), "hing", CompliantJoint(law="sea"))


def test_a_joint_is_made_compliant_once(pendulum):
    spec = pendulum(CompliantJoint(law="sea"))
    with pytest.raises(ConfigurationError, match="'hinge' is already compliant"):
        add_compliant_joint(spec, "hinge", CompliantJoint(law="sea"))


def test_a_ball_joint_is_refused():
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body()
    body.add_joint(name="ball", type=mujoco.mjtJoint.mjJNT_BALL)
    with pytest.raises(ConfigurationError, match="'ball' is a ball or free joint"):
        add_compliant_joint(spec, "ball", CompliantJoint(law="sea"))


def test_a_compiled_model_knows_its_joints(pendulum):
    description = CompliantJoint(
        law=find_law("qbmove")("identified_joint1"), mode=6, motor=Motor(inertia=0.01), pid=PID(kp=80.0, ki=1.0),
        preset_range=(0.1, 0.4), preset=0.2, position_range=(-2.0, 1.5), delay=0.004,
    )  # fmt: skip
    model = compile_model(pendulum(description))
    (joint,) = compliant_joints(model)
    assert joint.description == description
    assert joint.name == "hinge"
    names = [model.actuator(index).name for index in joint.actuators]
    assert names == ["hinge/equilibrium", "hinge/preset"]
    assert model.actuator_ctrlrange.tolist() == [[-2.0, 1.5], [0.1, 0.4]]


def test_a_slide_joint_may_be_compliant_too(simulate):
    spec = mujoco.MjSpec()
    spec.option.timestep = 1e-3
    spec.option.gravity = [0.0, 0.0, -9.81]
    body = spec.worldbody.add_body()
    slide = body.add_joint(name="lift", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, 0, 1])
    slide.damping[0] = 20.0
    body.add_geom(size=[0.05, 0, 0], mass=1.0)
    add_compliant_joint(spec, "lift", CompliantJoint(law=find_law("sea")(k=200.0), mode=3))
    motion = simulate(compile_model(spec), 0.1, 3.0)
    assert motion.position[-1] == pytest.approx(0.1 - 9.81 / 200.0, abs=1e-6)
