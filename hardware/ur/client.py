"""The process that speaks to the controller: `python -m pliant.hardware.ur.client`, started by the supervisor.

It alone imports `ur-rtde`, whose constructors hold the interpreter lock, whose calls may never return, and which
can bring its whole process down. Two threads: one publishes every package of the controller, one takes the
commands. A command is checked again before it is passed on, and leads the controller for its own period only:
without the next one nothing more is sent, and the controller's watchdog ends the motion. The kernel kills this
process when the program that started it is gone, and it ends itself when the controller has closed a connection or
ended its program: `ur-rtde` would connect and upload anew, and go on without a watchdog.
"""

import ctypes
import json
import math
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from pliant.hardware.robot import Array
from pliant.hardware.ur.seam import (
    BEYOND,
    COMMAND,
    FAILED,
    NOT_FINITE,
    OLD,
    STATE,
    TAKEN,
    Ends,
    Seam,
    places,
    wake,
    woken,
)

GETTERS: Final[Mapping[str, str]] = {
    "timestamp": "getTimestamp",
    "actual_q": "getActualQ",
    "actual_qd": "getActualQd",
    "target_q": "getTargetQ",
    "actual_current": "getActualCurrent",
    "target_moment": "getTargetMoment",
    "actual_TCP_pose": "getActualTCPPose",
    "actual_TCP_speed": "getActualTCPSpeed",
    "actual_TCP_force": "getActualTCPForce",
    "target_TCP_pose": "getTargetTCPPose",
    "speed_scaling": "getSpeedScaling",
    "target_speed_fraction": "getTargetSpeedFraction",
    "robot_mode": "getRobotMode",
    "safety_mode": "getSafetyMode",
    "safety_status_bits": "getSafetyStatusBits",
    "runtime_state": "getRuntimeState",
    "actual_digital_input_bits": "getActualDigitalInputBits",
    "actual_digital_output_bits": "getActualDigitalOutputBits",
    "standard_analog_input0": "getStandardAnalogInput0",
    "standard_analog_input1": "getStandardAnalogInput1",
    "standard_analog_output0": "getStandardAnalogOutput0",
    "standard_analog_output1": "getStandardAnalogOutput1",
    "joint_temperatures": "getJointTemperatures",
}
"""Function of `RTDEReceiveInterface` for each variable. Only these are subscribed to: others do not exist in every
version of PolyScope, and one that does not exist makes its constructor fail."""

SEVERED: Final = 3
"""Exit status when the controller has closed a connection."""
_WANTED = 0.5
"""How long after somebody asked for a state every package is published at once, s."""
_JUMP = 0.05
"""Largest distance of the first command, and of one after a gap, from the controller's own target, rad or m."""
_LAG = 0.1
"""Time by which that may lag behind after a gap in a motion, at full speed, s."""
_GAP = 0.05
"""Time without a command after which the controller's target is looked at again, s."""
_START = 5.0
"""How long an uploaded program may take until it runs, s."""
_SETTLE = 4
"""Cycles from the end of a call until the program takes the next command."""
_PR_SET_PDEATHSIG = 1
_PLAYING = 2


