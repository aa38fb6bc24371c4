"""The real client calls every function that a driver uses, one after the other, and prints what each returned.

A process of its own: the client's constructors hold the interpreter lock, and after faults it may crash.
"""

import json
import sys
import time

import rtde_control
import rtde_io
import rtde_receive

HOST, VERSION = sys.argv[1], tuple(int(n) for n in sys.argv[2].split("."))
PERIOD = 0.008 if VERSION < (5, 0) else 0.002
receive = rtde_receive.RTDEReceiveInterface(HOST)
control = rtde_control.RTDEControlInterface(HOST)
pins = rtde_io.RTDEIOInterface(HOST)
results = {}


def record(function):
    """Call a function and keep what it returns, or what it raises."""
    print(f"{time.monotonic():.2f} {function.__name__}", file=sys.stderr, flush=True)
    try:
        results[function.__name__] = {"value": function()}
    except Exception as error:
        results[function.__name__] = {"error": f"{type(error).__name__}: {error}"}
    return function


def every_period(seconds, act):
    """Call `act(time)` once a period; return its last result. Late calls are not caught up with, in jumps."""
    due, count = time.monotonic(), 0
    while count * PERIOD < seconds:
        answer = act(count * PERIOD)
        count += 1
        due = max(due + PERIOD, time.monotonic())
        time.sleep(max(due - time.monotonic(), 0.0))
    return answer


def eventually(condition, seconds=20.0):
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def soon(read, wanted):
    """Read once what is told has come to what was commanded: it is told later than the move ends."""
    eventually(lambda: max(abs(a - b) for a, b in zip(read()[:3], wanted[:3], strict=True)) < 1e-6)
    return read()


def fresh(query):
    """Ask twice: the client returns what the registers held before."""
    query()
    time.sleep(0.05)
    return query()


def moved(q, joint, by):
    """Joint angles with one of them changed."""
    return [angle + (by if n == joint else 0.0) for n, angle in enumerate(q)]


def arrived(q):
    """Wait until the arm is at joint angles."""
    return eventually(lambda: max(abs(a - b) for a, b in zip(receive.getActualQ(), q, strict=True)) < 2e-3)


@record
def receive_everything():
    return {
        "q": receive.getActualQ(),
        "qd": receive.getActualQd(),
        "current": receive.getActualCurrent(),
        "moment": receive.getTargetMoment(),
        "pose": receive.getActualTCPPose(),
        "force": receive.getActualTCPForce(),
        "robot_mode": receive.getRobotMode(),
        "safety_mode": receive.getSafetyMode(),
        "status": receive.getRobotStatus(),
        "safety": receive.getSafetyStatusBits(),
        "runtime": receive.getRuntimeState(),
        "scaling": receive.getSpeedScaling(),
        "joint_mode": receive.getJointMode(),
        "protective": receive.isProtectiveStopped(),
        "emergency": receive.isEmergencyStopped(),
    }


@record
def raw_wrench():
    return receive.getFtRawWrench()


@record
def timestamps():
    before = receive.getTimestamp()
    return eventually(lambda: receive.getTimestamp() > before + 0.1)


@record
def move_j():
    q = moved(receive.getActualQ(), 0, 0.15)
    return control.moveJ(q, 1.5, 3.0), arrived(q)


@record
def move_j_asynchronous():
    q = moved(receive.getTargetQ(), 0, -0.15)
    before = control.getAsyncOperationProgress()
    control.moveJ(q, 1.5, 3.0, True)
    running = eventually(lambda: control.getAsyncOperationProgress() >= 0)
    return before, running, eventually(lambda: control.getAsyncOperationProgress() < 0), arrived(q)


@record
def move_j_ik():
    pose = receive.getTargetTCPPose()
    pose[1] += 0.03
    return control.moveJ_IK(pose, 1.0, 3.0), pose, soon(receive.getTargetTCPPose, pose)


@record
def move_l():
    pose = receive.getTargetTCPPose()
    pose[2] -= 0.05
    return control.moveL(pose, 0.3, 1.5), pose, soon(receive.getTargetTCPPose, pose)


@record
def move_l_fk():
    q = moved(receive.getTargetQ(), 1, -0.05)
    return control.moveL_FK(q, 0.3, 1.5), q, soon(receive.getTargetQ, q)


