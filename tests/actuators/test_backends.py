"""Compiled and interpreted joints move alike to the last bit, and a joint's state is all in the data."""

import copy
import ctypes
from functools import cache

import mujoco
import numpy as np
import pytest
from mujoco import batch, rollout

from pliant.actuators import (
    PID,
    CompliantJoint,
    JointReader,
    Motor,
    ServoDrive,
    add_compliant_joint,
    compile_model,
    compliant_joints,
    find_law,
    install,
    kernel,
    native,
    native_access,
)
from pliant.actuators.layout import IDENTITY, LAW_AT, MAGIC_VALUE
from pliant.actuators.library import mujoco_library

ELASTIC = ("sea", "qbmove", "bavs", "awas2")
JOINTS = [("rigid", 0), ("rigid", 1), *((law, mode) for law in ELASTIC for mode in range(2, 7))]
"""Every law in every mode it runs in."""

SERVOS = {
    "m6": ServoDrive("XL330/m6", p_gain=400),
    "m1": ServoDrive("MX-64", p_gain=32),
    "ax": ServoDrive("AX-12A"),
}
"""What may drive a joint in mode 1, but not under RK4."""

INTEGRATORS = ("euler", "implicit", "implicitfast", "rk4", "discrete", "discrete with implicit stiffness")


@cache
def zoo_spec(integrator: str, delay: int) -> mujoco.MjSpec:
    """A spec with a pendulum for every law and mode; `delay` in time steps."""
    implicit = integrator.endswith("stiffness")
    spec = mujoco.MjSpec()
    spec.option.timestep = 4e-3 if implicit else 1e-3  # long enough that the springs are beyond an explicit step
    spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.split()[0].upper()}")
    servos = {} if integrator == "rk4" else SERVOS
    for law, mode, servo in [*((*joint, None) for joint in JOINTS), *(("rigid", 1, name) for name in servos)]:
        body = spec.worldbody.add_body()
        body.add_geom(size=[0.01, 0, 0], pos=[0.0, 0.0, -0.05], mass=0.2, contype=0, conaffinity=0)
        name = servo or f"{law}{mode}"
        body.add_joint(name=name, axis=[0, 1, 0]).damping[0] = 0.01
        pid = PID(kp=40.0, ki=20.0, kd=0.5) if mode > 1 else PID(kp=4.0, ki=2.0, kd=0.05)
        joint = CompliantJoint(
            law=law, mode=mode, delay=delay * spec.option.timestep, implicit=implicit and mode >= 2,
            motor=Motor(static_friction=0.1),
            pid=None if servo else pid, servo=SERVOS.get(servo),
            preset_range=(0.0, 0.02) if law == "awas2" else None,
        )  # fmt: skip
        add_compliant_joint(spec, name, joint, replace=servo is not None)  # a servo brings its own damping
    return spec


@cache
def zoo_model(integrator: str, delay: int) -> mujoco.MjModel:
    return compile_model(zoo_spec(integrator, delay))


def zoo(integrator: str, delay: int = 0, backend: str = "native") -> mujoco.MjModel:
    """The compiled zoo, with the callbacks installed."""
    model = zoo_model(integrator, delay)
    install(backend)
    return model


def controls(model: mujoco.MjModel, steps: int, reach: float = 1.0) -> np.ndarray:
    """Sines, each of its own frequency, about the middle of the references' ranges."""
    low, high = model.actuator_ctrlrange.T
    phase = 2.0 + np.arange(model.nu)
    time = np.arange(steps)[:, None] * model.opt.timestep
    return 0.5 * (low + high) + reach * 0.25 * (high - low) * np.sin(phase * time)


def trajectory(model: mujoco.MjModel, control: np.ndarray, data: mujoco.MjData | None = None) -> np.ndarray:
    """Position, velocity and activation after every step."""
    data = mujoco.MjData(model) if data is None else data
    end = data.time + len(control) * model.opt.timestep
    lines = np.zeros((len(control), model.nq + model.nv + model.na))
    for k, line in enumerate(control):
        data.ctrl[:] = line
        mujoco.mj_step(model, data)
        lines[k] = np.concatenate([data.qpos, data.qvel, data.act])
    assert np.all(np.isfinite(lines))
    assert data.time == pytest.approx(end), "MuJoCo has not reset it"
    return lines


