"""Coupled phase oscillators, one for each leg: Kuramoto, Hopf (CPG-RL) and salamander.

All obey, with phase θ, amplitude r and its rate s,

    θ̇_i = 2π·ν_i + Σ_j w_ij·r_j·sin(θ_j − θ_i − φ_ij)
    ṙ_i = α·(μ − r_i²)·r_i + s_i
    ṡ_i = a·(a/4·(R_i − r_i) − s_i)

Kuramoto keeps r = 1 (α = a = 0), Hopf has a = 0, the salamander α = 0. The lags φ_ij = θ_j* − θ_i* of a pattern
make it the solution to which the phases lock. θ counts time in a cycle, so that a leg swings while θ/2π is below
one minus its duty factor: where swing and stance have frequencies of their own, see `cadence`.
"""

import math
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from pliant.actuators.compiled import compiled
from pliant.controllers.checks import Array, finite_array, positive
from pliant.errors import OutOfBoundsError, check_bounds, check_count

_STEP: Final = 5e-3
"""Longest step of the integration (Runge-Kutta of fourth order), s."""


class Oscillators:
    """A ring of coupled oscillators; use `Kuramoto`, `Hopf` or `Salamander`.

    Args:
        count: of oscillators.
        coupling: w of each pair, 1/s.
        alpha, mu: of the Hopf law of the amplitude; alpha·mu in 1/s.
        gain: a of the salamander's law, 1/s.
        amplitude: at the start and R, > 0.

    Raises:
        OutOfBoundsError: a number out of its range.
    """

    def __init__(
        self, count: int, coupling: float, *, alpha: float, mu: float, gain: float, amplitude: float
    ) -> None:
        self.count = check_count(f"{type(self).__name__}: count", count, 1, 1000)
        names = {"coupling": coupling, "alpha": alpha, "mu": mu, "gain": gain}
        self._coupling, alpha, mu, gain = (
            check_bounds(f"{type(self).__name__}: {name}", value, 0.0, 1e3) for name, value in names.items()
        )
        self._laws = np.array([alpha, mu, gain, positive(f"{type(self).__name__}: amplitude", amplitude)])
        self._step = min(_STEP, 0.2 / (2.0 * alpha * mu + gain + self._coupling * self.count + 1e-9))
        self._state = np.zeros((3, self.count))
        self._work = np.zeros((3, 3, self.count))
        self._lags = np.zeros((self.count, self.count))
        self.begin(np.zeros(self.count))

    @property
    def phase(self) -> Array:
        """θ, (count,), rad, in [0, 2π)."""
        wrapped: Array = np.mod(self._state[0], 2.0 * math.pi)
        return wrapped

    @property
    def amplitude(self) -> Array:
        """r, (count,)."""
        return np.array(self._state[1])

    @property
    def limit(self) -> float:
        """Amplitude of the limit cycle."""
        return float(self._laws[3])

    def begin(self, offsets: ArrayLike, cycle: float = 0.0, amplitude: ArrayLike | None = None) -> None:
        """Start at rest in a pattern, to which the coupling then holds the phases.

        Args:
            offsets: of the pattern, (count,), cycles.
            cycle: where in it, cycles.
            amplitude: (count,); None: that of the limit cycle.
        """
        self.couple(offsets)
        self._state[0] = 2.0 * math.pi * (np.asarray(offsets) + check_bounds("cycle", cycle, -1e6, 1e6))
        limit = np.full(self.count, self.limit)
        self._state[1] = limit if amplitude is None else finite_array("amplitude", amplitude, (self.count,))
        self._state[2] = 0.0

    def couple(self, offsets: ArrayLike) -> None:
        """Change the pattern that the coupling leads to: offsets of its phases, (count,), cycles."""
        wanted = finite_array("offsets of the pattern", offsets, (self.count,))
        self._lags = 2.0 * math.pi * (wanted[None, :] - wanted[:, None])

    def perturb(self, phase: ArrayLike) -> None:
        """Put the phases where they are not locked, (count,), rad."""
        self._state[0] = finite_array("phase", phase, (self.count,))

    def advance(self, dt: float, frequency: ArrayLike) -> None:
        """Let time pass.

        Args:
            dt: how much, s, ≥ 0.
            frequency: ν, one number or (count,), Hz.
        """
        steps = max(1, math.ceil(check_bounds("time step of the oscillators", dt, 0.0, 10.0, "s") / self._step))
        rates = np.empty(self.count)
        rates[:] = frequency
        if not math.isfinite(rates.sum()):
            raise OutOfBoundsError(f"frequency of the oscillators is {frequency!r}; finite numbers are needed.")
        compiled(_advance)(
            self._state, self._work, rates, self._lags, self._coupling, self._laws, dt / steps, steps
        )


