"""Stands in for `rtde_control` of ur-rtde: notes every call with its time."""

import json
import os
import signal
import time

from rtde_receive import FOLDER, mood


class RTDEControlInterface:
    def __init__(self, host):
        self._log = (FOLDER / "calls").open("a", buffering=1)

    def isProgramRunning(self):  # noqa: N802
        return True

    def isConnected(self):  # noqa: N802
        return True

    def __getattr__(self, name):
        def call(*arguments):
            if mood() == "hang" and name != "servoJ":
                time.sleep(60)
            if mood() == "crash":
                os.kill(os.getpid(), signal.SIGSEGV)
            self._log.write(json.dumps([name, time.monotonic(), *arguments]) + "\n")
            return mood() != "fail"

        return call
