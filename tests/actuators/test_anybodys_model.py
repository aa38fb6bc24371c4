"""A joint made compliant in a model that somebody else wrote, for purposes of their own."""

import json
import math
import shutil
import struct
import zlib

import mujoco
import numpy as np
import pytest

from pliant.actuators import (
    PID,
    SLIDE,
    CompliantJoint,
    JointReader,
    ServoDrive,
    StabilityError,
    add_compliant_joint,
    compile_model,
    compliant_joints,
    find_law,
    load_model,
    save_model,
    trace_joint,
)
from pliant.errors import ConfigurationError, FileFormatError, MissingFileError, UnknownNameError

SEA = CompliantJoint(find_law("sea")(k=20.0), mode=3)

ARM = """
<mujoco model="theirs">
  {head}
  <worldbody>
    <site name="ceiling" pos="0 0 1"/>
    <body name="upper"><joint name="shoulder" axis="0 1 0"/>
      <geom name="bone" size=".02" pos="0 0 -.1" mass=".5" contype="0" conaffinity="0"/>
      <site name="knob" pos=".05 0 -.1"/>
      <body name="lower" pos="0 0 -.2"><joint name="elbow" axis="0 1 0" {elbow}/>
        <geom size=".02" pos="0 0 -.1" mass=".3" contype="0" conaffinity="0"/>
        <site name="grip" pos="0 0 -.2"/>
        <body name="rail" pos="0 0 -.2"><joint name="slide" type="slide" axis="0 0 1"/>
          <geom size=".01" mass=".1" contype="0" conaffinity="0"/>
          <body name="eye"><joint name="ball" type="ball"/>
            <geom size=".01" mass=".1" contype="0" conaffinity="0"/></body></body></body></body>
  </worldbody>
  {tail}
</mujoco>"""


def arm(head: str = "", tail: str = "", elbow: str = "") -> mujoco.MjSpec:
    return mujoco.MjSpec.from_string(ARM.format(head=head, tail=tail, elbow=elbow))


NASTY = """<compiler autolimits="true"/>
<default>
  <general gear="150" forcerange="-.1 .1" actrange="-.1 .1" dyntype="filter" dynprm=".5" gainprm="3"
    biasprm="1 2 3" biastype="affine" gaintype="affine" delay=".01" nsample="10" interp="linear" group="3"
    ctrlrange="-.1 .1"
    ctrllimited="false" armature=".1" damping="1 0 0" actearly="true"/>
</default>"""


class TestDefaultClasses:
    """`<motor gear="150"/>` in a file's main default made 750 N·m of 5."""

    @pytest.mark.parametrize(
        "joint",
        [
            CompliantJoint("rigid", 0),
            SEA,
            CompliantJoint("qbmove", 6, delay=0.004),
            CompliantJoint("awas2", 6, preset_range=(0.0, 0.01), implicit=True),
            CompliantJoint("rigid", 1, servo=ServoDrive("MX-64", p_gain=32)),
        ],
    )
    def test_none_reaches_the_actuators_of_a_joint(self, joint, tmp_path):
        models = []
        for head in ("", NASTY):
            spec = arm(head)
            spec.option.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE
            spec.option.timestep = 1e-3
            add_compliant_joint(spec, "elbow", joint)
            models.append(compile_model(spec))
            save_model(spec, tmp_path / "model.xml")
            models.append(load_model(tmp_path / "model.xml"))
        fields = [name for name in dir(models[0]) if name.startswith(("actuator_", "dof_armature", "dof_damping"))]
        assert "actuator_gear" in fields
        for model in models[1:]:
            for field in fields:
                assert np.array_equal(getattr(model, field), getattr(models[0], field)), field

    def test_a_motor_class_with_a_gear_leaves_5_newton_metres_5(self):
        spec = arm('<default><motor gear="150" forcerange="-1 1"/></default>')
        add_compliant_joint(spec, "elbow", CompliantJoint("rigid", 0))
        model = compile_model(spec)
        data = mujoco.MjData(model)
        data.ctrl[0] = 5.0
        mujoco.mj_forward(model, data)
        assert data.qfrc_actuator[model.joint("elbow").dofadr[0]] == 5.0

    @pytest.mark.parametrize(
        ("field", "value", "message"),
        [
            ("gear", [2.0, 0, 0, 0, 0, 0], r"'elbow': its actuator has a gear of 2.*Leave the gear at 1"),
            ("forcerange", [-1.0, 1.0], "'elbow': its actuator has forcelimited set. Limit the joint instead"),
            ("actrange", [-1.0, 1.0], "'elbow': its actuator has actlimited set"),
        ],
    )
    def test_what_would_distort_a_joints_torque_is_refused(self, field, value, message):
        spec = arm()
        add_compliant_joint(spec, "elbow", CompliantJoint("sea", 6))
        actuator = spec.actuator("elbow/equilibrium")
        setattr(actuator, field, value)
        limited = field.replace("range", "limited")
        if limited != field:
            setattr(actuator, limited, mujoco.mjtLimited.mjLIMITED_TRUE)
        with pytest.raises(ConfigurationError, match=message):
            compile_model(spec)


