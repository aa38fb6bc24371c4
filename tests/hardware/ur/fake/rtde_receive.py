"""Stands in for `rtde_receive` of ur-rtde: a controller that is always there, or does what its mood file says."""

import os
import time
from pathlib import Path

FOLDER = Path(os.environ["PLIANT_FAKE_UR"])


def mood():
    try:
        return (FOLDER / "mood").read_text()
    except OSError:
        return ""


class RTDEReceiveInterface:
    def __init__(self, host, frequency, variables):
        if mood() == "refuse":
            raise RuntimeError("Please check your controller version and the variable names")
        self._stamp = 0.0

    def getTimestamp(self):  # noqa: N802
        if mood() != "frozen":
            self._stamp = round(time.monotonic() / 0.002) * 0.002
        return self._stamp

    def isConnected(self):  # noqa: N802
        return mood() != "severed"

    def __getattr__(self, name):
        if name in ("getRobotMode", "getSafetyMode", "getRuntimeState", "getSafetyStatusBits"):
            return lambda: {"getRobotMode": 7, "getRuntimeState": 2}.get(name, 1)
        if "Bits" in name or "Analog" in name or name in ("getSpeedScaling", "getTargetSpeedFraction"):
            return lambda: 1
        return lambda: [0.0] * 6
