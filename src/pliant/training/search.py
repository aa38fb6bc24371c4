"""A search that survives being killed: what Optuna's sweeper needs to go on from its file."""

from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, open_dict, read_write

from pliant.errors import require_extra


class ResumableSearch(Callback):
    """Hydra callback that lets an Optuna search with a storage go on where it was killed.

    Optuna's file remembers the trials, the sweeper does not: it would try `n_trials` more, number its jobs from 0
    into the folders of the earlier ones, and begin its random sequence again.
    """

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Give up the trials that were running when the search died, and plan the rest."""
        sweeper = config.hydra.sweeper
        if sweeper.get("storage") is None or sweeper.get("study_name") is None:
            return
        folder = Path(config.hydra.sweep.dir)
        folder.mkdir(parents=True, exist_ok=True)  # the file's place, before the first job makes it
        done, starts = _finished_trials(sweeper.storage, sweeper.study_name), _starts(folder)
        if starts == 0:
            return
        with read_write(config.hydra), open_dict(config.hydra):
            sweeper.n_trials = max(int(sweeper.n_trials) - done, 0)
            if sweeper.sampler.get("seed") is not None:
                sweeper.sampler.seed = int(sweeper.sampler.seed) + done
            subdir = f"start{starts + 1}_${{hydra.job.num}}"
            config.hydra.overrides.hydra.append(f"hydra.sweep.subdir={subdir}")


def _finished_trials(storage: str, name: str) -> int:
    """Number of trials that gave a value. Those that were cut off are marked as failed."""
    optuna = require_extra("optuna", "sweep", "a search")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.load_study(study_name=name, storage=storage)
    except KeyError:
        return 0
    for trial in study.get_trials(deepcopy=False):
        if not trial.state.is_finished():
            study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
    return sum(trial.state == optuna.trial.TrialState.COMPLETE for trial in study.get_trials(deepcopy=False))


def _starts(folder: Path) -> int:
    """How many times the search was started that got as far as a job."""
    names = [path.name for path in folder.iterdir() if path.is_dir()]
    later = {name.partition("_")[0] for name in names if name.startswith("start")}
    return len(later) + any(name.isdigit() for name in names)
