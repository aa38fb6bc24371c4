"""What the verbs share: the configuration, the run folder, and how errors, reports and signals are handled."""

import functools
import os
import re
import shlex
import shutil
import signal
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from rich.console import Console

from pliant.conf.build import CALLBACKS, check_trusted
from pliant.conf.checks import check_settings, usual_settings
from pliant.conf.messages import check_options, in_our_words
from pliant.conf.verb_help import asks_help, verb_help
from pliant.errors import OutputError, PliantError, require_extra
from pliant.files import ensure_folder, new_folder, write_json
from pliant.report import Ran

FAILURE = "failure.json"
"""File in the folder of a sweep's job that says why it failed."""
_RECORD = ".hydra"
"""Where Hydra keeps the settings of a run, in its folder."""
_COMMAND = "PLIANT_COMMAND"
"""Environment variable with the command as typed, which the processes of a sweep's jobs inherit."""
_WRITTEN = {"config.yaml", "hydra.yaml", "overrides.yaml"}
"""What it writes there."""
_CLAIMED: ContextVar[tuple[Path, bool] | None] = ContextVar("claimed", default=None)
"""The folder that this run has got, and whether it was made for it."""
_BEGIN: ContextVar[float] = ContextVar("begin", default=0.0)
"""When the job began, in the time of `time.monotonic`, s."""
_PLUGINS = {
    "hydra/launcher=joblib": ("hydra_joblib_launcher", "sweep"),
    "hydra/launcher=submitit_local": ("hydra_submitit_launcher", "sweep"),
    "hydra/launcher=submitit_slurm": ("hydra_submitit_launcher", "sweep"),
    "hydra/launcher=ray": ("hydra_ray_launcher", "ray"),
    "hydra/sweeper=optuna": ("hydra_optuna_sweeper", "sweep"),
    "hydra/sweeper=search": ("hydra_optuna_sweeper", "sweep"),
}
"""Choices that Hydra does not know without a plugin: its package in `hydra_plugins`, and our extra."""


_VALUED = ("--config-dir", "-cd", "--config-path", "-cp", "--config-name", "-cn", "--cfg", "-c", "--package", "-p")
"""Hydra's options that are followed by a value."""


def note_command(verb: str) -> None:
    """Remember the command as it was typed, and when."""
    os.environ[_COMMAND] = shlex.join(["pliant", verb, *sys.argv[1:]])
    _note_begin()


def _note_begin() -> None:
    """Remember when a job began.

    A function, because launchers send a job to other processes with all it names, and no `ContextVar` can be.
    """
    _BEGIN.set(time.monotonic())


def ran(robot: str, kind: str = "simulated") -> Ran:
    """Return what the head of this run's report says.

    Args:
        robot: its name; empty where there is none.
        kind: `simulated`, `emulated`, `real`, or what else the numbers are from.
    """
    from hydra.core.hydra_config import HydraConfig

    if HydraConfig.initialized() and is_sweep():
        job = HydraConfig.get().job
        kind = f"{kind}, job {job.num} of a sweep: {job.override_dirname}"
    return Ran(os.environ.get(_COMMAND, ""), robot, kind, _BEGIN.get())


@contextmanager
def explained_errors() -> Iterator[None]:
    """End the process with one clear message: status 2 for an error that is the user's to mend, 130 for Ctrl-C.

    Ctrl-C passes through every library; a verb keeps what is whole and raises `KeyboardInterrupt` again, with what
    is missing and how to go on.
    """
    try:
        yield
    except KeyboardInterrupt as interruption:
        said = f": {interruption}" if interruption.args else ""
        print(f"pliant: interrupted{said}", file=sys.stderr)
        raise SystemExit(130) from None
    except BrokenPipeError:  # `pliant … | head`
        raise SystemExit(stop_writing()) from None
    except Exception as error:
        message = explanation(error)
        if message is None:
            raise
        print(f"pliant: {message}", file=sys.stderr)
        raise SystemExit(2) from error


def run_plainly(usage: str, job: Callable[[list[str]], None]) -> None:
    """Run a verb whose words are not Hydra's; without any words, or where help is asked for, print its usage.

    Args:
        usage: the verb's help.
        job: the verb; its errors are explained.
    """
    words = sys.argv[1:]
    if not words or words[0] == "help" or {"--help", "-h"} & set(words):
        print(usage.strip())
        return
    with explained_errors():
        job(words)


def explanation(error: Exception) -> str | None:
    """Return what the user is told of an error; None where it is a fault of ours."""
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    if isinstance(error, PliantError):
        return str(error).strip()
    if isinstance(error, HydraException | OmegaConfBaseException):
        cause = "" if error.__cause__ is None else f"\n{error.__cause__}"
        return f"{str(error).strip()}{cause}"
    if isinstance(error, OSError) and error.filename:
        return (
            f"the results cannot be written {error.filename!r}: {error.strerror}. "
            "Choose another place: hydra.run.dir=FOLDER"
        )
    return (error.strerror or str(error)) if isinstance(error, OSError) else None


