"""The examples that come with the package, and `example=NAME` on a command line."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pliant.errors import ConfigurationError, unknown_name
from pliant.training.run_settings import inherit, value_of

FILES = {"policy": "policy.onnx", "feedforward": "feedforward.npz", "gait": "best.yaml"}
"""What an example of each kind is, as its run names it."""
MADE, SETTINGS = "made.json", "settings.yaml"
_KEYS = {"policy": "policy", "feedforward": "feedforward", "gait": "controller"}
"""The setting that takes each kind …"""
_AS_POLICY = ("play", "evaluate")
"""… except for these verbs, whose `policy` takes a feed-forward too."""
_ABOUT = "example.yaml"


@dataclass(frozen=True)
class Example:
    """Something learned that comes with the package."""

    name: str
    folder: Path
    about: str
    """What it does, a sentence."""
    kind: str
    """`policy`, `feedforward` or `gait`."""
    settings: tuple[str, ...]
    """Words of every command line that takes it, such as those of its robot."""
    verbs: Mapping[str, tuple[str, ...]]
    """The verbs that take it, each with further words."""
    safety: tuple[str, ...] = ()
    """Words that widen the safety layer of `deploy` to what it needs; only a user's command line says them."""

    @property
    def file(self) -> Path:
        """What was learned."""
        return self.folder / FILES[self.kind]

    @property
    def made(self) -> Mapping[str, Any]:
        """How it was made: `command`, `seed`, `versions`, `date`, and the `score` that it reached."""
        made: dict[str, Any] = json.loads((self.folder / MADE).read_text(encoding="utf-8"))
        return made

    @property
    def score(self) -> str:
        """Its score in words, a line for each number."""
        shown = {
            "success_rate": "{:.0%} success",
            "episodes": "of {} episodes",
            "reward_mean": "reward {:.2f}",
            "speed": "{:.3f} m/s",
            "largest_torque": "{:.3f} N·m at most",
            "kept": "limits kept: {}",
            "max_error": "error {:.4f} rad at most",
        }
        score = self.made["score"]
        return "\n".join(text.format(score[name]) for name, text in shown.items() if name in score)

    def key(self, verb: str) -> str:
        """Return the setting of a verb that takes the file."""
        return "policy" if self.kind == "feedforward" and verb in _AS_POLICY else _KEYS[self.kind]

    def words(self, verb: str) -> list[str]:
        """Return what `example=NAME` stands for on a verb's command line, the file first.

        Raises:
            ConfigurationError: the verb takes none of this kind.
        """
        if verb not in self.verbs:
            takes = ", ".join(f"pliant {name} example={self.name}" for name in self.verbs)
            raise ConfigurationError(
                f"the example {self.name!r} is a {self.kind}, which {verb} does not take: {takes}."
            )
        quoted = str(self.file).replace("'", "\\'")
        return [f"{self.key(verb)}='{quoted}'", *self.settings, *self.verbs[verb]]


def example_names() -> tuple[str, ...]:
    """Return the names of all examples."""
    return tuple(sorted(file.parent.name for file in Path(__file__).parent.glob(f"*/{_ABOUT}")))


def find_example(name: str) -> Example:
    """Return an example by its name; raises `UnknownNameError`."""
    import yaml

    if name not in example_names():
        raise unknown_name("example", name, example_names())
    folder = Path(__file__).parent / name
    entries = yaml.safe_load((folder / _ABOUT).read_text(encoding="utf-8"))
    return Example(
        name,
        folder,
        entries["about"],
        entries["kind"],
        tuple(entries.get("settings", ())),
        {verb: tuple(words or ()) for verb, words in entries["verbs"].items()},
        tuple(entries.get("safety", ())),
    )


def named_example(verb: str, arguments: Sequence[str]) -> list[str]:
    """Return a verb's command line with `example=NAME` spelled out as its file and settings; what is given wins.

    Raises:
        UnknownNameError: no such example.
        ConfigurationError: the verb does not take it, a file is given beside it, or it needs a wider safety layer.
    """
    name = value_of(arguments, "example")
    if name is None:
        return list(arguments)
    example = find_example(name)
    words, key = example.words(verb), example.key(verb)
    if value_of(arguments, key) is not None:
        raise ConfigurationError(
            f"example={name} and {key}={value_of(arguments, key)} both say what runs; give one."
        )
    given = [word for word in arguments if not word.startswith("example=")]
    missing = [word for word in example.safety if value_of(given, word.partition("=")[0]) is None]
    if verb == "deploy" and missing:
        raise ConfigurationError(
            f"the example {name!r} moves faster than the safety layer lets a robot by itself. Where that is safe, "
            f"add: {' '.join(missing)}"
        )
    return inherit([words[0], *given], words[1:])