TENDONS = """<tendon>
  <fixed name="belt"><joint joint="shoulder" coef="1"/><joint joint="elbow" coef="-1"/></fixed>
  <spatial name="muscle"><site site="ceiling"/><geom geom="bone"/><site site="grip"/></spatial>
  <spatial name="strap"><site site="ceiling"/><site site="knob"/></spatial>
</tendon>"""

DRIVERS = [
    ('<motor name="m" joint="elbow"/>', "actuator 'm', on the joint itself"),
    ('<motor joint="elbow"/>', "actuator number 0 (without a name), on the joint itself"),
    ('<position name="m" jointinparent="elbow" kp="3"/>', "actuator 'm', on the joint itself"),
    ('<motor name="m" tendon="belt"/>', "actuator 'm', on tendon 'belt'"),
    ('<muscle name="m" tendon="muscle"/>', "actuator 'm', on tendon 'muscle'"),
    ('<general name="m" cranksite="grip" slidersite="knob" cranklength=".3"/>', "actuator 'm', a slider-crank"),
    ('<general name="m" site="grip" refsite="ceiling"/>', "actuator 'm', between the sites 'grip' and 'ceiling'"),
]


class TestOtherActuators:
    """An actuator that the file had on the same joint went on pulling, unmentioned."""

    @pytest.mark.parametrize(("actuator", "told"), DRIVERS)
    def test_one_that_drives_the_joint_is_refused_by_name_or_replaced(self, actuator, told):
        spec = arm(tail=f"{TENDONS}<actuator>{actuator}</actuator>")
        before = spec.to_xml()
        with pytest.raises(ConfigurationError) as caught:
            add_compliant_joint(spec, "elbow", SEA)
        assert f"joint 'elbow' is driven already by {told}." in str(caught.value)
        assert "give replace=True" in str(caught.value)
        assert spec.to_xml() == before, "nothing has changed"
        names = add_compliant_joint(spec, "elbow", SEA, replace=True)
        assert [a.name for a in spec.actuators] == list(names)
        model = compile_model(spec)
        assert model.nu == 1
        assert [t.name for t in spec.tendons] == ["belt", "muscle", "strap"]

    def test_all_of_them_are_named_at_once(self):
        spec = arm(tail='<actuator><motor name="a" joint="elbow"/><motor name="b" joint="elbow"/></actuator>')
        with pytest.raises(
            ConfigurationError, match="actuator 'a', on the joint itself; actuator 'b', on the joint"
        ):
            add_compliant_joint(spec, "elbow", SEA)

    @pytest.mark.parametrize(
        "actuator",
        [
            '<motor joint="shoulder"/>', '<motor tendon="strap"/>', '<motor site="grip" gear="0 0 1 0 0 0"/>',
            '<general site="knob" refsite="ceiling"/>',
            '<general cranksite="knob" slidersite="ceiling" cranklength="2"/>',
        ],
    )  # fmt: skip
    def test_one_that_does_not_drive_it_stays(self, actuator):
        spec = arm(tail=f"{TENDONS}<actuator>{actuator}</actuator>")
        add_compliant_joint(spec, "elbow", SEA, replace=True)
        assert compile_model(spec).nu == 2

    def test_a_sensor_of_the_one_that_goes_reads_the_one_that_comes(self):
        spec = arm(
            tail='<actuator><motor name="m" joint="elbow"/></actuator>'
            '<sensor><actuatorfrc name="torque" actuator="m"/></sensor>'
        )
        add_compliant_joint(spec, "elbow", CompliantJoint("rigid", 0), replace=True)
        model = compile_model(spec)
        data = mujoco.MjData(model)
        data.ctrl[0] = 0.7
        mujoco.mj_forward(model, data)
        assert data.sensor("torque").data == 0.7

    def test_a_sensor_of_a_tendons_actuator_is_in_the_way(self):
        spec = arm(
            tail=f'{TENDONS}<actuator><motor name="m" tendon="belt"/></actuator>'
            '<sensor><actuatorfrc name="pull" actuator="m"/></sensor>'
        )
        with pytest.raises(
            ConfigurationError, match="sensor 'pull' reads actuator 'm', which joint 'elbow' replaces"
        ):
            add_compliant_joint(spec, "elbow", SEA, replace=True)

    def test_a_name_that_the_model_uses_already_is_refused(self):
        spec = arm(tail='<actuator><motor name="elbow/equilibrium" joint="shoulder"/></actuator>')
        with pytest.raises(ConfigurationError, match=r"has an actuator 'elbow/equilibrium'.*rename the model's"):
            add_compliant_joint(spec, "elbow", SEA)


