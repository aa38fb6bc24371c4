import copy
import json
from dataclasses import replace

import numpy as np
import pytest

from pliant.controllers.policies import RandomPolicy, ZeroPolicy
from pliant.controllers.policy import Policy, PolicyInfo, fitted, to_action, to_command
from pliant.controllers.robot_parameters import parameter_differences, tell, uncompared
from pliant.errors import FileFormatError, MismatchError, OutOfBoundsError, ShapeError
from pliant.hardware.robot import Channel

POSITION = tuple(Channel(f"{joint}/position", "rad", -3.0, 3.0) for joint in ("shoulder", "elbow"))
SPEED = Channel("elbow/velocity", "rad/s", -20.0, 20.0)
EQUILIBRIUM = Channel("shoulder/equilibrium", "rad", -1.5, 1.5)
PRESET = Channel("elbow/preset", "rad", 0.0, 0.6, 0.2)
INFO = PolicyInfo(
    robot="arm",
    joints=("shoulder", "elbow"),
    observations=(*POSITION, SPEED),
    actions=(EQUILIBRIUM, PRESET),
    period=0.02,
    origin={"algorithm": "PPO"},
)


class Named(Policy):
    """Answers each action with a number that tells which observation it saw where."""

    def act(self, observation):
        first, second, speed = observation
        return [first - second, speed]


def mismatch(**changes):
    with pytest.raises(MismatchError) as caught:
        fitted(Named(INFO), replace(INFO, **changes))
    return str(caught.value)


def test_action_and_command_are_each_others_inverse():
    actions = INFO.actions
    np.testing.assert_allclose(to_command([-1.0, -1.0], actions), [-1.5, 0.0])
    np.testing.assert_allclose(to_command([1.0, 1.0], actions), [1.5, 0.6])
    np.testing.assert_allclose(to_action([0.0, 0.3], actions), [0.0, 0.0], atol=1e-15)
    random = np.random.default_rng(0).uniform(-2.0, 2.0, 2)
    np.testing.assert_allclose(to_action(to_command(random, actions), actions), random)


def test_a_reading_without_bounds_comes_back_from_strict_json_and_fits():
    free = replace(INFO, observations=(*POSITION, replace(SPEED, low=-np.inf, high=np.inf)))
    text = json.dumps(free.to_json(), allow_nan=False)
    assert PolicyInfo.from_json(json.loads(text), "file") == free
    assert fitted(Named(free), free).info == free
    assert "[-20, 20] rad/s in the file, [-inf, inf] rad/s here" in mismatch(observations=free.observations)


def test_what_it_sees_and_does_comes_back_from_json():
    back = PolicyInfo.from_json(json.loads(json.dumps(INFO.to_json())), "file")
    assert back == INFO


@pytest.mark.parametrize("lost", ["robot", "joints", "observations", "actions", "period", "origin"])
def test_a_label_without_an_entry_is_refused(lost):
    data = INFO.to_json()
    del data[lost]
    with pytest.raises(FileFormatError, match=f"arm.zip.*'{lost}'"):
        PolicyInfo.from_json(data, "arm.zip")
    with pytest.raises(FileFormatError):
        PolicyInfo.from_json({**INFO.to_json(), "observations": [{"name": "x"}]}, "arm.zip")
    with pytest.raises(FileFormatError, match="period"):
        PolicyInfo.from_json({**INFO.to_json(), "period": -1.0}, "arm.zip")


def test_where_all_is_the_same_the_policy_is_itself():
    policy = Named(INFO)
    assert fitted(policy, replace(INFO, robot="another arm", origin={})) is policy


SPRING = {"law": "pliant.actuators.laws.sea:sea", "parameters": {"k": 3.0, "max_deflection": 0.8}, "mode": 6}
ARM = {
    "joints": {"shoulder": SPRING, "elbow": {"law": None, "damping": 0.1}},
    "bodies": {"fore": {"mass": 0.5, "inertia": [1e-3, 2e-3, 3e-3]}},
    "held": {"elbow/preset": 0.2},
}


def changed(value, *path):
    """`ARM` with another value at a path."""
    data = copy.deepcopy(ARM)
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("here", "line"),
    [
        (
            changed(0.25, "joints", "shoulder", "parameters", "k"),
            "joints.shoulder.parameters.k: 3.0 in the file, 0.25",
        ),
        (
            changed(None, "joints", "shoulder", "law"),
            "joints.shoulder.law: 'pliant.actuators.laws.sea:sea' in the",
        ),
        (changed(3, "joints", "shoulder", "mode"), "joints.shoulder.mode: 6 in the file, 3 here"),
        (changed(0.2, "joints", "elbow", "damping"), "joints.elbow.damping: 0.1 in the file, 0.2 here"),
        (changed(0.6, "bodies", "fore", "mass"), "bodies.fore.mass: 0.5 in the file, 0.6 here"),
        (
            changed([1e-3, 2e-3, 4e-3], "bodies", "fore", "inertia"),
            "bodies.fore.inertia: [0.001, 0.002, 0.003] in",
        ),
        (changed({}, "bodies", "payload"), "bodies.payload is missing in the file"),
        (changed(0.4, "held", "elbow/preset"), "held.elbow/preset: 0.2 in the file, 0.4 here"),
    ],
)
def test_a_policy_of_another_robot_is_refused_with_the_difference_named(here, line):
    policy = Named(replace(INFO, parameters=ARM))
    with pytest.raises(MismatchError) as refused:
        fitted(policy, replace(INFO, parameters=here))
    assert line in str(refused.value)
    assert "same_robot=false" in str(refused.value)
    assert fitted(policy, replace(INFO, parameters=here), parameters=False) is policy


