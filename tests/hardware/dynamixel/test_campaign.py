"""Attacks on a deployment: faults of the bus, of the controller and of the world, at random, at every phase.

Each run is one program: it connects, switches the torque on, walks to a start, plays a motion, walks home and
releases; and one attack: what breaks on the bus, what the controller does wrong, which signal comes, at a packet
drawn within one phase. Afterwards the promises of docs/real-arm.md are checked at the servo, by the emulator's
journal of every write that was taken or refused. A run is its seed: `attack(bench, seed)` gives the same again.
"""

import math
import os
import random
import signal
from typing import NamedTuple

import numpy as np
import pytest
from tests.hardware.campaign import SIGNALS, STATUS, Outcome, checked_recording, mixed, summary

from pliant.errors import PliantError
from pliant.hardware.dynamixel.robot import DynamixelRobot
from pliant.hardware.limits import MotionLimits, limit_motion
from pliant.hardware.recording import Recorder
from pliant.hardware.safety import SafeRobot
from pliant.hardware.safety_config import SafetyConfig

pytest.importorskip("mcap")
pytest.importorskip("dynamixel_sdk")
from pliant.envs.emulators.dynamixel.faults import Faults

KINDS = ("position", "extended", "current_position", "compliant", "current", "pwm", "xl430", "ax12a")
PHASES = ("connecting", "torque coming on", "walking out", "playing", "walking home", "releasing")
BUS = (
    *("none", "bytes lost", "bits flipped", "bytes doubled", "late answers", "loose plug", "deaf servos"),
    *("mute servos", "servo without power", "servo restarts", "overload", "unplugged"),
)
CONTROLLER = ("none", "exception", "NaN", "jumps", "short stall", "long stall", "stop key", "stop")
COUNTED = ("kind", "phase", "bus", "controller", "signal")
PACKETS = {"connecting": 90, "torque coming on": 14, "walking out": 90, "playing": 120, "walking home": 90}
"""Packets of a phase among which the moment is drawn; 6 of the release."""
LOSSY = ("bytes lost", "bits flipped", "bytes doubled", "late answers", "loose plug")
PERIOD = 0.02
LIMITS = {
    "rad": MotionLimits(speed=1.5, acceleration=15.0, step=0.03, walk_speed=0.3),
    "N·m": MotionLimits(speed=20.0, acceleration=2000.0, walk_speed=2.0),
    "1": MotionLimits(speed=5.0, acceleration=500.0, walk_speed=0.5),
}
QUICK, RUNS = 48, 1000


class Attack(NamedTuple):
    """What one run is made of."""

    seed: int
    kind: str
    phase: str
    moment: int
    bus: str
    controller: str
    signal: str


def drawn(seed):
    draw = random.Random(seed)
    kind, phase = draw.choice(KINDS), draw.choice(PHASES)
    moment = draw.randint(1, PACKETS.get(phase, 6))
    faults = mixed(draw, draw.choice(BUS), draw.choice(CONTROLLER), draw.choice(SIGNALS))
    return Attack(seed, kind, phase, moment, *faults)


