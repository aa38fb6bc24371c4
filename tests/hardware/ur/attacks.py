"""What an attack on a program that drives an arm of Universal Robots is made of, drawn from its seed."""

import random
from dataclasses import dataclass

import numpy as np
from tests.hardware.campaign import SIGNALS, mixed

from pliant.controllers.ur_kinematics import UrKinematics
from pliant.envs.emulators.ur.settings import START, ControllerSettings, Gap
from pliant.hardware.limits import MotionLimits
from pliant.hardware.safety_config import JointLimits, SafetyConfig
from pliant.hardware.ur.config import MODES, URConfig
from pliant.hardware.ur_arms import JOINTS

VERSIONS = ("3.15", "5.11", "5.22", "5.23", "5.26", "10.12")
PHASES = ("connecting", "engaging", "walking out", "playing", "walking home", "releasing")
LINK = ("mute", "drop", "late", "freeze", "cut", "vanish")
CONTROLLER = (
    *("none", *LINK, "protective_stop", "emergency_stop", "local_control", "dead_program", "slot_busy"),
    *("register_clash", "force_drift", "speed_slider"),
)
STOPS = ("protective_stop", "emergency_stop", "local_control", "dead_program", "slot_busy")
"""Those after which an operator has to act."""
PROGRAM = ("none", "exception", "NaN", "jumps", "short stall", "long stall", "stop key", "stop")
KILLS = ("SIGSTOP", "client SIGKILL", "client SIGSTOP")
ENDS = (*SIGNALS, *KILLS)
"""Signals to the program, the last two to the client's process. A program that gets SIGSTOP goes on later."""
DURATION = {
    **{"connecting": 0.22, "engaging": 0.15, "walking out": 0.18, "playing": 0.38, "walking home": 0.18},
    "releasing": 0.02,
}
"""Time within a phase in which the moment is drawn, s."""
LIMITS = {
    "rad": MotionLimits(speed=1.0, acceleration=8.0, walk_speed=0.3),
    "m": MotionLimits(speed=0.25, acceleration=2.5, walk_speed=0.1),
    "rad/s": MotionLimits(speed=2.0, acceleration=80.0, walk_speed=0.5),
    "N·m": MotionLimits(speed=40.0, acceleration=2000.0, walk_speed=10.0),
}
REACH = {
    "position": [0.5] * 6,
    "tool": [0.15] * 3 + [0.4] * 3,
    "velocity": [0.5] * 6,
    "torque": [8.0] * 3 + [2.0] * 3,
}
"""How far each column may go from where it rests, in its unit."""


@dataclass(frozen=True)
class Attack:
    """What one run is made of."""

    seed: int
    polyscope: str
    mode: str
    steps: int
    """Cycles of the controller in a period."""
    watchdog: float
    """s"""
    gap: bool
    """Whether the arm is another one than its controller takes it for."""
    phase: str
    moment: float
    """Time since the begin of the phase, s."""
    controller: str = "none"
    """What the controller or the link to it does wrong."""
    duration: float | None = None
    """Of that, s; None: it stays."""
    program: str = "none"
    """What the program that drives the arm does wrong."""
    signal: str = "none"
    """Who gets which signal."""
    heals: bool = False
    """Whether the operator ends the cause soon after it."""
    rearms: bool = False
    """Whether the program is told then that the arm may move again, and goes on."""

    @property
    def model(self) -> str:
        """Name of the arm."""
        return "ur10" if self.polyscope == "3.15" else "ur10e"

    @property
    def cycle(self) -> float:
        """Of the controller, s."""
        return 0.008 if self.polyscope == "3.15" else 0.002

    @property
    def period(self) -> float:
        """s"""
        return self.steps * self.cycle

    @property
    def unit(self) -> tuple[str, ...]:
        """Of the columns."""
        one = {"position": "rad", "velocity": "rad/s", "torque": "N·m", "tool": "m"}[self.mode]
        return ("m",) * 3 + ("rad",) * 3 if self.mode == "tool" else (one,) * 6

    @property
    def rest(self) -> np.ndarray:
        """Where the arm rests, in the columns' units."""
        if self.mode == "position":
            return np.array(START)
        if self.mode == "tool":
            return _tool_at_rest(self.model)
        return np.zeros(6)

    def config(self, host: str) -> URConfig:
        """Return what the driver is made from."""
        rest, reach = self.rest, np.array(REACH[self.mode])
        return URConfig(
            host,
            model=self.model,
            mode=self.mode,
            period=self.period,
            watchdog=self.watchdog,
            stale=0.2,
            rest=rest,
            low=rest - reach,
            high=rest + reach,
        )

    def safety(self) -> SafetyConfig:
        """Return what the safety layer keeps to; whoever commands torques limits the joints' speeds."""
        joints = {name: JointLimits(speed=0.6) for name in JOINTS} if self.mode == "torque" else {}
        return SafetyConfig(motion=LIMITS, joints=joints, hold_time=0.05, overruns=1000, patience=20)

    def settings(self) -> ControllerSettings:
        """Return what the emulated controller is made from."""
        gap = Gap() if self.gap else Gap.none()
        return ControllerSettings(
            self.model, self.polyscope, gap=gap, unlock_delay=0.05, log_time=40.0, seed=self.seed
        )


def _tool_at_rest(model: str) -> np.ndarray:
    """Return the pose of the tool at the start: position, m, and rotation vector, rad."""
    pose = np.asarray(UrKinematics(model).forward(START))
    turn = pose[:3, :3]
    angle = np.arccos(np.clip((np.trace(turn) - 1) / 2, -1.0, 1.0))
    axis = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    if np.linalg.norm(axis) < 1e-6:  # half a turn
        axis = np.sqrt(np.maximum(np.diag(turn) + 1, 0) / 2)
        axis *= np.where(turn[np.argmax(axis)] < 0, -1, 1)
    return np.concatenate([pose[:3, 3], angle * axis / np.linalg.norm(axis)])


def drawn(seed: int) -> Attack:
    """Return the attack of a seed."""
    draw = random.Random(seed)
    mode = draw.choice(MODES)
    polyscope = draw.choice(("5.26", "10.12") if mode == "torque" else VERSIONS)
    steps = draw.choice((1, 2) if polyscope == "3.15" else (1, 4, 4))
    phase = draw.choice(PHASES)
    moment = draw.uniform(0.0, DURATION[phase])
    faults = mixed(draw, draw.choice(CONTROLLER), draw.choice(PROGRAM), draw.choice(ENDS))
    return Attack(
        seed,
        polyscope,
        mode,
        steps,
        draw.choice((0.1, 0.25, 0.25, 0.25)),
        mode != "torque" and draw.random() < 0.5,
        phase,
        moment,
        faults[0],
        draw.choice((0.03, 0.15, 0.4, None)),
        faults[1],
        faults[2],
        draw.random() < 0.5,
        draw.random() < 0.3,
    )