def stop_writing() -> int:
    """Let what is printed from now on go nowhere, as nobody reads it (`pliant … | head`); returns the status."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return 128 + signal.SIGPIPE


def run(job: Callable[[DictConfig], Any], config_name: str, *changes: Callable[[list[str]], list[str]]) -> None:
    """Compose the configuration `config_name` with the command line's overrides and run the job on it.

    The settings are checked before the job begins. In a sweep a job that cannot be done says why and leaves the
    others theirs; Ctrl-C ends all of it.

    Args:
        job: what the verb does.
        config_name: in conf/.
        changes: of the command line before it is read, in order.
    """
    import hydra
    from hydra.errors import HydraException

    note_command(config_name)
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors reach us instead of being printed by Hydra
    with explained_errors():
        for change in (ordered, *changes, ordered):
            sys.argv[1:] = change(sys.argv[1:])
        check_options(sys.argv[1:])
        for choice in sys.argv[1:]:
            if choice in _PLUGINS:
                plugin, extra = _PLUGINS[choice]
                require_extra(f"hydra_plugins.{plugin}", extra, choice)
        try:
            if asks_help(sys.argv[1:]):
                print(verb_help(config_name, _overrides(sys.argv[1:])))
                return
            main = hydra.main(version_base="1.3", config_path="pkg://pliant.conf", config_name=config_name)
            with _checked_start():
                main(_explained(job))()
        except HydraException as error:
            ours = in_our_words(error, config_name, sys.argv[1:])
            raise error if ours is None else ours from error


def ordered(arguments: Sequence[str]) -> list[str]:
    """Return a command line with its settings first and Hydra's options (`--config-dir FOLDER`) after them."""
    settings, options, words = [], [], iter(arguments)
    for word in words:
        if not word.startswith("-"):
            settings.append(word)
            continue
        options.append(word)
        if word in _VALUED and (value := next(words, None)) is not None:
            options.append(value)
    return [*settings, *options]


def _overrides(arguments: Sequence[str]) -> list[str]:
    """The settings of a command line; a folder of the user's own files (`--config-dir`) as a place to look in."""
    found, words = [], iter(arguments)
    for word in words:
        option, _, value = word.partition("=")
        if option in ("--config-dir", "-cd"):
            found.append(f"hydra.searchpath=[file://{Path(value or next(words, '')).resolve()}]")
        elif option in _VALUED and not value:
            next(words, None)
        elif not word.startswith("-"):
            found.append(word)
    return found


def _explained(job: Callable[[DictConfig], Any]) -> Callable[[DictConfig], Any]:
    """A job that checks its settings first and ends with our own words, before Hydra adds any of its own."""

    @functools.wraps(job)
    def explained(config: DictConfig) -> Any:
        from hydra.core.hydra_config import HydraConfig
        from hydra.types import RunMode

        ours = HydraConfig.get()
        given = [word for word in ours.overrides.hydra if word.startswith("hydra.searchpath=")]
        quiet_mujoco()
        _note_begin()
        try:
            with explained_errors():
                check_settings(config, usual_settings(str(ours.job.config_name), [*given, *ours.overrides.task]))
                return job(config)
        except SystemExit as end:
            if ours.mode != RunMode.MULTIRUN:
                if end.code == 2:
                    _remove_unused(ours.job.name)
                raise
            if end.code == 2:
                cause = end.__cause__
                told = explanation(cause) if isinstance(cause, Exception) else None
                write_json(Path(ours.runtime.output_dir) / FAILURE, {"error": told or "it ended with status 2"})
                print(f"pliant: job {ours.job.num} failed ({ours.job.override_dirname})", file=sys.stderr)
                return None
            if isinstance(end.code, int) and end.code > 128:
                print(
                    f"pliant: the sweep ends here; what is whole: pliant sweep {ours.sweep.dir}", file=sys.stderr
                )
            raise

    return explained


def quiet_mujoco() -> None:
    """Keep MuJoCo, if it is used, from writing a log file into the folder that the user happens to be in."""
    if "mujoco" in sys.modules:
        import mujoco

        settings = mujoco.MjLogConfig.get()
        settings.logto_file = False
        settings.set()


@contextmanager
def _checked_start() -> Iterator[None]:
    """Look at what Hydra has composed before it starts: its callbacks are trusted, its folder is of its own.

    Hydra offers no place for that: it builds the callbacks first, and errors of theirs end nothing.
    """
    from hydra._internal.callbacks import Callbacks

    build_all = Callbacks.__init__

    def check_and_build(callbacks: Callbacks, config: DictConfig | None = None) -> None:
        node = None if config is None else OmegaConf.select(config, "hydra.callbacks")
        if node:
            check_trusted(OmegaConf.to_container(node, resolve=True), "hydra.callbacks", CALLBACKS)
        build_all(callbacks, config)
        if config is not None and config.hydra.output_subdir is not None:
            _claim_folder(config)

    Callbacks.__init__ = check_and_build  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        Callbacks.__init__ = build_all  # type: ignore[method-assign]