class Run:
    """One program on one bench, under one attack."""

    def __init__(self, bench, attack, folder):
        self.bench, self.attack, self.folder = bench, attack, folder
        self.draw = random.Random(attack.seed + 1)
        self.phase, self.count, self.struck = "", 0, False
        self.pressed = False
        self.fault = ""
        """What the controller does wrong from now on."""
        config = SafetyConfig(motion=LIMITS, hold_time=0.1)
        self.safe = SafeRobot(bench.robot, config, lambda: self.pressed, bench)
        bench.guards.append(self.safe)
        bench.sending = self.sending
        self.release = bench.model.register("torque_enable").address

    def program(self):
        """What an application does; returns its exit status."""
        path = self.folder / f"{self.attack.seed}.mcap"
        try:
            with Recorder(path, self.safe.info) as recorder:
                self.phase = "connecting"
                with self.safe as safe:
                    try:
                        self.play(safe, recorder)
                    finally:
                        self.phase = "walking home"
        except KeyboardInterrupt:
            return 130
        except SystemExit as end:
            return int(end.code)
        except PliantError:
            return 2
        except ZeroDivisionError:
            return 1
        return 0

    def play(self, safe, recorder):
        info = safe.info
        self.phase = "torque coming on"
        state = safe.read()
        sent = safe.send(state.command)
        recorder.record(state, state.command, sent)
        self.phase = "walking out"
        goal = np.where([c.unit == "rad" for c in info.command], 0.1, 0.05)
        safe.walk_to(np.clip(goal, info.low, info.high))
        self.phase = "playing"
        start = safe.read().command
        for k in range(30):
            state = safe.read()
            command = self.command(start, k)
            sent = safe.send(command)
            recorder.record(state, command, sent)

    def command(self, start, k):
        if self.fault == "exception":
            raise ZeroDivisionError
        if self.fault == "NaN":
            return np.full(len(start), math.nan)
        if self.fault == "jumps":
            return np.array([self.draw.uniform(-3, 3) for _ in start])
        return start + 0.3 * (1 - math.cos(2 * math.pi * k / 60))

    def sending(self, packet):
        """Before every packet: see whether it is time."""
        two = self.bench.model.protocol == 2
        released = (
            packet[7:8] == b"\x03" and packet[8] == self.release
            if two
            else packet[4:6] == bytes([3, self.release])
        )
        if self.phase == "walking home" and released and not packet[10 if two else 6]:
            self.phase = "releasing"
        if self.phase != self.attack.phase or self.struck:
            return
        self.count += 1
        if self.count == self.attack.moment:
            self.struck = True
            self.strike()

    def strike(self):
        bench, attack = self.bench, self.attack
        getattr(self, "_" + attack.bus.replace(" ", "_"), lambda: None)()
        if attack.controller == "short stall":
            bench.sleep(0.06)
        elif attack.controller == "long stall":
            bench.sleep(0.5)
        elif attack.controller == "stop key":
            self.pressed = True
        elif attack.controller == "stop":
            # As from a signal's handler, in the midst of whatever is under way.
            self.safe.stop()
        else:
            self.fault = attack.controller
        if attack.signal == "SIGKILL":
            bench.kill()
        elif attack.signal == "two signals":
            os.kill(os.getpid(), signal.SIGINT)
            bench.sending = self.second
        elif attack.signal != "none":
            os.kill(os.getpid(), getattr(signal, attack.signal))

    def second(self, packet):
        self.count += 1
        if self.count >= self.attack.moment + 9:
            self.bench.sending = self.sending
            os.kill(os.getpid(), signal.SIGTERM)

    # Faults of the bus

    def _noise(self, **faults):
        direction = self.draw.choice(("to_computer", "to_servos"))
        self.bench.faults(direction, seed=self.attack.seed, **faults)

    def _bytes_lost(self):
        self._noise(drop=self.draw.choice((0.001, 0.01, 0.05)))

    def _bits_flipped(self):
        self._noise(corrupt=self.draw.choice((0.001, 0.01, 0.05)))

    def _bytes_doubled(self):
        self._noise(duplicate=self.draw.choice((0.001, 0.01, 0.05)))

    def _late_answers(self):
        self.bench.faults(late=self.draw.choice((0.02, 0.2)), lateness=0.03, seed=self.attack.seed)

    def _loose_plug(self):
        self._noise(cut_every=self.draw.choice((2, 3, 7)))

    def _deaf_servos(self):
        self.bench.faults("to_servos", drop=1.0)

    def _mute_servos(self):
        self.bench.faults(drop=1.0)

    def _servo_without_power(self):
        self.bench.servo(2).alive = False

    def _servo_restarts(self):
        axis, servo = self.bench.bus.axis(2)
        servo.power_on(self.bench.plant.read(axis))

    def _overload(self):
        self.bench.servo(2).overload()

    def _unplugged(self):
        self.bench.unplugged = True


def attack(bench, seed, folder, killed):
    """Run one attack and return what came of it."""
    plan = drawn(seed)
    machine = bench(plan.kind)
    run = Run(machine, plan, folder)
    machine.place(*[run.draw.uniform(-0.05, 0.05) for _ in range(2)])
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        status = run.program()
    except killed:
        status = -9
    found = [f"the handler of signal {n} was not put back" for n, h in before.items() if signal.getsignal(n) != h]
    machine.dead = True
    machine.sending = lambda packet: None
    found += checked_end(machine, plan, status)
    found += checked_status(run, status)
    found += checked_goals(machine, plan)
    found += checked_watchdog(machine)
    late = plan.phase in ("walking home", "releasing")
    found += checked_recording(folder / f"{seed}.mcap", status == -9, late)
    run.safe._trip = run.safe._trip or "over"
    return Outcome(plan, run.struck, status, tuple(found))


