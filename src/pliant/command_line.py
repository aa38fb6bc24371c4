"""What the Hydra verbs share: composing the configuration, the run folder, and how errors reach the user."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from pliant.errors import PliantError, require_extra

_PLUGINS = {
    "hydra/launcher=joblib": ("hydra_joblib_launcher", "sweep"),
    "hydra/launcher=submitit_local": ("hydra_submitit_launcher", "sweep"),
    "hydra/launcher=submitit_slurm": ("hydra_submitit_launcher", "sweep"),
    "hydra/launcher=ray": ("hydra_ray_launcher", "ray"),
    "hydra/sweeper=optuna": ("hydra_optuna_sweeper", "sweep"),
    "hydra/sweeper=search": ("hydra_optuna_sweeper", "sweep"),
}
"""Choices that Hydra does not know without a plugin: its package in `hydra_plugins`, and our extra."""


@contextmanager
def explained_errors() -> Iterator[None]:
    """End the process with one clear message: status 2 for an error that is the user's to mend, 130 for Ctrl-C."""
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    try:
        yield
    except (PliantError, HydraException, OmegaConfBaseException) as error:
        message = str(error).strip()
        if error.__cause__ is not None and not isinstance(error, PliantError):
            message += f"\n{error.__cause__}"
    except OSError as error:
        where = f" {error.filename!r}" if error.filename else ""
        message = (
            f"the results cannot be written{where}: {error.strerror}. Choose another place: hydra.run.dir=FOLDER"
        )
    except KeyboardInterrupt:
        print("pliant: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
    else:
        return
    print(f"pliant: {message}", file=sys.stderr)
    raise SystemExit(2)


def run(job: Callable[[DictConfig], Any], config_name: str) -> None:
    """Compose the configuration `config_name` with the command line's overrides and run the job on it."""
    import hydra

    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors reach us instead of being printed by Hydra
    with explained_errors():
        for choice in sys.argv[1:]:
            if choice in _PLUGINS:
                plugin, extra = _PLUGINS[choice]
                require_extra(f"hydra_plugins.{plugin}", extra, choice)
        hydra.main(version_base="1.3", config_path="pkg://pliant.conf", config_name=config_name)(job)()


def run_folder() -> Path:
    """The folder of this run, made by Hydra."""
    from hydra.core.hydra_config import HydraConfig

    return Path(HydraConfig.get().runtime.output_dir)
