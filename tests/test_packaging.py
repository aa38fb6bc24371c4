"""What is said of the package beside its code agrees with it."""

import re
import tomllib
from importlib.metadata import distributions

import yaml
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from tests.test_documents import ROOT

import pliant

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def command(mark):
    """A command block of the README, by the comment before it."""
    (found,) = re.findall(rf"<!-- {mark} -->\n```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return found


def test_the_version_is_the_same_everywhere():
    assert PROJECT["version"] == pliant.__version__
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == pliant.__version__


def test_the_citation_is_complete():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= citation.keys()
    assert citation["license"] == PROJECT["license"]


def test_the_image_installs_what_the_readme_does():
    image = " ".join((ROOT / "Dockerfile").read_text().replace("\\\n", " ").split())
    for mark in ("run", "tests"):
        (system,) = re.findall(r"apt-get install -y (.+)", command(mark))
        assert f"apt-get install -y {system} " in image
    (extras,) = re.findall(r'-e "\.\[(.*)\]"', command("tests"))
    assert f'-c constraints.txt -e ".[{extras}]"' in image
    # what the first command needs is part of what the second installs
    assert re.findall(r'-e "\.\[(.*)\]"', command("run")) == ["report"]
    assert "report" in PROJECT["optional-dependencies"]["all"][0]
    runs = re.findall(r"^\.venv/bin/(pliant .*|pytest .*)$", command("run") + command("tests"), re.MULTILINE)
    assert runs[0].split() == re.findall(r'"(\w+)"', re.search(r"CMD \[(.*?)\]", image)[1])
    assert runs[1] in image


def test_what_is_pinned_runs_on_every_python_that_is_promised():
    """Debian 12 has Python 3.11.2."""
    oldest = PROJECT["requires-python"].removeprefix(">=") + ".0"
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {canonicalize_name(line.split("==")[0]) for line in lines}
    installed = [package for package in distributions() if canonicalize_name(package.name) in pinned]
    assert len(installed) > 50
    for package in installed:
        needed = package.metadata.get("Requires-Python") or ""
        assert SpecifierSet(needed).contains(oldest), f"{package.name} {package.version} needs Python {needed}"


def test_the_guide_installs_and_tests_as_the_readme_does():
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    assert all(line in guide for line in command("tests").splitlines())


def test_links_of_the_guide_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+?)\)", (ROOT / "CONTRIBUTING.md").read_text()):
        assert (ROOT / target).exists(), target