class Client:
    """What happens in the process.

    Args:
        seam: the shared memory.
        ends: its ends of the sockets.
    """

    def __init__(self, seam: Seam, ends: Ends) -> None:
        self._seam, self._ends = seam, ends
        self._settings: dict[str, Any] = {}
        self._receive: Any = None
        self._control: Any = None
        self._send: Callable[[list[float]], bool] = lambda values: False
        self._low = self._high = self._step = np.zeros(6)
        self._parts = places(COMMAND)
        self._path: tuple[Array, Array, int, float] | None = None
        """Start, target, cycles and begin of the command that is carried out."""
        self._done = 0
        self._answer = np.zeros(4)
        self._last = -math.inf
        """When a setpoint was last sent, s."""
        self._played = self._ended = False
        """Whether the controller has run the uploaded program, and ended it: a later one is not watched."""

    def run(self) -> None:
        """Take calls and commands until the other side is gone."""
        wakes, calls = self._ends
        while True:
            ready, _, _ = select.select([wakes, calls], [], [], self._pause())
            if wakes in ready:
                if not woken(wakes):
                    return
                self._take()
            if calls in ready:
                text = calls.recv(65536)
                if not text:
                    return
                calls.send(json.dumps(self._called(json.loads(text))).encode())
            self._lead()

    def _called(self, message: dict[str, Any]) -> dict[str, Any]:
        """Carry a call out; what fails is said, never raised."""
        name = message.pop("call")
        try:
            return {"result": getattr(self, f"call_{name}")(**message)}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}

    # Calls of the supervisor

    def call_begin(self, **settings: Any) -> None:
        """Connect to read, and publish from now on."""
        from rtde_receive import RTDEReceiveInterface

        self._settings = settings
        self._low, self._high, self._step = (np.array(settings[name]) for name in ("low", "high", "step"))
        self._receive = RTDEReceiveInterface(settings["host"], -1.0, list(GETTERS))
        threading.Thread(target=self._publish, name="publish", daemon=True).start()

    def call_upload(self) -> None:
        """Upload the client's program and return when the controller runs it."""
        from rtde_control import RTDEControlInterface

        self._control = None
        control = RTDEControlInterface(self._settings["host"])
        deadline = time.monotonic() + _START
        while not control.isProgramRunning():
            if time.monotonic() > deadline:
                raise TimeoutError(f"the uploaded program does not run after {_START:g} s")
            time.sleep(0.005)
        self._control = control
        self._send = self._sender(control)

    def call_arm(self, frequency: float) -> bool:
        """Arm the controller's watchdog: less than `frequency` commands a second end the program."""
        armed = bool(self._control.setWatchdog(frequency))
        self._settle()
        return armed

    def call_stop(self) -> bool:
        """Brake, and end the program; the controller then holds the arm by itself."""
        self._path = None
        if self._control is None:
            return True
        a = self._settings["deceleration"]
        ends = {
            "position": self._control.servoStop,
            "tool": self._control.servoStop,
            "velocity": self._control.speedStop,
        }
        if self._settings["mode"] == "torque":
            self._control.stopJ(a, False)
            braked = True
        else:
            braked = bool(ends[self._settings["mode"]](a))
        self._settle()
        self._control.stopScript()
        self._control = None
        return braked

    def call_zero(self) -> bool:
        """Zero the force-torque sensor."""
        return bool(self._control.zeroFtSensor())

    def call_freedrive(self, axes: list[int]) -> bool:
        """Let the arm be led by hand along axes of the base (1: free)."""
        return bool(self._control.freedriveMode(axes))

    def call_kick(self) -> bool:
        """Tell the watchdog that the other side lives, while nothing is commanded."""
        return bool(self._control.kickWatchdog())

    def call_end_freedrive(self) -> bool:
        """Hold the arm again."""
        ended = bool(self._control.endFreedriveMode())
        self._settle()
        self._control.stopScript()
        return ended

    def _settle(self) -> None:
        """Let the program be ready for the next command: the client would wait for it at full processor load."""
        time.sleep(_SETTLE * self._settings["cycle"])

    # Commands

    def _sender(self, control: Any) -> Callable[[list[float]], bool]:
        """Return what passes one setpoint on, in the mode of the settings."""
        s = self._settings
        cycle, mode = s["cycle"], s["mode"]
        if mode == "position":
            return lambda q: bool(control.servoJ(q, 0.0, 0.0, cycle, s["lookahead"], s["gain"]))
        if mode == "tool":
            return lambda pose: bool(control.servoL(pose, 0.0, 0.0, cycle, s["lookahead"], s["gain"]))
        if mode == "velocity":
            return lambda qd: bool(control.speedJ(qd, s["acceleration"], cycle))
        viscous, coulomb = s["viscous"], s["coulomb"]
        return lambda torque: bool(control.directTorque(torque, viscous, coulomb))

    def _take(self) -> None:
        """Look at the newest command; carry its first step out at once."""
        numbers = self._seam.command.read()
        number = numbers[self._parts["number"]][0]
        if number == self._answer[0]:
            return
        issued, steps = numbers[self._parts["issued"]][0], numbers[self._parts["steps"]][0]
        start, target = numbers[self._parts["start"]], numbers[self._parts["target"]]
        verdict = self._verdict(numbers, issued, steps, start, target)
        if verdict == TAKEN:
            self._path, self._done = (start, target, int(steps), time.monotonic()), 0
            verdict = TAKEN if self._advance() else FAILED
        self._answer[:3] = number, verdict, time.monotonic()
        self._seam.answer.write(self._answer)
        wake(self._ends.wake)

    def _verdict(self, numbers: Array, issued: float, steps: float, start: Array, target: Array) -> int:
        """Judge a command as if nobody had before: `ur-rtde` itself passes on whatever it is given."""
        if not np.isfinite(numbers).all():
            return NOT_FINITE
        now = time.monotonic()
        if now - issued > self._settings["stale"]:
            return OLD
        if self._control is None or self._ended:
            return FAILED
        inside = (target >= self._low - 1e-9).all() and (target <= self._high + 1e-9).all()
        if not inside or not 1 <= steps <= 1000 or (np.abs(target - start) > steps * self._step + 1e-9).any():
            return BEYOND
        if self._settings["mode"] == "position" and now - self._last > _GAP:
            here = np.array(self._receive.getTargetQ())
            # Of a motion that pauses, the controller's target is still on its way.
            lag = _LAG * self._step / self._settings["cycle"] if self._last > 0 else 0.0
            if (np.abs(start - here) > _JUMP + lag).any():
                return BEYOND
        return TAKEN

    def _pause(self) -> float | None:
        """Time until the next setpoint is due, s; None: there is none."""
        if self._path is None:
            return None
        begin: float = self._path[3]
        return max(0.0, begin + self._done * float(self._settings["cycle"]) - time.monotonic())

    def _lead(self) -> None:
        """Send the setpoint that is due; those that were missed are left out."""
        if self._path is None or self._pause():
            return
        _, _, steps, begin = self._path
        self._done = min(steps - 1, int((time.monotonic() - begin) / self._settings["cycle"] + 1e-9))
        if not self._advance():
            self._path = None
            self._answer[1] = FAILED
            self._seam.answer.write(self._answer)
            wake(self._ends.wake)

    def _advance(self) -> bool:
        """Send the next setpoint of the command."""
        assert self._path is not None
        start, target, steps, _ = self._path
        self._done += 1
        if self._done >= steps:
            self._path, setpoint = None, target
        else:
            setpoint = start + (target - start) * (self._done / steps)
        if self._ended or not self._receive.isConnected():
            return False
        sent = self._send(setpoint.tolist())
        self._last = time.monotonic()
        self._answer[3] += 1
        return sent

    # What the controller sends

    def _publish(self) -> None:
        """Publish every package; without anybody who asks, look for one less often."""
        read = [(name, getattr(self._receive, getter)) for name, getter in GETTERS.items()]
        stamp_of = self._receive.getTimestamp
        parts, numbers = places(STATE), np.zeros(sum(STATE.values()))
        cycle, last = float(self._settings["cycle"]), -1.0
        while True:
            stamp = stamp_of()
            wanted = time.monotonic() - self._seam.asked < _WANTED
            self._end_if_severed()
            if stamp == last:
                time.sleep(0.1 * cycle if wanted else 0.005)
                continue
            arrival = time.monotonic()
            while True:  # a package that arrives in between must not be mixed with the one before
                for name, get in read:
                    numbers[parts[name]] = get()
                if numbers[parts["timestamp"]][0] == stamp_of():
                    break
            last = numbers[parts["timestamp"]][0]
            numbers[parts["arrival"]] = arrival
            playing = numbers[parts["runtime_state"]][0] == _PLAYING
            self._ended |= self._played and not playing
            self._played |= self._control is not None and playing
            self._seam.state.write(numbers)
            try:
                wake(self._ends.wake)
            except OSError:
                os._exit(0)
            time.sleep(0.75 * cycle if wanted else 0.01)

    def _end_if_severed(self) -> None:
        """End this process if a connection was closed.

        The client would connect and upload its program again by itself: one whose watchdog nobody has armed.
        """
        control = self._control
        if not self._receive.isConnected() or (control is not None and not control.isConnected()):
            os._exit(SEVERED)


def die_with(parent: int) -> None:
    """Let the kernel kill this process as soon as the one that started it is gone."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def main(arguments: list[str]) -> None:
    """Serve the other side of the seam.

    Args:
        arguments: the descriptors of the memory and of both sockets, and the parent's process.
    """
    memory, wakes, calls, parent = map(int, arguments)
    die_with(parent)
    sys.setswitchinterval(1e-4)  # neither thread may keep the other waiting for a whole cycle
    # Of low numbers, as `select` takes only those.
    memory, wakes, calls = (os.dup(descriptor) for descriptor in (memory, wakes, calls))
    ends = Ends(socket.socket(fileno=wakes), socket.socket(fileno=calls))
    try:
        Client(Seam(memory), ends).run()
    finally:
        os._exit(0)  # the client's destructors would wait for the controller


if __name__ == "__main__":
    main(sys.argv[1:])
