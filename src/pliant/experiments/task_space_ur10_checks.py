"""What is judged of task-space control of a UR10."""

from typing import TYPE_CHECKING, Final

import numpy as np

from pliant.controllers.task_space import TaskSpaceController
from pliant.experiments.task_runs import (
    CLOSE,
    SOLVERS,
    STILL,
    Findings,
    peak_to_peak,
    reached,
    rms,
    shares_of_limits,
)

if TYPE_CHECKING:
    from pliant.experiments.task_space_ur10 import TaskSpaceUr10

UNIFORM: Final = 0.5
"""Null-space damping of the report's example, of every joint, N·m·s/rad."""
WAY: Final = 0.02
"""Of the tool where delays are judged: so short that the arm is the same all the way, m."""
_LAST: Final = 1.0
"""Over which rest is judged, s."""
_SETTLING: Final = 1.0
"""After which noise and the moving target are judged, s."""


def reach(e: "TaskSpaceUr10", found: Findings) -> None:
    """Judge the way to the target by every law."""
    way = float(np.linalg.norm(e.begin - e.target))
    runs = {}
    for name in SOLVERS:
        movement = e.movement(f"reach_{name}")
        run = runs[name] = movement.record()
        error, shares = run.error(e.target), shares_of_limits(movement, run)
        found.metrics |= {
            f"reach_{name}_error_m": float(error[-1]),
            f"reach_{name}_within_10_mm_s": reached(run.time, error, 1e-2),
            f"reach_{name}_within_1_mm_s": reached(run.time, error, 1e-3),
            **{f"reach_{name}_{what}_share": float(share.max()) for what, share in shares.items()},
        }
        early = run.time < 0.8 + 1e-9
        found.arrays |= {
            f"reach_{name}_time": run.time,
            f"reach_{name}_error": error,
            f"reach_{name}_speed": shares["speed"],
            f"reach_{name}_qpos": run.qpos[early],
        }
        found.claim(f"{name}: error at rest", "0", f"{1e3 * error[-1]:.2g} mm", error[-1] < CLOSE, "below 0.1 mm")
        largest = {what: float(share.max()) for what, share in shares.items()}
        told = ", ".join(f"{what} {share:.3g}" for what, share in largest.items())
        limited = name != "recursion"
        found.claim(
            f"{name}: largest speed, torque and position, of their limits",
            "1 at most" if limited else "beyond 1: it knows no limits",
            told,
            (max(largest.values()) <= 1.0 + 1e-9) == limited,
            "at most 1" if limited else "above 1",
        )
    time = runs["recursion"].time
    rate = e.damping / 2.0
    expected = way * (1.0 + rate * time) * np.exp(-rate * time)
    found.arrays["reach_expected"] = expected
    off = float(np.abs(runs["recursion"].error(e.target) - expected).max())
    found.metrics["reach_recursion_off_closed_form_m"] = off
    found.claim(
        "recursion: distance on the way, off the closed form",
        f"d·(1 + {rate:g}·t)·exp(−{rate:g}·t), sampled",
        f"{1e3 * off:.2f} mm of {1e3 * way:.0f} mm",
        off < 0.02 * way and e.stiffness == rate**2,
        "below 2 % of d",
    )
    written, uniform = e.movement("written").record(), e.movement("uniform").record()
    same = float(np.abs(written.tool - runs["recursion"].tool).max())
    spin = float(np.abs(uniform.after(e.duration - _LAST).speeds[:, 5]).max())
    found.metrics |= {"written_off_m": same, "uniform_wrist_speed_rad_per_s": spin}
    found.claim(
        "recursion, and the report's formula written out: the tool",
        "the same, but for Coriolis forces in the null space",
        f"{1e3 * same:.2g} mm",
        same < CLOSE,
        "below 0.1 mm",
    )
    found.claim(
        f"the example's null-space damping of {UNIFORM:g} N·m·s/rad for every joint, 2 ms",
        "wrist 3 spins: c·Δt/I = 2.9, above 2",
        f"wrist 3 turns at {spin:.3g} rad/s",
        spin > 1.0,
        "above 1 rad/s",
    )


def beyond(e: "TaskSpaceUr10", found: Findings) -> None:
    """Judge what comes of a target out of reach."""
    for name in (*SOLVERS, "plain"):
        movement = e.movement(f"beyond_{name}")
        run = movement.record()
        moves, away = peak_to_peak(run, _LAST), float(run.error(e.beyond)[-1])
        assert isinstance(movement.controller, TaskSpaceController)
        told = [event.text for event in movement.controller.events if event.text.startswith("tool rests")]
        found.metrics |= {f"beyond_{name}_moves_m": moves, f"beyond_{name}_away_m": away}
        found.arrays |= {f"beyond_{name}_time": run.time, f"beyond_{name}_error": run.error(e.beyond)}
        if name == "plain":
            found.claim(
                "out of reach, plain inverse: the tool",
                "no rest",
                f"{1e3 * moves:.3g} mm from peak to peak",
                moves > STILL,
                "above 1 mm from peak to peak",
            )
            continue
        found.claim(
            f"out of reach, {name}: the tool",
            "rests, and why is told",
            f"{1e3 * moves:.2g} mm, {away:.3f} m away: {told[0] if told else 'not told'}",
            moves < STILL and bool(told),
            "below 1 mm from peak to peak, and told",
        )


