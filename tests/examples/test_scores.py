import pytest

from pliant.examples.catalogue import example_names, find_example
from pliant.examples.scores import score


@pytest.mark.slow
@pytest.mark.parametrize("name", example_names())
def test_it_still_reaches_its_stated_score(name):
    example = find_example(name)
    stated = example.made["score"]
    if example.kind == "policy":
        pytest.importorskip("onnxruntime")
    found = score(example, stated.get("episodes", 0))
    assert found.keys() == stated.keys()
    if example.kind == "policy":
        assert found["success_rate"] >= stated["success_rate"] - 0.01
        assert found["reward_mean"] == pytest.approx(stated["reward_mean"], rel=0.02)
    elif example.kind == "gait":
        assert found["kept"]
        assert found["speed"] == pytest.approx(stated["speed"], rel=0.02)
    else:
        assert found["max_error"] <= 1.05 * stated["max_error"]