@pytest.mark.parametrize("delay", [0, 5])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_native_and_python_trajectories_are_identical(integrator, delay):
    model = zoo(integrator, delay)
    control = controls(model, 150)
    native = trajectory(model, control)
    install("python")
    interpreted = trajectory(model, control)
    differ = [model.joint(i).name for i in range(model.njnt) if np.any(native[:, i] != interpreted[:, i])]
    assert differ == []
    assert native.tobytes() == interpreted.tobytes()
    moved = np.ptp(native[:, : model.nq], axis=0)
    assert np.all(moved > 1e-3), "every joint has moved"


def test_the_zoo_has_springs_that_only_an_implicit_step_can_carry():
    model = zoo("discrete with implicit stiffness")
    act = trajectory(model, controls(model, 150))[:, model.nq + model.nv :]
    last = {
        joint.description.law.law.name: model.actuator_actadr[i] + model.actuator_actnum[i] - 1
        for joint in compliant_joints(model)
        for i in joint.actuators[:1]
    }
    assert {law for law in ELASTIC if np.min(act[:, last[law]]) < 0.0} >= {"sea", "bavs", "awas2"}


@pytest.fixture
def interpreted_callbacks(monkeypatch):
    """The source of the compiled callbacks as Python runs it, its access to memory made of ctypes."""
    native.readers()  # compiles all of it, from the true functions
    double_pointer = ctypes.POINTER(ctypes.c_double)
    law_function = ctypes.CFUNCTYPE(ctypes.c_double, *3 * [ctypes.c_double], double_pointer, double_pointer)
    library = ctypes.CDLL(mujoco_library()._name)
    read_control = library.mj_readCtrl
    read_control.restype = ctypes.c_size_t
    read_control.argtypes = [
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_double, ctypes.c_void_p, ctypes.c_int,
    ]  # fmt: skip

    def call_law(function, x, y, z, p):
        out = (ctypes.c_double * 2)()
        return law_function(function)(x, y, z, p, out), out[0], out[1]

    drive_function = ctypes.CFUNCTYPE(
        ctypes.c_double, ctypes.c_int64, *9 * [ctypes.c_double], double_pointer, ctypes.c_int64, double_pointer,
        ctypes.c_int64, double_pointer, double_pointer,
    )  # fmt: skip

    def call_drive(function, *arguments):
        return drive_function(function)(*arguments)

    access = {
        "doubles": lambda address: ctypes.cast(address, double_pointer),
        "int64_at": lambda address: ctypes.c_int64.from_address(address).value,
        "int32_at": lambda address: ctypes.c_int32.from_address(address).value,
        "int8_at": lambda address: ctypes.c_int8.from_address(address).value,
        "call_law": call_law,
        "call_drive": call_drive,
        "_read_control": read_control,
        "_table_address": lambda: native_access.law_table.ctypes.data,
    }
    for module in (native, native_access):
        for name, function in access.items():
            monkeypatch.setattr(module, name, function, raising=False)
    for name in ("spring_torques", "spring_stiffness", "map_references", "call_drive"):
        typed = getattr(native, f"_{name}")
        monkeypatch.setattr(kernel, name, lambda *a, typed=typed: typed(*a)(*a))
    return native._act_dyn, native._act_bias