def null_space(e: "TaskSpaceUr10", found: Findings) -> None:
    """Judge what the tool leaves free."""
    carried, hanging = (e.movement(name).record() for name in ("written", "hanging"))
    fallen = float(np.abs(hanging.joints[-1] - carried.joints[-1]).max())
    error = hanging.error(e.target)[-1]
    found.metrics |= {"hanging_fallen_rad": fallen, "hanging_error_m": float(error)}
    found.claim(
        "weight not carried in the null space: the posture, the tool",
        "hangs, undisturbed",
        f"{fallen:.2f} rad, {1e3 * error:.2g} mm",
        fallen > 0.1 and error < CLOSE,
        "above 0.1 rad, below 0.1 mm",
    )
    for name in ("recursion", "hierarchical"):
        run = e.movement(f"posture_{name}").record()
        moved, off = float(np.abs(run.joints[-1] - run.joints[0]).max()), float(run.error(run.tool[0]).max())
        found.metrics |= {f"posture_{name}_moved_rad": moved, f"posture_{name}_tool_m": off}
        found.claim(
            f"{name}: posture drawn elsewhere, the joints, the tool",
            "move, undisturbed on the way",
            f"{moved:.2f} rad, {1e3 * off:.2g} mm",
            moved > 0.1 and off < 5e-4,
            "above 0.1 rad, below 0.5 mm",
        )


def moving(e: "TaskSpaceUr10", found: Findings) -> None:
    """Judge moving targets."""
    path = e.path
    w = 1j * e.rate
    lag = abs((w * w + e.damping * w) / (w * w + e.damping * w + e.stiffness)) * e.radius
    for name, expected in (("circle", 0.0), ("dragged", lag)):
        run = e.movement(name).record()
        error = run.error(path.position(run.time))
        late = rms(error[run.time >= _SETTLING])
        found.metrics[f"{name}_error_m"] = late
        found.arrays |= {f"{name}_tool": run.tool, f"{name}_wanted": path.position(run.time)}
        found.claim(
            f"{name} at {e.radius * e.rate:g} m/s: RMS error",
            f"{1e3 * expected:.1f} mm" + (" (|s² + K_D·s|/|s² + K_D·s + K_P|)" if expected else ""),
            f"{1e3 * late:.2f} mm",
            abs(late - expected) < max(0.03 * expected, 5e-4),
            f"±{1e3 * max(0.03 * expected, 5e-4):.2g} mm",
        )
    movement = e.movement("jumps")
    run = movement.record()
    ends = np.array([e.target if int(t) % 2 == 0 else e.begin for t in run.time - 1e-9])
    ends[0] = e.target
    error = run.error(ends)
    worst = float(max(error[run.time <= k + 1e-9][-1] for k in range(1, int(e.duration) + 1)))
    share = max(float(part.max()) for part in shares_of_limits(movement, run).values())
    found.arrays |= {"jumps_time": run.time, "jumps_error": error}
    found.metrics |= {"jumps_error_m": worst, "jumps_share": share}
    found.claim(
        "a target that jumps every second, weighted QP: error before the next, largest share of a limit",
        "0, 1 at most",
        f"{1e3 * worst:.2g} mm, {share:.4g}",
        worst < CLOSE and share <= 1.0 + 1e-9,
        "below 0.1 mm, at most 1",
    )


def noise(e: "TaskSpaceUr10", found: Findings) -> None:
    """Judge noise."""
    plain, sensed = (
        [rms(e.movement(f"noise_{sigma:g}{how}").record().after(_SETTLING).error(e.target)) for sigma in e.noise]
        for how in ("", "_sensed")
    )
    found.noise(e.noise, plain, sensed)


def delays(e: "TaskSpaceUr10", found: Findings) -> None:
    """Judge late sensors."""
    errors = []
    for delay in e.delays:
        run = e.movement(f"delay_{delay}").record()
        errors.append(run.error(e.nearby))
    rests = [float(error[-round(_LAST / e.period) :].max()) for error in errors]
    wide = float(np.sqrt((e.damping**2 + np.sqrt(e.damping**4 + 4.0 * e.stiffness**2)) / 2.0))
    most = float(np.arctan2(e.damping * wide, e.stiffness)) / wide - e.period / 2.0
    before = [float(error[-2 * round(_LAST / e.period) : -round(_LAST / e.period)].max()) for error in errors]
    calm = [last < max(0.5 * first, CLOSE) and last < WAY for first, last in zip(before, rests, strict=True)]
    stable = [delay for delay, rest in zip(e.delays, calm, strict=True) if rest]
    found.arrays |= {"delays": e.period * np.array(e.delays), "delay_errors": np.array(rests)}
    found.metrics |= {"delay_expected_s": most, "delay_stable_s": e.period * max(stable, default=0)}
    for delay, error, rest in zip(e.delays, errors, rests, strict=True):
        if delay * e.period <= 4e-3 + 1e-9:
            time = e.period * np.arange(len(error), dtype=np.float64)
            within = reached(time, error, CLOSE)
            found.claim(
                f"sensors late by {1e3 * delay * e.period:g} ms: error at rest, within 0.1 mm",
                "0",
                f"{1e3 * rest:.2g} mm, after {within:.2f} s",
                rest < CLOSE,
                "below 0.1 mm",
            )
    found.claim(
        f"latest sensors with which a way of {1e3 * WAY:g} mm comes to rest",
        f"{1e3 * most:.1f} ms (phase margin of K_P + K_D·s, less half a period)",
        f"{1e3 * e.period * max(stable, default=0):g} ms of those tried",
        abs(e.period * max(stable, default=0) - most) < 2.5 * e.period,
        f"±{2.5e3 * e.period:g} ms",
    )
