import sys

import pytest

from pliant.conf.docstrings import documentation, term_documentation
from pliant.envs.tasks.composition import KINDS

SOURCE = '''
import os
raise RuntimeError("never imported")


class Base:
    """What all have.

    Args:
        mass: of it, kg.
        both: not this one.
    """


class Leg(Base):
    """One leg: hip
    and knee.

    Longer.

    Args:
        both: this one,
            over two lines.
    """

    length: float = 1.0
    """Of the femur, m."""
    unsaid: int = 0

    def make(self, way):
        """Make it.

        Args:
            way: how.

        Raises:
            ValueError: never.
        """
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    (tmp_path / "legs_of_mine").mkdir()
    (tmp_path / "legs_of_mine" / "__init__.py").write_text("from legs_of_mine.parts import Leg as Limb\n")
    (tmp_path / "legs_of_mine" / "parts.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    return "legs_of_mine"


def test_what_is_written_of_a_class_is_read_without_importing_it(package):
    found = documentation(f"{package}.Limb")
    assert found.summary == "One leg: hip and knee."
    assert found.arguments == {
        "mass": "of it, kg.",
        "both": "this one, over two lines.",
        "length": "Of the femur, m.",
    }
    assert documentation(f"{package}.parts.Leg.make").arguments == {"way": "how."}
    assert package not in sys.modules


@pytest.mark.parametrize(
    "target", ["", "nowhere", "nowhere.at.all", "pliant.nothing", "pliant.controllers.Nothing"]
)
def test_of_what_is_not_there_nothing_is_written(target):
    assert documentation(target) == ("", {})


@pytest.mark.parametrize(
    ("kind", "entry"),
    [
        ("action", "action"),
        ("start", "start"),
        ("body", "bodies"),
        ("goal", "goal"),
        ("measure", "measures"),
        ("observation", "observations"),
        ("reward", "rewards"),
        ("end", "ends"),
    ],
)
def test_the_terms_of_tasks_are_found_by_their_names(kind, entry):
    for name, term in KINDS[kind].items():
        written = " ".join((term.__doc__ or "").split("\n\n")[0].split())
        assert term_documentation(entry, name).summary == written, name
