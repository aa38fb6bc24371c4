"""The command `pliant`: finds the verb and hands the arguments over to its file in this folder."""

import atexit
import importlib
import os
import pkgutil
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pliant import __version__
from pliant.errors import unknown_name

_NOT_VERBS = {"main"}
_WITHOUT_PICTURES = {"bus", "control", "emulate", "export", "identify", "list", "new", "robot", "ur", "weigh"}
"""Verbs that draw nothing, and need no OpenGL."""


def verbs() -> dict[str, str]:
    """Every verb with the first line of its file's docstring, without importing any of them."""
    here = Path(__file__).parent
    found = {}
    for module in pkgutil.iter_modules([str(here)]):
        if module.name not in _NOT_VERBS and not module.name.startswith("_"):
            text = (here / f"{module.name}.py").read_text()
            found[module.name] = text.split('"""')[1].strip().splitlines()[0]
    return found


def usage() -> str:
    """The text of `pliant --help`."""
    known = verbs()
    width = max(map(len, known))
    lines = [f"  {name:<{width}}  {summary}" for name, summary in known.items()]
    return "\n".join(
        [
            f"Pliant {__version__}: robots with soft joints, taught in simulation and run on the machine.",
            "",
            "Usage: pliant VERB [--help] [group=choice] [key=value] [--multirun]",
            "",
            "Verbs:",
            *lines,
            "",
            "Each verb explains itself: pliant VERB --help",
        ]
    )


def _has_display() -> bool:
    """Whether a window can open here: the variables that name a display may be left over from one that is gone."""
    if not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its reasons
        try:
            import glfw  # which MuJoCo brings
        except ImportError:
            return False
        if not glfw.init():
            return False
        glfw.terminate()
        return True


def _announce_compilation() -> None:
    """Say so, once, while compiling keeps the user waiting: the first time it takes up to a minute."""
    if "pliant.actuators" in sys.modules:
        from pliant.actuators.compiled import CompilationNotice

        text = "pliant: compiling, up to a minute the first time; what is compiled is kept"
        CompilationNotice(lambda: print(text, file=sys.stderr, flush=True)).install()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a verb. Returns the exit status, 2 for an unknown verb; a verb's own errors end the process."""
    try:
        status = _main(sys.argv[1:] if arguments is None else list(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        from pliant.command_line import stop_writing

        return stop_writing()
    return status


def _main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    if arguments[0] == "--version":
        print(__version__)
        return 0
    verb, *rest = arguments
    if verb not in verbs():
        print(f"pliant: {unknown_name('verb', verb, verbs())}", file=sys.stderr)
        return 2
    from pliant.conf.verb_help import asks_help, quick_help

    if asks_help(rest) and (text := quick_help(verb, rest)) is not None:
        print(text)
        return 0
    if verb in _WITHOUT_PICTURES:
        os.environ["MUJOCO_GL"] = "disabled"
    elif not os.environ.get("MUJOCO_GL") and not _has_display():
        os.environ["MUJOCO_GL"] = "egl"  # read when MuJoCo is imported; pictures without a display
    try:
        with _quietly_interrupted():
            module = importlib.import_module(f"pliant.scripts.{verb}")
    except Exception as error:
        if not any("mujoco" in place.filename for place in traceback.extract_tb(error.__traceback__)):
            raise
        print(f"pliant: {_no_pictures(error)}", file=sys.stderr)
        return 2
    from pliant.command_line import explained_errors

    sys.argv = [f"pliant {verb}", *rest]
    _announce_compilation()
    try:
        with explained_errors():
            module.main()
    finally:  # everything is written: Ctrl-C has nothing left to stop while Python ends
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    return 0


@contextmanager
def _quietly_interrupted() -> Iterator[None]:
    """End at once and without a word of Python's on Ctrl-C: nothing has begun that could be lost."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _no_pictures(error: Exception) -> str:
    """What is told where MuJoCo cannot be imported."""
    name = os.environ.get("MUJOCO_GL", "")
    return (
        f"MuJoCo cannot be loaded with MUJOCO_GL={name}: {error}. Valid: egl (on Debian and Ubuntu: apt install "
        "libegl1 libgl1), glfw (libgl1 and a display), osmesa (libosmesa6), or disabled, without pictures."
    )


if __name__ == "__main__":
    sys.exit(main())
