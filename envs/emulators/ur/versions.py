"""PolyScope versions that can be emulated, and what differs between them on the wire."""

from collections.abc import Mapping
from dataclasses import dataclass

from pliant.errors import unknown_name


@dataclass(frozen=True)
class PolyScope:
    """One version of the controller's software."""

    major: int
    minor: int
    bugfix: int = 0
    build: int = 0

    @property
    def name(self) -> str:
        """As it is asked for: `5.22`."""
        return f"{self.major}.{self.minor}"

    @property
    def _number(self) -> tuple[int, int]:
        return self.major, self.minor

    @property
    def rate(self) -> int:
        """Cycles of the controller a second: 125 on a CB3, 500 later."""
        return 125 if self.major < 5 else 500

    @property
    def dashboard(self) -> bool:
        """Whether there is a dashboard server: not on PolyScope X."""
        return self.major < 10

    @property
    def remote_control(self) -> bool:
        """Whether there is a switch between local and remote control: not on a CB3."""
        return self.major >= 5

    @property
    def sensor_at_flange(self) -> bool:
        """Whether forces come from a sensor at the flange; on a CB3 they are an estimate at the TCP."""
        return self.major >= 5

    @property
    def freedrive_axes(self) -> bool:
        """Whether freedrive takes the axes that are free."""
        return self._number >= (5, 10)

    @property
    def dynamics(self) -> bool:
        """Whether mass matrix, Jacobian and Coriolis torques can be asked for."""
        return (5, 23) <= self._number < (10, 0) or self._number >= (10, 9)

    @property
    def direct_torque(self) -> bool:
        """Whether torques can be commanded."""
        return (5, 26) <= self._number < (10, 0) or self._number >= (10, 10)

    @property
    def missing_outputs(self) -> frozenset[str]:
        """Output variables that this version does not know, of those that others do."""
        missing = set()
        if self.major < 5:
            missing |= {"ft_raw_wrench"}
        if self._number < (5, 23):
            missing |= {"actual_current_as_torque"}
        if self.major >= 10:
            missing |= {
                "ft_raw_wrench",
                "payload",
                "payload_cog",
                "payload_inertia",
                "actual_current_as_torque",
            }
        return frozenset(missing)


VERSIONS: Mapping[str, PolyScope] = {
    version.name: version
    for version in (
        PolyScope(3, 15, 8, 106339),
        PolyScope(5, 11, 0, 108249),
        PolyScope(5, 22, 0, 1211560),
        PolyScope(5, 23, 0, 0),
        PolyScope(5, 26, 0, 0),
        PolyScope(10, 12, 0, 0),
    )
}
"""By name. 5.3 and 10.7 to 10.9 are left out: the client does not work with them."""


def polyscope(name: object) -> PolyScope:
    """Return a version by its name; raises `UnknownNameError`."""
    if str(name) not in VERSIONS:
        raise unknown_name("PolyScope version", name, VERSIONS)
    return VERSIONS[str(name)]
