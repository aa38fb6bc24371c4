"""Deployment of a controller: built for a machine, predicted by simulation, then run there."""

import inspect
import math
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationKeyError
from rich.console import Console

from pliant.conf.build import build
from pliant.controllers import Adjustable, Controller, Ended, Period, periods
from pliant.controllers.spring_sensing import SpringSensing
from pliant.controllers.trajectories import Trajectory
from pliant.deployment.deployment import Deployment, error_text, live, machine_numbers, stand, timing
from pliant.deployment.episodes import Trace
from pliant.deployment.policy import difference_numbers
from pliant.deployment.rehearsal import rehearsal
from pliant.deployment.remote.client import RemoteController
from pliant.deployment.reports import write_controller_report
from pliant.deployment.tool_trace import ToolTrace, event_text, force_difference
from pliant.envs.description import described
from pliant.errors import ConfigurationError, PliantError, RobotError, check_bounds
from pliant.files import write_json
from pliant.hardware.recording import Recorder
from pliant.hardware.retracing import Trail
from pliant.hardware.robot import Array, RobotInfo, State
from pliant.hardware.safety import SafeRobot

_DURATION = 10.0
"""How long a controller runs that does not say for how long, s."""
_TOLD = 3
"""The last events of a controller that are told when it is done; all are in metrics and recording."""
_RECORDED = ("desired", "commanded", "measured", "wrench", "desired_wrench")
"""Of the feedback of an interaction controller."""


def build_controller(node: DictConfig, info: RobotInfo) -> "NamedController":
    """Return the controller of a configuration's node for a robot, its errors explained.

    What `_target_` names is called with the node's entries, and with the robot's `info` where it takes one.

    Raises:
        ConfigurationError: it is of no trusted package, does not take these entries, or is no controller.
        PliantError: whatever it has to say about its arguments.
    """
    try:
        settings: Any = OmegaConf.to_container(node, resolve=True)
    except InterpolationKeyError as error:
        raise ConfigurationError(
            f"the controller's {error.key} is that of the command line, which gives none: trajectory=sine, …"
        ) from error
    make = build({**settings, "_partial_": True}, "controller")
    name = getattr(make.func, "__name__", str(make.func))
    given = {"info": info} if "info" in inspect.signature(make.func).parameters else {}
    with _explained(name, "cannot be made"):
        controller = make(**given)
    if not isinstance(controller, Controller):
        raise ConfigurationError(
            f"controller {name} is a {type(controller).__name__}; a pliant.controllers.Controller, with "
            "update(state, t), is needed."
        )
    return NamedController(controller, name)


class NamedController(Controller):
    """A controller of a configuration, by its name: what its own code fails at is told with where."""

    def __init__(self, controller: Controller, name: str) -> None:
        self.controller, self.name = controller, name
        self.initial_command = controller.initial_command
        self.trajectory: Trajectory | None = getattr(controller, "trajectory", None)
        """What it follows, where it follows something."""
        self.duration: float | None = getattr(controller, "duration", None)
        """How long what it does takes, s, where it says so."""
        if self.trajectory is not None:
            self.duration = float(self.trajectory.duration)
        self.retraces, self.at_once = controller.retraces, controller.at_once
        self.stopping = controller.stopping
        self.ends = type(controller).ended is not Controller.ended
        """Whether it may say that it has ended."""
        if isinstance(controller, RemoteController):
            self.name, self.ends = controller.name, controller.ends

    @property
    def clearance(self) -> ArrayLike | None:
        """As the controller's."""
        with _explained(self.name, "failed in clearance"):
            return self.controller.clearance

    @property
    def ended(self) -> Ended | None:
        """As the controller's."""
        with _explained(self.name, "failed in ended"):
            return self.controller.ended

    @property
    def adjustables(self) -> Mapping[str, Adjustable]:
        """As the controller's."""
        with _explained(self.name, "failed in adjustables"):
            return self.controller.adjustables

    def _adjust(self, name: str, value: float | bool) -> None:
        with _explained(self.name, f"failed to adjust {name}"):
            self.controller.adjust(name, value)

    def come_to_stand(self) -> None:
        """As the controller's."""
        with _explained(self.name, "failed in come_to_stand"):
            self.controller.come_to_stand()

    def check(self, info: RobotInfo) -> None:
        """As the controller's."""
        with _explained(self.name, "failed in check"):
            self.controller.check(info)

    def reset(self, state: State) -> None:
        """As the controller's."""
        with _explained(self.name, "failed in reset"):
            self.controller.reset(state)

    def update(self, state: State, t: float) -> ArrayLike:
        """As the controller's."""
        try:
            return self.controller.update(state, t)
        except PliantError:
            raise
        except Exception as error:
            raise _explanation(self.name, f"failed at t = {t:.6g} s", error) from error


@contextmanager
def _explained(name: str, what: str) -> Iterator[None]:
    try:
        yield
    except PliantError:
        raise
    except Exception as error:
        raise _explanation(name, what, error) from error


