"""The real client, unpatched and with default flags, calls every function that a driver uses, on every version."""

import mujoco
import numpy as np
import pytest

from pliant.controllers.ur_kinematics import UrKinematics, pose_of
from pliant.envs.description import describe
from pliant.envs.emulators.ur.settings import START
from pliant.envs.emulators.ur.versions import VERSIONS, polyscope

pytestmark = pytest.mark.slow

ARM = UrKinematics("ur10e")


def returned(result):
    assert "error" not in result, result
    return result["value"]


def all_true(result):
    value = returned(result)
    assert value is True or all(part is True for part in value), value


def transformation(pose):
    return pose_of(pose[:3], pose[3:])


def same_pose(pose, matrix, tolerance=1e-9):
    np.testing.assert_allclose(transformation(pose), matrix, atol=tolerance)


def check_reached_pose(result):
    done, wanted, reached = returned(result)
    assert done is True
    same_pose(reached, transformation(wanted), 1e-5)


def check_receive_everything(result):
    seen = returned(result)
    q = np.array(seen["q"])
    np.testing.assert_allclose(q, START, atol=2e-4)
    np.testing.assert_allclose(seen["qd"], 0.0, atol=0.01)
    same_pose(seen["pose"], ARM.forward(q), 1e-4)
    assert (seen["robot_mode"], seen["safety_mode"], seen["runtime"]) == (7, 1, 2)
    assert (seen["status"], seen["safety"]) == (0b11, 0b1)
    assert seen["joint_mode"] == [253] * 6
    assert seen["scaling"] == 1.0
    assert (seen["protective"], seen["emergency"]) == (False, False)
    np.testing.assert_allclose(seen["moment"], model_gravity(START), atol=0.01)
    assert np.linalg.norm(seen["force"]) < 5.0


def model_gravity(q):
    model, data = model_at(q)
    mujoco.mj_forward(model, data)
    return data.qfrc_bias


def model_at(q):
    model = describe("ur10e").model.spec.copy().compile()
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    return model, data


def check_raw_wrench(result):
    assert np.linalg.norm(returned(result)[:3]) < 8.0


def check_move_j_asynchronous(result):
    before, running, ended, there = returned(result)
    assert before < 0
    assert running
    assert ended
    assert there


def check_move_l_fk(result):
    done, wanted, reached = returned(result)
    assert done is True
    np.testing.assert_allclose(reached, wanted, atol=1e-5)


def check_servo_j(result):
    done, _, arrived, target = returned(result)
    assert done is True
    assert arrived is True
    assert np.isfinite(target).all()


def check_freedrive(result):
    assert returned(result) == [True, 0, True]


def check_direct_torque(result):
    done, turned, _ = returned(result)
    assert done is True
    assert turned > 0.02


def check_direct_torque_does_nothing(result):
    done, turned, _ = returned(result)
    assert done is True
    assert abs(turned) < 1e-3


def check_set_payload(result):
    done, known, cog, again = returned(result)
    assert (done, known, again) == (True, True, True)
    assert cog == [0.0, 0.01, 0.05]


def check_set_tcp(result):
    done, offset, bare, with_tool, back = returned(result)
    assert done is True
    assert back is True
    assert offset == [0.0, 0.0, 0.1, 0.0, 0.0, 0.0]
    same_pose(with_tool, transformation(bare) @ pose_of([0.0, 0.0, 0.1]), 1e-3)


def check_forward_kinematics(result):
    pose, q = returned(result)
    same_pose(pose, ARM.forward(q) @ pose_of([0.0, 0.0, 0.1]), 1e-9)


def check_pose_here(result):
    pose, measured = returned(result)
    same_pose(pose, transformation(measured), 1e-3)


def check_inverse_kinematics(result):
    found, q = returned(result)
    np.testing.assert_allclose(found, q, atol=1e-6)


def check_inverse_has_solution(result):
    assert returned(result) == [True, False]


def check_mass_matrix(result):
    matrix, q = returned(result)
    model, data = model_at(q)
    expected = np.zeros((6, 6))
    mujoco.mj_fullM(model, data, expected)
    np.testing.assert_allclose(np.reshape(matrix, (6, 6), order="F"), expected, atol=1e-3)


def check_jacobian(result):
    matrix, q = returned(result)
    np.testing.assert_allclose(np.reshape(matrix, (6, 6), order="F"), ARM.jacobian(q), atol=1e-3)


def check_joint_torques(result):
    assert np.abs(returned(result)).max() < 10.0


def check_pose_trans(result):
    np.testing.assert_allclose(returned(result)[:3], [0.1, 0.3, 0.3], atol=1e-12)


def check_outputs(result):
    sent, seen = returned(result)
    assert all(sent)
    assert seen is True


def check_unknown_variable(result):
    assert "unable to get state data" in result["error"]


CHECKS = {
    "receive_everything": check_receive_everything,
    "raw_wrench": check_raw_wrench,
    "timestamps": all_true,
    "move_j": all_true,
    "move_j_asynchronous": check_move_j_asynchronous,
    "move_j_ik": check_reached_pose,
    "move_l": check_reached_pose,
    "move_l_fk": check_move_l_fk,
    "move_path": check_reached_pose,
    "servo_j": check_servo_j,
    "servo_stop": all_true,
    "servo_l": all_true,
    "speed_j": all_true,
    "speed_l": all_true,
    "stop_j": all_true,
    "stop_l": all_true,
    "zero_force": all_true,
    "force_mode": all_true,
    "teach_mode": all_true,
    "freedrive": check_freedrive,
    "direct_torque": check_direct_torque,
    "set_payload": check_set_payload,
    "set_tcp": check_set_tcp,
    "forward_kinematics": check_forward_kinematics,
    "forward_kinematics_here": check_pose_here,
    "flange_pose": check_pose_here,
    "inverse_kinematics": check_inverse_kinematics,
    "inverse_kinematics_near": check_inverse_kinematics,
    "inverse_kinematics_has_solution": check_inverse_has_solution,
    "within_limits": check_inverse_has_solution,
    "mass_matrix": check_mass_matrix,
    "jacobian": check_jacobian,
    "joint_torques": check_joint_torques,
    "steady": all_true,
    "pose_trans": check_pose_trans,
    "digital_outputs": check_outputs,
    "analog_outputs": check_outputs,
    "speed_slider": all_true,
    "kick_watchdog": all_true,
    "starved_watchdog": all_true,
}


def check_of(name, version):
    """The check of a function; of one that a version lacks, what the client makes of that."""
    known = polyscope(version)
    if name == "direct_torque" and not known.direct_torque:
        return check_direct_torque_does_nothing
    if name in ("mass_matrix", "jacobian") and not known.dynamics:
        return check_unknown_variable
    if name == "raw_wrench" and known.major != 5:
        return check_unknown_variable
    if name == "set_payload" and known.major >= 10:
        return check_unknown_variable
    return CHECKS[name]


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("version", VERSIONS)
def test_every_function_works_over_real_sockets(functions, version, name):
    results, _ = functions(version)
    check_of(name, version)(results[name])


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_went_wrong_meanwhile(functions, version):
    results, state = functions(version)
    assert set(results) == set(CHECKS)
    assert state["safety_mode"] == 1, state["safety_reason"]
    assert state["malformed"] == 0
    assert state["programs"] == 2, "the upload, and the one with the path"
    assert "watchdog" in state["program_ended"]
