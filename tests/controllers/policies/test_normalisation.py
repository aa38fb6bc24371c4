import json

import numpy as np
import pytest

from pliant.controllers.policies import Normalisation
from pliant.errors import FileFormatError, OutOfBoundsError, ShapeError


def test_it_is_the_law_in_its_docstring(normalisation):
    seen = np.array([0.3 + 0.5, 1e6, -1e6, 1.2345678, 0.1])
    expected = [0.5 / np.sqrt(0.5 + 1e-8), 10.0, -10.0, 0.0, 0.1 / np.sqrt(0.2 + 1e-8)]
    np.testing.assert_allclose(normalisation(seen), expected, rtol=1e-12, atol=1e-12)


def test_it_is_what_stable_baselines3_does(still):
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    venv = vec_env.VecNormalize(vec_env.DummyVecEnv([still]), clip_obs=5.0)
    random = np.random.default_rng(0)
    venv.obs_rms.update(random.normal(3.0, 2.0, (100, 5)))
    ours = Normalisation(venv.obs_rms.mean, venv.obs_rms.var, venv.clip_obs, venv.epsilon)
    seen = random.uniform(-50.0, 50.0, (100, 5)).astype(np.float32)
    np.testing.assert_array_equal(ours(seen).astype(np.float32), venv.normalize_obs(seen))


def test_it_comes_back_from_json_to_the_last_bit(normalisation):
    back = Normalisation.from_json(json.loads(json.dumps(normalisation.to_json())), "file")
    for name in ("mean", "variance", "clip", "epsilon"):
        np.testing.assert_array_equal(getattr(back, name), getattr(normalisation, name))


@pytest.mark.parametrize("lost", ["mean", "variance", "clip", "epsilon"])
def test_one_that_lacks_something_is_refused(normalisation, lost):
    data = {name: value for name, value in normalisation.to_json().items() if name != lost}
    with pytest.raises(FileFormatError, match=f"arm.zip.*'{lost}'"):
        Normalisation.from_json(data, "arm.zip")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"variance": [1.0]}, ShapeError),
        ({"variance": [1.0, -1.0]}, OutOfBoundsError),
        ({"mean": [np.nan, 0.0]}, OutOfBoundsError),
        ({"clip": 0.0}, OutOfBoundsError),
        ({"epsilon": np.inf}, OutOfBoundsError),
    ],
)
def test_numbers_that_are_none_are_refused(change, error):
    with pytest.raises(error):
        Normalisation(**{"mean": [0.0, 1.0], "variance": [1.0, 2.0], "clip": 10.0, "epsilon": 1e-8, **change})
