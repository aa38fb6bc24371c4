"""A position servo drives a MuJoCo joint: its firmware, motor and gear friction."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from pliant.actuators import (
    PID,
    CompliantJoint,
    JointReader,
    ServoDrive,
    StabilityError,
    add_compliant_joint,
    compile_model,
    compliant_joints,
    load_model,
    restart_servo,
    save_model,
    servo_status,
)
from pliant.actuators.ax12a import AX12A, COUNT
from pliant.actuators.bam import SERVOS, BamServo
from pliant.actuators.servo import drive_names
from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError

WEIGHT, OWN_INERTIA = 0.2 * 9.81 * 0.04, 0.2 * 0.04**2
MX64 = ServoDrive("MX-64", p_gain=32)


def driven(servo: ServoDrive, **options) -> CompliantJoint:
    return CompliantJoint("rigid", "link_position", servo=servo, **options)


def started(model: mujoco.MjModel, angle: float) -> mujoco.MjData:
    data = mujoco.MjData(model)
    data.qpos[0] = angle
    return data


def test_under_a_load_it_rests_where_its_gain_and_its_friction_balance_it(pendulum, simulate):
    model = compile_model(pendulum(driven(MX64), mass=4.0))
    end = simulate(model, 1.0, 3.0).position[-1, 0]
    kt, resistance, friction = 1.622, 3.949, 0.0904
    gain = kt * 12.0 / resistance * 0.158 * 32
    sag = 20 * WEIGHT * np.sin(end) / gain
    assert abs(1.0 - end - sag) < friction / gain


@pytest.mark.parametrize(("servo", "holds"), [("MX-64", True), ("XL330", False)])
def test_friction_holds_what_is_below_it_exactly_still_and_nothing_else(pendulum, simulate, servo, holds):
    """Without a goal to drive to, gears of 0.0904 and 0.0128 N·m under a weight of 0.066 N·m."""
    model = compile_model(pendulum(driven(ServoDrive(servo, p_gain=0))))
    data = started(model, 1.0)
    first = simulate(model, 0.0, 1.0, data).position[-1, 0]
    later = simulate(model, 0.0, 20.0, data).position[-1, 0]
    if holds:
        assert first == pytest.approx(1.0, abs=1e-4)
        assert later == pytest.approx(first, abs=1e-12)
    else:
        assert abs(later) < 0.3


@pytest.mark.parametrize("integrator", ["euler", "implicitfast", "discrete"])
@pytest.mark.parametrize("servo", ["XL330/m1", "XL330/m2", "XL330/m3", "XL330/m4", "XL330/m5", "XL330/m6"])
def test_without_a_goal_to_drive_to_it_only_takes_energy(pendulum, simulate, servo, integrator):
    model = compile_model(pendulum(driven(ServoDrive(servo, p_gain=0)), mass=1.0, integrator=integrator))
    motion = simulate(model, 0.0, 3.0, started(model, 2.5))
    inertia = 5 * OWN_INERTIA + model.dof_armature[0]
    kinetic = 0.5 * inertia * motion.velocity[:, 0] ** 2
    energy = kinetic - 5 * WEIGHT * np.cos(motion.position[:, 0])
    assert np.ptp(motion.position) > 2.0
    assert energy[0] - energy[-1] > 0.3
    assert np.diff(energy).max() < 2e-5  # a step's error of the integrator at 9 rad/s, of 1 J


def test_far_from_its_goal_the_motor_runs_at_its_no_load_speed_in_proportion_to_the_supply(pendulum, simulate):
    """Without friction, 66 rpm at 12 V and 3/4 of that at 9 V."""
    ideal = AX12A(friction=0.0, damping=0.0)
    for voltage, share in ((None, 1.0), (9.0, 0.75)):
        joint = driven(ServoDrive(ideal, voltage=voltage), position_range=(-100.0, 100.0))
        speed = simulate(compile_model(pendulum(joint, gravity=0.0)), 100.0, 1.0).velocity[-1, 0]
        assert speed == pytest.approx(share * 66 * 2 * np.pi / 60, rel=1e-3)


@pytest.mark.parametrize(
    ("bar", "rise", "overshoot", "full_speed"),
    [(1e-7, (0.305, 0.316), (0.038, 0.042), (0.12, 0.15)), (0.0046, (0.314, 0.325), (0.058, 0.060), (0.0, 0.25))],
)
def test_an_ax12a_steps_as_recorded_bare_and_with_a_bar_on_its_horn(bar, rise, overshoot, full_speed):
    """498 counts. Recorded, at 16 ms a sample: 310 and 319–323 ms from 10 to 90 %, 61–67 rpm on the way."""
    spec = mujoco.MjSpec()
    spec.option.gravity = [0.0, 0.0, 0.0]
    body = spec.worldbody.add_body(explicitinertial=True, mass=0.1, inertia=[bar] * 3)
    body.add_joint(name="horn", axis=[0, 0, 1])
    spec.option.timestep = 1e-3
    add_compliant_joint(spec, "horn", driven("AX-12A"))
    model = compile_model(spec)
    data = mujoco.MjData(model)
    goal = 498 * COUNT
    data.ctrl[0] = goal
    angles, speeds = np.zeros(1200), np.zeros(1200)
    for k in range(1200):
        mujoco.mj_step(model, data)
        angles[k], speeds[k] = data.qpos[0], data.qvel[0]
    first, last = (1e-3 * (np.argmax(angles > share * goal) + 1) for share in (0.1, 0.9))
    assert rise[0] <= last - first <= rise[1]
    assert overshoot[0] - 1e-3 <= angles.max() / goal - 1.0 <= overshoot[1] + 1e-3
    assert 61.0 <= speeds.max() * 60.0 / (2.0 * np.pi) <= 67.0
    assert full_speed[0] <= 1e-3 * np.argmax(speeds > 0.95 * speeds.max()) <= full_speed[1]
    assert abs(angles[-1] - goal) < 1.5 * COUNT


def test_a_warm_servo_is_weaker(pendulum, simulate):
    ends = [
        simulate(compile_model(pendulum(driven(replace(drive, temperature=t)))), 1.0, 0.05).position[-1, 0]
        for drive in (ServoDrive("XL330/m6", p_gain=400),)
        for t in (25.0, 60.0)
    ]
    assert ends[1] < 0.97 * ends[0]


def test_an_ax12a_sags_by_its_margin_and_slope(pendulum, simulate):
    """0.3 N·m of weight on 9.16 N·m/rad behind a dead band of one count and a punch of 32/1023."""
    servo = AX12A(friction=0.0, damping=0.0)
    model = compile_model(pendulum(driven(ServoDrive(servo)), mass=0.8, damping=0.2))
    end = simulate(model, np.pi / 2, 5.0).position[-1, 0]
    load, punch = 4 * WEIGHT * np.sin(end), 1.5 * 32 / 1023
    sag = COUNT + (load - punch) / servo.stiffness(servo.powered_on)
    assert np.pi / 2 - end == pytest.approx(sag, rel=1e-3)


class TestOverload:
    """An AX-12A that pushes in vain against the end of its joint's range."""

    @pytest.fixture
    def blocked(self, pendulum):
        def make(servo: AX12A) -> mujoco.MjModel:
            spec = pendulum(driven(ServoDrive(servo)))
            spec.compiler.degree = False
            spec.joint("hinge").limited = mujoco.mjtLimited.mjLIMITED_TRUE
            spec.joint("hinge").range = [-1.0, 1.0]
            return compile_model(spec)

        return make

    def test_it_shuts_down_after_its_time_falls_and_returns_when_it_is_restarted(self, blocked, simulate):
        model = blocked(AX12A(overload_time=0.5))
        (joint,) = compliant_joints(model)
        data = started(model, 1.0)
        simulate(model, 1.5, 0.45, data)
        assert 0.3 < servo_status(model, data, joint).overloaded_for <= 0.45, "since it came to rest there"
        assert not servo_status(model, data, joint).shut_down
        simulate(model, 1.5, 3.0, data)
        assert servo_status(model, data, joint).shut_down
        assert abs(data.qpos[0]) < 0.3, "it hangs, but for its friction"
        restart_servo(model, data, joint)
        simulate(model, 0.5, 1.0, data)
        assert data.qpos[0] == pytest.approx(0.5, abs=0.02)
        assert servo_status(model, data, joint) == (0.0, False)

    def test_without_the_overload_bit_in_its_shutdown_register_it_pushes_for_ever(self, blocked, simulate):
        model = blocked(AX12A(overload_time=0.5, shutdown=0))
        data = started(model, 1.0)
        simulate(model, 1.5, 3.0, data)
        assert data.qpos[0] > 0.99

    def test_only_a_servo_has_a_status(self, pendulum):
        model = compile_model(pendulum(CompliantJoint("sea")))
        (joint,) = compliant_joints(model)
        with pytest.raises(ConfigurationError, match="'hinge' is not driven by a servo"):
            servo_status(model, mujoco.MjData(model), joint)