@record
def move_path():
    begin, entry = receive.getTargetQ(), rtde_control.PathEntry
    path = rtde_control.Path()
    for by in (0.1, 0.0):
        q = moved(begin, 5, by)
        path.addEntry(entry(entry.MoveJ, entry.PositionJoints, [*q, 1.5, 3.0, 0.0]))
    pose = receive.getTargetTCPPose()
    pose[2] += 0.03
    path.addEntry(entry(entry.MoveL, entry.PositionTcpPose, [*pose, 0.3, 1.5, 0.0]))
    return control.movePath(path), pose, soon(receive.getTargetTCPPose, pose)


@record
def servo_j():
    q = receive.getTargetQ()
    ok = every_period(0.4, lambda t: control.servoJ(moved(q, 0, 0.2 * t), 0.0, 0.0, PERIOD, 0.03, 300.0))
    return ok, moved(q, 0, 0.2 * (0.4 - PERIOD)), arrived(moved(q, 0, 0.2 * (0.4 - PERIOD))), receive.getTargetQ()


@record
def servo_stop():
    return control.servoStop(), control.isProgramRunning()


@record
def servo_l():
    pose = receive.getTargetTCPPose()
    end = [*pose[:2], pose[2] + 0.02, *pose[3:]]

    def act(t):
        share = min(t / 0.3, 1.0)
        return control.servoL([*pose[:2], pose[2] + 0.02 * share, *pose[3:]], 0.0, 0.0, PERIOD, 0.03, 300.0)

    ok = every_period(0.5, act)
    there = eventually(lambda: abs(receive.getTargetTCPPose()[2] - end[2]) < 1e-5)
    return ok, there, control.servoStop()


@record
def speed_j():
    ok = every_period(0.3, lambda t: control.speedJ([0.2, 0.0, 0.0, 0.0, 0.0, -0.1], 4.0, 0.0))
    there = eventually(
        lambda: abs(receive.getActualQd()[0] - 0.2) < 0.02 and abs(receive.getActualQd()[5] + 0.1) < 0.02
    )
    return ok, there, control.speedStop(10.0), eventually(lambda: max(map(abs, receive.getActualQd())) < 0.01)


@record
def speed_l():
    ok = every_period(0.2, lambda t: control.speedL([0.0, 0.0, -0.05, 0.0, 0.0, 0.0], 1.0, 0.0))
    there = eventually(lambda: abs(receive.getActualTCPSpeed()[2] + 0.05) < 0.01)
    return ok, there, control.speedStop(10.0), eventually(lambda: max(map(abs, receive.getActualQd())) < 0.01)


@record
def stop_j():
    control.moveJ(moved(receive.getTargetQ(), 0, 1.5), 0.5, 2.0, True)
    eventually(lambda: receive.getActualQd()[0] > 0.3)
    control.stopJ(5.0)
    return eventually(lambda: max(map(abs, receive.getActualQd())) < 0.01), control.isProgramRunning()


@record
def stop_l():
    pose = receive.getTargetTCPPose()
    control.moveL([*pose[:2], pose[2] + 0.3, *pose[3:]], 0.1, 0.5, True)
    eventually(lambda: receive.getActualTCPSpeed()[2] > 0.05)
    control.stopL(2.0)
    return eventually(lambda: max(map(abs, receive.getActualQd())) < 0.01), control.isProgramRunning()


@record
def zero_force():
    return control.zeroFtSensor(), eventually(lambda: max(map(abs, receive.getActualTCPForce()[:3])) < 3.0)


@record
def force_mode():
    before = receive.getTargetTCPPose()[2]
    frame, limits = [0.0] * 6, [0.1, 0.1, 0.1, 0.2, 0.2, 0.2]
    ok = every_period(
        0.3, lambda t: control.forceMode(frame, [0, 0, 1, 0, 0, 0], [0.0, 0.0, -20.0, 0.0, 0.0, 0.0], 2, limits)
    )
    lower = eventually(lambda: receive.getTargetTCPPose()[2] < before - 0.005)
    return ok, lower, control.forceModeStop(), eventually(lambda: max(map(abs, receive.getActualQd())) < 0.01)


@record
def teach_mode():
    return control.teachMode(), control.endTeachMode()


@record
def freedrive():
    return control.freedriveMode([1, 1, 1, 0, 0, 0]), control.getFreedriveStatus(), control.endFreedriveMode()