def checked_end(machine, plan, status):
    """What is so when the program is gone: nothing moves, and the torque is off if it could be switched off."""
    found = []
    still = machine.still_after(1.0)
    if not still:
        found.append("something still moves")
    whole = plan.bus in ("none", "overload", "servo restarts", "late answers")
    torques = machine.registers("torque_enable")
    stopped = plan.controller in ("stop", "stop key") and status == 2 and plan.bus == "none"
    if stopped and plan.phase in ("walking out", "playing"):
        for servo in machine.bus.servos:
            goals = [e for e in machine.journal(machine.drive_register) if e.servo == servo.id and not e.refusal]
            if not is_hold(machine, goals, len(goals) - 1):
                found.append(f"servo {servo.id} was not told to hold before it was released")
    if whole and status != -9 and any(torques):
        found.append(f"not released: torque {torques}")
    for servo, torque in zip(machine.bus.servos, torques, strict=True):
        if not torque or not servo.alive or plan.kind == "ax12a":
            continue
        goals = [e for e in machine.journal(machine.drive_register) if e.servo == servo.id and not e.refusal]
        watched = servo.memory["bus_watchdog"] == -1
        if not (watched or (goals and is_hold(machine, goals, len(goals) - 1))):
            found.append(f"servo {servo.id} is left with torque, without a watchdog and not holding")
    return found


def checked_status(run, status):
    """The exit status tells what ended the program."""
    plan, struck = run.attack, run.struck
    if status == -9:
        return [] if plan.signal == "SIGKILL" else ["killed by nobody"]
    expected = {0}
    if struck:
        expected = set(STATUS.get(plan.signal, {0}))
        # What else may end it first, or on its way home.
        if plan.controller in ("NaN", "stop key", "stop", "long stall", "short stall") or plan.bus != "none":
            expected |= {2}
        if plan.controller == "exception":
            expected |= {1}
        if plan.controller in ("stop", "stop key") and plan.signal == "none" and plan.phase in PHASES[2:5]:
            expected -= {0}
        if plan.bus in ("overload", "unplugged", "mute servos", "deaf servos") and plan.phase in PHASES[1:4]:
            expected -= {0}
    return [] if status in expected else [f"exit status {status}, expected {sorted(expected)}"]


def is_hold(machine, goals, at):
    """Whether a goal keeps a servo where it is, or where it was sent before."""
    goal = goals[at]
    if not machine.holds_position:
        return goal.value == 0
    # Where a stop had to be said again and again, the joint moved on meanwhile.
    near = 3 if machine.bus.to_servos.faults == Faults() == machine.bus.to_computer.faults else 40
    return abs(goal.value - goal.present) <= near or (at > 0 and goal.value == goals[at - 1].value)


def checked_goals(machine, plan):
    """Range, speed, acceleration, step and first motion of the goals that every servo took."""
    found = []
    register = machine.model.register(machine.drive_register)
    unit = {"current": "N·m", "pwm": "1"}.get(plan.kind, "rad")
    limits, columns = LIMITS[unit], 2 if plan.kind == "compliant" else 1
    count = 1.0 * register.scale if unit != "N·m" else machine.model.torque_per_count
    zero = machine.model.zero_count if unit == "rad" else 0
    for servo in machine.bus.servos:
        entries = [e for e in machine.bus.journal if e.servo == servo.id and not e.refusal]
        goals = [e for e in entries if e.register == register.name]
        reach = max((abs(e.value - zero) for e in goals), default=0) * count
        if reach > 1.0 + count:
            found.append(f"servo {servo.id}: goal {reach:.3f} {unit} beyond its range of 1")
        change, before, now = 0.0, None, None
        for at in range(len(goals)):
            again = now is not None and goals[at].value == now.value
            soon = at + 1 < len(goals) and goals[at + 1].time - goals[at].time < 0.4 * PERIOD
            if again and (soon or goals[at].time - now.time < 0.4 * PERIOD):
                continue  # the same goal again, confirmed
            before, now = now, goals[at]
            if before is None:
                continue
            step, took = (now.value - before.value) * count, now.time - before.time
            # Goals that come at once are those of a stop or of the torque coming on: to all, then to each.
            follows = at + 1 < len(goals) and goals[at + 1].time - now.time < 0.4 * PERIOD
            lossless = plan.bus not in (*LOSSY, "deaf servos", "mute servos", "servo without power")
            regular = 0.4 * PERIOD < took < 1.6 * PERIOD
            if is_hold(machine, goals, at) and (follows or not regular or not lossless):
                change = 0.0
                continue
            first = columns * limits.acceleration * PERIOD**2 + 2 * count
            if took < 0.4 * PERIOD and abs(step) > first:
                found.append(f"servo {servo.id}: two goals at once, {step:.3f} {unit} apart")
            # Of goals that were lost nobody knows here how long the last one was under way.
            periods = max(round(took / PERIOD), 1) + (not lossless)
            allowed = columns * periods * min(limits.speed * PERIOD, limits.step)
            if abs(step) > allowed + 2 * count:
                found.append(f"servo {servo.id}: step {step:.3f} {unit} in {took:.3f} s")
            jerk = abs(step - change) - columns * limits.acceleration * PERIOD**2
            if lossless and regular and jerk > 3 * count:
                found.append(f"servo {servo.id}: speed changes by {jerk:.4f} {unit} too much in a period")
            change = step
        for at, entry in enumerate(entries):
            if entry.register == "torque_enable" and entry.value and entry.by == "computer":
                last = [e for e in entries[:at] if e.register == register.name]
                if not last:
                    found.append(f"servo {servo.id}: torque before any goal")
                elif machine.holds_position and abs(last[-1].value - entry.present) > 3:
                    found.append(f"servo {servo.id}: torque comes on {last[-1].value - entry.present} counts away")
                elif not machine.holds_position and last[-1].value:
                    found.append(f"servo {servo.id}: torque comes on with a drive")
    return found