class Kuramoto(Oscillators):
    """Phases only: θ̇_i = 2π·ν_i + K/N·Σ_j sin(θ_j − θ_i − φ_ij).

    Source: Kuramoto 1984, Chemical Oscillations, Waves, and Turbulence, ch. 5.

    Args:
        coupling: K, 1/s.
        count: N.
    """

    def __init__(self, coupling: float = 6.0, count: int = 6) -> None:
        per_pair = check_bounds("Kuramoto: coupling", coupling, 0.0, 1e3) / check_count("count", count, 1, 1000)
        super().__init__(count, per_pair, alpha=0.0, mu=0.0, gain=0.0, amplitude=1.0)


class Hopf(Oscillators):
    """Amplitude-controlled oscillators: ṙ = α·(μ − r²)·r, so that r → √μ at the rate 2·α·μ.

    Source: Bellegarda and Ijspeert 2022, CPG-RL, eqs. 1 and 2 (α = 50, μ in [1, 2]). There the frequency differs
    between swing and stance and the coupling compares the warped angle; here it compares times, so that any lag
    can be held. For equal frequencies the two are the same.

    Args:
        coupling: of each pair, 1/s.
        alpha: α; α·μ is a rate, 1/s.
        mu: μ > 0.
        count: of oscillators.
    """

    def __init__(self, coupling: float = 1.0, alpha: float = 50.0, mu: float = 1.0, count: int = 6) -> None:
        root = math.sqrt(positive("Hopf: mu", mu))
        super().__init__(count, coupling, alpha=alpha, mu=mu, gain=0.0, amplitude=root)

    @property
    def mu(self) -> float:
        """μ, the squared amplitude of the limit cycle; may be set while it runs."""
        return float(self._laws[1])

    @mu.setter
    def mu(self, value: float) -> None:
        self._laws[1] = check_bounds("Hopf: mu", positive("Hopf: mu", value), 0.0, 1e3)
        self._laws[3] = math.sqrt(self._laws[1])


class Salamander(Oscillators):
    """Phases with an amplitude that is critically damped: r̈ = a·(a/4·(R − r) − ṙ).

    Source: Ijspeert, Crespi, Ryczko and Cabelguen 2007, From swimming to walking with a salamander robot driven by
    a spinal cord model, eq. 1 (a = 20, w = 10 to 30).

    Args:
        coupling: w of each pair, 1/s. Six legs coupled all to all lock fast even with little of it.
        gain: a, 1/s.
        amplitude: R > 0.
        count: of oscillators.
    """

    def __init__(self, coupling: float = 1.0, gain: float = 20.0, amplitude: float = 1.0, count: int = 6) -> None:
        super().__init__(count, coupling, alpha=0.0, mu=0.0, gain=gain, amplitude=amplitude)


def cadence(swing: float, stance: float) -> tuple[float, float]:
    """Return frequency of the steps (Hz) and duty factor where half a turn each is made in swing and in stance.

    A swing lasts π/ω_swing and a stance π/ω_stance (CPG-RL: 2π·5 and 2π·2 rad/s at most).

    Args:
        swing: ω_swing, rad/s.
        stance: ω_stance, rad/s.
    """
    in_air, on_ground = math.pi / positive("swing", swing), math.pi / positive("stance", stance)
    return 1.0 / (in_air + on_ground), on_ground / (in_air + on_ground)


def _slopes(state: Any, out: Any, rates: Any, lags: Any, coupling: float, laws: Any) -> None:
    count = state.shape[1]
    for i in range(count):
        pull = 0.0
        for j in range(count):
            if j != i:
                pull += state[1, j] * math.sin(state[0, j] - state[0, i] - lags[i, j])
        r, speed = state[1, i], state[2, i]
        out[0, i] = 2.0 * math.pi * rates[i] + coupling * pull
        out[1, i] = laws[0] * (laws[1] - r * r) * r + speed
        out[2, i] = laws[2] * (0.25 * laws[2] * (laws[3] - r) - speed)


def _advance(
    state: Any, work: Any, rates: Any, lags: Any, coupling: float, laws: Any, step: float, steps: int
) -> None:
    slope, total, trial = work[0], work[1], work[2]
    for _ in range(steps):
        trial[:] = state
        total[:] = 0.0
        for stage in range(4):
            _slopes(trial, slope, rates, lags, coupling, laws)
            weight = 1.0 if stage in (0, 3) else 2.0
            ahead = step if stage == 2 else 0.5 * step
            for k in range(3):
                for i in range(state.shape[1]):
                    total[k, i] += weight * slope[k, i]
                    trial[k, i] = state[k, i] + ahead * slope[k, i]
        for k in range(3):
            for i in range(state.shape[1]):
                state[k, i] += step / 6.0 * total[k, i]
