"""A robot of servos is a simulated robot like any other."""

import mujoco
import numpy as np
import pytest

from pliant.actuators import CompliantJoint, ServoDrive, StabilityError, add_compliant_joint, compile_model
from pliant.actuators.ax12a import AX12A
from pliant.actuators.layout import DRIVE_AT
from pliant.envs import SimulatedRobot
from pliant.envs.models.rig1 import rig1
from pliant.envs.randomisation import Choice, Randomisation, Uniform
from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError

AX = CompliantJoint("rigid", "link_position", servo=ServoDrive(AX12A(cw_slope=2, ccw_slope=2)))
STIFF = CompliantJoint("rigid", "link_position", servo=ServoDrive("MX-64", p_gain=400))
SERVO = CompliantJoint("rigid", "link_position", servo=ServoDrive("XL330/m6", p_gain=400))


@pytest.fixture
def robot():
    with SimulatedRobot(rig1(SERVO), 0.02) as robot:
        yield robot


def test_it_takes_goal_positions_and_goes_there(robot):
    assert robot.info.command_names == ("joint/position",)
    for _ in range(100):
        robot.send([0.6])
    state = robot.read()
    assert state.position == pytest.approx([0.6], abs=0.1)
    assert state.torque == pytest.approx(robot.data.qfrc_bias, abs=1e-4)
    assert state.motor_position.size == 0


def test_a_rollout_and_a_restored_state_give_its_motion_to_the_last_bit(robot):
    commands = 0.8 * np.sin(0.3 * np.arange(60))[:, None]
    expected = robot.rollout(commands)
    for command in commands[:30]:
        robot.send(command)
    middle = robot.get_state()
    for command in commands[30:]:
        robot.send(command)
    assert np.array_equal(robot.read().position, expected.position[-1])
    robot.set_state(middle)
    for command in commands[30:]:
        robot.send(command)
    assert np.array_equal(robot.read().position, expected.position[-1])


def test_a_reset_begins_with_a_gear_that_knows_nothing_of_before(robot):
    for _ in range(50):
        robot.send([1.0])
    robot.reset()
    first = robot.read()
    assert not robot.data.act.any()
    assert first.velocity == pytest.approx([0.0])


def test_masses_and_delays_may_vary_but_a_servo_has_no_pid_that_could():
    varied = Randomisation(mass=Uniform(0.5, 2.0), command_delay=Uniform(0.0, 0.02))
    with SimulatedRobot(rig1(SERVO), 0.02, randomisation=varied, seed=3) as robot:
        robot.send([0.3])
        assert set(robot.parameters) == {"pendulum/mass", "command_delay"}
    with pytest.raises(UnknownNameError, match="inertia"):
        SimulatedRobot(rig1(SERVO), 0.02, randomisation=Randomisation(drive={"inertia": Uniform(0.5, 2.0)}))
    with pytest.raises(UnknownNameError, match="kp"):
        SimulatedRobot(rig1(SERVO), 0.02, randomisation=Randomisation(drive={"kp": Uniform(0.5, 2.0)}))


def test_what_is_no_randomisation_is_refused():
    with pytest.raises(ConfigurationError, match="a Randomisation is needed"):
        SimulatedRobot(rig1(SERVO), 0.02, randomisation={"mass": 1.0})


def test_motor_and_gear_may_vary_and_are_what_the_servo_moves_by():
    varied = Randomisation(drive={"kt": Uniform(0.8, 1.2), "kc": Uniform(0.5, 3.0), "voltage": Choice([0.5])})
    with SimulatedRobot(rig1(SERVO), 0.02, randomisation=varied, seed=3) as robot:
        read = robot.parameters
        names = list(SERVO.drives[0].parameters)
        row = robot.model.actuator_user[0, DRIVE_AT:]
        kt, supply, dry = (row[names.index(name)] for name in ("kt", "voltage", "kc"))
        assert read["joint/drive_kt"] == kt != SERVO.servo.motor.values["kt"]
        assert read["joint/drive_voltage"] == supply == 3.7
        assert read["joint/drive_kc"] == dry
        for _ in range(4):
            robot.send([1.2])
        weak = robot.read().position[0]
    with SimulatedRobot(rig1(SERVO), 0.02) as robot:
        for _ in range(4):
            robot.send([1.2])
        assert weak < 0.7 * robot.read().position[0]


@pytest.mark.parametrize(
    ("joint", "drawn", "error", "message"),
    [
        (SERVO, {"kq": Uniform(0.5, 2.0)}, UnknownNameError, "kcs"),
        (SERVO, {"km": Uniform(0.5, 90.0)}, OutOfBoundsError, "km"),
        (STIFF, {"km": Uniform(0.5, 2.0)}, ConfigurationError, "km is 0, which no factor changes"),
        (CompliantJoint("qbmove", 6), {"kt": Uniform(0.5, 2.0)}, UnknownNameError, "kt"),
        (
            AX,
            {"voltage": Uniform(0.5, 8.0), "resistance": Uniform(0.02, 1.0)},
            StabilityError,
            "softer position loop",
        ),
        (STIFF, {"voltage": Uniform(0.5, 40.0)}, StabilityError, "softer position loop"),
    ],
)
def test_servos_that_could_be_drawn_are_checked_beforehand(joint, drawn, error, message):
    model = rig1(joint, timestep=2e-3)
    with pytest.raises(error, match=message):
        SimulatedRobot(model, 0.02, randomisation=Randomisation(drive=drawn))


def test_it_can_stand_in_a_scene_with_contacts():
    """A servo that presses its link against the floor carries what the floor pushes back."""
    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 0.1], pos=[0, 0, -0.05])
    leg = spec.worldbody.add_body()
    leg.add_joint(name="leg", axis=[0, 1, 0])
    leg.add_geom(size=[0.02, 0, 0], pos=[0.1, 0, 0], mass=0.1)
    add_compliant_joint(spec, "leg", SERVO)
    model = compile_model(spec)
    data = mujoco.MjData(model)
    data.ctrl[0] = 1.2
    mujoco.mj_step(model, data, 3000)
    assert data.ncon == 1
    assert np.abs(data.qvel[0]) < 1e-6
    assert data.qfrc_constraint[0] < -0.1
    assert data.qfrc_actuator[0] == pytest.approx(-data.qfrc_constraint[0] + data.qfrc_bias[0], abs=1e-4)