def checked_watchdog(machine):
    """Whenever there is torque a watchdog is armed, until the servo was told to hold."""
    found = []
    if machine.model.protocol == 1:
        return found
    for servo in machine.bus.servos:
        torque, watchdog, goals = 0, 0, []
        for entry in machine.bus.journal:
            if entry.servo != servo.id or entry.refusal:
                continue
            if entry.register == "torque_enable":
                if entry.value and not torque and watchdog <= 0:
                    found.append(f"servo {servo.id}: torque without a watchdog")
                torque = entry.value
            elif entry.register == "bus_watchdog":
                held = goals and is_hold(machine, goals, len(goals) - 1)
                if torque and not entry.value and watchdog > 0 and not held:
                    found.append(f"servo {servo.id}: watchdog disarmed in motion")
                watchdog = entry.value
            elif entry.register == machine.drive_register:
                goals.append(entry)
                if torque and watchdog == 0 and not is_hold(machine, goals, len(goals) - 1):
                    found.append(f"servo {servo.id}: moved without a watchdog")
    return found


@pytest.mark.slow
def test_no_attack_of_a_few_leaves_the_machine_in_another_state_than_promised(bench, tmp_path, killed):
    outcomes = [attack(bench, seed, tmp_path, killed) for seed in range(QUICK)]
    assert not any(o.unsafe for o in outcomes), summary(outcomes, COUNTED)


@pytest.mark.slow
def test_no_attack_of_a_thousand_leaves_the_machine_in_another_state_than_promised(bench, tmp_path, killed):
    outcomes = [attack(bench, seed, tmp_path, killed) for seed in range(RUNS)]
    print(summary(outcomes, COUNTED))
    assert not any(o.unsafe for o in outcomes), summary(outcomes, COUNTED)
    assert {o.attack.kind for o in outcomes} == set(KINDS)


BROKEN = {
    "watchdog never armed": ("_arm", lambda self, mount: None),
    "stop sent once, unconfirmed": ("_confirm_halt", lambda self, silent=None: self._unheld.clear()),
    "no stop at all": ("_hold_still", lambda self: None),
    "no release": ("_release", lambda self: None),
    "torque on without a goal": ("_hold", lambda self, silent=frozenset(): np.zeros(len(self._info.command))),
}


@pytest.mark.parametrize("what", BROKEN)
def test_the_campaign_sees_a_driver_that_is_broken(bench, tmp_path, killed, monkeypatch, what):
    """A check that cannot fail proves nothing."""
    name, broken = BROKEN[what]
    monkeypatch.setattr(DynamixelRobot, name, broken)
    assert any(attack(bench, seed, tmp_path, killed).unsafe for seed in range(60)), "nothing was seen in 60 runs"


@pytest.mark.parametrize("what", ["speed", "acceleration"])
def test_the_campaign_sees_a_safety_layer_that_is_broken(bench, tmp_path, killed, monkeypatch, what):
    def unlimited(target, last, limits, period):
        limits = limits._replace(acceleration=limits.acceleration * 4)
        limits = limits._replace(speed=limits.speed * 4) if what == "speed" else limits
        return limit_motion(target, last, limits, period)

    monkeypatch.setattr("pliant.hardware.safety.limit_motion", unlimited)
    assert any(attack(bench, seed, tmp_path, killed).unsafe for seed in range(60)), "nothing was seen in 60 runs"
