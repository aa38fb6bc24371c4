"""The tool of an arm weighed on a machine: slowly through postures, at rest in each, the raw wrench averaged."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from pliant.controllers.checks import finite_array
from pliant.controllers.interaction import Arm
from pliant.controllers.interaction.frames import mounted
from pliant.controllers.interaction.planning import places
from pliant.controllers.weighing import Tour, weighing_tour
from pliant.deployment.deployment import Deployment, live, machine_numbers, stand
from pliant.deployment.rehearsal import Rehearsing
from pliant.envs.arm import arm, load_behind
from pliant.envs.description import described
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import RobotError, check_bounds, check_count
from pliant.files import write_json
from pliant.hardware.force_torque.tool_load import IdentifiedLoad, identify_load
from pliant.hardware.force_torque.wrench import QUANTITIES, UNITS, ToolLoad
from pliant.hardware.recording import Recorder
from pliant.hardware.robot import Array
from pliant.hardware.safety import SafeRobot
from pliant.hardware.ur.robot import URRobot
from pliant.hardware.wrapper import RobotWrapper, unwrapped

LOAD = "load.json"
"""File of what was found, in the folder of the run."""


class Reading(NamedTuple):
    """What was read in one posture, at rest."""

    rotation: Array
    """Of the sensor in the world, (3, 3), by the measured joints."""
    wrench: Array
    """Mean, raw, (6,), N and N·m."""
    spread: Array
    """Standard deviation of single readings, (6,)."""


class WeighingRun:
    """Goes through postures with a robot behind its safety layer.

    Args:
        robot: behind its safety layer.
        arm: as it is believed to be.
        start: joint positions, (joints,), rad, in the order of the arm's joints.
        tour: from there.
        settle: standing still before a wrench is taken, s.
        average: over which it is, s.
    """

    def __init__(
        self, robot: SafeRobot, arm: Arm, start: Array, tour: Tour, settle: float, average: float
    ) -> None:
        self.robot, self.arm, self.start, self.tour, self.settle = robot, arm, start, tour, settle
        joints, columns, signals = places(arm, robot.info)
        self._joints, self._columns, self._signals = list(joints), list(columns), list(signals)
        self.count = max(round(average / robot.info.period), 1)
        self.readings: list[Reading] = []

    def play(self, note: Callable[[int], None] = lambda number: None, recorder: Recorder | None = None) -> None:
        """Take a reading in every posture, and go back to rest; `note` is told the number of each before it.

        Raises:
            RobotError: the robot fails, or its sensor gives nothing.
        """
        start = self._command(self.start)
        self.robot.walk_to(start)
        for number, (q, by_start) in enumerate(zip(*self.tour, strict=True), start=1):
            note(number)
            if by_start:
                self.robot.walk_to(start)
            stand(self.robot, self._command(q), self.settle, recorder)
            self.readings.append(self._read(number, self._command(q), recorder))
        self.robot.walk_to(start)
        self.robot.walk_to(self.robot.info.rest)

    def _command(self, q: Array) -> Array:
        command = self.robot.info.rest.copy()
        command[self._columns] = q
        return command

    def _read(self, number: int, command: Array, recorder: Recorder | None) -> Reading:
        wrenches, positions = [], []
        for _ in range(self.count):
            sent, state = self.robot.send(command), self.robot.read()
            if recorder is not None:
                recorder.walk(state, command, sent)
            wrenches.append(state.sensors[self._signals])
            positions.append(state.position[self._joints])
        if not np.isfinite(wrenches).all():
            raise RobotError(f"posture {number}: the sensor {self.arm.sensor!r} gives no reading.")
        tool = self.arm.kinematics.pose(np.mean(positions, axis=0))
        _, rotation = mounted(tool, np.asarray(self.arm.frames.sensor, np.float64))
        return Reading(rotation, np.mean(wrenches, axis=0), np.std(wrenches, axis=0))


class Weighing(Deployment):
    """A machine that weighs its tool, rehearsed in simulation; see `prepare_weighing`."""

    def __init__(self, run: WeighingRun, model: ToolLoad) -> None:
        super().__init__(run.robot, {"sensor": run.arm.sensor, "poses": str(len(run.tour.postures))})
        self._run, self._model = run, model
        self.found: IdentifiedLoad | None = None
        """What hangs on the sensor, once all postures are read."""

    @property
    def complete(self) -> bool:
        """Whether all postures were read."""
        return self.found is not None

    def play(self, recorder: Recorder, console: Console) -> None:
        """Go through the postures and identify the load.

        Raises:
            RobotError: the machine failed, or was stopped.
            ConfigurationError: the readings tell no load; see `identify_load`.
        """
        total = len(self._run.tour.postures)
        try:
            with live(console, total) as show:
                self._run.play(lambda number: show(number - 1, f"posture {number} of {total}"), recorder)
        except KeyboardInterrupt:
            return
        readings = self._run.readings
        self.found = identify_load([r.rotation for r in readings], [r.wrench for r in readings])

    def finish(self, folder: Path, console: Console) -> tuple[dict[str, Any], Path | None]:
        """Print what was found, and write `load.json` and `metrics.json`."""
        found, info = self.found, self.robot.info
        numbers: dict[str, Any] = {
            "completed": self.reason == "completed",
            "reason": self.reason,
            "robot": info.name,
            **self.facts,
            "readings": len(self._run.readings),
            **machine_numbers(self.robot, []),
        }
        if found is not None:
            numbers |= found.summary()
            numbers |= {"model_mass": self._model.mass, "model_com": list(self._model.com)}
            path = found.save(folder / LOAD, info.name, self._run.arm.sensor)
            for line in lines(found, self._model):
                console.print(line, highlight=False, soft_wrap=True)
            console.print(f"written: {path}", highlight=False, soft_wrap=True)
        write_json(folder / "metrics.json", numbers)
        return numbers, None


def lines(found: IdentifiedLoad, model: ToolLoad) -> list[str]:
    """Say what was found, with standard errors, beside what the model has."""
    com, told = (np.asarray(v) * 1e3 for v in (found.load.com, model.com))
    errors = 1e3 * found.com_deviation
    centre = ", ".join(f"{c:.1f} ± {e:.1f}" for c, e in zip(com, errors, strict=True))
    text = [
        f"mass    {found.load.mass:.4f} ± {found.mass_deviation:.4f} kg (model: {model.mass:.4f})",
        f"centre  {centre} mm (model: {', '.join(f'{v:.1f}' for v in told)})",
    ]
    values = zip(QUANTITIES, found.bias, found.bias_deviation, UNITS, strict=True)
    text.append("bias    " + ", ".join(f"{name} {b:.3f} ± {d:.3f} {unit}" for name, b, d, unit in values))
    left = np.abs(found.residuals).max(axis=0)
    text.append(f"left    up to {left[:3].max():.3f} N and {left[3:].max():.4f} N·m of a reading unexplained")
    return text


def prepare_weighing(config: DictConfig, robot: SafeRobot, console: Console) -> Weighing:
    """Choose postures for a machine and go through them in the simulation of its robot. Nothing is connected.

    Raises:
        ConfigurationError, OutOfBoundsError, …: as `weighing_tour` and `arm`; the robot reads no such sensor.
        RobotError: in the simulation something is touched on the way, or the safety layer trips.
    """
    description, sensor = described(config.robot), str(config.sensor)
    own = arm(description, config.end_effector, sensor)
    _, columns, _ = places(own, robot.info)
    rest = robot.info.rest[list(columns)]
    given: Any = OmegaConf.to_container(OmegaConf.masked_copy(config, ["start", "box"]))
    start = rest if given["start"] is None else finite_array("start", given["start"], rest.shape)
    seed = check_count("seed", config.seed, 0, 2**32 - 1)
    tour = weighing_tour(own, start, config.poses, reach=config.reach, box=given["box"], seed=seed)
    settle = check_bounds("run.settle", config.run.settle, 0.0, 600.0, "s")
    average = check_bounds("run.average", config.run.average, 1e-3, 600.0, "s")
    run = WeighingRun(robot, own, start, tour, settle, average)
    _rehearse(run, description.simulated(robot.info.period))
    if isinstance(unwrapped(robot.robot), URRobot) and not (description.machine or {}).get("force_torque"):
        console.print(
            "note: the arm's own sensor is zeroed in base axes, so that only the payload that its controller has "
            "been told of comes out: docs/force-torque.md.",
            highlight=False,
            soft_wrap=True,
        )
    console.print(f"{len(tour.postures)} postures rehearsed in simulation: nothing is touched", highlight=False)
    return Weighing(run, load_behind(description, sensor))


def _rehearse(run: WeighingRun, simulated: SimulatedRobot) -> None:
    """Go the same way in simulation; raises `RobotError` if anything touches anything new."""
    period = simulated.info.period
    safe = Rehearsing(run.robot, _Untouched(simulated))
    rehearsal = WeighingRun(safe, run.arm, run.start, run.tour, period, period)
    try:
        with safe:
            rehearsal.play()
    except RobotError as error:
        done, total = len(rehearsal.readings), len(run.tour.postures)
        where = f"to posture {done + 1} of {total}" if done < total else "home"
        raise RobotError(
            f"rehearsed in simulation, so nothing was connected: on the way {where} {error} A start farther "
            "away, a smaller box or reach, or another seed may do."
        ) from error


class _Untouched(RobotWrapper):
    """A simulated robot that fails when something touches that did not at the start."""

    robot: SimulatedRobot

    def connect(self) -> None:
        super().connect()
        self._before = self._contacts()

    def send(self, command: ArrayLike) -> Array:
        sent = super().send(command)
        for first, second in sorted(self._contacts() - self._before):
            raise RobotError(f"{first} touches {second}")
        return sent

    def _contacts(self) -> set[tuple[str, str]]:
        model, data = self.robot.model, self.robot.data
        pairs = (sorted(map(int, contact.geom)) for contact in data.contact[: data.ncon])
        return {(_geom(model, a), _geom(model, b)) for a, b in pairs}


def _geom(model: mujoco.MjModel, number: int) -> str:
    return model.geom(number).name or f"a part of {model.body(int(model.geom_bodyid[number])).name!r}"