class TestMimics:
    def test_the_joint_that_others_follow_may_be_compliant(self):
        spec = arm(tail='<equality><joint joint1="elbow" joint2="shoulder" polycoef="0 .5 0 0 0"/></equality>')
        spec.joint("shoulder").damping[0] = 1.0
        spec.option.gravity = [0, 0, 0]
        add_compliant_joint(spec, "shoulder", SEA)
        model = compile_model(spec)
        data = mujoco.MjData(model)
        data.ctrl[0] = 0.4
        mujoco.mj_step(model, data, nstep=4000)
        assert data.joint("elbow").qpos == pytest.approx(0.5 * data.joint("shoulder").qpos, abs=0.02)

    @pytest.mark.parametrize("replace", [False, True])
    def test_one_that_follows_is_refused(self, replace):
        spec = arm(tail='<equality><joint name="gear" joint1="elbow" joint2="shoulder"/></equality>')
        with pytest.raises(
            ConfigurationError, match=r"'elbow' follows joint 'shoulder' through the equality 'gear'"
        ):
            add_compliant_joint(spec, "elbow", SEA, replace=replace)

    def test_one_that_is_held_in_place_is_refused_unless_the_equality_is_inactive(self):
        with pytest.raises(ConfigurationError, match=r"'elbow' is held in place through the equality 'lock'"):
            add_compliant_joint(arm(tail='<equality><joint name="lock" joint1="elbow"/></equality>'), "elbow", SEA)
        spec = arm(tail='<equality><joint name="lock" joint1="elbow" active="false"/></equality>')
        add_compliant_joint(spec, "elbow", SEA)


def link(model, name):
    """Where a joint is in qpos and qvel."""
    joint = model.joint(name)
    return joint.qposadr[0], joint.dofadr[0]


MANY_INPUTS = """<actuator>
  <pid name="shoulder" joint="shoulder" kp="20" kv="1" input="pos vel ff"/>
  <orientation name="eye" joint="ball" kp="1" input="quat"/>
  <general name="filter" joint="slide" dyntype="filter" dynprm=".1"/>
</actuator>"""