def _explanation(name: str, what: str, error: Exception) -> ConfigurationError:
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}, line {last.lineno}"
    return ConfigurationError(f"controller {name} {what}: {type(error).__name__}: {error} ({where}).")


class ControllerDeployment(Deployment):
    """A controller on a machine, beside what simulation predicts of it."""

    def __init__(self, run: "ControllerRun", prediction: "ControllerRun", facts: dict[str, str]) -> None:
        """Put the parts together; see `prepare_controller`.

        Args:
            run: on the machine, not begun.
            prediction: the same on its simulation, done.
            facts: what is deployed.
        """
        super().__init__(run.robot, facts)
        self._run, self._prediction = run, prediction

    @property
    def trace(self) -> Trace:
        """What was read and sent, as far as it went."""
        return self._run.trace

    @property
    def complete(self) -> bool:
        """Whether the controller ran for its whole time, or to its own end."""
        return self._run.ended is not None or len(self.trace.sent) == self._run.periods

    def play(self, recorder: Recorder, console: Console) -> None:
        """Walk to the controller's start and let it command.

        Raises:
            RobotError: it gave up, with its reason. What the machine, its safety layer or the controller fails at.
        """
        try:
            with live(console, self._run.expected) as show:
                recorder.event("info", "walking to the start")
                stand(self.robot, self._run.start, self._run.settle, recorder)
                begin = self.robot.read().time
                recorder.event("info", "the controller begins", begin)

                def note(period: Period, reference: Array | None) -> None:
                    state = period.state
                    recorder.record(state, period.asked, period.sent, reference, timing(self.robot))
                    text = "" if reference is None else error_text(reference - state.position)
                    show(state.time - begin, self._note_tool(recorder, state.time) or text)

                self._run.play(note)
        except KeyboardInterrupt:
            return
        for event in self._run.tool.events[-_TOLD:]:
            console.print(event_text(event), highlight=False, soft_wrap=True, markup=False)
        if left := self._run.tool.left:
            told = ", ".join(f"{name} {error:.3g}" for name, error in left.items())
            console.print(f"from their targets at the end, m or rad: {told}", highlight=False, soft_wrap=True)
        ended = self._run.ended
        if ended is not None:
            console.print(f"{self._run.name}: {ended.reason}", highlight=False, soft_wrap=True, markup=False)
            if ended.fault:
                raise RobotError(gave_up(self._run.name, ended))
            recorder.event("info", ended.reason)

    def _note_tool(self, recorder: Recorder, time: float) -> str:
        """Record what the controller says of its tool; returns it in short."""
        now, events = self._run.tool.see()
        for event in events:
            recorder.event("info", event.text, time)
        if now is None:
            return ""
        recorder.tool(time, {name: getattr(now, name) for name in _RECORDED})
        return f"{now.goal or now.mode}, force {np.linalg.norm(now.wrench[:3]):.1f} N"

    def metrics(self) -> dict[str, Any]:
        """Return the numbers of the run; of a trajectory also the errors, desired minus measured."""
        joints, predicted = self.robot.info.joints, self._prediction
        return {
            "completed": self.reason == "completed",
            "reason": self.reason,
            "ended": None if self._run.ended is None else self._run.ended.reason,
            "robot": self.robot.info.name,
            **self.facts,
            **_errors(self.trace, joints),
            **{f"predicted_{name}": value for name, value in _errors(predicted.trace, joints).items()},
            **difference_numbers([self.trace], [predicted.trace], joints),
            **self._run.tool.numbers(),
            **force_difference(self._run.tool, predicted.tool),
            **machine_numbers(self.robot, [self.trace.time]),
            "predicted_limited": predicted.robot.report.limited,
        }

    def finish(self, folder: Path, console: Console) -> tuple[dict[str, Any], Path | None]:
        """Write metrics and report."""
        numbers = self.metrics()
        write_json(folder / "metrics.json", numbers)
        if numbers["max_difference_rad"] is not None:
            text = _in_short(numbers)
            console.print(f"{text}; results in {folder}", highlight=False, soft_wrap=True)
        if not self.trace.sent:
            return numbers, None
        return numbers, write_controller_report(
            folder,
            (self.trace, self._run.tool),
            (self._prediction.trace, self._prediction.tool),
            self.robot.info,
            numbers,
            self.ran,
        )


def _in_short(numbers: Mapping[str, Any]) -> str:
    """What came of a run, in a line: its error, the difference from the simulation, what was held back."""
    said = []
    if numbers.get("max_error_rad") is not None:
        said.append(f"largest error {numbers['max_error_rad']:.4f} rad")
    each = numbers["max_difference_per_joint_rad"]
    joint = max(each, key=each.__getitem__)
    at = f" ({joint})" if each[joint] > 0.0 else ""
    said.append(f"largest difference from the simulation {numbers['max_difference_rad']:.4f} rad{at}")
    if numbers["limited"]:
        said.append(f"less sent than asked in {numbers['limited']} periods")
    return ", ".join(said)


