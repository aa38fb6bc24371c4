"""MuJoCo has one pair of actuator callbacks a process: ours serve every model and leave others' alone."""

import ctypes
import threading

import mujoco
import numpy as np
import pytest

from pliant.actuators import (
    Backend,
    CallbackOwnershipError,
    CompliantJoint,
    JointReader,
    add_compliant_joint,
    compile_model,
    compliant_joints,
    current_backend,
    find_law,
    install,
    load_model,
    prepare_model,
    save_model,
    uninstall,
)
from pliant.actuators.callbacks import _address
from pliant.actuators.layout import IDENTITY
from pliant.errors import ConfigurationError, UnknownNameError

SETTERS = {"mjcb_act_dyn": mujoco.set_mjcb_act_dyn, "mjcb_act_bias": mujoco.set_mjcb_act_bias}

c_callback = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)


@c_callback
def foreign_c(model, data, actuator):
    return 0.0


def foreign_python(model, data, actuator):
    return 0.0


def sine(t):
    return (0.5 * np.sin(5 * t), 0.2)


@pytest.mark.parametrize("backend", ["native", "python"])
def test_installing_and_removing_leaves_nothing_behind(backend):
    uninstall()  # what a test elsewhere left
    assert current_backend() is None
    assert install(backend) is Backend(backend) is current_backend()
    assert all(_address(name) for name in SETTERS)
    uninstall()
    assert current_backend() is None
    assert [_address(name) for name in SETTERS] == [0, 0]
    uninstall()


def test_native_is_the_default_and_a_chosen_back_end_is_kept():
    assert install() is Backend.NATIVE
    assert install("python") is Backend.PYTHON
    assert install() is Backend.PYTHON
    assert install(Backend.NATIVE) is Backend.NATIVE


def test_an_unknown_back_end_is_refused():
    with pytest.raises(UnknownNameError, match=r"unknown back end 'numba'.*native, python"):
        install("numba")


@pytest.mark.parametrize("name", list(SETTERS))
@pytest.mark.parametrize("foreign", [foreign_c, foreign_python], ids=["ctypes", "python"])
class TestForeignCallbacks:
    def test_one_that_was_there_first_is_an_error_and_stays(self, pendulum, tmp_path, foreign, name):
        save_model(pendulum(CompliantJoint(law="sea", mode=5)), tmp_path / "rig.xml")
        SETTERS[name](foreign)
        theirs = _address(name)
        assert theirs
        spec = pendulum(CompliantJoint(law="sea", mode=5))
        for attempt in (
            lambda: install(),
            lambda: install("python"),
            lambda: compile_model(spec),
            lambda: load_model(tmp_path / "rig.xml"),
            lambda: save_model(spec, tmp_path / "again.xml"),
        ):
            with pytest.raises(CallbackOwnershipError, match=rf"another {name}.*set_{name}\(None\)"):
                attempt()
            assert _address(name) == theirs
            assert current_backend() is None
        uninstall()
        assert _address(name) == theirs

    def test_one_that_replaces_ours_is_noticed_and_stays(self, foreign, name):
        install()
        SETTERS[name](foreign)
        theirs = _address(name)
        assert current_backend() is None
        with pytest.raises(CallbackOwnershipError, match=f"another {name}"):
            install()
        uninstall()
        assert _address(name) == theirs
        assert [_address(other) for other in SETTERS if other != name] == [0]


def test_callbacks_that_somebody_removed_are_put_back(pendulum, simulate):
    model = compile_model(pendulum(CompliantJoint(law="sea", mode=3)))
    moved = simulate(model, 0.5, 0.1).position
    mujoco.set_mjcb_act_bias(None)
    assert current_backend() is None
    assert np.all(simulate(model, 0.5, 0.1).position == 0.0), "no callback, no torque"
    install()
    assert simulate(model, 0.5, 0.1).position.tobytes() == moved.tobytes()


def test_somebody_elses_user_actuator_is_refused(pendulum):
    spec = pendulum(CompliantJoint(law="sea", mode=3))
    other = spec.add_actuator(name="theirs", target="hinge", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    other.biastype = mujoco.mjtBias.mjBIAS_USER
    with pytest.raises(ConfigurationError, match="actuator 'theirs' is of type 'user'"):
        compile_model(spec)


@pytest.mark.parametrize("backend", ["native", "python"])
def test_other_actuators_and_models_are_not_disturbed(pendulum, simulate, backend):
    def with_motor(joint):
        spec = pendulum(joint)
        body = spec.worldbody.add_body(pos=[1, 0, 0])
        body.add_joint(name="plain", axis=[0, 1, 0])
        body.add_geom(size=[0.02, 0, 0], pos=[0, 0, -0.1], mass=0.1, contype=0, conaffinity=0)
        spec.add_actuator(
            name="plain", target="plain", trntype=mujoco.mjtTrn.mjTRN_JOINT, gainprm=[2.0] + 9 * [0.0]
        )
        return spec

    bare = with_motor(None).compile()
    alone = simulate(bare, 0.01, 0.2)
    both = compile_model(with_motor(CompliantJoint(law="qbmove", mode=6)), backend)
    column = both.joint("plain").id
    together = simulate(both, [0.5, 0.2, 0.01], 0.2)
    assert together.position[:, column].tobytes() == alone.position[:, bare.joint("plain").id].tobytes()
    assert simulate(bare, 0.01, 0.2).position.tobytes() == alone.position.tobytes()


@pytest.mark.parametrize("backend", ["native", "python"])
def test_two_models_with_different_laws_in_threads_move_as_alone(pendulum, simulate, backend):
    joints = [
        CompliantJoint(law="qbmove", mode=6),
        CompliantJoint(law="bavs", mode=6),
        CompliantJoint(law=find_law("qbmove")("identified_joint1"), mode=5),
        CompliantJoint(law=find_law("qbmove")("identified_joint2"), mode=3),
    ]
    models = [compile_model(pendulum(joint), backend) for joint in joints]
    duration = 0.5 if backend == "native" else 0.1
    alone = [simulate(model, sine, duration) for model in models]
    assert len({motion.position.tobytes() for motion in alone}) == len(models)
    together = [None] * len(models)

    def work(index):
        together[index] = simulate(models[index], sine, duration)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(models))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(alone, together, strict=True):
        assert one.position.tobytes() == other.position.tobytes()
        assert one.act.tobytes() == other.act.tobytes()


