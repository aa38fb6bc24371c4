"""The example of docs/real-arm.md runs as it is printed, but for the port."""

import re
from pathlib import Path

import pytest

from pliant.hardware.dynamixel.tables import XM430_W350

pytest.importorskip("dynamixel_sdk")

PAGE = Path(__file__).parents[3] / "docs" / "real-arm.md"


def test_the_example_for_the_real_arm_runs(servo_bus, capsys):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    far = servo_bus(XM430_W350, 1, 2, 3, 4)
    exec(compile(example.replace("/dev/arm", far.port), str(PAGE), "exec"), {})
    names, position = capsys.readouterr().out.splitlines()
    assert names == "('shoulder/position', 'elbow/equilibrium', 'elbow/preset')"
    assert position == "[0. 0.]"
    assert far.heard()[1].written("goal_position")[-1] == 2048
    assert max(far[2].written("goal_position")) == 2048 + 130
    assert [servo["torque_enable"] for servo in far.servos] == [0, 0, 0, 0]