class TestManyInputs:
    """`ctrl` is addressed by `actuator_ctrladr`; any actuator with several inputs shifted ours."""

    @pytest.mark.parametrize("backend", ["native", "python"])
    @pytest.mark.parametrize("joint", [SEA, CompliantJoint("qbmove", 6, delay=0.004)], ids=["sea", "late qbmove"])
    def test_a_joint_behind_them_gets_its_own_references(self, joint, backend):
        moved = []
        for tail in ("", MANY_INPUTS):
            spec = mujoco.MjSpec()
            spec.attach(arm(tail=tail), prefix="theirs_", frame=spec.worldbody.add_frame())
            spec.attach(arm(), prefix="", frame=spec.worldbody.add_frame())
            add_compliant_joint(spec, "elbow", joint)
            model = compile_model(spec, backend)
            data = mujoco.MjData(model)
            (found,) = compliant_joints(model)
            assert found.controls == ((8, 9) if tail else (0, 1))[: len(found.actuators)]
            data.ctrl[list(found.controls)] = (0.3, 0.1)[: len(found.controls)]
            mujoco.mj_step(model, data, nstep=50)
            q, dq = (array[[at]] for array, at in zip((data.qpos, data.qvel), link(model, "elbow"), strict=True))
            first = model.actuator_actadr[found.actuators[0]]
            size = model.actuator_actnum[found.actuators[0]]
            act = data.act[first : first + size] if size else np.zeros(0)
            live = JointReader(model, data, [found]).read()[0]
            control = data.ctrl[None, list(found.controls)]
            traced = trace_joint(model, found, q, dq, control, act[None])
            assert live[0] == q[0]
            if not joint.delay:
                assert live.tolist() == [float(signal[0]) for signal in traced.values()]
            moved.append(live)
        assert moved[0] == pytest.approx(moved[1], rel=1e-6, abs=1e-9)
        assert moved[0][0] > 1e-3


class TestSlides:
    """A slide joint's references are lengths and forces."""

    @pytest.mark.parametrize(
        ("joint", "units"),
        [
            (CompliantJoint("rigid", 0), ["N"]),
            (CompliantJoint("rigid", 1), ["m"]),
            (CompliantJoint("qbmove", 2), ["m", "m"]),
            (CompliantJoint("qbmove", 3), ["m", "m"]),
            (CompliantJoint("qbmove", 4), ["N", "N"]),
            (CompliantJoint("awas2", 6, preset_range=(0.0, 0.01)), ["m", "m"]),
        ],
    )
    def test_the_references_have_the_units_of_their_joint(self, joint, units):
        spec = arm()
        add_compliant_joint(spec, "slide", joint)
        add_compliant_joint(spec, "elbow", joint)
        slide, elbow = sorted(compliant_joints(compile_model(spec)), key=lambda found: found.name == "elbow")
        assert [reference.unit for reference in slide.references] == units
        turned = {"N": "N·m", "m": "rad"}
        expected = [turned[unit] for unit in units]
        if joint.law.law.pivot:
            expected[1] = "m"
        assert [reference.unit for reference in elbow.references] == expected
        assert slide.units == SLIDE == ("m", "m/s", "N", "N/m", "N·s/m", "kg")

    def test_messages_speak_of_newtons_per_metre(self):
        spec = arm()
        add_compliant_joint(spec, "slide", CompliantJoint("rigid", 1, pid=PID(kp=1e6, kd=1.0)))
        with pytest.raises(StabilityError, match=r"K = 1e\+06 N/m and D = 1 N·s/m on I = \S+ kg need"):
            compile_model(spec)

    def test_a_servo_is_for_hinges(self):
        with pytest.raises(ConfigurationError, match="joint 'slide' slides; a servo turns a hinge"):
            add_compliant_joint(arm(), "slide", CompliantJoint("rigid", 1, servo="AX-12A"))


def write_mesh(path, size):
    corners = size * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    faces = [corners[list(face)].tobytes() for face in ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))]
    path.write_bytes(b"\0" * 80 + struct.pack("<I", 4) + b"".join(b"\0" * 12 + face + b"\0\0" for face in faces))


def write_image(path):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header, rows = (
        struct.pack(">IIBBBBB", 4, 4, 8, 2, 0, 0, 0),
        b"".join(b"\0" + b"\x10\x80\xf0" * 4 for _ in range(4)),
    )
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )


