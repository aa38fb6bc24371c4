"""Pages of the site that are made when it is built.

The public names of every package are from their docstrings, verbs and settings from `conf/`.
"""

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from pliant.conf.pages import group_page, verb_page
from pliant.conf.reference import groups
from pliant.conf.reference import verbs as configured
from pliant.scripts.main import verbs

ROOT = Path(__file__).parents[2]

PACKAGES: dict[str, tuple[str, ...]] = {
    "pliant": ("errors", "files", "report"),
    "pliant.actuators": ("ax12a", "bam", "law", "drive", "joint", "servo"),
    "pliant.actuators.laws": ("*",),
    "pliant.actuators.drives": ("*",),
    "pliant.controllers": (
        *("arm_kinematics", "convergence", "identification", "inverse_kinematics", "lifted", "pendulum_bench"),
        *("policy", "poses", "servo_sensing", "spring_compensation", "spring_sensing", "two_link"),
        *("ur_kinematics", "weighing"),
    ),
    "pliant.controllers.gaits": (),
    "pliant.controllers.interaction": (),
    "pliant.controllers.policies": (),
    "pliant.controllers.task_space": (),
    "pliant.envs": (
        *("arm", "emulated_robot", "emulated_ur", "explanation", "gait_measures", "gait_trial", "linearisation"),
        *("rendering", "sb3", "task_space"),
    ),
    "pliant.envs.models": (
        *("arm2", "arm5", "atlas", "hexapod", "own_robot", "perturb", "rig1", "robot_model", "several"),
        *("smartsix", "surroundings", "targets", "terrain", "tools", "two_link", "ur"),
    ),
    "pliant.envs.simulation": ("start", "holding"),
    "pliant.envs.tasks": ("actions", "ends", "markers", "measures", "observations", "rewards", "starts"),
    "pliant.envs.randomisation": (),
    "pliant.envs.vector": (),
    "pliant.envs.emulators.dynamixel": ("bus", "emulator", "faults", "process"),
    "pliant.envs.emulators.net_ft": ("box", "emulator"),
    "pliant.envs.emulators.ur": ("emulator", "process", "settings"),
    "pliant.hardware": (
        *("robot", "limits", "safety", "safety_config", "resting", "retracing", "recording", "stopping"),
        *("checking", "driver", "timing", "wrapper", "ur_arms", "arm_data"),
    ),
    "pliant.hardware.dynamixel": ("bus", "config", "port", "robot", "setup", "tables"),
    "pliant.hardware.ur": ("config", "robot", "dashboard", "rtde"),
    "pliant.hardware.force_torque": ("conditioning", "net_ft", "sensing", "sensor", "tare", "tool_load", "wrench"),
    "pliant.training": ("environments", "evaluation", "gait_search", "greedy_strides", "statistics", "sweeps"),
    "pliant.deployment": ("controller", "feedforward", "machines", "policy", "weighing"),
    "pliant.deployment.remote": ("client", "server"),
    "pliant.viewing": ("film", "motions", "overlay", "sliders"),
    "pliant.experiments": ("experiment", "reproduction"),
}
"""Packages with a page; of each the names in its `__all__`, and these modules whole (`*`: all it has)."""


def exported(package: str) -> list[str]:
    """The names that a package exports by itself."""
    return list(getattr(importlib.import_module(package), "__all__", ()))


def modules(package: str) -> list[str]:
    """The modules of a package whose public names are on its page too, by full name."""
    chosen = PACKAGES[package]
    if chosen == ("*",):
        folder = ROOT / "src" / package.replace(".", "/")
        chosen = tuple(sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__"))
    return [f"{package}.{name}" for name in chosen]


def package_page(package: str) -> str:
    """Markdown of a package's page, for mkdocstrings to fill."""
    parts = [f"# {package}", _directive(package, members=False, show_root_heading=False)]
    names = exported(package)
    parts += [_directive(f"{package}.{name}", heading_level=2) for name in names if not name.startswith("_")]
    for module in modules(package):
        parts += [f"## `{module}`", _directive(module, show_root_heading=False, heading_level=2)]
    return "\n\n".join(parts) + "\n"


def _directive(name: str, **options: Any) -> str:
    lines = [f"        {key}: {str(value).lower()}" for key, value in options.items()]
    return "\n".join([f"::: {name}", "    options:", *lines])


def help_page(verb: str) -> str:
    """Markdown of a verb that has no settings: what its `--help` prints."""
    command = [sys.executable, "-m", "pliant.scripts.main", verb, "--help"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return f"# pliant {verb}\n\n```text\n{printed.strip()}\n```\n"


def made() -> Iterator[tuple[str, str, str, str]]:
    """Section of the reference, title, address and Markdown of every page that is made."""
    for verb in sorted({*verbs(), *configured()}):
        page = verb_page(verb) if verb in configured() else help_page(verb)
        yield "Verbs", verb.replace("_", " ", 1), f"reference/verb-{verb}.md", page
    for group in groups():
        yield "Settings", group, f"reference/group-{group}.md", group_page(group)
    for package in PACKAGES:
        yield "Packages", package, f"reference/{package}.md", package_page(package)


_pages: list[tuple[str, str, str, str]] = []


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages into the navigation, under Reference."""
    _pages[:] = made()
    sections: dict[str, list[dict[str, str]]] = {}
    for section, title, address, _ in _pages:
        sections.setdefault(section, []).append({title: address})
    (reference,) = [entry["Reference"] for entry in config.nav or () if "Reference" in entry]
    reference.extend({section: entries} for section, entries in sections.items())
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Give the pages to the builder."""
    for _, _, address, content in _pages:
        files.append(File.generated(config, address, content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let the builder see linked pictures that a page has as HTML, so that they are checked and lead somewhere."""
    pattern = r'<a href="([^"]+)"><img src="([^"]+)" width="(\d+)" alt="([^"]*)"></a>'
    return re.sub(pattern, r"[![\4](\2){width=\3}](\1)", markdown)