@pytest.fixture
def arm():
    """Two links of 0.2 m and 0.3 kg, whose joints feel each other, each driven by an MX-64 with load friction."""
    geared = BamServo(
        "geared", "m4", {**SERVOS["MX-64"].values, "kcs": 0.05, "km": 0.1, "kms": 0.1}, 12.0, "made up", 0.158
    )

    def make(timestep: float = 1e-3) -> mujoco.MjModel:
        spec = mujoco.MjSpec()
        spec.option.timestep = timestep
        parent = spec.worldbody
        for name in ("shoulder", "elbow"):
            parent = parent.add_body(pos=[0, 0, 0] if name == "shoulder" else [0, 0, -0.2])
            parent.add_joint(name=name, axis=[0, 1, 0])
            parent.add_geom(
                type=mujoco.mjtGeom.mjGEOM_CAPSULE, fromto=[0, 0, 0, 0, 0, -0.2], size=[0.01, 0, 0], mass=0.3,
                contype=0, conaffinity=0,
            )  # fmt: skip
            add_compliant_joint(spec, name, driven(ServoDrive(geared, p_gain=16)))
        return compile_model(spec)

    return make


@pytest.mark.parametrize("timestep", [5e-4, 1e-3, 2e-3])
def test_joints_that_feel_each_other_come_to_rest_and_carry_their_weight(arm, simulate, timestep):
    model = arm(timestep)
    data = mujoco.MjData(model)
    simulate(model, (1.0, -0.6), 3.0, data)
    assert np.abs(data.qvel).max() < 1e-9
    torque = JointReader(model, data, compliant_joints(model)).read()[:, 2]
    assert torque == pytest.approx(data.qfrc_bias, abs=1e-6)
    assert data.qpos == pytest.approx([1.0, -0.6], abs=0.06)