class TestSavingElsewhere:
    """A model saved into another folder lost its meshes and textures."""

    @pytest.fixture
    def folder(self, tmp_path):
        (tmp_path / "robot" / "parts").mkdir(parents=True)
        write_mesh(tmp_path / "robot" / "parts" / "link.stl", 0.1)
        write_mesh(tmp_path / "robot" / "link.stl", 0.2)
        write_image(tmp_path / "robot" / "skin.png")
        for name, meshes, hills in (("a", "parts", "../skin.png"), ("b", ".", "skin.png")):
            (tmp_path / "robot" / f"{name}.xml").write_text(
                f"""<mujoco><compiler meshdir="{meshes}"/>
                <asset><mesh file="link.stl"/><texture name="t" type="2d" file="skin.png"/>
                <texture name="box" type="cube" fileright="skin.png"/><material name="m" texture="t"/>
                <hfield name="ground" file="{hills}" size="1 1 .1 .1"/></asset>
                <worldbody><body><joint name="hinge" axis="0 1 0"/>
                <geom type="mesh" mesh="link" material="m" mass=".3"/></body></worldbody></mujoco>"""
            )
        return tmp_path

    @staticmethod
    def agree(loaded, model):
        for field in ("mesh_vert", "tex_data", "hfield_data", "body_inertia", "geom_matid", "actuator_user"):
            assert np.array_equal(getattr(loaded, field), getattr(model, field)), field

    def test_it_is_complete_and_may_be_moved(self, folder, monkeypatch):
        spec = mujoco.MjSpec.from_file(str(folder / "robot" / "a.xml"))
        add_compliant_joint(spec, "hinge", SEA)
        model = compile_model(spec)
        (folder / "out").mkdir()
        save_model(spec, folder / "out" / "rig.xml")
        assert {p.name for p in (folder / "out" / "rig_assets").iterdir()} == {"link.stl", "skin.png"}
        self.agree(load_model(folder / "out" / "rig.xml"), model)
        (folder / "out").rename(folder / "moved")
        shutil.rmtree(folder / "robot")
        monkeypatch.chdir(folder / "moved")
        self.agree(load_model("rig.xml"), model)

    def test_from_relative_paths_too(self, folder, monkeypatch):
        monkeypatch.chdir(folder)
        spec = mujoco.MjSpec.from_file("robot/a.xml")
        add_compliant_joint(spec, "hinge", SEA)
        model = compile_model(spec)
        save_model(spec, "rig.xml")
        monkeypatch.chdir(folder / "robot" / "parts")
        self.agree(load_model("../../rig.xml"), model)

    def test_files_of_one_name_from_two_folders_stay_two(self, folder):
        scene = mujoco.MjSpec()
        for name in ("a", "b"):
            part = mujoco.MjSpec.from_file(str(folder / "robot" / f"{name}.xml"))
            part.delete(part.texture("box"))
            add_compliant_joint(part, "hinge", SEA)
            scene.attach(part, prefix=f"{name}_", frame=scene.worldbody.add_frame())
        model = compile_model(scene)
        save_model(scene, folder / "both.xml")
        self.agree(load_model(folder / "both.xml"), model)
        assert len(list((folder / "both_assets").iterdir())) == 3

    def test_files_in_memory_are_written_too(self, folder):
        text = (folder / "robot" / "b.xml").read_text()
        held = {name: (folder / "robot" / name).read_bytes() for name in ("link.stl", "skin.png")}
        spec = mujoco.MjSpec.from_string(text.replace('meshdir="."', 'meshdir=""'), assets=held)
        add_compliant_joint(spec, "hinge", SEA)
        model = compile_model(spec)
        save_model(spec, folder / "rig.xml")
        self.agree(load_model(folder / "rig.xml"), model)

    def test_without_files_there_is_no_folder(self, folder):
        save_model(arm(), folder / "rig.xml")
        assert not (folder / "rig_assets").exists()

    def test_a_file_that_is_gone_is_named(self, folder):
        spec = mujoco.MjSpec.from_file(str(folder / "robot" / "a.xml"))
        (folder / "robot" / "parts" / "link.stl").unlink()
        with pytest.raises((ConfigurationError, MissingFileError), match=r"link\.stl"):
            save_model(spec, folder / "rig.xml")


