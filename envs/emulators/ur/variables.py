"""The variables of RTDE, and recipes: lists of them that are packed and unpacked in one call.

All values of a direction lie flat in one Python list; a variable is a slice of it. Names and types are those of
Universal Robots' RTDE guide.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from pliant.envs.emulators.ur.packets import NOT_FOUND, data_header

Number = float | int
_CODES = {
    "BOOL": ("?", 1),
    "UINT8": ("B", 1),
    "UINT32": ("I", 1),
    "UINT64": ("Q", 1),
    "INT32": ("i", 1),
    "DOUBLE": ("d", 1),
    "VECTOR3D": ("d", 3),
    "VECTOR6D": ("d", 6),
    "VECTOR6INT32": ("i", 6),
}
REGISTERS = 48
"""Registers of each kind and direction; the upper 24 belong to RTDE clients, the lower to fieldbuses too."""


def _typed(kind: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), kind)


def _registers(direction: str) -> dict[str, str]:
    ints = {f"{direction}_int_register_{n}": "INT32" for n in range(REGISTERS)}
    doubles = {f"{direction}_double_register_{n}": "DOUBLE" for n in range(REGISTERS)}
    return {**ints, **doubles}


OUTPUTS: Mapping[str, str] = {
    **_typed("DOUBLE", "timestamp actual_execution_time speed_scaling target_speed_fraction actual_momentum"),
    **_typed("DOUBLE", "actual_main_voltage actual_robot_voltage actual_robot_current payload"),
    **_typed("DOUBLE", "standard_analog_input0 standard_analog_input1"),
    **_typed("DOUBLE", "standard_analog_output0 standard_analog_output1"),
    **_typed("VECTOR6D", "target_q target_qd target_qdd target_current target_moment actual_q actual_qd"),
    **_typed("VECTOR6D", "actual_current actual_current_as_torque joint_control_output joint_temperatures"),
    **_typed("VECTOR6D", "actual_TCP_pose actual_TCP_speed actual_TCP_force target_TCP_pose target_TCP_speed"),
    **_typed("VECTOR6D", "actual_joint_voltage ft_raw_wrench payload_inertia tcp_offset"),
    **_typed("VECTOR3D", "actual_tool_accelerometer payload_cog elbow_position elbow_velocity"),
    **_typed("UINT64", "actual_digital_input_bits actual_digital_output_bits"),
    **_typed("UINT32", "runtime_state robot_status_bits safety_status_bits output_bit_registers0_to_31"),
    **_typed("UINT32", "output_bit_registers32_to_63 analog_io_types"),
    **_typed("INT32", "robot_mode safety_mode safety_status"),
    **_typed("VECTOR6INT32", "joint_mode"),
    **_registers("output"),
}
"""Types of the output variables by name."""
INPUTS: Mapping[str, str] = {
    **_typed("UINT32", "speed_slider_mask input_bit_registers0_to_31 input_bit_registers32_to_63"),
    **_typed("DOUBLE", "speed_slider_fraction standard_analog_output_0 standard_analog_output_1"),
    **_typed("UINT8", "standard_digital_output_mask standard_digital_output"),
    **_typed("UINT8", "configurable_digital_output_mask configurable_digital_output"),
    **_typed("UINT8", "tool_digital_output_mask tool_digital_output"),
    **_typed("UINT8", "standard_analog_output_mask standard_analog_output_type"),
    **_typed("VECTOR6D", "external_force_torque"),
    **_registers("input"),
}
"""Types of the input variables by name."""


class Place(NamedTuple):
    """Where a variable lies in the flat list of its direction."""

    start: int
    stop: int


class Table:
    """The values of one direction, in one flat list.

    Args:
        types: of its variables by name.
    """

    def __init__(self, types: Mapping[str, str]) -> None:
        self.types = types
        self.places: dict[str, Place] = {}
        at = 0
        for name, kind in types.items():
            code, count = _CODES[kind]
            self.places[name] = Place(at, at + count)
            at += count
        self.values: list[Number] = []
        for kind in types.values():
            code, count = _CODES[kind]
            self.values += [0.0 if code == "d" else 0] * count

    def set(self, name: str, value: Number) -> None:
        """Set a variable that is one number."""
        self.values[self.places[name].start] = value

    def set_vector(self, name: str, values: Sequence[Number]) -> None:
        """Set a variable that is several numbers."""
        start, stop = self.places[name]
        assert len(values) == stop - start, name
        self.values[start:stop] = values

    def get(self, name: str) -> Number:
        """Return a variable that is one number."""
        return self.values[self.places[name].start]


class Recipe:
    """Variables of one table in the order in which they go over the wire.

    Args:
        table: that they are of.
        names: of the variables; every one must be in the table.
    """

    def __init__(self, table: Table, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.table = table
        pieces = [_CODES[table.types[name]] for name in names]
        self._struct = struct.Struct(">" + "".join(code * count for code, count in pieces))
        self.places = [i for name in names for i in range(*table.places[name])]
        # `itemgetter` of one gives the value itself, of several a tuple.
        self._pick = itemgetter(*self.places) if len(self.places) > 1 else None

    @property
    def size(self) -> int:
        """Bytes of the values on the wire."""
        return self._struct.size

    def header(self, number: int) -> bytes:
        """Return what comes before the values in a data frame."""
        return data_header(self.size, number)

    def pack(self) -> bytes:
        """Return the values of the table now."""
        values = self.table.values
        if self._pick is None:
            return self._struct.pack(values[self.places[0]])
        return self._struct.pack(*self._pick(values))

    def unpack(self, payload: bytes) -> tuple[Number, ...]:
        """Return the values of a data frame from the computer, which has `size` bytes."""
        return self._struct.unpack(payload)


def answered_types(table: Table, names: Iterable[str], missing: frozenset[str] = frozenset()) -> list[str]:
    """Return the type of each variable, `NOT_FOUND` for what the table or the version lacks."""
    return [NOT_FOUND if name in missing or name not in table.types else table.types[name] for name in names]
