"""What is drawn of a robot, and where it ends up in the model."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from pliant.actuators import CompliantJoint, Mode, ServoDrive, StabilityError, find_law
from pliant.actuators.layout import DRIVE_AT, LARGEST_STEP, LAW_AT
from pliant.envs import SimulatedRobot
from pliant.envs.models.arm2 import arm2
from pliant.envs.models.hexapod import hexapod
from pliant.envs.models.rig1 import rig1
from pliant.envs.models.surroundings import with_surroundings
from pliant.envs.models.ur import ur
from pliant.envs.randomisation import Choice, Randomisation, Uniform
from pliant.envs.simulation.batch import SimulatedRobots
from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError


def arm(timestep: float = 1e-3, joint: CompliantJoint | None = None, **drawn) -> SimulatedRobot:
    joints = None if joint is None else (joint, joint)
    model = arm2(joints, timestep=timestep)
    return SimulatedRobot(model, 0.02, randomisation=Randomisation(**drawn), seed=0)


def fixed(value: float) -> Choice:
    return Choice([value])


def test_every_name_is_recorded_with_the_value_that_is_in_the_model():
    robot = arm(
        mass=Uniform(0.8, 1.2),
        damping=Uniform(0.5, 2.0),
        friction=Uniform(0.5, 2.0),
        law={"k1": Uniform(0.8, 1.2)},
        drive={"torque_limit": Uniform(0.5, 1.0), "kp": Uniform(0.5, 1.5)},
    )
    model, nominal = robot.model, {f: getattr(robot.model, f).copy() for f in ("body_mass", "body_inertia")}
    robot.connect()
    read = robot.parameters
    row = {name: model.actuator_user[model.actuator(f"{name}/equilibrium").id] for name in ("shoulder", "elbow")}
    for number, name in enumerate(("shoulder", "elbow")):
        dof = model.joint(name).dofadr[0]
        assert read[f"{name}/damping"] == model.dof_damping[dof]
        assert read[f"{name}/friction"] == model.dof_frictionloss[dof]
        assert read[f"{name}/k1"] == row[name][LAW_AT]
        assert read[f"{name}/drive_kp"] == row[name][DRIVE_AT + 6]
        assert read[f"{name}/drive_torque_limit"] == row[name][DRIVE_AT + 2]
        body = f"link{number + 1}"
        assert read[f"{body}/mass"] == model.body(body).mass[0]
        growth = model.body(body).mass[0] / nominal["body_mass"][model.body(body).id]
        np.testing.assert_allclose(
            model.body(body).inertia, growth * nominal["body_inertia"][model.body(body).id], rtol=1e-12
        )
    assert len(read) == 2 + 2 * (2 + 1 + 1 + 1)
    assert len(set(read.values())) == len(read)


def test_mujocos_derived_constants_follow_the_masses():
    robot = arm(mass=fixed(1.3))
    robot.connect()
    derived = robot.model.dof_invweight0.copy()
    again = mujoco.MjData(robot.model)
    mujoco.mj_setConst(robot.model, again)
    np.testing.assert_array_equal(derived, robot.model.dof_invweight0)
    plain = arm()
    assert (derived < plain.model.dof_invweight0).all()


def test_a_heavier_link_falls_with_its_period():
    """A pendulum's small oscillation: ω² = (m·g·l + K)/(m·l²) falls with the mass on the same spring."""
    periods = []
    for factor in (1.0, 4.0):
        joint = CompliantJoint(find_law("sea")(k=0.5), 3)
        robot = SimulatedRobot(
            rig1(joint, damping=0.0), 0.001, randomisation=Randomisation(mass=fixed(factor)), seed=0
        )
        robot.connect()
        robot.reset(position=[0.05])
        q = robot.rollout(np.zeros((600, 1))).position[:, 0]
        crossings = np.flatnonzero((q[:-1] > 0) != (q[1:] > 0))
        periods.append(2 * np.diff(crossings).mean() * 1e-3)
    mass, length, g = 0.2 * np.array([1.0, 4.0]), 0.04, 9.81
    expected = 2 * np.pi / np.sqrt((mass * g * length + 0.5) / (mass * length**2))
    np.testing.assert_allclose(periods, expected, rtol=0.02)


@pytest.mark.parametrize("steps", [0, 1, 7, 20, 33])
def test_a_drawn_delay_is_that_many_steps_exactly(steps):
    """However long the buffer for longer ones, and however long the run."""
    delay = steps * 1e-3
    drawn = SimulatedRobot(
        rig1(), 0.02, randomisation=Randomisation(command_delay=Choice([delay, 0.05], [1, 0])), seed=0
    )
    same = SimulatedRobot(rig1(), 0.02, command_delay=delay)
    commands = np.random.default_rng(0).uniform(-0.5, 0.5, (150, 2))
    motions = []
    for robot in (drawn, same):
        robot.connect()
        motions.append(robot.rollout(commands))
    assert drawn.parameters == {"command_delay": pytest.approx(delay)}
    assert motions[0].position.tobytes() == motions[1].position.tobytes()
    assert motions[0].torque.tobytes() == motions[1].torque.tobytes()