class TestAttaching:
    """Names get a suffix as well as a prefix."""

    @pytest.mark.parametrize(
        "options", [{"prefix": "el_"}, {"suffix": "_left"}, {"prefix": "bow_", "suffix": "_elbow"}]
    )
    @pytest.mark.parametrize("joint", [SEA, CompliantJoint("qbmove", 3)], ids=["sea", "qbmove"])
    def test_a_joint_is_found_under_any_prefix_and_suffix(self, options, joint, tmp_path):
        scene = mujoco.MjSpec()
        part = arm()
        add_compliant_joint(part, "elbow", joint)
        scene.attach(part, frame=scene.worldbody.add_frame(), **options)
        again = mujoco.MjSpec()
        again.attach(scene, suffix="_2", frame=again.worldbody.add_frame())
        save_model(again, tmp_path / "scene.xml")
        for model in (compile_model(again), load_model(tmp_path / "scene.xml")):
            (found,) = compliant_joints(model)
            prefix = options.get("prefix", "/")  # MuJoCo's own choice
            assert found.name == f"/{prefix}elbow{options.get('suffix', '')}_2"
            assert model.joint(found.joint).name == found.name
            assert found.description == joint
            assert len(found.actuators) == len(joint.references())

    def test_two_copies_side_by_side(self):
        scene = mujoco.MjSpec()
        for side in ("_left", "_right"):
            part = arm()
            add_compliant_joint(part, "elbow", SEA)
            scene.attach(part, suffix=side, frame=scene.worldbody.add_frame())
        names = [joint.name for joint in compliant_joints(compile_model(scene))]
        assert names == ["/elbow_left", "/elbow_right"]

    def test_a_scene_that_fixes_the_user_numbers_makes_room(self):
        scene = mujoco.MjSpec.from_string('<mujoco><size nuser_actuator="2"/></mujoco>')
        part = arm()
        add_compliant_joint(part, "elbow", SEA)
        scene.attach(part, prefix="a_", frame=scene.worldbody.add_frame())
        assert len(compliant_joints(compile_model(scene))) == 1


SERVO = CompliantJoint("rigid", 1, servo=ServoDrive("MX-64", p_gain=32))


class TestCountedTwice:
    """A joint's own damping and dry friction beside a servo that brings its gear's."""

    @pytest.mark.parametrize(
        ("attributes", "told"),
        [
            ('frictionloss=".1"', r"has a frictionloss of 0\.1 N·m beside that of its servo's gear"),
            ('damping=".2"', r"has a damping of 0\.2 N·m·s/rad beside"),
            ('springdamper=".1 1"', "springdamper"),
            ('armature=".01"', r"has an armature of 0\.01 kg·m² of its own, and its servo brings 0\.01195 kg·m²"),
            (
                'damping=".2" frictionloss=".1" armature=".01"',
                "armature of .*; a damping of .*; a frictionloss",
            ),
        ],
    )
    def test_it_is_refused_with_the_way_out_or_counted_once(self, attributes, told):
        spec = arm(elbow=attributes)
        with pytest.raises(ConfigurationError, match=told) as caught:
            add_compliant_joint(spec, "elbow", SERVO)
        assert "replace=True, which sets them to 0" in str(caught.value)
        add_compliant_joint(spec, "elbow", SERVO, replace=True)
        model, bare = compile_model(spec), arm()
        add_compliant_joint(bare, "elbow", SERVO)
        expected = compile_model(bare)
        for field in ("dof_damping", "dof_frictionloss", "dof_armature", "jnt_stiffness"):
            assert np.array_equal(getattr(model, field), getattr(expected, field)), field

    def test_beside_a_spring_or_a_servo_without_friction_they_are_the_links_own(self):
        spec = arm(elbow='damping=".2" frictionloss=".1" armature=".01"')
        add_compliant_joint(spec, "elbow", SEA)
        assert spec.joint("elbow").frictionloss == 0.1


