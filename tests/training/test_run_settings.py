import pytest

from pliant.errors import FileFormatError, MissingFileError
from pliant.training.run_settings import bare_word, inherit, of_groups, of_run, value_of

EARLIER = ["robot=rig1", "task=reach", "task.hold=0.5", "+env.options.extra=1", "steps=100", "seed=3"]


def test_earlier_settings_come_before_new_ones_and_give_way_to_them():
    assert inherit(["steps=200", "resume=run"], EARLIER) == [*EARLIER[:4], "seed=3", "steps=200", "resume=run"]


def test_a_new_choice_of_a_group_replaces_what_was_set_within_it():
    assert inherit(["task=track"], EARLIER) == ["robot=rig1", *EARLIER[3:], "task=track"]
    assert inherit(["task.hold=0.1"], EARLIER)[1:] == ["task=reach", *EARLIER[3:], "task.hold=0.1"]
    assert "+env.options.extra=1" not in inherit(["env.options.extra=2"], EARLIER)


def test_groups_are_told_from_names_that_begin_alike():
    assert of_groups([*EARLIER, "environment=x", "tasks=y"], ("env", "task")) == EARLIER[:4]


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (["resume=run/a"], "run/a"),
        (["a=1", "resume=x", "resume='run b'"], "run b"),
        (["resume=null"], None),
        (["resumed=x"], None),
        ([], None),
    ],
)
def test_the_last_value_of_a_key_counts(arguments, value):
    assert value_of(arguments, "resume") == value


def test_a_run_tells_what_it_was_started_with(tmp_path):
    (tmp_path / "run" / ".hydra").mkdir(parents=True)
    record = tmp_path / "run" / ".hydra" / "overrides.yaml"
    record.write_text("- robot=rig1\n- steps=10\n")
    assert of_run(tmp_path / "run") == ["robot=rig1", "steps=10"]
    record.write_text("{}\n")
    with pytest.raises(FileFormatError, match="list of overrides"):
        of_run(tmp_path / "run")


def test_a_folder_that_is_no_run_is_refused_with_a_hint(tmp_path):
    with pytest.raises(MissingFileError, match=r"run folder .*nowhere does not exist"):
        of_run(tmp_path / "nowhere")
    with pytest.raises(MissingFileError, match="is not the folder of a run"):
        of_run(tmp_path)
    for name in ("0", "1"):
        (tmp_path / name / ".hydra").mkdir(parents=True)
        (tmp_path / name / ".hydra" / "overrides.yaml").write_text("[]\n")
    with pytest.raises(MissingFileError, match="it holds the runs 0, 1; choose one"):
        of_run(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["runs/a", "seed=1"], ["policy='runs/a'", "seed=1"]),
        (["it's"], ["policy='it\\'s'"]),
        (["policy=a"], ["policy=a"]),
        (["--help"], ["--help"]),
        ([], []),
    ],
)
def test_a_bare_first_word_is_the_policy(arguments, named):
    assert bare_word(arguments) == named