def test_the_motion_converges_with_the_time_step(arm, simulate):
    def end(timestep):
        return simulate(arm(timestep), lambda t: (np.sin(3 * t), np.sin(5 * t)), 1.3).position[-1]

    finest = end(5e-5)
    errors = [np.abs(end(h) - finest).max() for h in (2e-3, 1e-3, 5e-4)]
    assert errors[0] < 0.02
    assert errors[2] < 0.6 * errors[1] < 0.36 * errors[0]


def test_a_saved_model_has_the_same_servos(pendulum, simulate, tmp_path):
    for servo in (ServoDrive("XL330/m6", p_gain=400, voltage=5.0), ServoDrive(AX12A(cw_slope=8))):
        spec = pendulum(driven(servo, delay=0.003))
        before = simulate(compile_model(spec), 0.7, 0.5)
        save_model(spec, tmp_path / "model.xml")
        model = load_model(tmp_path / "model.xml")
        assert compliant_joints(model)[0].description.servo == servo
        assert simulate(model, 0.7, 0.5).act.tobytes() == before.act.tobytes()


def test_its_inertia_is_its_joints_armature_and_never_added_to_another(pendulum):
    assert compile_model(pendulum(driven(MX64))).dof_armature[0] == 0.01195
    spec = pendulum(armature=0.01)
    with pytest.raises(
        ConfigurationError, match=r"armature of 0\.01 kg·m² of its own, and its servo brings 0\.01195"
    ):
        add_compliant_joint(spec, "hinge", driven(MX64))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ServoDrive("MX64", p_gain=8), UnknownNameError, "MX-64"),
        (lambda: ServoDrive("eRob80:50", p_gain=8), UnknownNameError, "AX-12A"),
        (lambda: ServoDrive("MX-64"), ConfigurationError, "needs p_gain"),
        (lambda: ServoDrive("AX-12A", p_gain=8), ConfigurationError, "has no P gain"),
        (lambda: ServoDrive(BamServo("x", "m1", {}, 12.0, "x"), 8), ConfigurationError, "no P gain register"),
        (lambda: ServoDrive("MX-64", p_gain=float("nan")), OutOfBoundsError, "p_gain"),
        (lambda: ServoDrive("MX-64", 8, voltage=0.0), OutOfBoundsError, "voltage"),
        (lambda: ServoDrive("MX-64", 8, temperature=1e3), OutOfBoundsError, "temperature"),
        (lambda: ServoDrive("XL330/m1", 400, temperature=-40.0), OutOfBoundsError, "resistance at -40 °C"),
        (lambda: ServoDrive("MX-64", p_gain="a"), OutOfBoundsError, "p_gain is 'a'"),
        (lambda: ServoDrive(12), ConfigurationError, "12 is no servo"),
        (lambda: CompliantJoint("rigid", 1, servo=AX12A()), ConfigurationError, "give its name or a ServoDrive"),
        (lambda: CompliantJoint("rigid", 1, servo="MX-64"), ConfigurationError, "needs p_gain"),
        (lambda: CompliantJoint("qbmove", 6, servo=MX64), ConfigurationError, "mode 1"),
        (lambda: CompliantJoint("rigid", 1, servo=MX64, pid=PID()), ConfigurationError, "not both"),
    ],
)
def test_what_makes_no_sense_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_joint_takes_a_servo_without_settings_by_its_name():
    assert CompliantJoint("rigid", 1, servo="AX-12A") == driven(ServoDrive(AX12A()))


