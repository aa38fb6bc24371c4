"""Variable impedance: an action that moves gains, wrench and velocity of a law of interaction."""

import copy
import pickle

import numpy as np
import pytest

from pliant.controllers.interaction import (
    AdmittanceGains,
    Contact,
    DesiredWrench,
    DirectForceGains,
    InteractionController,
    LawLimits,
    Watch,
    check_stability,
)
from pliant.controllers.interaction.stability import LowPass
from pliant.envs import PliantEnv, describe
from pliant.envs.arm import arm, load_behind
from pliant.envs.description import robot_settings
from pliant.envs.models.rig1 import rig1
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.tasks import Press
from pliant.envs.tasks.interaction import Interaction
from pliant.envs.vector import PliantVectorEnv
from pliant.errors import ConfigurationError, MismatchError, OutOfBoundsError, UnknownNameError
from pliant.hardware.force_torque.conditioning import WrenchConditioning, WrenchSettings

PRESSING = DirectForceGains(0.0, 3e-4)
CONTACT = Contact(5e4, servo_stiffness=1e5, bandwidth=90.0)
VARIED = Interaction(PRESSING, CONTACT, gains={"ki": (0.1, 4.0)}, wrench={"z": (0.0, 50.0)})
PRESS = Press(low=-10.0, high=-5.0, limit=200.0)


@pytest.fixture(scope="module")
def plane():
    """The UR10 over a plane on a spring."""
    settings = robot_settings("ur10_plane")
    held = {**settings["surroundings"]["plane"], "position": [0.4455, -0.779, -0.2686], "solref": None}
    return describe({**settings, "period": 0.016, "surroundings": {"plane": {**held, "stiffness": 1e4}}})


def env_of(plane, action=VARIED):
    return PliantEnv(plane.simulated(), PRESS.but(action=action))


def action_for(env, *values):
    """The action that asks for values of its channels."""
    low, high = (np.array([getattr(c, side) for c in env.actions]) for side in ("low", "high"))
    return (np.array(values) - (low + high) / 2) / ((high - low) / 2)


@pytest.mark.slow
def test_with_gains_that_stay_it_moves_as_the_controller_does(plane):
    env = env_of(plane)
    env.reset(seed=0)
    sent, forces = [], []
    for _ in range(150):
        env.step(action_for(env, 0.0, 15.0))
        state = env.robot.read()
        sent.append(state.command)
        forces.append(state.sensors)
    robot = plane.simulated()
    conditioning = WrenchConditioning(WrenchSettings(load=load_behind(plane)))
    controller = InteractionController(
        arm(plane), robot.info, PRESSING, conditioning, watch=Watch(lost_after=None)
    )
    with robot:
        robot.reset(seed=0)
        controller.reset(robot.read())
        controller.submit(DesiredWrench([0.0, 0.0, 15.0]))
        for k in range(150):
            robot.send(controller.update(robot.read(), k * 0.016))
            np.testing.assert_allclose(robot.read().command, sent[k], rtol=0.0, atol=1e-12)
            np.testing.assert_allclose(robot.read().sensors, forces[k], rtol=0.0, atol=1e-6)
    assert controller.feedback().wrench[2] == pytest.approx(15.0, abs=0.1)


@pytest.mark.slow
def test_many_do_to_the_last_bit_what_one_does_and_so_do_copies(plane):
    task = PRESS.but(action=VARIED)
    many = PliantVectorEnv(plane.simulated(), task, 3)
    single = [env_of(plane) for _ in range(3)]
    random = np.random.default_rng(0)
    np.testing.assert_array_equal(many.reset(seed=0)[0], [e.reset(seed=i)[0] for i, e in enumerate(single)])
    for k in range(80):
        if k == 40:  # a copy goes on by itself
            single[0], single[1] = copy.deepcopy(single[0]), pickle.loads(pickle.dumps(single[1]))
            many = copy.deepcopy(many)
        actions = random.uniform(-1.0, 1.0, (3, 2))
        seen = [e.step(a)[0] for e, a in zip(single, actions, strict=True)]
        np.testing.assert_array_equal(many.step(actions)[0], seen)


def test_whatever_is_asked_for_is_stable_in_the_contact(plane):
    VARIED.on(plane.simulated().info, plane.simulated().kinematics)
    for factor in np.geomspace(0.1, 4.0, 9):
        check_stability(VARIED.scaled(np.array([factor])), CONTACT, 0.016, LowPass(20.0), 2.0)
    wide = Interaction(PRESSING, CONTACT, gains={"ki": (0.1, 20.0)})
    with pytest.raises(ConfigurationError, match=r"at the factors ki 20: axis z is unstable in contact"):
        wide.on(plane.simulated().info, plane.simulated().kinematics)