def test_delays_and_noise_take_the_place_of_the_robots_own():
    robot = SimulatedRobot(
        rig1(),
        0.02,
        sensor_delay=0.1,
        position_noise=1.0,
        randomisation=Randomisation(sensor_delay=fixed(0.029), position_noise=fixed(0.0)),
    )
    robot.connect()
    robot.send([0.3, 0.0])
    first = robot.read().position
    assert robot.parameters == {"sensor_delay": 0.02, "position_noise": 0.0}
    assert first[0] == 0.0
    robot.send([0.3, 0.0])
    assert robot.read().time == pytest.approx(0.02)


def test_names_that_a_joint_does_not_have_are_refused():
    with pytest.raises(UnknownNameError, match=r"'k' in law 'qbmove' of joint 'shoulder'.*Valid: k1, a1"):
        arm(law={"k": fixed(1.0)})
    with pytest.raises(
        UnknownNameError, match=r"'inertias' in drive 'motor_pid' of joint 'shoulder'.*Did you mean 'inertia'"
    ):
        arm(drive={"inertias": fixed(1.0)})
    with pytest.raises(UnknownNameError, match="'k_p' in drive 'motor_pid' of joint 'shoulder'"):
        arm(drive={"k_p": fixed(1.0)})


def test_values_that_could_leave_their_bounds_are_refused():
    with pytest.raises(OutOfBoundsError, match="law 'qbmove' of joint 'shoulder': max_deflection"):
        arm(law={"max_deflection": Uniform(0.9, 3.0)})
    with pytest.raises(OutOfBoundsError, match="preset range"):
        arm(law={"max_deflection": Uniform(0.5, 1.0)})
    with pytest.raises(OutOfBoundsError, match="drive 'motor_pid' of joint 'shoulder': inertia, factor"):
        arm(drive={"inertia": Uniform(-1.0, 1.0)})


def test_a_robot_that_the_time_step_could_not_carry_is_refused_beforehand():
    joint = CompliantJoint(find_law("sea")(k=100.0), 6)
    arm(joint=joint, law={"k": Uniform(0.5, 1.2)})
    with pytest.raises(StabilityError, match="joint 'elbow'"):
        arm(joint=joint, law={"k": Uniform(0.5, 40.0)})
    with pytest.raises(StabilityError, match="joint 'elbow'"):
        arm(joint=joint, mass=Uniform(0.01, 1.0), damping=Uniform(0.1, 1.0))
    arm(joint=joint, mass=Uniform(0.01, 1.0))  # the damping of the joints, which is implicit, carries it


def test_the_longest_step_of_a_family_is_that_of_its_quickest_member():
    joint = CompliantJoint(find_law("sea")(k=20.0), 6)
    stiffest = CompliantJoint(find_law("sea")(k=80.0), 6)
    drawn = arm(joint=joint, law={"k": Uniform(1.0, 4.0)})
    steps = [
        robot.model.actuator_user[0, LARGEST_STEP] for robot in (arm(joint=joint), arm(joint=stiffest), drawn)
    ]
    assert steps[2] == pytest.approx(steps[1], rel=1e-4)
    assert steps[2] < 0.9 * steps[0]


HELD = {"box": [0.2, 0.2, 0.1], "position": [2.0, 0.0, 0.0], "stiffness": 1e4, "mass": 0.5}


def test_the_springs_of_the_surroundings_are_drawn():
    model = with_surroundings(
        ur("ur10e", integrator="implicitfast", armature=1.0), {"held": HELD, "fixed": {"sphere": 0.1}}
    )
    robot = SimulatedRobot(model, 0.016, randomisation=Randomisation(stiffness=Uniform(0.5, 2.0)), seed=0)
    assert robot.compiled.randomised.names == ("held/stiffness",)
    drawn = set()
    for seed in range(3):
        robot.connect()
        robot.reset(seed=seed)
        value = robot.parameters["held/stiffness"]
        assert robot.model.jnt_stiffness[robot.model.joint("held").id] == value
        assert 5e3 <= value <= 2e4
        drawn.add(value)
    assert len(drawn) == 3


def test_a_spring_that_the_time_step_does_not_carry_is_refused():
    """h < 2·√(m/k): 0.5 kg on 2.5 MN/m need less than 0.894 ms."""
    model = with_surroundings(ur("ur10e", integrator="implicitfast", armature=1.0), {"held": HELD})
    with pytest.raises(StabilityError, match=r"joint 'held' too quick.*0.000894 s"):
        SimulatedRobot(model, 0.016, randomisation=Randomisation(stiffness=Uniform(1.0, 250.0)))