def test_every_named_servo_can_drive_a_joint(pendulum, simulate):
    for name in drive_names():
        servo = ServoDrive(name, p_gain=None if name == "AX-12A" else 30.0)
        assert np.isfinite(simulate(compile_model(pendulum(driven(servo))), 0.5, 0.2).position).all()


def test_a_time_step_that_it_could_not_take_is_refused(pendulum):
    with pytest.raises(StabilityError, match="a softer position loop"):
        compile_model(pendulum(driven(ServoDrive("MX-64", p_gain=3000)), timestep=5e-3))
    with pytest.raises(ConfigurationError, match="RK4"):
        compile_model(pendulum(driven(MX64), integrator="rk4"))


def test_a_cold_servo_is_stiffer_and_bounds_the_time_step_sooner():
    warm, cold = (ServoDrive("XL330/m1", 400, temperature=t) for t in (25.0, 0.0))
    assert cold.stiffness / warm.stiffness == pytest.approx(warm.resistance / cold.resistance)
    assert cold.stiffness > 1.3 * warm.stiffness
    assert cold.damping > 1.3 * warm.damping


def test_it_is_stable_up_to_the_refused_time_step(pendulum, simulate):
    drive = ServoDrive(replace(SERVOS["MX-64"], max_duty=1.0), p_gain=3000)
    tried = (1e-3, 1.5e-3, 2e-3, 2.5e-3, 3e-3, 3.5e-3, 4e-3, 5e-3)
    steps = [h for h in tried if _compiles(pendulum(driven(drive), timestep=h))]
    assert 1e-3 < steps[-1] < 5e-3
    for step in steps:
        motion = simulate(compile_model(pendulum(driven(drive), timestep=step)), 0.0005, 2.0)
        assert np.abs(motion.velocity[-50:]).max() < 1e-6


def _compiles(spec: mujoco.MjSpec) -> bool:
    try:
        compile_model(spec)
    except StabilityError:
        return False
    return True