def test_neither_command_nor_speed_jumps_however_gains_and_force_change(plane):
    limits = LawLimits(acceleration=0.1)
    far = Interaction(
        PRESSING,
        CONTACT,
        gains={"ki": (0.1, 4.0)},
        wrench={"z": (-10.0, 10.0)},
        limits=limits,
        wrench_rate=(50, 10),
    )
    env = env_of(plane, far)
    env.reset(seed=0)
    rates = [0.0]
    for k in range(60):
        env.step([(-1.0) ** (k // 3), (-1.0) ** (k // 7)])
        law = env._episodes.controlled._controllers[0]._tool.law
        rates.append(law.rate[2])
    # free: only the desired force at its rate, by the largest gain, and a speed that fades
    assert np.abs(np.diff(rates)).max() <= (0.1 + 4.0 * 3e-4 * (50.0 + 30.0)) * 0.016
    assert np.abs(rates).max() > 1e-4


def test_the_tool_moves_with_the_velocity_that_is_asked_for(plane):
    """Up (z of the tool points down), along an axis on which no force is controlled."""
    gains = DirectForceGains(0.0, 1e-6, ["x"])
    action = Interaction(gains, CONTACT, velocity={"z": (-0.04, 0.04)}, limits={"acceleration": 0.1})
    env = env_of(plane, action)
    env.reset(seed=0)
    kinematics = arm(plane).kinematics
    begin = kinematics.pose(env.robot.read().command)
    for _ in range(50):
        env.step(action_for(env, -0.02))
    way = kinematics.pose(env.robot.read().command)[:3] - begin[:3]
    ramp = np.minimum(0.1 * 0.016 * np.arange(1, 51), 0.02)
    assert np.linalg.norm(way) == pytest.approx(ramp.sum() * 0.016, abs=5e-5)
    assert way[2] > 0.0


def test_its_entries_are_spread_as_their_bounds_say(plane):
    action = Interaction(
        AdmittanceGains([10.0, 10.0, 20.0], 800.0, 0.0),
        Contact(5e3),
        gains={"damping": (0.5, 2.0), "mass": (1.0, 3.0)},
        wrench={"z": (0.0, 20.0), "rx": (-1.0, 1.0)},
        velocity={"x": (-0.01, 0.02)},
    )
    made = action.on(plane.simulated().info, plane.simulated().kinematics)
    assert [(c.name, c.unit) for c in made.channels] == [
        ("law/log_damping", "1"),
        ("law/log_mass", "1"),
        ("law/force_z", "N"),
        ("law/torque_x", "N·m"),
        ("law/velocity_x", "m/s"),
    ]
    np.testing.assert_allclose(np.exp([made.channels[0].low, made.channels[0].high]), [0.5, 2.0])
    np.testing.assert_allclose(made.rest, [0.0, -1.0, -1.0, 0.0, -1 / 3], atol=1e-12)
    scaled = action.scaled(np.array([2.0, 3.0]))
    assert scaled == AdmittanceGains([30.0, 30.0, 60.0], 1600.0, 0.0)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({}, ConfigurationError, "neither gains nor wrench nor velocity"),
        ({"gains": {"damping": (0.5, 2.0)}}, UnknownNameError, r"'damping'.*kp, ki"),
        ({"gains": {"ki": (2.0, 3.0)}}, OutOfBoundsError, "with 1 in it"),
        ({"gains": {"ki": (0.0, 3.0)}}, OutOfBoundsError, "ki"),
        ({"wrench": {"w": (0.0, 3.0)}}, UnknownNameError, "'w'"),
        ({"wrench": {"z": (0.0, np.nan)}}, OutOfBoundsError, "wrench: z"),
        ({"wrench": {"z": (0.0, 3.0)}, "limits": {"sped": 1.0}}, UnknownNameError, "Did you mean 'speed'"),
        ({"wrench": {"z": (0.0, 3.0)}, "watch": 3.0}, ConfigurationError, "watch"),
        ({"wrench": 3.0}, ConfigurationError, "ranges by name"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, error, message):
    with pytest.raises(error, match=message):
        Interaction(PRESSING, CONTACT, **settings)


def test_a_robot_that_has_no_such_arm_is_refused(plane):
    robot = SimulatedRobot(rig1(), 0.02)
    with pytest.raises(ConfigurationError, match="nothing is known of the kinematics"):
        VARIED.on(robot.info)
    with pytest.raises((ConfigurationError, MismatchError, UnknownNameError), match="robot 'rig1'"):
        VARIED.on(robot.info, robot.kinematics)
    other = Interaction(PRESSING, CONTACT, wrench={"z": (0.0, 1.0)}, sensor="ankle")
    with pytest.raises(UnknownNameError, match="force-torque sensor 'ankle'"):
        other.on(plane.simulated().info, plane.simulated().kinematics)