def test_a_model_built_in_one_thread_does_not_disturb_another_that_steps(pendulum):
    model = compile_model(pendulum(CompliantJoint(law="qbmove", mode=6)))
    ready = pendulum(CompliantJoint(law="bavs", mode=6))
    compile_model(ready)

    def final(done=None):
        data = mujoco.MjData(model)
        data.ctrl[:] = 0.5, 0.2
        for _ in range(300):
            mujoco.mj_step(model, data, nstep=100)
        if done is not None:
            done.append(data.act.tobytes())
        return data.act.tobytes()

    alone, together, built = final(), [], 0
    thread = threading.Thread(target=final, args=(together,))
    thread.start()
    while thread.is_alive():
        compile_model(ready)
        built += 1
    assert built > 1
    assert together == [alone]


@pytest.mark.parametrize("backend", ["native", "python"])
@pytest.mark.parametrize("mode", [3, 6])
def test_a_law_that_this_process_does_not_know_gives_no_number_rather_than_a_wrong_one(pendulum, mode, backend):
    model = compile_model(pendulum(CompliantJoint(law="sea", mode=mode)), backend)
    model.actuator_user[0, IDENTITY] += 1.0
    data = mujoco.MjData(model)
    data.qpos[0] = 0.1
    mujoco.mj_forward(model, data)
    assert np.isnan(data.qfrc_actuator[0])


@pytest.mark.parametrize("backend", ["native", "python"])
def test_somebody_elses_model_gets_no_number_from_our_callbacks(backend):
    theirs = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody><actuator>
        <general joint="j" dyntype="user" actdim="1" biastype="user" user="1 2 3"/></actuator></mujoco>"""
    )
    data = mujoco.MjData(theirs)
    install(backend)
    mujoco.mj_forward(theirs, data)
    assert np.isnan(data.qfrc_actuator[0])
    assert np.isnan(data.act_dot[0])


def test_a_joint_may_be_added_to_a_spec_that_was_compiled_before(pendulum, simulate):
    spec = pendulum(CompliantJoint(law="sea", mode=3))
    one = compile_model(spec)
    body = spec.body("link").add_body(pos=[0, 0, -0.04])
    body.add_joint(name="second", axis=[0, 1, 0], damping=[0.01, 0, 0])
    body.add_geom(size=[0.02, 0, 0], pos=[0, 0, -0.04], mass=0.1)
    add_compliant_joint(spec, "second", CompliantJoint(law="bavs", mode=6))
    two = compile_model(spec)
    assert (one.nu, two.nu) == (1, 3)
    assert np.isfinite(simulate(two, [0.1, 0.1, 0.01], 0.1).position).all()


class TestMissingCallbacks:
    """Joints whose callbacks are not there have no torque, of which MuJoCo says nothing."""

    def test_a_saved_model_that_mujoco_loads_by_itself_is_refused_by_name(self, pendulum, tmp_path):
        save_model(pendulum(CompliantJoint(law="sea", mode=5)), tmp_path / "rig.xml")
        uninstall()
        model = mujoco.MjModel.from_xml_path(str(tmp_path / "rig.xml"))
        data, joints = mujoco.MjData(model), compliant_joints(model)
        with pytest.raises(CallbackOwnershipError, match=r"joint hinge would have no torque.*prepare_model"):
            JointReader(model, data, joints)
        prepare_model(model)
        data.ctrl[0] = 0.5
        mujoco.mj_step(model, data, 100)
        assert JointReader(model, data, joints).read()[0, 0] == data.qpos[0] != 0.0

    @pytest.mark.parametrize("backend", ["native", "python"])
    def test_callbacks_that_mujoco_resets_are_noticed(self, pendulum, backend):
        model = compile_model(pendulum(CompliantJoint(law="sea", mode=5)), backend)
        reader = JointReader(model, mujoco.MjData(model), compliant_joints(model))
        reader.read()
        mujoco.mj_resetCallbacks()
        with pytest.raises(CallbackOwnershipError, match="mj_resetCallbacks"):
            reader.read()
        install(backend)
        reader.read()
