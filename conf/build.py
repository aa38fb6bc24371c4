"""Building objects from configuration: the one place that calls `hydra.utils.instantiate`."""

from typing import Any

from pliant.errors import ConfigurationError, PliantError


def build(config: Any, what: str, **overrides: Any) -> Any:
    """Return the object that a config node with `_target_` describes; plain values pass through.

    Args:
        config: a node of a composed configuration.
        what: what it is, for error messages (`robot.model`).
        overrides: further arguments of the target.

    Raises:
        PliantError: whatever the target itself has to say about its arguments.
        ConfigurationError: the target does not exist or does not take these arguments.
    """
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate
    from omegaconf.errors import OmegaConfBaseException

    try:
        return instantiate(config, _convert_="all", **overrides)
    except (InstantiationException, OmegaConfBaseException) as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, PliantError):
                raise cause from error
            cause = cause.__cause__
        reason = str(error.__cause__ or error).strip().splitlines()
        raise ConfigurationError(f"configuration of {what}: {' '.join(reason)}") from error
