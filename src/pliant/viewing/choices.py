"""Motions to choose from while one is watched."""

from collections.abc import Callable, Mapping

from pliant.errors import PliantError
from pliant.viewing.motions import LoopedMotion
from pliant.viewing.sliders import Slider


class Choices:
    """Motions by name, one of which is shown. A screen's user asks for another; the loop that runs it makes it."""

    def __init__(self, motions: Mapping[str, Callable[[], LoopedMotion]], shown: str) -> None:
        """Keep what is given; nothing is made yet.

        Args:
            motions: what makes each of them, by name.
            shown: the one that is shown now.
        """
        self._motions, self._shown = dict(motions), list(motions).index(shown)
        self._asked: int | None = None
        self.notice = ""
        """That one is being made, or why it cannot be shown; else empty."""
        self.slider = Slider(
            "show", 0.0, len(self._motions) - 1.0, lambda: self._shown, self._ask, choices=tuple(self._motions)
        )
        """Shows which one is shown, and asks for another."""

    def _ask(self, value: float) -> None:
        self._asked = round(value)

    def another(self) -> LoopedMotion | None:
        """Make the motion that was asked for since the last call; None: none was, or it cannot be shown."""
        asked, self._asked = self._asked, None
        if asked is None or asked == self._shown:
            return None
        name = list(self._motions)[asked]
        self.notice = f"{name} is being made"
        try:
            motion = self._motions[name]()
        except PliantError as error:
            self.notice = f"{name} cannot be shown: {error}"
            return None
        self.notice, self._shown = "", asked
        return motion
