"""The compiled callbacks read MuJoCo's structs by offset: verified, refused where wrong, and plain code inside."""

import ctypes
import importlib
import subprocess
import sys
from contextlib import contextmanager

import mujoco
import numpy as np
import pytest

import pliant.actuators
from pliant.actuators import (
    CompliantJoint,
    StructLayoutError,
    compile_model,
    current_backend,
    native,
    native_access,
    structs,
)
from pliant.errors import ConfigurationError


@contextmanager
def fresh_layout():
    """The layout computed anew inside, and again for whoever comes after."""
    structs._structure.cache_clear()
    structs.field_offsets.cache_clear()
    try:
        yield
    finally:
        structs._structure.cache_clear()
        structs.field_offsets.cache_clear()


class TestLayout:
    def test_every_field_is_where_the_description_says(self):
        with fresh_layout():
            offsets = structs.field_offsets()
        assert set(offsets) == {*structs.MODEL_FIELDS, *structs.DATA_FIELDS}
        model = mujoco.MjModel.from_xml_string("<mujoco><option timestep='0.0042'/></mujoco>")
        assert ctypes.c_double.from_address(model._address + offsets["opt.timestep"]).value == 0.0042

    @pytest.mark.parametrize(("struct", "field"), [("mjData", "qvel"), ("mjModel", "actuator_user")])
    def test_a_field_that_moved_is_noticed(self, monkeypatch, struct, field):
        described = structs.structs.STRUCTS[struct]
        moved = [f for f in described.fields if f.name != field]
        moved.append(next(f for f in described.fields if f.name == field))
        monkeypatch.setattr(described, "fields", tuple(moved))
        with fresh_layout(), pytest.raises(StructLayoutError, match=r"is not where its description says.*python"):
            structs.field_offsets()

    def test_a_field_that_is_gone_is_named(self, monkeypatch):
        described = structs.structs.STRUCTS["mjData"]
        monkeypatch.setattr(described, "fields", tuple(f for f in described.fields if f.name != "act_dot"))
        with fresh_layout(), pytest.raises(StructLayoutError, match="struct mjData has no field 'act_dot'"):
            structs.field_offsets()

    def test_a_scalar_that_moved_is_noticed(self):
        model = mujoco.MjModel.from_xml_string("<mujoco/>")
        for value in (model.opt.timestep, int(model.opt.integrator) + 77):
            with pytest.raises(StructLayoutError, match="field 'x' is not where"):
                structs._verify(model._address, 8, "x", value)

    def test_a_type_nobody_knows_is_named(self):
        unknown = structs.ast_nodes.ValueType(name="quaternion128")
        with pytest.raises(StructLayoutError, match="unknown C type quaternion128"):
            structs._ctype(unknown)

    def test_a_mismatch_fails_the_native_back_end_only(self, monkeypatch, pendulum, simulate):
        def mismatch():
            raise StructLayoutError("field 'qpos' is not where its description says")

        for module in ("native", "native_access"):
            monkeypatch.delitem(sys.modules, f"pliant.actuators.{module}")
            monkeypatch.delattr(pliant.actuators, module)
        monkeypatch.setattr(structs, "field_offsets", mismatch)
        with pytest.raises(StructLayoutError):
            importlib.import_module("pliant.actuators.native")
        spec = pendulum(CompliantJoint(law="qbmove", mode=6))
        with pytest.raises(StructLayoutError, match=f'MuJoCo {mujoco.__version__}.*backend="python"'):
            compile_model(spec)
        assert current_backend() is None
        model = compile_model(spec, backend="python")
        assert np.ptp(simulate(model, (0.5, 0.2), 0.05).position) > 0.0

    def test_a_process_with_another_layout_still_runs_in_python(self, pendulum):
        script = f"""
import mujoco
from mujoco.introspect import structs
described = structs.STRUCTS["mjData"]
fields = list(described.fields)
at = next(k for k, f in enumerate(fields) if f.name == "qvel")
fields[at - 1], fields[at] = fields[at], fields[at - 1]
described.fields = tuple(fields)
from pliant.actuators import *
spec = mujoco.MjSpec.from_string({pendulum().to_xml()!r})
add_compliant_joint(spec, "hinge", CompliantJoint(law="sea", mode=3))
try:
    compile_model(spec)
except StructLayoutError as error:
    print("refused:", error)
model = compile_model(spec, "python")
data = mujoco.MjData(model)
data.ctrl[0] = 0.1
mujoco.mj_step(model, data)
print(data.qfrc_actuator[0])
"""
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        refused, torque = done.stdout.splitlines()
        assert refused.startswith("refused: MuJoCo")
        assert float(torque) == 1.0


def test_a_full_table_of_laws_is_an_error(monkeypatch):
    table = np.zeros_like(native_access.law_table)
    monkeypatch.setattr(native, "law_table", table)
    for k in range(native_access.SLOTS):
        native._enter((1.0, 2.0, float(k)), [k + 1, k + 1, k + 1])
    native._enter((1.0, 2.0, 7.0), [0, 0, 0])
    assert table[7, native_access.TORQUES] == 8, "a law that is already there stays"
    with pytest.raises(ConfigurationError, match="1024 different laws"):
        native._enter((3.0, 2.0, 7.0), [1, 1, 1])