def test_the_ground_is_as_slippery_under_all_feet_and_the_servos_share_a_battery():
    model = hexapod(self_collision=False, settle=0.0)
    drawn = Randomisation(contact_friction=Uniform(0.5, 1.5), supply=Uniform(0.8, 1.1))
    robot = SimulatedRobot(model, 0.019, randomisation=drawn, seed=3)
    plain = SimulatedRobot(model, 0.019)
    feet = [plain.model.geom(g).id for g in range(plain.model.ngeom) if plain.model.geom_priority[g] == 1]
    robot.connect()
    told = robot.parameters
    assert set(told) == {"contact_friction", "supply"}
    assert len(feet) == 6
    np.testing.assert_allclose(robot.model.geom_friction[feet, 0], 0.8 * told["contact_friction"])
    np.testing.assert_array_equal(robot.model.geom_friction[feet, 1:], plain.model.geom_friction[feet, 1:])
    kind = robot.compiled.joints[0].description.drives[0].kind
    at = DRIVE_AT + [p.name for p in kind.parameters].index("voltage")
    rows = [joint.actuators[0] for joint in robot.compiled.joints]
    np.testing.assert_allclose(robot.model.actuator_user[rows, at], 12.0 * told["supply"])
    assert robot.compiled.info.parameters["varied"]["drive.voltage"] == [0.8, 1.1]
    many = SimulatedRobots(robot, 2)
    assert many.compiled.bare.ngeom == robot.model.ngeom


def test_friction_of_the_gears_of_servos_is_drawn_for_each_of_them():
    """Dry friction as a whole by one factor, viscous friction by another; what `drive` names, by that alone."""
    drawn = Randomisation(friction=Uniform(0.5, 1.5), damping=Uniform(0.5, 1.5), drive={"kc": fixed(3.0)})
    servo = ServoDrive("XL330/m6", p_gain=400)
    joint = CompliantJoint(find_law("rigid")(), Mode.LINK_POSITION, servo=servo)
    robot = SimulatedRobot(rig1(joint), 0.02, randomisation=drawn, seed=2)
    robot.connect()
    told, nominal = robot.parameters, servo.drive.parameters
    name = robot.info.joints[0]
    friction, damping = told[f"{name}/gear_friction"], told[f"{name}/gear_damping"]
    assert 0.5 <= friction != damping <= 1.5
    row = robot.model.actuator_user[robot.compiled.joints[0].actuators[0], DRIVE_AT:]
    factors = dict.fromkeys(("kcs", "km", "ke", "kms", "kes", "kmq", "keq"), friction)
    factors |= {"kv": damping, "kc": 3.0}
    assert sum(value > 0.0 for key, value in nominal.items() if key in factors) >= 6
    for place, (key, value) in enumerate(nominal.items()):
        assert row[place] == pytest.approx(value * factors.get(key, 1.0)), key


def test_a_gear_with_three_times_the_dry_friction_holds_that_much_more():
    """What breaks a gear loose without drive is its dry friction, kc, and the same back-EMF at the same creep."""
    loose = []
    for factor in (1.0, 3.0):
        model = hexapod(gravity=False, servo={"max_torque": 0}, settle=0.0)
        start = replace(model.start, on_floor=False, base=np.array([0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]))
        robot = SimulatedRobot(
            replace(model, start=start), 0.001, randomisation=Randomisation(friction=fixed(factor))
        )
        robot.connect()
        robot.reset()
        dof = robot.model.joint("front_left_coxa").dofadr[0]
        for k in range(400):
            robot.data.qfrc_applied[dof] = torque = 2e-4 * k
            robot.send(robot.info.rest)
            if abs(robot.data.qvel[dof]) > 0.05:
                break
        loose.append(torque)
    kc = robot.compiled.joints[0].description.drives[0].parameters["kc"]
    assert loose[1] - loose[0] == pytest.approx(2.0 * kc, rel=0.1)


def test_a_supply_of_no_servo_and_one_that_no_servo_stands_are_refused():
    with pytest.raises(ConfigurationError, match="supply: no joint"):
        arm(supply=Uniform(0.9, 1.1))
    with pytest.raises(ConfigurationError, match="supply and drive voltage are the same"):
        Randomisation(supply=Uniform(0.9, 1.1), drive={"voltage": Uniform(0.9, 1.1)})
    with pytest.raises(OutOfBoundsError, match="contact_friction"):
        Randomisation(contact_friction=Uniform(-0.5, 1.0))
    with pytest.raises(OutOfBoundsError, match="supply of joint"):
        SimulatedRobot(hexapod(settle=0.0), randomisation=Randomisation(supply=Uniform(1.0, 900.0)))
