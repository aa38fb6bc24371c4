"""Begin a robot, a task, a controller, a driver or a law of your own, with its test."""

from pathlib import Path

from pliant.command_line import run_plainly
from pliant.errors import ConfigurationError
from pliant.templates.writing import KINDS, next_commands, write_template

_USAGE = """
Usage: pliant new KIND NAME

Writes a file or a few, with comments, and a test of them into this folder. They run as they are: change them.
No file is overwritten. NAME is in small letters, digits and _.

  pliant new robot gripper      gripper.xml, gripper.yaml: a model and what drives it; docs/own-robot.md
  pliant new task calm          calm.py, conf/task/calm.yaml: rewards, observations, ends; docs/own-task.md
  pliant new controller sway    sway.py: from a robot's state to its command; docs/own-controller.md
  pliant new driver my_arm      my_arm.py: speaks to a machine of your own; docs/own-driver.md
  pliant new law cubic          cubic.py: a spring; docs/own-law.md
"""


def job(words: list[str]) -> None:
    """Write a template's files and say what to type next."""
    if len(words) != 2:
        raise ConfigurationError(f"pliant new takes a kind ({', '.join(KINDS)}) and a name: pliant new law cubic")
    kind, name = words
    for path in write_template(kind, name, Path()):
        print(f"written: {path}")
    print("next:")
    for command in next_commands(kind, name):
        print(f"  {command}")


def main() -> None:
    """Run the verb on the command line's arguments."""
    run_plainly(_USAGE, job)


if __name__ == "__main__":
    main()
