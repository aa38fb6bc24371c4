import json
import zipfile

import numpy as np
import pytest

from pliant.controllers.policies import SB3Policy, load_policy, made_for
from pliant.errors import FileFormatError, MissingExtraError, MissingFileError, OutputError, UnknownNameError


@pytest.fixture
def policy(make_model, info, normalisation):
    return SB3Policy(make_model("PPO"), info, normalisation)


@pytest.fixture
def saved(policy, tmp_path):
    return policy.save(tmp_path / "policy.zip")


def rewrite(path, change):
    """Change the members of an archive: a function of their dictionary, in place."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def relabel(path, change):
    def edit(members):
        label = json.loads(members["policy.json"])
        change(label)
        members["policy.json"] = json.dumps(label).encode()

    rewrite(path, edit)


@pytest.mark.parametrize("algorithm", ["PPO", "A2C", "SAC", "TD3", "TQC"])
@pytest.mark.parametrize("normalised", [True, False])
def test_it_comes_back_from_its_file_with_its_normaliser(
    make_model, info, normalisation, tmp_path, algorithm, normalised
):
    policy = SB3Policy(make_model(algorithm), info, normalisation if normalised else None)
    back = load_policy(policy.save(tmp_path / "policy.zip"), info)
    for observation in np.random.default_rng(0).uniform(-30.0, 30.0, (20, 5)):
        np.testing.assert_array_equal(back(observation), policy(observation))
    assert back.info == info


def test_the_normaliser_is_part_of_what_it_does(make_model, info, normalisation):
    model, seen = make_model("PPO"), np.array([0.5, 3.0, 1.0, 1.0, 0.2])
    with_it, without = SB3Policy(model, info, normalisation), SB3Policy(model, info, None)
    assert np.abs(with_it(seen) - without(seen)).max() > 0.1
    scaled = np.clip((seen - normalisation.mean) / np.sqrt(normalisation.variance + 1e-8), -10.0, 10.0)
    np.testing.assert_array_equal(with_it(seen), without(scaled))


def test_where_it_comes_from_is_told_without_loading_the_network(saved, monkeypatch):
    monkeypatch.setattr(SB3Policy, "load", None)
    assert made_for(saved)["environment"] == ["env=joint", "task=reach"]


def test_a_file_without_the_normaliser_is_refused(saved, info):
    relabel(saved, lambda label: label.pop("normalisation"))
    with pytest.raises(FileFormatError, match="lacks the normalisation"):
        load_policy(saved, info)


def test_a_bare_model_of_stable_baselines3_is_refused(make_model, info, tmp_path):
    make_model("PPO").save(tmp_path / "model.zip")
    with pytest.raises(FileFormatError, match=r"bare stable-baselines3 model, without names.*policy\.zip"):
        load_policy(tmp_path / "model.zip", info)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]), "damaged or not a policy"),
        (lambda path: path.write_text("weights"), "damaged or not a policy"),
        (lambda path: rewrite(path, lambda m: m.pop("model.zip")), "not a policy; it holds policy.json"),
        (lambda path: rewrite(path, lambda m: m.update({"model.zip": b"x"})), "network cannot be loaded"),
        (lambda path: rewrite(path, lambda m: m.update({"policy.json": b"{"})), "damaged"),
        (
            lambda path: relabel(path, lambda label: label.update(format=9)),
            "of format 9; this Pliant reads format 1",
        ),
        (lambda path: relabel(path, lambda label: label["info"].pop("period")), "'period'"),
        (lambda path: relabel(path, lambda label: label["normalisation"].pop("mean")), "'mean'"),
    ],
)
def test_a_damaged_file_is_refused(saved, info, spoil, message):
    spoil(saved)
    with pytest.raises(FileFormatError, match=message):
        load_policy(saved, info)


def test_a_changed_byte_is_noticed(saved, info):
    content = bytearray(saved.read_bytes())
    content[len(content) // 2] ^= 1
    saved.write_bytes(content)
    with pytest.raises(FileFormatError, match="damaged"):
        load_policy(saved, info)


def test_an_algorithm_that_is_none_is_refused(saved, info):
    relabel(saved, lambda label: label.update(algorithm="stable_baselines3.PPPO"))
    with pytest.raises(UnknownNameError, match="Did you mean 'PPO'"):
        load_policy(saved, info)
    relabel(saved, lambda label: label.update(algorithm="os.system"))
    with pytest.raises(UnknownNameError, match="unknown package of an algorithm 'os'"):
        load_policy(saved, info)


def test_without_the_package_the_extra_is_named(saved, info, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "stable_baselines3", None)
    with pytest.raises(MissingExtraError, match=r'pip install "pliant\[train\]"'):
        load_policy(saved, info)


def test_a_place_that_cannot_be_written_is_an_output_error(policy, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError):
        policy.save(tmp_path / "file" / "policy.zip")


def test_a_file_that_is_not_there_is_named(info, tmp_path):
    with pytest.raises(MissingFileError, match=r"policy .*nowhere\.zip does not exist"):
        load_policy(tmp_path / "nowhere.zip", info)
