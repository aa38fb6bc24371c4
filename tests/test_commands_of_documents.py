"""Every command that a page or a verb's help shows is one that the verb takes, composed without being run."""

import re
import shlex
import shutil

import pytest
from hydra import compose, initialize_config_module
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf
from tests.test_documents import ROOT, blocks

from pliant.examples.catalogue import named_example
from pliant.scripts import bus, emulate, reproduce, ur, view
from pliant.scripts import list as listing
from pliant.scripts.main import verbs
from pliant.training.run_settings import bare_word, settings

PAGES = ["README.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
_HELPS = sorted((ROOT / "conf").glob("*.yaml"))
_MODEL = '<mujoco><worldbody><body><joint name="{}"/><geom size="0.1" mass="1"/></body></worldbody></mujoco>'
_OWN_FORM = ("list", "new", "robot", "sweep", "bus", "ur")
"""Verbs whose words are not Hydra's."""
_PLACES = r"(runs|RUN|FOLDER)\b"


def of_page(page):
    """Every `pliant …` of a page's blocks, split into words."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for language, block in fences if language in ("", "sh", "bash") for line in block.splitlines()]
    return [words(line) for line in lines if re.match(r"(\.venv/bin/)?pliant ", line)]


def of_help(file):
    """Every `pliant …` of the examples of a verb's help."""
    footer = OmegaConf.load(file).hydra.help.footer
    return [words(line.strip()) for line in footer.splitlines() if line.strip().startswith("pliant ")]


def words(line):
    """A command's words; what follows three blanks, or a #, is a remark, and & sends it to the background."""
    return shlex.split(re.split(r" {3,}", line)[0].removesuffix(" &"), comments=True)[1:]


def first_of_sweeps(overrides):
    """Overrides with the first value of what is swept over, as a job of the sweep would get them."""
    parsed = OverridesParser.create().parse_overrides(overrides)
    simple = []
    for override in parsed:
        if not override.is_sweep_override():
            simple.append(override.input_line)
        elif override.is_interval_sweep():
            simple.append(f"{override.key_or_group}={override.value().start}")
        else:
            simple.append(f"{override.key_or_group}={next(override.sweep_string_iterator())}")
    return simple


def overrides_of(verb, arguments):
    """What Hydra gets of a verb's words; runs that do not exist bring nothing."""
    if verb == "emulate":
        return arguments[1:]
    arguments = named_example(verb, arguments)
    if verb == "reproduce":
        return reproduce.overrides(arguments)
    if verb == "view":
        found = bool(arguments) and re.match(_PLACES, arguments[0])
        return [f"feedforward={arguments[0]}", *arguments[1:]] if found else view.named_subject(arguments)
    return bare_word(arguments)


def check(verb, arguments):
    """Raise unless a verb takes these words."""
    assert verb in verbs()
    if verb == "bus":
        action, *rest = arguments
        bus.parse(action, rest, bus._ACTIONS[action][1])
    elif verb == "ur":
        ur.parse(arguments[0], arguments[1:])
    elif verb == "list":
        assert set(arguments) <= set(listing._LISTS)
    elif verb not in _OWN_FORM and arguments != ["--help"]:
        plain = [word for word in arguments if word not in ("--multirun", "-m")]
        for plugin in ("ray", "submitit_slurm", "submitit_local", "joblib"):
            if f"hydra/launcher={plugin}" in plain:
                pytest.importorskip(f"hydra_plugins.hydra_{plugin.partition('_')[0]}_launcher")
        if "hydra/sweeper=search" in plain:
            pytest.importorskip("hydra_plugins.hydra_optuna_sweeper")
        overrides = first_of_sweeps(settings(overrides_of(verb, plain)))
        with initialize_config_module("pliant.conf", version_base="1.3"):
            name = emulate.KINDS[plain[0]].configuration if verb == "emulate" else verb
            assert compose(name, overrides=overrides, return_hydra_config=True)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the robots of one's own that the pages name."""
    pages = "docs/own-robot.md", "docs/interaction.md", "docs/task-space.md"
    texts = [text for page in pages for kind in ("yaml", "xml") for text in blocks(page, kind)]
    for text in texts:
        if named := re.match(r"(?:#|<!--) (\w+\.\w+)", text):
            (tmp_path / named[1]).write_text(text)
    (tmp_path / "leg.yaml").write_text("model: leg.xml\n")
    (tmp_path / "leg.xml").write_text(_MODEL.format("hip"))
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for found in (tmp_path / "runs" / "gait" / "DATE", tmp_path / "runs" / "search"):
        found.mkdir(parents=True)
        (found / "best.yaml").write_text("controller: matsuoka\nsettings: {stride: 0.05}\n")
    monkeypatch.chdir(tmp_path)


SHOWN = [
    *(pytest.param(command, id=f"{page}: {' '.join(command)}") for page in PAGES for command in of_page(page)),
    *(pytest.param(command, id=f"{f.name}: {' '.join(command)}") for f in _HELPS for command in of_help(f)),
]


@pytest.mark.parametrize("command", [one for one in SHOWN if one.values[0][0] not in ("VERB", "--help")])
@pytest.mark.usefixtures("folder")
@pytest.mark.slow
def test_every_command_shown_composes(command):
    verb, *arguments = command
    check(verb, [word for word in arguments if word != "…"])


def test_commands_are_found_on_pages_and_in_helps():
    assert len(SHOWN) > 100
    assert {verb for one in SHOWN for verb in one.values[0][:1]} >= set(verbs()) - {"list"}


def test_lists_that_pages_and_settings_name_are_there():
    files = [*(ROOT / page for page in PAGES), *(ROOT / "conf").rglob("*.yaml")]
    named = {name for file in files for name in re.findall(r"pliant list (\w+)", file.read_text())}
    assert named
    assert named <= set(listing._LISTS)
