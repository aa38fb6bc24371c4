"""Free bodies: placed by a task, observed, pushed by a robot."""

import copy

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from pliant.envs import SimulatedRobot
from pliant.envs.fronts import robot_env, robot_envs
from pliant.envs.models.own_robot import own_robot
from pliant.envs.tasks import Task, compose
from pliant.envs.tasks.starts import InBox
from pliant.errors import ConfigurationError, OutOfBoundsError, RobotError, ShapeError, UnknownNameError
from pliant.hardware.wrapper import RobotWrapper

PUSHER = """<mujoco model="pusher"><option timestep="0.002" integrator="implicitfast"/><worldbody>
<geom type="plane" size="3 3 .1"/>
<body name="hand" pos="0 0 0.1"><joint name="reach" type="slide" axis="1 0 0" range="0 0.6"/>
<geom type="box" size="0.02 0.1 0.05" mass="0.5"/></body>
<body name="box" pos="0.3 0 0.05"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="0.2"/></body>
</worldbody><actuator><position joint="reach" kp="300" kv="30"/></actuator></mujoco>"""


@pytest.fixture
def pusher(tmp_path):
    (tmp_path / "pusher.xml").write_text(PUSHER)
    return lambda: own_robot("pusher.xml", tmp_path)


def push(**parts) -> Task:
    return compose(
        "push",
        observations={
            "hand": {"term": "signals", "names": "reach/*"},
            "box": {"term": "signals", "names": ["box/position_*", "box/orientation_*", "box/velocity_x"]},
        },
        rewards={"pushed": {"term": "value", "signals": "box/position_x"}},
        ends={"time": {"term": "time_up", "duration": 0.5}},
        **{
            "bodies": {"box": {"term": "in_box", "box": [[0.2, -0.1, 0.05], [0.3, 0.1, 0.05]], "turn": 0.5}},
            **parts,
        },
    )


def test_an_arm_pushes_a_box_and_is_rewarded_for_where_it_lies(pusher):
    env = robot_env(pusher(), push(bodies={"box": {"term": "in_box", "box": [0.25, 0.0, 0.05]}}))
    names = [channel.name for channel in env.observations]
    observation, _ = env.reset(seed=0)
    assert observation[names.index("box/position_x")] == pytest.approx(0.25)
    for action in ([-1.0], [1.0]):
        observation, _ = env.reset(seed=0)
        for _ in range(25):
            observation, reward, *_ = env.step(action)
        lies = float(observation[names.index("box/position_x")])
        assert reward == pytest.approx(lies, abs=1e-6)
        if action == [-1.0]:
            assert lies == pytest.approx(0.25, abs=1e-4)  # not touched
        else:  # pushed by the hand's front, half a box ahead of it
            assert lies > 0.5
            assert lies >= observation[names.index("reach/position")] + 0.02 + 0.05 - 1e-3


def test_a_body_is_placed_at_random_within_its_box_and_turned(pusher):
    env = robot_env(pusher(), push())
    names = [channel.name for channel in env.observations]
    starts = np.array([env.reset(seed=seed)[0] for seed in range(60)])
    place = {name: starts[:, k] for k, name in enumerate(names)}
    for axis, low, high in (("x", 0.2, 0.3), ("y", -0.1, 0.1)):
        drawn = place[f"box/position_{axis}"]
        assert ((drawn >= low - 1e-6) & (drawn <= high + 1e-6)).all()
        assert np.ptp(drawn) > 0.8 * (high - low)
    turn = 2.0 * np.arctan2(place["box/orientation_z"], place["box/orientation_w"])
    assert 0.4 < np.abs(turn).max() <= 0.5 + 1e-6
    assert np.ptp(turn) > 0.8


def test_each_of_many_places_its_body_as_the_single_one_of_its_seed(pusher, identical):
    ours = robot_envs(3, robot=pusher(), task=push(), autoreset_mode=AutoresetMode.NEXT_STEP)
    theirs = SyncVectorEnv([lambda: robot_env(pusher(), push())] * 3, autoreset_mode=AutoresetMode.NEXT_STEP)
    identical(ours.reset(seed=5), theirs.reset(seed=5))
    random = np.random.default_rng(1)
    for k in range(30):
        action = random.uniform(-1.0, 1.0, ours.action_space.shape)
        identical(ours.step(action), theirs.step(action), f"step {k}")


def test_a_copy_goes_on_as_the_original_with_the_body_where_it_lies(pusher):
    env = robot_env(pusher(), push())
    env.reset(seed=1)
    for _ in range(5):
        env.step([1.0])
    twin = copy.deepcopy(env)
    assert twin.step([1.0])[0].tobytes() == env.step([1.0])[0].tobytes()


def test_gravity_is_compensated_of_the_robot_and_not_of_what_lies_around(tmp_path):
    (tmp_path / "pusher.xml").write_text(PUSHER)
    model = SimulatedRobot(own_robot("pusher.xml", tmp_path, gravity_compensation=True)).model
    assert model.body_gravcomp.tolist() == [0.0, 1.0, 0.0]
    model = SimulatedRobot(own_robot("pusher.xml", tmp_path, gravity_compensation=["box"])).model
    assert model.body_gravcomp.tolist() == [0.0, 0.0, 1.0]


def test_a_robot_places_bodies_at_a_reset_and_lets_the_others_lie_where_they_start(pusher):
    with SimulatedRobot(pusher(), signals=["box"]) as robot:
        assert robot.info.bodies == {"box": (0.3, 0.0, 0.05, 1.0, 0.0, 0.0, 0.0)}
        place = robot.info.signal("box/position_x")
        assert robot.reset(bodies={"box": [0.4, 0.0, 0.05, 2.0, 0.0, 0.0, 0.0]}).signals[place] == 0.4
        assert robot.data.qpos[4] == 1.0  # a unit quaternion
        assert robot.reset().signals[place] == 0.3
        for bodies, error in (
            ({"ball": [0, 0, 0]}, UnknownNameError),
            ({"box": [0, 0]}, ShapeError),
            ({"box": [0, 0, np.nan]}, OutOfBoundsError),
        ):
            with pytest.raises(error):
                robot.reset(bodies=bodies)


@pytest.mark.parametrize(
    ("bodies", "error", "says"),
    [
        ({"ball": InBox()}, UnknownNameError, "unknown free body 'ball'.*Valid: box"),
        ({"box": InBox(box=[[1, 0, 0], [0, 0, 0]])}, ConfigurationError, "must not exceed"),
        ({"box": InBox(box=[1, 0])}, ShapeError, "body 'box': box"),
        ({"box": 3}, ConfigurationError, "body 'box' is 3"),
    ],
)
def test_places_that_are_none_are_refused(pusher, bodies, error, says):
    with pytest.raises(error, match=says):
        robot_env(pusher(), push().but(bodies=bodies))


def test_what_cannot_place_a_body_says_so(pusher):
    robot = RobotWrapper(SimulatedRobot(pusher(), 0.02, signals=["box"]))
    env = robot_env(robot, push())
    with pytest.raises(RobotError, match=r"cannot be put anywhere at once.* the task places box"):
        env.reset()
