import gymnasium
import numpy as np

from pliant.envs.tasks.row import SUCCESS, VERDICT
from pliant.envs.vector.reports import parameter_report, single, step_report


def merged(each: list[dict]) -> dict:
    """As Gymnasium merges them."""
    env = gymnasium.vector.VectorEnv()
    env.num_envs, infos = len(each), {}
    for i, info in enumerate(each):
        infos = env._add_info(infos, info, i)
    return infos


def report(n: int = 4, mask=(True, False, True, True), failures=None) -> dict:
    outcome = np.arange(n * (2 + VERDICT), dtype=float).reshape(n, -1)
    outcome[:, SUCCESS] = [0.0, 1.0, 1.0, 0.0]
    return step_report(("distance", "smoothness"), outcome, np.array(mask), failures or {}, 50.0)


def test_reports_are_laid_out_as_gymnasium_lays_them_out(identical):
    each = [
        {"reward_distance": 0.0, "reward_smoothness": 1.0, "is_success": False},
        {},
        {"reward_distance": 12.0, "reward_smoothness": 13.0, "is_success": True},
        {"reward_distance": 18.0, "reward_smoothness": 19.0, "is_success": False},
    ]
    identical(report(), merged(each))
    each[3] |= {"reward_failure": -50.0, "failure": "lost"}
    identical(report(failures={3: "lost"}), merged(each))


def test_nobody_reports_nothing():
    assert report(mask=(False,) * 4) == {}
    assert parameter_report(("mass",), [(1.0,)] * 2, np.zeros(2, dtype=bool)) == {}
    assert parameter_report((), [()] * 2, np.ones(2, dtype=bool)) == {}


def test_parameters_are_nested_and_a_single_report_is_what_one_alone_gives(identical):
    mask = np.array([False, True, True])
    infos = parameter_report(("link1/mass", "command_delay"), [(), (1.0, 0.1), (2.0, 0.2)], mask)
    each = [{}, *({"parameters": {"link1/mass": m, "command_delay": m / 10}} for m in (1.0, 2.0))]
    identical(infos, merged(each))
    assert [single(infos, i) for i in range(3)] == each