def _claim_folder(config: DictConfig) -> None:
    """Make the folder of a run or sweep, so that no two ever share one, and put its name into the configuration.

    One that is named by the time gets a number where that name is taken. One that is asked for on the command line
    must be new or empty, or that of the run which is resumed or of the search that goes on.
    """
    hydra = config.hydra
    kind = "sweep" if str(hydra.mode).endswith("MULTIRUN") else "run"
    _CLAIMED.set(None)
    words = [*hydra.overrides.hydra, *hydra.overrides.task]
    if not any(word.lstrip("+").startswith(f"hydra.{kind}.dir=") for word in words):
        folder = new_folder(hydra[kind].dir)
        with read_write(hydra), open_dict(hydra):
            hydra[kind].dir = str(folder)
            hydra.overrides.hydra.append(f"hydra.{kind}.dir='{_escaped(folder)}'")
        _CLAIMED.set((folder.absolute(), True))
        return
    made = not os.path.lexists(hydra[kind].dir)
    try:
        folder = ensure_folder(hydra[kind].dir)
    except OutputError as error:
        raise OutputError(f"{error} Another place: hydra.{kind}.dir=FOLDER") from error
    resumed = [word.partition("=")[2].strip("'\"") for word in words if re.match(r"(learning\.)?resume=", word)]
    if any(_is_run_in(Path(run), folder) for run in resumed):
        return
    if kind == "sweep" and any(word.startswith("hydra/sweeper=") for word in words):
        return
    try:
        used = any(folder.iterdir())
        if kind == "run":
            (folder / _RECORD).mkdir()
    except FileExistsError:  # somebody else was quicker
        used = True
    if used:
        raise _used(folder)
    _CLAIMED.set((folder.absolute(), made))


def _remove_unused(job: str) -> None:
    """Remove the folder of a run that was refused before it left anything there, for the next one to have."""
    folder, made = _CLAIMED.get() or (None, False)
    if folder is None or folder.is_symlink():
        return
    record = folder / _RECORD
    with suppress(OSError):
        left = {path.name: path for path in folder.iterdir()}
        log = left.pop(f"{job}.log", None)
        written = {path.name for path in record.iterdir()}
        if set(left) != {_RECORD} or (log is not None and log.stat().st_size) or not written <= _WRITTEN:
            return
        shutil.rmtree(record)
        if log is not None:
            log.unlink()
        if made:
            folder.rmdir()


def _used(folder: Path) -> OutputError:
    return OutputError(
        f"the folder {folder} is used already, and results in it would be lost. Choose a new one, or leave "
        "hydra.run.dir and hydra.sweep.dir out; to go on with a run in it: resume=FOLDER (ilc: learning.resume)."
    )


def _is_run_in(path: Path, folder: Path) -> bool:
    """Whether a path is that of the run in a folder, or of one of its checkpoints."""
    run = path.resolve()
    return folder.resolve() == (run.parent.parent if run.suffix == ".zip" else run)


def _escaped(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace("'", "\\'")


def run_folder(resumed: str | None = None) -> Path:
    """Return the folder of this run, which holds nothing of another one.

    Args:
        resumed: the run that this one goes on from, which may be in the same folder.

    Raises:
        OutputError: there are results in it.
    """
    from hydra.core.hydra_config import HydraConfig

    folder = Path(HydraConfig.get().runtime.output_dir)
    again = resumed is not None and _is_run_in(Path(resumed), folder)
    own = {_RECORD, f"{HydraConfig.get().job.name}.log"}  # what Hydra writes beforehand
    if not again and any(path.name not in own for path in folder.iterdir()):
        raise _used(folder)
    return folder


def is_sweep() -> bool:
    """Whether this is one job of a sweep, whose exit status is not its own."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    return HydraConfig.get().mode is RunMode.MULTIRUN


def show_report(report: Path | None, console: Console, *, browse: bool) -> None:
    """Say where a report is, and open it in a browser if that is wanted; nothing where none was written."""
    if report is None:
        return
    console.print(f"report: {report}", soft_wrap=True)
    if browse:
        webbrowser.open(report.resolve().as_uri())


class Interruption:
    """Whether somebody asked the run to stop, and by which signal."""

    signal = 0

    @property
    def requested(self) -> bool:
        """Whether somebody did."""
        return self.signal != 0


@contextmanager
def interruption(announce: Callable[[], None]) -> Iterator[Interruption]:
    """Note the first SIGINT or SIGTERM instead of dying of it; a second one raises `KeyboardInterrupt`.

    So a run that is stopped, by Ctrl-C or by a scheduler, loses nothing.

    Outside the main thread, where signals do not arrive, nothing is changed.

    Args:
        announce: called at the first signal.
    """
    state = Interruption()

    def note(number: int, frame: FrameType | None) -> None:
        if state.requested:
            raise KeyboardInterrupt
        state.signal = number
        announce()

    if threading.current_thread() is not threading.main_thread():
        yield state
        return
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield state
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
