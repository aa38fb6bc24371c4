"""The program that is attacked: connects, engages, walks out, plays, walks home, releases; and who attacks it."""

import contextlib
import json
import math
import os
import random
import signal
import threading
import time
from pathlib import Path

import numpy as np
from tests.hardware.ur.attacks import PHASES, STOPS, Attack

from pliant.envs.emulators.control import request
from pliant.errors import PliantError, RobotError
from pliant.hardware.recording import Recorder
from pliant.hardware.safety import SafeRobot
from pliant.hardware.ur.robot import URRobot

OUT = {"position": 0.05, "tool": 0.015, "velocity": 0.1, "torque": 2.0}
"""How far the first column walks out, in its unit."""
WIDTH = {"position": 0.04, "tool": 0.012, "velocity": 0.12, "torque": 2.0}
"""How far it swings from there."""
PLAY = 0.4
"""How long it plays, s."""


class Notes:
    """Lines that outlive the program."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def add(self, **facts) -> None:
        """Add a line, with the time."""
        os.write(self._descriptor, json.dumps({"wall": time.monotonic(), **facts}).encode() + b"\n")


class Driver(URRobot):
    """Tells when it is released."""

    released = staticmethod(lambda: None)

    def close(self) -> None:
        self.released()
        super().close()


class Program:
    """One program under one attack.

    Args:
        attack: on it.
        host: address of the controller.
        control: where its control socket is.
        folder: for its notes and its recording.
    """

    def __init__(self, attack: Attack, host: str, control: Path, folder: Path) -> None:
        self.attack, self.control, self.folder = attack, control, folder
        self.notes = Notes(folder / "notes")
        self.draw = random.Random(attack.seed + 1)
        self.phase = ""
        self.fault = ""
        """What the program does wrong from now on."""
        self.jump = None
        self.pressed = False
        self.turn = threading.Event()
        """Set when the phase of the attack begins."""
        self.driver = Driver(attack.config(host))
        self.driver.released = lambda: self.enter("releasing")
        self.safe = SafeRobot(self.driver, attack.safety(), lambda: self.pressed)

    def enter(self, phase: str) -> None:
        """Begin a phase."""
        if phase not in PHASES[PHASES.index(self.phase) + 1 if self.phase else 0 :]:
            return
        self.phase = phase
        self.notes.add(phase=phase)
        if phase == self.attack.phase:
            self.turn.set()

    def run(self) -> None:
        """Do what an application does."""
        threading.Thread(target=self.strike, daemon=True).start()
        with Recorder(self.folder / "recording.mcap", self.safe.info) as recorder:
            self.safe.observer = recorder.walk
            self.enter("connecting")
            with self.safe as safe:
                try:
                    self.move(safe, recorder)
                finally:
                    self.enter("walking home")

    def move(self, safe, recorder) -> None:
        """Play, and try again where it must not."""
        try:
            self.play(safe, recorder)
        except RobotError as error:
            self.notes.add(reason=str(error))
            if not safe.tripped:
                raise
            self.try_again(safe)
            if not (self.attack.rearms and self.attack.heals):
                raise
            time.sleep(0.3)
            self.notes.add(rearmed=True)
            safe.rearm()
            self.play(safe, recorder)

    def try_again(self, safe) -> None:
        """Go on as if nothing had happened, as a loop does that catches everything."""
        for action in (safe.connect, lambda: safe.send(safe.info.rest), lambda: safe.walk_to(safe.info.rest)):
            for _ in range(3):
                try:
                    action()
                    self.notes.add(unsafe="it moved again without being rearmed")
                except RobotError:
                    time.sleep(0.02)

    def play(self, safe, recorder) -> None:
        """Move."""
        state = safe.read()
        self.enter("engaging")
        sent = safe.send(state.command)
        recorder.record(state, state.command, sent)
        self.enter("walking out")
        goal = self.attack.rest
        goal[0] += OUT[self.attack.mode]
        if safe.walks:  # else that would end the program and begin another
            safe.walk_to(goal)
        self.enter("playing")
        for k in range(round(PLAY / self.attack.period)):
            state = safe.read()
            command = self.command(goal, k * self.attack.period)
            sent = safe.send(command)
            recorder.record(state, command, sent)

    def command(self, goal, time_):
        """What is played after some time, s."""
        if self.fault == "exception":
            raise ZeroDivisionError
        if self.fault == "NaN":
            return np.full(6, math.nan)
        if self.fault == "jumps":
            if self.jump is None or self.draw.random() < self.attack.period / 0.1:
                self.jump = np.array([self.draw.uniform(-3, 3) for _ in range(6)])
            return goal + self.jump
        if self.fault.endswith("stall"):
            self.fault, length = "", 0.06 if self.fault == "short stall" else 0.6
            time.sleep(length)
        swing = WIDTH[self.attack.mode] * (1 - math.cos(2 * math.pi * time_ / PLAY)) / 2
        return goal + np.eye(6)[0] * swing

    # The attack, from another thread

    def strike(self) -> None:
        """Wait for the moment, and attack."""
        self.turn.wait()
        attack = self.attack
        time.sleep(attack.moment)
        self.notes.add(struck=self.phase == attack.phase)
        if self.phase != attack.phase:
            return
        if attack.controller != "none":
            self.break_controller()
        if attack.program == "stop":
            self.safe.stop()
            self.notes.add(stopped=True)
        elif attack.program == "stop key":
            self.pressed = True
        else:
            self.fault = attack.program
        self.send_signal()
        if attack.heals and attack.controller in STOPS:
            time.sleep(0.15)
            self.heal()

    def break_controller(self) -> None:
        settings = {"fraction": 0.0} if self.attack.controller == "speed_slider" else {}
        if self.attack.controller == "late":
            settings["delay"] = self.draw.choice((0.02, 0.05, 0.3))
        duration = self.attack.duration
        if self.attack.controller == "freeze" and duration is None:
            duration = 1.0
        try:
            request(self.control, "fault", name=self.attack.controller, duration=duration, **settings)
        except RobotError as error:
            if self.attack.controller != "vanish":
                self.notes.add(surprise=str(error))

    def heal(self) -> None:
        """Press what ends the cause; nothing may move by that alone."""
        for button in ("unlock", "release_emergency_stop", "power_on", "remote_control", "free_slot"):
            try:
                request(self.control, "press", button=button)
            except RobotError:
                continue
        self.notes.add(healed=True)

    def send_signal(self) -> None:
        name = self.attack.signal
        if name.startswith("client"):
            client = self.driver.supervisor.pid
            self.notes.add(client=client)
            if client:
                with contextlib.suppress(ProcessLookupError):  # it has just died of the other fault
                    os.kill(client, getattr(signal, name.split()[1]))
        elif name == "two signals":
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(self.draw.uniform(0.0, 0.1))
            os.kill(os.getpid(), signal.SIGTERM)
        elif name != "none":
            os.kill(os.getpid(), getattr(signal, name))


def status_of(program: Program) -> int:
    """Run a program and return the exit status that it would have of its own."""
    try:
        program.run()
    except KeyboardInterrupt:
        return 130
    except SystemExit as end:
        return int(end.code)
    except PliantError as error:
        program.notes.add(reason=str(error))
        return 2
    except ZeroDivisionError:
        return 1
    return 0
