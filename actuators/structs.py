"""Byte offsets of the MuJoCo struct fields that compiled callbacks read, verified against this MuJoCo.

MuJoCo describes its own structs (`mujoco.introspect`); the offsets follow from that description and are then
checked on a probe model field by field, because a wrong offset would silently read garbage.
"""

import ctypes
from collections.abc import Iterable, Mapping
from functools import cache

import mujoco
import numpy as np
from mujoco.introspect import ast_nodes, structs

from pliant.errors import PliantError

MODEL_FIELDS = (
    "opt.timestep",
    "opt.integrator",
    "nuser_actuator",
    "actuator_user",
    "actuator_trnid",
    "actuator_actadr",
    "actuator_ctrladr",
    "actuator_history",
    "actuator_delay",
    "actuator_ctrllimited",
    "actuator_ctrlrange",
    "jnt_qposadr",
    "jnt_dofadr",
    "jnt_actfrclimited",
    "jnt_actfrcrange",
    "M_rowadr",
    "M_rownnz",
)
DATA_FIELDS = (
    "time",
    "qpos",
    "qvel",
    "ctrl",
    "act",
    "act_dot",
    "M",
    "qfrc_bias",
    "qfrc_passive",
    "qfrc_applied",
)

_SCALARS: Mapping[str, type[ctypes._SimpleCData]] = {  # type: ignore[type-arg]
    "mjtNum": ctypes.c_double,
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "int": ctypes.c_int,
    "mjtSize": ctypes.c_int64,
    "mjtBool": ctypes.c_uint8,
    "mjtByte": ctypes.c_uint8,
    "char": ctypes.c_char,
    "size_t": ctypes.c_size_t,
    "uint64_t": ctypes.c_uint64,
    "uintptr_t": ctypes.c_size_t,
    "unsigned int": ctypes.c_uint,
}


class StructLayoutError(PliantError, RuntimeError):
    """This MuJoCo's structs are not laid out as described; compiled callbacks would read garbage."""

    def __init__(self, detail: str) -> None:
        super().__init__(
            f"MuJoCo {mujoco.__version__}: {detail}. Compiled joint callbacks are not available with this "
            'version; use backend="python" (slower, same results) or a MuJoCo 4.0 release.'
        )


def _ctype(node: object) -> type:
    """The ctypes type of an introspected C type."""
    if isinstance(node, ast_nodes.PointerType):
        return ctypes.c_void_p
    if isinstance(node, ast_nodes.ArrayType):
        result: type = _ctype(node.inner_type)
        for extent in reversed(node.extents):
            result = result * extent
        return result
    if isinstance(node, ast_nodes.AnonymousStructDecl):
        return _from_fields("anonymous", node.fields)
    if isinstance(node, ast_nodes.ValueType):
        name = node.name.removeprefix("struct ")
        if name in _SCALARS:
            return _SCALARS[name]
        for candidate in (name, name.rstrip("_"), name + "_"):
            if candidate in structs.STRUCTS:
                return _structure(candidate)
        if name.startswith("mjt"):
            return ctypes.c_int  # an enumeration
    raise StructLayoutError(f"unknown C type {node} in its struct description")


def _from_fields(name: str, fields: Iterable[ast_nodes.StructFieldDecl]) -> type[ctypes.Structure]:
    members = [(field.name, _ctype(field.type)) for field in fields]
    return type(name, (ctypes.Structure,), {"_fields_": members})


@cache
def _structure(name: str) -> type[ctypes.Structure]:
    return _from_fields(name, structs.STRUCTS[name].fields)


def _offset(structure: type[ctypes.Structure], path: str) -> int:
    head, _, rest = path.partition(".")
    try:
        own: int = getattr(structure, head).offset
    except AttributeError:
        raise StructLayoutError(f"struct {structure.__name__} has no field {head!r}") from None
    if not rest:
        return own
    return own + _offset(dict(structure._fields_)[head], rest)  # type: ignore[arg-type]


_PROBE = """
<mujoco><option timestep="0.00123" integrator="RK4"/>
  <worldbody><body><joint name="j" type="hinge"/><geom size=".1"/></body></worldbody>
  <actuator>
    <general name="a" joint="j" dyntype="user" actdim="3" biastype="user" user="1 2 3" nsample="2" delay=".002"
     ctrlrange="-1 1"/>
  </actuator>
</mujoco>"""


def _verify(address: int, offset: int, path: str, value: object) -> None:
    if isinstance(value, np.ndarray):
        found = ctypes.c_void_p.from_address(address + offset).value
        good = found == value.ctypes.data
    elif isinstance(value, float):
        good = ctypes.c_double.from_address(address + offset).value == value
    else:
        good = ctypes.c_int.from_address(address + offset).value == value
    if not good:
        raise StructLayoutError(f"field {path!r} is not where its description says")


@cache
def field_offsets() -> dict[str, int]:
    """Offset of every field of `MODEL_FIELDS` and `DATA_FIELDS`, each checked on a probe model.

    Raises:
        StructLayoutError: a field is missing, or is not where its description says.
    """
    model = mujoco.MjModel.from_xml_string(_PROBE)
    data = mujoco.MjData(model)
    data.time = 0.4567
    offsets: dict[str, int] = {}
    for fields, structure, address, owner in (
        (MODEL_FIELDS, "mjModel", model._address, model),
        (DATA_FIELDS, "mjData", data._address, data),
    ):
        for path in fields:
            offsets[path] = _offset(_structure(structure), path)
            value: object = owner
            for part in path.split("."):
                value = getattr(value, part)
            _verify(address, offsets[path], path, value)
    return offsets