@pytest.mark.parametrize("delay", [0, 5])
@pytest.mark.parametrize("integrator", ["euler", "rk4", "discrete with implicit stiffness"])
def test_the_compiled_source_is_plain_code_that_python_can_run(interpreted_callbacks, integrator, delay):
    model = zoo(integrator, delay)
    data = mujoco.MjData(model)
    trajectory(model, controls(model, 40), data)
    ours = [i for i in range(model.nu) if model.actuator_user[i, 0] == MAGIC_VALUE]
    for i in ours:
        first, size = int(model.actuator_actadr[i]), int(model.actuator_actnum[i])
        results = []
        for dyn, bias in (native.callbacks(), interpreted_callbacks):
            data.act_dot[:] = 0.0
            if size:
                dyn(model._address, data._address, i)
            force = bias(model._address, data._address, i)
            results.append((force, data.act_dot[first : first + size].tolist() if size else []))
        assert results[0] == results[1], model.actuator(i).name
    assert len(ours) == len(JOINTS) + len(SERVOS) * (integrator != "rk4")
    plain = next(i for i in range(model.nu) if i not in ours)
    stranger = copy.deepcopy(model)
    stranger.actuator_user[0, IDENTITY] += 1.0
    for function in interpreted_callbacks:
        assert np.isnan(function(model._address, data._address, plain)), "not one of ours"
        assert np.isnan(function(stranger._address, data._address, 0)), "a law that nobody knows"


def test_the_compiled_readers_source_is_plain_code_that_python_can_run(interpreted_callbacks):
    model = zoo("euler")
    joints = compliant_joints(model)
    data = mujoco.MjData(model)
    trajectory(model, controls(model, 40), data)
    reader = JointReader(model, data, joints)
    compiled = reader.read().copy()
    reader.values[:] = 0.0
    native.read_joints(*reader._arguments)
    assert reader.values.tobytes() == compiled.tobytes()
    for joint, line in zip(joints, compiled, strict=True):
        where = slice(model.actuator_actadr[joint.actuators[0]], None)
        arrays = [
            np.ascontiguousarray(array)
            for array in (
                model.actuator_user[joint.actuators[0]], data.qpos[[joint.joint]], data.qvel[[joint.joint]],
                data.ctrl[list(joint.actuators)], data.act[where][: model.actuator_actnum[joint.actuators[0]]],
            )
        ]  # fmt: skip
        row, q, dq, control, act = (array.ctypes.data for array in arrays)
        bounds = np.array([-np.inf, np.inf, model.opt.timestep])
        out = np.zeros(len(line))
        native._trace_joint(
            row, 1, q, dq, control, len(joint.actuators), act, len(arrays[-1]), bounds.ctypes.data, out.ctypes.data
        )
        assert out.tobytes() == line.tobytes()


# RK4 is no plain shift: see test_delay.py, where it is compared with MuJoCo's own actuators.
@pytest.mark.parametrize("integrator", ["euler", "discrete with implicit stiffness"])
def test_a_delay_of_five_steps_moves_the_controls_by_five_steps(integrator):
    control = controls(zoo(integrator), 150)
    late = np.vstack([np.zeros((5, control.shape[1])), control[:-5]])
    delayed = trajectory(zoo(integrator, 5), control)
    assert delayed.tobytes() == trajectory(zoo(integrator), late).tobytes()


@pytest.mark.parametrize("backend", ["native", "python"])
def test_controls_outside_their_range_act_like_the_bound(backend):
    model = zoo("euler", backend=backend)
    low, high = model.actuator_ctrlrange.T
    control = controls(model, 100, reach=5.0)
    assert np.any(control > high)
    assert np.any(control < low)
    clipped = np.clip(control, low, high)
    assert trajectory(model, control).tobytes() == trajectory(model, clipped).tobytes()


