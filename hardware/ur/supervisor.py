"""Starts the process that speaks to the controller, watches it, and stops the arm when it is dead or stale.

What the client says of itself is not believed: `ur-rtde` goes on returning True when the controller has long gone.
Only a package of the controller with a newer time counts.
"""

import contextlib
import json
import logging
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from pliant.errors import RobotError, require_extra
from pliant.hardware.robot import Array
from pliant.hardware.ur.client import SEVERED
from pliant.hardware.ur.dashboard import stop_program
from pliant.hardware.ur.rtde import look
from pliant.hardware.ur.seam import ANSWER, COMMAND, STATE, VERDICTS, Ends, Seam, ends, places, wake, woken

log = logging.getLogger(__name__)

START_TIME: Final = 20.0
"""How long the process may take to start and connect, s."""
UPLOAD_TIME: Final = 15.0
"""How long the client may take to upload its program and see it run, s."""
CALL_TIME: Final = 3.0
"""How long other calls may take, s."""


_ENDINGS: Final = 3
"""How often a program is ended that runs still."""
_ENDING: Final = 0.2
"""Time from that until it is looked whether one runs, s."""
_PLAYING: Final = 2


class ClientLostError(RobotError):
    """The client's process has died, is stale or does not answer; it has been ended."""


class Supervisor:
    """The client's process, from `start` to `end`, as often as needed.

    Args:
        settings: what the client is told on its start, see `Client.call_begin`.
        stale: age of the controller's newest package at which the client counts as lost, s.
        deceleration: with which the arm is stopped when the client is gone, rad/s².
    """

    def __init__(self, settings: Mapping[str, Any], stale: float, deceleration: float) -> None:
        self.settings = dict(settings)
        self.stale, self.deceleration = stale, deceleration
        self.has_dashboard = True
        """Whether the controller has one."""
        self.loss = ""
        """Why the client was ended; empty while it is fine."""
        self.pid = 0
        """Of the client's process; 0: there is none."""
        self.moving = False
        """Whether the client has the arm: then its loss stops the controller's program."""
        self.issued = 0.0
        """When the last command was issued, s."""
        self._host = str(settings["host"])
        self._seam: Seam | None = None
        self._ends: Ends | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._watcher: threading.Thread | None = None
        self._calling = 0
        self._excused = 0.0
        """Until when the client could not publish, s: what it sends counts from then on."""
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._call_lock = threading.Lock()
        self._number = 0
        self._command = np.zeros(sum(COMMAND.values()))
        self._parts = {"command": places(COMMAND), "state": places(STATE), "answer": places(ANSWER)}
        self._newest: Array | None = None
        self._count = -1

    @property
    def alive(self) -> bool:
        """Whether the client's process runs and is fine."""
        return self._process is not None and not self.loss

    def start(self) -> None:
        """Start the process and connect it to the controller.

        Raises:
            MissingExtraError: `ur-rtde` is not installed.
            RobotError: the controller refuses the client.
        """
        require_extra_of_the_client()
        self.end()
        self.loss, self.moving, self._number, self._count, self._newest = "", False, 0, -1, None
        self._seam, (self._ends, theirs) = Seam(), ends()
        self._ending.clear()
        begun: threading.Event = threading.Event()
        failures: list[BaseException] = []
        # The kernel kills the client with the thread that started it, so that one lives as long as the client.
        self._watcher = threading.Thread(
            target=self._watch, args=(theirs, begun, failures), name=f"ur {self._host}", daemon=True
        )
        self._watcher.start()
        begun.wait()
        if failures:
            raise RobotError(f"the client's process does not start: {failures[0]}")
        try:
            self.call("begin", START_TIME, **self.settings)
            self._wait_for(lambda: self._seam is not None and self._seam.state.count > 0, CALL_TIME)
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """End the process at once; the arm is not stopped by this. Safe to call twice."""
        self._ending.set()
        self.moving = False
        self._kill()
        watcher, self._watcher = self._watcher, None
        if watcher is not None and watcher is not threading.current_thread():
            watcher.join(5.0)
        if self._ends is not None:
            for one in self._ends:
                one.close()
        if self._seam is not None:
            self._seam.close()
        self._ends = self._seam = None

    def call(self, name: str, patience: float = CALL_TIME, **arguments: Any) -> Any:
        """Let the client carry a call out and return its result.

        Raises:
            ClientLostError: it does not answer in time, or dies; it has been ended and the arm stopped then.
            RobotError: the call failed, with what it said.
        """
        with self._call_lock:
            self._raise_if_lost()
            assert self._ends is not None
            calls = self._ends.calls
            self._calling += 1  # its constructors keep it from publishing
            try:
                calls.send(json.dumps({"call": name, **arguments}).encode())
                ready, _, _ = select.select([calls], [], [], patience)
                text = calls.recv(65536) if ready else None
            except OSError:
                text = b""
            finally:
                self._calling -= 1
                self._excused = time.monotonic()
            if text is None:
                self._lose(f"it did not answer to {name!r} within {patience:g} s")
            elif not text:
                self._lose(f"its process died while it carried out {name!r}")
            self._raise_if_lost()
            assert text
            answer = json.loads(text)
        if "error" in answer:
            raise RobotError(f"the client of {self._host}: {name}: {answer['error']}")
        return answer["result"]

    def command(self, start: Array, target: Array, steps: int) -> int:
        """Have the client lead the controller from `start` to `target` in `steps` cycles; return its number."""
        self._raise_if_lost()
        assert self._seam is not None
        assert self._ends is not None
        self._number += 1
        parts = self._parts["command"]
        self._command[parts["number"]] = self._number
        self._command[parts["issued"]] = self.issued = time.monotonic()
        self._command[parts["steps"]] = steps
        self._command[parts["start"]], self._command[parts["target"]] = start, target
        self._seam.command.write(self._command)
        try:
            wake(self._ends.wake)
        except OSError:
            self._lose("its process has died")
            self._raise_if_lost()
        return self._number

    def answer(self) -> tuple[int, int, float]:
        """Return number and verdict of the last command that was taken, and when its first call returned, s."""
        self._raise_if_lost()
        assert self._seam is not None
        numbers = self._seam.answer.read()
        return int(numbers[0]), int(numbers[1]), float(numbers[2])

    def state(self) -> Mapping[str, Array]:
        """Return the controller's newest package, by variable; raise `ClientLostError` if it is stale."""
        numbers = self._numbers()
        if self._age(numbers) > self.stale:
            self._check_fresh()
            self._raise_if_lost()
        return {name: numbers[place] for name, place in self._parts["state"].items()}

    def time(self) -> float:
        """Return the controller's time in its newest package, s."""
        return float(self._numbers()[self._parts["state"]["timestamp"]][0])

    def wait_until(self, stamp: float) -> float:
        """Wait until the controller's time is `stamp`, s, or later and return it.

        Raises:
            ClientLostError: it stands still.
        """
        self._raise_if_lost()
        assert self._seam is not None
        while (now := self.time()) < stamp:
            self._seam.ask()
            left = stamp - now
            if left > 0.003:  # let the packages in between pass
                time.sleep(min(left - 0.002, 0.02))
                self._drain()
            else:
                self.wait(0.01)
            self._check_fresh()
        return now

    def wait(self, timeout: float) -> None:
        """Return as soon as the client has something new, or after `timeout` s."""
        self._raise_if_lost()
        assert self._ends is not None
        select.select([self._ends.wake], [], [], timeout)
        self._drain()

    def give_up(self, why: str) -> None:
        """End the client, and stop the arm if the client had it."""
        self._lose(why)

    def _drain(self) -> None:
        if self._ends is not None and not woken(self._ends.wake):
            self._lose("its process has died")
        self._raise_if_lost()

    def _wait_for(self, condition: Callable[[], bool], patience: float) -> None:
        deadline = time.monotonic() + patience
        while not condition():
            if time.monotonic() > deadline:
                self._lose(f"the controller sends nothing for {patience:g} s")
            self.wait(0.05)

    def _numbers(self) -> Array:
        self._raise_if_lost()
        assert self._seam is not None
        self._seam.ask()
        count = self._seam.state.count
        if count != self._count or self._newest is None:
            self._newest, self._count = self._seam.state.read(), count
        return self._newest

    def _age(self, numbers: Array) -> float:
        """Age of a package of the controller, as far as the client can be blamed for it, s."""
        arrival = float(numbers[self._parts["state"]["arrival"]][0])
        return time.monotonic() - max(arrival, self._excused)

    def _check_fresh(self) -> None:
        """Give the client up if the controller's time stands still."""
        seam = self._seam
        if seam is None or self._calling or self.loss or not seam.state.count:
            return
        age = self._age(seam.state.read())
        if age > self.stale:
            self._lose(f"the controller's last package is {1e3 * age:.0f} ms old")

    def _raise_if_lost(self) -> None:
        if self.loss:
            raise ClientLostError(self.loss)
        if self._process is None:
            raise ClientLostError(
                f"there is no connection to the controller at {self._host}; call connect() first."
            )

    def _watch(self, theirs: Ends, begun: threading.Event, failures: list[BaseException]) -> None:
        """Start the process and look after it until its end."""
        try:
            self._launch(theirs)
        except BaseException as error:
            failures.append(error)
            return
        finally:
            for one in theirs:
                one.close()
            begun.set()
        process = self._process
        assert process is not None
        descriptor = os.pidfd_open(process.pid)
        try:
            while not self._ending.is_set():
                ready, _, _ = select.select([descriptor], [], [], 0.01 if self.moving else 0.1)
                if self._ending.is_set():
                    break
                if ready:
                    status = process.wait()
                    self._lose(_end_of(status))
                    break
                if self.moving:
                    self._check_fresh()
        finally:
            os.close(descriptor)
            process.wait()

    def _launch(self, theirs: Ends) -> None:
        assert self._seam is not None
        descriptors = (self._seam.descriptor, theirs.wake.fileno(), theirs.calls.fileno())
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pliant.hardware.ur.client", *map(str, descriptors), str(os.getpid())],
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None if log.isEnabledFor(logging.DEBUG) else subprocess.DEVNULL,
            start_new_session=True,  # keys of the terminal are for this program, which brings the arm to rest
        )
        self.pid = self._process.pid

    def _lose(self, why: str) -> None:
        """End the client, stop the arm if it had it, and remember why."""
        with self._lock:
            if self.loss or self._ending.is_set():
                return
            moved, self.moving = self.moving, False
            self.loss = f"the client of the controller at {self._host} was lost: {why}."
            self._kill()
            if not moved:
                return
            try:
                how = self._end_program()
                self.loss += f" The arm's program was stopped ({how})."
            except RobotError as error:
                self.loss += f" {error}"
            log.error("%s", self.loss)

    def _end_program(self) -> str:
        """End the controller's program and see that none runs; return how.

        The client, whose connections were cut, uploads its program again by itself in its last moment.
        """
        how = ""
        for _ in range(_ENDINGS):
            how = stop_program(self._host, self.deceleration, self.has_dashboard)
            time.sleep(_ENDING)
            try:
                running = look(self._host, ["runtime_state"]).get("runtime_state", (0.0,))[0]
            except RobotError:
                break
            if int(running) != _PLAYING:
                break
        return how

    def _kill(self) -> None:
        process, self._process, self.pid = self._process, None, 0
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()


def _end_of(status: int) -> str:
    """Say how the client's process has ended."""
    if status == SEVERED:
        return "the controller has closed the connection"
    how = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
    return f"its process has ended ({how})"


def require_extra_of_the_client() -> None:
    """Raise `MissingExtraError` unless `ur-rtde` is installed; it is not imported here."""
    import importlib.util

    if importlib.util.find_spec("rtde_control") is None:
        require_extra("rtde_control", "ur", "an arm of Universal Robots")


def verdict_text(verdict: int) -> str:
    """Say what became of a command."""
    return VERDICTS[verdict] if 0 <= verdict < len(VERDICTS) else f"verdict {verdict}"
