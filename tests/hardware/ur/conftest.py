import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from pliant.envs.emulated_ur import free_host
from pliant.envs.emulators.ur.process import EmulatedController
from pliant.envs.emulators.ur.settings import ControllerSettings, Gap
from pliant.hardware.ur.config import URConfig
from pliant.hardware.ur.robot import URRobot
from pliant.hardware.ur.supervisor import Supervisor

PATIENT = 0.5
"""Age of a package that a busy machine may bring about, s; on a robot it is a tenth of that."""
WATCHDOG = 0.25
"""s; longer than the usual one for the same reason."""


_GENTLE = 4.0
"""Largest acceleration of a motion, rad/s²."""


class Fake:
    """The client with a stand-in for ur-rtde, and what that was told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stopped: list[str] = []

    def mood(self, text: str) -> None:
        (self.folder / "mood").write_text(text)

    def calls(self, name: str) -> list[list]:
        """Calls of a function so far: time and arguments."""
        try:
            lines = (self.folder / "calls").read_text().splitlines()
        except OSError:
            return []
        return [entry[1:] for entry in map(json.loads, lines) if entry[0] == name]


@pytest.fixture
def fake(tmp_path, monkeypatch) -> Fake:
    monkeypatch.setenv("PLIANT_FAKE_UR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parent / 'fake'}:{Path(__file__).parents[3] / 'src'}")
    found = Fake(tmp_path)
    monkeypatch.setattr(
        "pliant.hardware.ur.supervisor.stop_program",
        lambda host, deceleration, dashboard: found.stopped.append(host) or "stand-in",
    )
    return found


SETTINGS = {
    **{"host": "127.0.0.9", "mode": "position", "cycle": 0.002, "low": [-2.0] * 6, "high": [2.0] * 6},
    **{"step": [0.01] * 6, "lookahead": 0.05, "gain": 300.0, "acceleration": 4.0, "deceleration": 10.0},
    **{"viscous": [0.9] * 6, "coulomb": [0.8] * 6, "stale": PATIENT},
}


@pytest.fixture
def supervisor(fake) -> Iterator[Supervisor]:
    one = Supervisor(SETTINGS, PATIENT, 10.0)
    yield one
    one.end()


@pytest.fixture
def controller() -> Iterator[Callable[..., EmulatedController]]:
    """Return a function that starts an emulated controller: `controller(polyscope="5.22", …)`."""
    made: list[EmulatedController] = []

    def make(**settings) -> EmulatedController:
        settings.setdefault("gap", Gap.none())
        if settings.get("polyscope", "").startswith("3"):
            settings.setdefault("robot", "ur10")
        settings.setdefault("unlock_delay", 0.1)
        made.append(EmulatedController(ControllerSettings(**settings), free_host()))
        made[-1].start()
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def arm() -> Iterator[Callable[..., URRobot]]:
    """Return a function that makes the driver of an emulated controller, connected."""
    made: list[URRobot] = []

    def make(controller: EmulatedController, connect: bool = True, **settings) -> URRobot:
        settings.setdefault("model", "ur10" if controller.settings.polyscope.startswith("3") else "ur10e")
        settings = {"stale": PATIENT, "watchdog": WATCHDOG, **settings}
        made.append(URRobot(URConfig(controller.host, **settings)))
        if connect:
            made[-1].connect()
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def go() -> Callable[..., np.ndarray]:
    """Return a function that moves one column smoothly by `distance` in `periods`, more if its weight needs them.

    It returns the last command.
    """

    def move(robot: URRobot, distance: float, periods: int, column: int = 0) -> np.ndarray:
        start = robot.read().command
        periods = max(periods, math.ceil(math.pi * math.sqrt(abs(distance) / (2 * _GENTLE)) / robot.info.period))
        goal = start.copy()
        for k in range(1, periods + 1):
            goal[column] = start[column] + distance * (1 - np.cos(np.pi * k / periods)) / 2
            robot.send(goal)
        return goal

    return move
