"""The compliance laws that come with Pliant, one a file; `find_law` finds them by name.

Adding a law means adding a file: whatever `Law` a module of this folder holds under the module's own name is
found. A law in a file of your own needs no place here at all; pass it as an object or by `module:name`.
"""

import pkgutil

from pliant.actuators.law import Compliance, Law
from pliant.conf.build import imported
from pliant.errors import ConfigurationError, unknown_name


def law_names() -> tuple[str, ...]:
    """Names of the laws in this folder."""
    return tuple(module.name for module in pkgutil.iter_modules(__path__))


def find_law(name: str) -> Law:
    """Return a law by its name here, or by `module:name` anywhere on the import path.

    Raises:
        UnknownNameError: there is no such law.
        ConfigurationError: the module cannot be imported, or what it holds is not a law.
    """
    module, _, attribute = name.rpartition(":")
    if not module:
        if name not in law_names():
            raise unknown_name("law", name, law_names())
        module, attribute = f"{__name__}.{name}", name
    found = imported(module, attribute, f"law {name!r}")
    if not isinstance(found, Law):
        raise ConfigurationError(f"{name!r} is a {type(found).__name__}, not a law (see compliance_law).")
    return found


def as_compliance(law: "str | Law | Compliance") -> Compliance:
    """Return a configured law from a name, a law (with its default parameters) or a configured law."""
    if isinstance(law, Compliance):
        return law
    if isinstance(law, Law):
        return law()
    if isinstance(law, str):
        return find_law(law)()
    raise ConfigurationError(f"a law is given by name, as a Law or with values, not as {type(law).__name__}.")