class ControllerRun:
    """One run of a controller on a robot behind its safety layer, kept period by period.

    Args:
        robot: the robot behind its safety layer.
        controller: for it.
        duration: s, after which the controller comes to a stand; None: until it has ended.
        settle: standing at the start before it begins, s, where the controller does not begin at once.
        joints: of the robot's model, which tell the torques that it cannot measure.
    """

    def __init__(
        self,
        robot: SafeRobot,
        controller: NamedController,
        duration: float | None,
        settle: float,
        joints: Any = (),
    ) -> None:
        self.robot, self.duration = robot, duration
        self.settle = 0.0 if controller.at_once else settle
        self._enough = None if duration is None else round(duration / robot.info.period)
        """Periods after which it is to come to a stand."""
        stopping = 0.0 if duration == 0.0 else controller.stopping
        self.periods = None if duration is None else round((duration + stopping) / robot.info.period)
        self.name = controller.name
        self.expected = controller.duration if duration is None else duration
        """How long it is expected to take, s, if that is known."""
        self.trace, self.tool = Trace(0), ToolTrace(controller.controller)
        self.ended: Ended | None = None
        """What the controller said when it ended by itself."""
        self._seen, self._controller = SpringSensing(robot, joints), controller
        controller.check(robot.info)
        start = controller.initial_command
        self.start = None if start is None else np.array(start, dtype=np.float64)
        """Command under which it begins, (columns,); None: the resting one."""

    def play(self, note: Callable[[Period, Array | None], None] = lambda period, reference: None) -> None:
        """Let the controller command the connected robot from where it stands.

        Args:
            note: told every period, with where the controller's trajectory wants the joints, (joints,), rad.
        """
        begin = None
        if self._controller.retraces:
            self.robot.trail = Trail()
        whole = math.inf if self.periods is None else self.periods * self.robot.info.period
        for period in periods(self._seen, self._controller, whole):
            if len(self.trace.sent) + 1 == self._enough != self.periods:
                self._controller.come_to_stand()
            begin = period.state.time if begin is None else begin
            if self.robot.trail is not None and (clearance := self._controller.clearance) is not None:
                self.robot.trail.shift(clearance)
            reference = self._reference(period.state.time - begin)
            self.trace.see(period.state, reference)
            self.trace.asked.append(period.asked)
            self.trace.sent.append(period.sent)
            note(period, reference)
            if (ended := self._controller.ended) is not None:
                self.ended = ended
                break
        state = self._seen.read()
        self.trace.see(state, None if begin is None else self._reference(state.time - begin))

    def _reference(self, t: float) -> Array | None:
        trajectory = self._controller.trajectory
        return None if trajectory is None else np.array(trajectory.position(t), dtype=np.float64)


def prepare_controller(config: DictConfig, robot: SafeRobot, console: Console) -> ControllerDeployment:
    """Build a controller for a machine and run it in the simulation of its robot. Nothing is connected.

    Raises:
        ConfigurationError, PliantError: as `build_controller`; the controller does not fit the machine, or fails.
        OutOfBoundsError: a duration that is no time.
        RobotError: it does not pass its `rehearsal`.
    """
    controller = build_controller(config.controller, robot.info)
    settle = float(config.run.settle)
    simulated = described(config.robot).simulated(robot.info.period)
    machine = ControllerRun(robot, controller, _duration(config, controller), settle, simulated.compiled.joints)
    with rehearsal(robot, simulated) as safe:
        # Of its own: signals stand elsewhere there, and what it learns of them, as a sensor's bias, stays there.
        rehearsing = build_controller(config.controller, safe.info)
        twin = ControllerRun(safe, rehearsing, _duration(config, rehearsing), settle)
        stand(safe, twin.start, twin.settle)
        twin.play(lambda period, reference: twin.tool.see() and None)
        if twin.ended is not None and twin.ended.fault:
            raise RobotError(gave_up(twin.name, twin.ended))
    if twin.trace.reference:
        largest = _errors(twin.trace, robot.info.joints)["max_error_rad"]
        console.print(f"predicted by simulation: largest error {largest:.4f} rad", highlight=False)
    return ControllerDeployment(machine, twin, {"controller": controller.name})


def gave_up(name: str, ended: Ended) -> str:
    """Say that a controller ended with a fault."""
    return f"{name} gave up: {ended.reason.rstrip('.')}."


def _duration(config: DictConfig, controller: NamedController) -> float | None:
    """How long a controller runs, s; None: until it ends by itself."""
    if config.duration is not None:
        return float(check_bounds("duration", config.duration, 0.0, 1e6, "s"))
    if controller.duration is None:
        return _DURATION
    return None if controller.ends else controller.duration


def _errors(trace: Trace, joints: tuple[str, ...]) -> dict[str, Any]:
    """Largest and root-mean-square error of a trajectory's run, rad; nothing where nothing is desired."""
    if not trace.reference:
        return {}
    error = np.array(trace.reference) - np.array(trace.position[: len(trace.reference)])
    largest = np.abs(error).max(axis=0)
    return {
        "max_error_rad": float(largest.max()),
        "max_error_per_joint_rad": dict(zip(joints, largest.tolist(), strict=True)),
        "rms_error_rad": float(np.sqrt(np.mean(error**2))),
    }
