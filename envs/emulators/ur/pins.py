"""Digital and analogue inputs and outputs, and the speed slider."""

import math
from collections.abc import Mapping

from pliant.envs.emulators.ur.variables import Number, Recipe, Table
from pliant.errors import check_bounds, check_count

_SHIFTS = {"standard": 0, "configurable": 8, "tool": 16}
_MASKS = {"standard": 0xFF, "configurable": 0xFF, "tool": 0x03}
_VOLTS, _LEAST_CURRENT, _CURRENT = 10.0, 0.004, 0.016


class Pins:
    """What is plugged into the control box and the tool.

    Args:
        outputs: table where their state is reported.
    """

    def __init__(self, outputs: Table) -> None:
        self._outputs = outputs
        self.slider = 1.0
        """The speed slider, 0 … 1."""
        self.inputs = 0
        """Bits of the digital inputs: 8 standard, 8 configurable, 2 of the tool."""
        self.digital = 0
        """Bits of the digital outputs, likewise."""
        self.analog = [0.0, 0.0]
        """Analogue outputs, V or A."""
        self.analog_inputs = [0.0, 0.0]
        """Analogue inputs, V or A."""
        self.report()

    def take(self, recipe: Recipe, values: tuple[Number, ...]) -> None:
        """Act on what a client has written."""
        given = dict(zip(recipe.names, values, strict=True))
        for kind, shift in _SHIFTS.items():
            mask = int(given.get(f"{kind}_digital_output_mask", 0)) & _MASKS[kind]
            if mask:
                bits = int(given.get(f"{kind}_digital_output", 0)) & mask
                self.digital = self.digital & ~(mask << shift) | bits << shift
        self._take_analog(given)
        fraction = float(given.get("speed_slider_fraction", math.nan))
        if given.get("speed_slider_mask") and math.isfinite(fraction):
            self.slider = min(max(fraction, 0.0), 1.0)
        self.report()

    def set_input(self, pin: int, high: bool) -> None:
        """Switch a digital input: 0 to 7 standard, 8 to 15 configurable, 16 and 17 of the tool."""
        bit = 1 << check_count("digital input", pin, 0, 17)
        self.inputs = self.inputs | bit if high else self.inputs & ~bit
        self.report()

    def set_analog_input(self, pin: int, value: float) -> None:
        """Set an analogue input, V or A."""
        self.analog_inputs[check_count("analogue input", pin, 0, 1)] = check_bounds("value", value, 0.0, 10.0)
        self.report()

    def report(self) -> None:
        """Write the state into the table of outputs."""
        outputs = self._outputs
        outputs.set("actual_digital_input_bits", self.inputs)
        outputs.set("actual_digital_output_bits", self.digital)
        outputs.set("target_speed_fraction", self.slider)
        for pin in (0, 1):
            outputs.set(f"standard_analog_output{pin}", self.analog[pin])
            outputs.set(f"standard_analog_input{pin}", self.analog_inputs[pin])

    def _take_analog(self, given: Mapping[str, Number]) -> None:
        mask = int(given.get("standard_analog_output_mask", 0))
        kinds = int(given.get("standard_analog_output_type", 0))
        for pin in (0, 1):
            if mask >> pin & 1:
                share = min(max(float(given.get(f"standard_analog_output_{pin}", 0.0)), 0.0), 1.0)
                volts = kinds >> pin & 1
                self.analog[pin] = _VOLTS * share if volts else _LEAST_CURRENT + _CURRENT * share