class TestKeyframesAndSizes:
    """What made MuJoCo itself complain."""

    POSES = (
        '<actuator><position name="s" joint="shoulder" kp="9"/><general name="m" joint="elbow" dyntype="filter"/>'
        '<general name="f" joint="slide" dyntype="integrator"/></actuator>'
        '<keyframe><key name="bent" qpos=".1 .4 .02 1 0 0 0" ctrl=".1 .2 .3" act="7 8"/>'
        '<key name="pose" qpos=".1 -.3 .02 1 0 0 0"/><key name="empty"/></keyframe>'
    )
    JOINT = CompliantJoint("qbmove", 6, preset=0.2)

    @pytest.mark.parametrize("compiled_before", [False, True])
    def test_keyframes_keep_their_pose_and_controls_and_motors_stand_at_rest(self, compiled_before):
        spec = arm(tail=self.POSES)
        if compiled_before:
            spec.compile()
        add_compliant_joint(spec, "elbow", self.JOINT, replace=True)
        self.check(compile_model(spec))

    def test_in_a_part_that_is_attached_too(self):
        part, scene = arm(tail=self.POSES), mujoco.MjSpec()
        add_compliant_joint(part, "elbow", self.JOINT, replace=True)
        self.check(compile_model(part.copy()))
        scene.attach(part, prefix="a_", frame=scene.worldbody.add_frame())
        self.check(compile_model(scene), "a_")

    def test_a_joint_is_added_after_attaching(self):
        scene = mujoco.MjSpec()
        scene.attach(arm(tail=self.POSES), prefix="a_", frame=scene.worldbody.add_frame())
        add_compliant_joint(scene, "a_elbow", self.JOINT, replace=True)
        self.check(compile_model(scene), "a_")

    @staticmethod
    def check(model, prefix=""):
        data = mujoco.MjData(model)
        ours = model.actuator(f"{prefix}elbow/equilibrium")
        for name, angle in (("bent", 0.4), ("pose", -0.3), ("empty", 0.0)):
            mujoco.mj_resetDataKeyframe(model, data, model.key(prefix + name).id)
            assert data.joint(f"{prefix}elbow").qpos == angle
            assert data.actuator(f"{prefix}elbow/equilibrium").ctrl == angle
            assert data.actuator(f"{prefix}elbow/preset").ctrl == 0.2
            act = data.act[ours.actadr[0] :][:12].reshape(2, 6)
            for motor, reference in zip(act, (angle + 0.2, angle - 0.2), strict=True):
                assert motor == pytest.approx([reference, 0.0, reference, 0.0, reference, 0.0])
            mujoco.mj_forward(model, data)
            assert data.actuator(f"{prefix}elbow/equilibrium").force == pytest.approx(0.0, abs=1e-15)
        mujoco.mj_resetDataKeyframe(model, data, model.key(prefix + "bent").id)
        assert data.actuator(f"{prefix}s").ctrl == 0.1
        assert data.actuator(f"{prefix}f").ctrl == 0.3
        assert data.act[model.actuator(f"{prefix}f").actadr[0]] == 8.0

    def test_two_joints_after_each_other(self):
        spec = arm(tail=self.POSES)
        for name in ("elbow", "shoulder"):
            add_compliant_joint(spec, name, self.JOINT, replace=True)
        model = compile_model(spec)
        data = mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, data, 0)
        assert data.actuator("shoulder/equilibrium").ctrl == 0.1
        assert data.actuator("elbow/equilibrium").ctrl == 0.4
        assert data.actuator("f").ctrl == 0.3

    def test_beside_actuators_with_several_inputs(self):
        keys = '<keyframe><key name="k" qpos="0 .4 0 1 0 0 0" ctrl="1 2 3 4 5 6 7 8" act=".5"/></keyframe>'
        spec = arm(tail=MANY_INPUTS + keys)
        add_compliant_joint(spec, "slide", self.JOINT, replace=True)
        model = compile_model(spec)
        assert model.key_ctrl[0].tolist() == [1, 2, 3, 4, 5, 6, 7, 0.0, 0.2]

    def test_actuators_deleted_without_their_keyframe_are_our_own_error(self):
        spec = arm(tail=self.POSES)
        spec.delete(spec.actuator("m"))
        with pytest.raises(ConfigurationError, match=r"keyframe 'bent' holds 3 controls.* 2: .*replace=True"):
            add_compliant_joint(spec, "elbow", self.JOINT)
        with pytest.raises(ConfigurationError, match=r"MuJoCo cannot compile the model: .*keyframe 'bent'"):
            compile_model(spec)

    @pytest.mark.parametrize("explicit", [0, 1, 500])
    def test_a_file_may_fix_the_user_numbers_of_its_actuators(self, explicit, tmp_path):
        spec = arm(
            f'<size nuser_actuator="{explicit}"/>', '<actuator><motor name="s" joint="shoulder"/></actuator>'
        )
        add_compliant_joint(spec, "elbow", SEA)
        save_model(spec, tmp_path / "model.xml")
        for model in (compile_model(spec), load_model(tmp_path / "model.xml")):
            assert compliant_joints(model)[0].description == SEA