def test_what_a_policy_learned_to_cope_with_is_no_difference():
    varied = {
        **ARM,
        "varied": {"mass": [0.8, 1.2], "damping": [0.5, 2.0], "law.k": [0.9, 1.1], "drive.kp": [0.5, 2.0]},
    }
    policy = Named(replace(INFO, parameters=varied))
    for here in (
        changed(0.6, "bodies", "fore", "mass"),
        changed([0.8e-3, 2.4e-3, 3e-3], "bodies", "fore", "inertia"),
        changed(0.2, "joints", "elbow", "damping"),
        changed(3.3, "joints", "shoulder", "parameters", "k"),
    ):
        fitted(policy, replace(INFO, parameters=here))
    for here in (changed(0.61, "bodies", "fore", "mass"), changed(2.6, "joints", "shoulder", "parameters", "k")):
        with pytest.raises(MismatchError):
            fitted(policy, replace(INFO, parameters=here))


def test_a_model_file_keeps_six_digits_and_what_is_new_in_a_file_is_no_difference():
    here = changed(3.0000004, "joints", "shoulder", "parameters", "k")
    here["joints"]["shoulder"]["friction_of_a_later_version"] = 1.0
    fitted(Named(replace(INFO, parameters=ARM)), replace(INFO, parameters=here))


def test_what_is_not_compared_is_told(caplog):
    tell("the policy p.zip", {}, ARM)
    assert "p.zip: not compared with this robot: laws, drives and friction of the joints; masses" in caplog.text
    caplog.clear()
    tell("the policy p.zip", ARM, changed(0.25, "joints", "shoulder", "parameters", "k"))
    assert "is used on a robot that differs:\n  - joints.shoulder.parameters.k: 3.0 in" in caplog.text
    caplog.clear()
    tell("the policy p.zip", ARM, ARM)
    tell("the policy p.zip", {}, {})
    assert caplog.text == ""


def test_a_file_from_before_there_were_sections_is_compared_joint_by_joint(caplog):
    old = {"shoulder": {**SPRING, "identity": "0123", "position_range": [-1, 1]}}
    assert parameter_differences(old, ARM) == []
    soft = changed(0.25, "joints", "shoulder", "parameters", "k")
    assert parameter_differences(old, soft) == ["joints.shoulder.parameters.k: 3.0 in the file, 0.25 here"]
    assert uncompared(old, ARM) == ["masses and inertia", "the columns that are not commanded"]


def test_a_label_without_parameters_is_an_old_one():
    data = INFO.to_json()
    del data["parameters"]
    assert PolicyInfo.from_json(data, "old.zip") == INFO


def test_another_order_is_mapped_by_name():
    observations, actions = (SPEED, *reversed(POSITION)), tuple(reversed(INFO.actions))
    info = replace(INFO, joints=("elbow", "shoulder"), observations=observations, actions=actions)
    policy = fitted(Named(INFO), info)
    speed, elbow, shoulder = 0.25, 0.1, 0.4
    np.testing.assert_allclose(policy([speed, elbow, shoulder]), [speed, shoulder - elbow])
    assert policy.info is info


def test_every_difference_is_named_at_once():
    degrees = replace(POSITION[0], unit="deg")
    wide = replace(PRESET, high=0.8)
    message = mismatch(
        joints=("shoulder", "wrist"),
        observations=(degrees, POSITION[1], Channel("wrist/velocity", "rad/s", -1.0, 1.0)),
        actions=(EQUILIBRIUM, wide),
        period=0.01,
    )
    for expected in (
        "made for 'arm'",
        "joint 'elbow' is unknown to the environment",
        "joint 'wrist' is missing in the file",
        "observation 'shoulder/position': unit 'rad' in the file, 'deg' here",
        "observation 'elbow/velocity' is unknown",
        "observation 'wrist/velocity' is missing",
        "action 'elbow/preset': [0, 0.6] rad in the file, [0, 0.8] rad here",
        "period: 0.02 s in the file, 0.01 s here",
    ):
        assert expected in message


def test_a_name_that_comes_twice_is_refused():
    assert "'shoulder/position' is 2 times" in mismatch(observations=(*POSITION, POSITION[0]))


@pytest.mark.parametrize(
    ("observation", "error", "message"),
    [
        ([0.0, 0.0], ShapeError, "sees 3 numbers"),
        ([0.0, 0.0, np.nan], OutOfBoundsError, "no finite value for elbow/velocity"),
        ([np.inf, 0.0, 0.0], OutOfBoundsError, "shoulder/position"),
    ],
)
def test_an_observation_that_is_none_is_refused(observation, error, message):
    with pytest.raises(error, match=message):
        Named(INFO)(observation)


def test_an_action_is_limited_and_must_be_finite():
    np.testing.assert_array_equal(Named(INFO)([3.0, 0.0, -20.0]), [1.0, -1.0])

    class Broken(Policy):
        def act(self, observation):
            return [np.nan, 0.0]

    with pytest.raises(OutOfBoundsError, match="policy's action"):
        Broken(INFO)([0.0, 0.0, 0.0])


def test_the_sanity_policies_do_nothing_and_anything():
    assert not ZeroPolicy(INFO)(np.zeros(3)).any()
    one, two = RandomPolicy(INFO, seed=1), RandomPolicy(INFO, seed=1)
    draws = np.array([one(np.zeros(3)) for _ in range(200)])
    np.testing.assert_array_equal(draws[0], two(np.zeros(3)))
    assert np.abs(draws).max() <= 1.0
    assert draws.min(axis=0).max() < -0.9
    assert draws.max(axis=0).min() > 0.9