@record
def direct_torque():
    before = receive.getActualQ()[5]
    ok = every_period(0.3, lambda t: control.directTorque([0.0, 0.0, 0.0, 0.0, 0.0, 4.0]))
    turned = receive.getActualQ()[5] - before
    return ok, turned, eventually(lambda: control.stopJ(5.0) is None)


@record
def set_payload():
    ok = control.setPayload(1.5, [0.0, 0.01, 0.05])
    try:
        known = eventually(lambda: abs(receive.getPayload() - 1.5) < 1e-9)
        cog = receive.getPayloadCog()
    finally:
        back = control.setPayload(0.0, [0.0, 0.0, 0.001])
    return ok, known, cog, back


@record
def set_tcp():
    bare = receive.getTargetTCPPose()
    ok = control.setTcp([0.0, 0.0, 0.1, 0.0, 0.0, 0.0])
    offset = fresh(control.getTCPOffset)
    eventually(lambda: abs(receive.getTargetTCPPose()[2] - bare[2]) > 0.05)
    with_tool = receive.getTargetTCPPose()
    return ok, offset, bare, with_tool, control.setTcp([0.0] * 6)


@record
def forward_kinematics():
    # With an offset of zeros the client sends a frame of the wrong size and waits for 300 s.
    q, offset = receive.getTargetQ(), [0.0, 0.0, 0.1, 0.0, 0.0, 0.0]
    return fresh(lambda: control.getForwardKinematics(q, offset)), q


@record
def forward_kinematics_here():
    return fresh(control.getForwardKinematics), receive.getActualTCPPose()


@record
def flange_pose():
    return fresh(control.getActualToolFlangePose), receive.getActualTCPPose()


@record
def inverse_kinematics():
    return fresh(lambda: control.getInverseKinematics(receive.getTargetTCPPose())), receive.getTargetQ()


@record
def inverse_kinematics_near():
    q = receive.getTargetQ()
    near = [angle + 0.05 for angle in q]
    return fresh(lambda: control.getInverseKinematics(receive.getTargetTCPPose(), near)), q


@record
def inverse_kinematics_has_solution():
    far = [9.0, 9.0, 9.0, 0.0, 0.0, 0.0]
    return (
        fresh(lambda: control.getInverseKinematicsHasSolution(receive.getTargetTCPPose())),
        fresh(lambda: control.getInverseKinematicsHasSolution(far)),
    )


@record
def within_limits():
    q = receive.getTargetQ()
    return (
        fresh(lambda: control.isJointsWithinSafetyLimits(q)),
        fresh(lambda: control.isJointsWithinSafetyLimits(moved(q, 0, 7.0))),
    )


@record
def mass_matrix():
    return fresh(control.getMassMatrix), receive.getActualQ()


@record
def jacobian():
    return fresh(control.getJacobian), receive.getActualQ()


@record
def joint_torques():
    return fresh(control.getJointTorques)


@record
def steady():
    return eventually(lambda: bool(fresh(control.isSteady)))


@record
def pose_trans():
    return fresh(
        lambda: control.poseTrans([0.1, 0.2, 0.3, 0.0, 0.0, 1.5707963267948966], [0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    )


@record
def digital_outputs():
    sent = (
        pins.setStandardDigitalOut(3, True),
        pins.setConfigurableDigitalOut(1, True),
        pins.setToolDigitalOut(0, True),
    )
    expected = 1 << 3 | 1 << 9 | 1 << 16
    return sent, eventually(lambda: receive.getActualDigitalOutputBits() == expected)


@record
def analog_outputs():
    sent = pins.setAnalogOutputVoltage(0, 0.5), pins.setAnalogOutputCurrent(1, 0.25)
    return sent, eventually(
        lambda: (
            abs(receive.getStandardAnalogOutput0() - 5.0) < 1e-9
            and abs(receive.getStandardAnalogOutput1() - 0.008) < 1e-9
        )
    )


@record
def speed_slider():
    sent = pins.setSpeedSlider(0.5)
    slow = eventually(lambda: abs(receive.getSpeedScaling() - 0.5) < 1e-9)
    return sent, slow, pins.setSpeedSlider(1.0)


@record
def kick_watchdog():
    armed = control.setWatchdog(2.0)
    alive = [every_period(0.1, lambda t: control.kickWatchdog()) for _ in range(20)]
    running = control.isProgramRunning()
    return armed, all(alive), running


@record
def starved_watchdog():
    return eventually(lambda: not control.isProgramRunning())


print(json.dumps(results), flush=True)
control.disconnect()