@pytest.mark.parametrize("backend", ["native", "python"])
@pytest.mark.parametrize("servo", [False, True])
def test_the_torque_that_is_told_is_the_one_that_acts(backend, servo):
    """Under `actuatorfrcrange`, 5 N·m were reported where 1 acted."""
    spec = arm(elbow='actuatorfrcrange="-1 .5"')
    joint = SERVO if servo else CompliantJoint(find_law("sea")(k=200.0), 3)
    add_compliant_joint(spec, "elbow", joint)
    model = compile_model(spec, backend, check=False)
    (found,) = compliant_joints(model)
    data = mujoco.MjData(model)
    reader = JointReader(model, data, [found])
    for target, bound in ((1.0, 0.5), (-1.0, -1.0)):
        mujoco.mj_resetData(model, data)
        data.ctrl[0] = target
        mujoco.mj_step(model, data)
        applied = data.qfrc_actuator[1]
        mujoco.mj_forward(model, data) if not servo else None
        assert applied == bound
        assert reader.read()[0, 2] == bound
        act = data.act[None] if servo else np.zeros((1, 0))
        traced = trace_joint(model, found, data.qpos[[1]], data.qvel[[1]], data.ctrl[None], act)
        assert traced["torque"][0] == bound


def test_a_servo_under_a_limited_torque_finds_its_load_all_the_same(pendulum):
    """What a servo feels of its load is what accelerated the joint beyond the torque that acted."""
    spec = pendulum(CompliantJoint("rigid", 1, servo=ServoDrive("XL330/m6", p_gain=400)))
    spec.joint("hinge").actfrcrange = [-0.05, 0.05]
    spec.joint("hinge").damping[0] = 0.01  # the gear's own friction is part of what is limited
    model = compile_model(spec)
    data = mujoco.MjData(model)
    data.ctrl[0] = 1.5
    mujoco.mj_step(model, data, nstep=20000)
    assert abs(data.qvel[0]) < 1e-9
    assert 0.2 < data.qpos[0] < 1.4
    assert data.qfrc_actuator[0] == pytest.approx(data.qfrc_bias[0], abs=1e-6)


class TestNames:
    def test_joints_without_a_name_are_counted(self):
        spec = mujoco.MjSpec()
        body = spec.worldbody.add_body()
        for name in ("", "named", ""):
            body.add_joint(name=name)
        for wanted in ("", "other"):
            with pytest.raises(
                UnknownNameError, match=r"2 of its joints have no name and need one\).*Valid: named"
            ):
                add_compliant_joint(spec, wanted, SEA)

    def test_what_mujoco_cannot_compile_is_our_own_error(self):
        spec = mujoco.MjSpec()
        spec.worldbody.add_body().add_joint(name="hinge")
        add_compliant_joint(spec, "hinge", SEA)
        with pytest.raises(ConfigurationError, match=r"MuJoCo cannot compile the model: .*mass and inertia"):
            compile_model(spec)

    def test_a_joint_renamed_after_it_was_made_compliant_is_told(self):
        spec = arm()
        add_compliant_joint(spec, "elbow", SEA)
        spec.actuators[0].name = "mine"
        with pytest.raises(FileFormatError, match="'elbow': the model lacks what belongs to it"):
            compile_model(spec)
        assert json.loads(spec.texts[0].data)["joint"] == "elbow"
        assert math.isfinite(spec.actuators[0].ctrlrange[0])