@pytest.mark.parametrize("delay", [0, 5])
@pytest.mark.parametrize("integrator", ["euler", "rk4", "discrete with implicit stiffness"])
class TestStateIsInTheData:
    def test_a_state_taken_and_set_continues_to_the_last_bit(self, integrator, delay):
        model = zoo(integrator, delay)
        control = controls(model, 200)
        data = mujoco.MjData(model)
        trajectory(model, control[:100], data)
        kind = mujoco.mjtState.mjSTATE_INTEGRATION
        state = np.zeros(mujoco.mj_stateSize(model, kind))
        mujoco.mj_getState(model, data, state, kind)
        rest = trajectory(model, control[100:], data)
        other = mujoco.MjData(model)
        mujoco.mj_setState(model, other, state, kind)
        assert trajectory(model, control[100:], other).tobytes() == rest.tobytes()

    def test_copies_continue_to_the_last_bit(self, integrator, delay):
        model = zoo(integrator, delay)
        control = controls(model, 200)
        data = mujoco.MjData(model)
        trajectory(model, control[:100], data)
        twin, twin_model = copy.copy(data), copy.deepcopy(model)
        rest = trajectory(model, control[100:], data)
        assert trajectory(twin_model, control[100:], twin).tobytes() == rest.tobytes()

    @pytest.mark.parametrize("threads", [1, 2])
    def test_rollout_gives_the_steps_one_by_one(self, integrator, delay, threads):
        model = zoo(integrator, delay)
        data = mujoco.MjData(model)
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        start = np.zeros(mujoco.mj_stateSize(model, kind))
        mujoco.mj_getState(model, data, start, kind)
        control = np.stack([controls(model, 150, reach) for reach in (0.2, 0.5, 0.8, 1.0)])
        workers = [mujoco.MjData(model) for _ in range(threads)]
        states, _ = rollout.rollout(model, workers, start, control)
        for line, inputs in zip(states, control, strict=True):
            steps = trajectory(model, inputs)
            assert np.array_equal(line[:, 1 : 1 + steps.shape[1]], steps)

    @pytest.mark.parametrize("threads", [1, 2])
    def test_a_batch_gives_the_steps_one_by_one(self, integrator, delay, threads):
        model = zoo(integrator, delay)
        inputs = [controls(model, 60, reach) for reach in (0.2, 0.6, 1.0)]
        many = batch.Batch(model, nsim=3, nthread=threads)
        ctrl, qpos, act = many.bind("ctrl"), many.bind("qpos"), many.bind("act")
        recorded = []
        for lines in zip(*inputs, strict=True):
            ctrl[:] = lines
            many.step()
            recorded.append(np.hstack([qpos, act]))
        for sim, control in enumerate(inputs):
            steps = trajectory(model, control)
            expected = np.hstack([steps[:, : model.nq], steps[:, model.nq + model.nv :]])
            assert np.array_equal(np.array(recorded)[:, sim], expected)


def test_a_keyframe_and_a_reset_bring_back_the_whole_joint(pendulum, simulate):
    spec = pendulum(CompliantJoint(law="qbmove", mode=6))
    spec.add_key(name="half-way")
    model = compile_model(spec)
    data = mujoco.MjData(model)
    first = simulate(model, (0.5, 0.3), 0.1, data)
    mujoco.mj_setKeyframe(model, data, 0)
    rest = simulate(model, (0.5, 0.3), 0.1, data)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    assert simulate(model, (0.5, 0.3), 0.1, data).act.tobytes() == rest.act.tobytes()
    mujoco.mj_resetData(model, data)
    assert simulate(model, (0.5, 0.3), 0.1, data).act.tobytes() == first.act.tobytes()


def test_batch_refuses_python_callbacks(pendulum):
    model = compile_model(pendulum(CompliantJoint(law="sea", mode=3)), "python")
    many = batch.Batch(model, nsim=2, nthread=1)
    with pytest.raises(ValueError, match="Python"):
        many.step()


def test_a_batch_may_give_every_simulation_its_own_spring(pendulum, simulate):
    """The joint's parameters are model parameters: a row of `actuator_user` per simulation."""
    stiffnesses = (5.0, 20.0)
    model = compile_model(pendulum(CompliantJoint(law="sea", mode=3), damping=0.01))
    many = batch.Batch(model, nsim=2, nthread=1)
    rows = many.expand("actuator_user")
    rows[:, 0, LAW_AT] = stiffnesses
    many.bind("ctrl")[:] = 0.5
    many.step(nstep=2000)
    for k, found in zip(stiffnesses, many.bind("qpos")[:, 0], strict=True):
        own = compile_model(pendulum(CompliantJoint(law=find_law("sea")(k=k), mode=3), damping=0.01))
        assert found == simulate(own, 0.5, 2.0).position[-1, 0]
