"""One motor: friction that only dissipates, limits that hold, feedback that no step size destabilises."""

import inspect
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.actuators import PID, Motor, Pivot
from pliant.actuators.drives.motor_pid import motor_pid
from pliant.actuators.motor import (
    dragged_anchor,
    friction_torque,
    mean_speed,
    motor_rates,
    motor_step,
    pivot_step,
)
from pliant.actuators.pid import integral_rate, integral_step
from pliant.errors import OutOfBoundsError

TORQUE, STIFFNESS = 0.2, 1000.0
"""Static friction and bristle stiffness of these tests, N·m and N·m/rad."""

signs = st.sampled_from((-1.0, 1.0))


def motor_values(**changes: float) -> tuple[float, ...]:
    free = {"torque_limit": 1e3, "speed_limit": 1e3, "static_friction": TORQUE, "bristle_stiffness": STIFFNESS}
    return Motor(**{**free, **changes}).values


def torque_step(state, torque, step, values, load=0.0):
    """One step of a motor that is commanded a torque."""
    return motor_step(*state, load, 0.0, 0.0, 0.0, torque, step, *values)


class TestFriction:
    @given(st.lists(st.floats(-3e-3, 3e-3), min_size=1, max_size=40), st.floats(0.0, 1.0), st.floats(1.0, 1e5))
    def test_no_closed_path_gives_energy(self, moves, torque, stiffness):
        angle = anchor = work = 0.0
        for move in [*moves, -sum(moves)]:
            angle += move
            anchor = dragged_anchor(angle, anchor, torque, stiffness)
            work += friction_torque(angle, anchor, torque, stiffness) * move
            stored = 0.5 * stiffness * (angle - anchor) ** 2
            assert work >= stored - 1e-12, "what the motor spent is more than what the bristle holds"

    @given(st.floats(-0.01, 0.01), st.floats(-2e-4, 2e-4), st.integers(1, 50))
    def test_a_move_drags_the_anchor_alike_in_one_step_and_in_many(self, move, deflection, pieces):
        anchor = -deflection
        for k in range(1, pieces + 1):
            anchor = dragged_anchor(move * k / pieces, anchor, TORQUE, STIFFNESS)
        once = dragged_anchor(move, -deflection, TORQUE, STIFFNESS)
        assert anchor == pytest.approx(once, abs=1e-15)

    @given(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0), st.floats(0.0, 1.0))
    def test_it_never_exceeds_the_static_friction(self, angle, anchor, torque):
        assert abs(friction_torque(angle, anchor, torque, STIFFNESS)) <= torque
        after = dragged_anchor(angle, anchor, torque, STIFFNESS)
        assert abs(STIFFNESS * (angle - after)) <= torque * (1 + 1e-12) + 1e-12

    @given(st.lists(st.floats(-1.0, 1.0), min_size=5, max_size=60), st.sampled_from((2.5e-4, 1e-3)))
    def test_a_driven_motor_spends_at_least_what_its_bristle_holds(self, torques, step):
        values = motor_values()
        inertia, damping = values[:2]
        state, spent = (0.0, 0.0, 0.0), 0.0
        for torque in np.repeat(torques, 10):
            before, state = state, torque_step(state, float(torque), step, values)
            speed = (state[0] - before[0]) / step
            kinetic = 0.5 * inertia * (state[1] ** 2 - before[1] ** 2)
            spent += (float(torque) - damping * speed) * speed * step - kinetic
            assert spent >= 0.5 * STIFFNESS * (state[0] - state[2]) ** 2 - 1e-12

    def test_a_load_below_it_is_held_for_ever(self):
        values, state = motor_values(), (0.3, 0.0, 0.3)
        for _ in range(8000):
            state = torque_step(state, 0.0, 1e-3, values, load=0.9 * TORQUE)
        held = state
        for _ in range(20000):
            state = torque_step(state, 0.0, 1e-3, values, load=0.9 * TORQUE)
        assert state[0] == pytest.approx(held[0], abs=1e-15)
        assert state[2] == held[2], "the anchor has not moved"
        assert abs(mean_speed(state[1], 0.9 * TORQUE, 1e-3, values[0])) < 1e-12
        assert friction_torque(state[0], state[2], TORQUE, STIFFNESS) == pytest.approx(-0.9 * TORQUE, rel=1e-12)

    def test_a_load_above_it_is_not_held(self):
        values, state = motor_values(damping=0.5), (0.0, 0.0, 0.0)
        for _ in range(2000):
            state = torque_step(state, 1.5 * TORQUE, 1e-3, values)
        assert state[1] == pytest.approx(0.5 * TORQUE / 0.5, rel=1e-6), "the rest of the torque goes into damping"

    def test_ten_thousand_cycles_of_a_load_below_it_leave_the_motor_where_it_was(self):
        values, state = motor_values(), (0.0, 0.0, 0.0)
        cycle = [TORQUE * (0.3 + 0.5 * math.sin(2 * math.pi * k / 20)) for k in range(20)]
        after = {}
        for number in range(1, 10_001):
            for torque in cycle:
                state = torque_step(state, torque, 1e-3, values)
            after[number] = state
        assert abs(after[10_000][0] - after[500][0]) < 1e-15
        assert after[10_000][2] == after[500][2], "the anchor has not moved"

    @pytest.mark.parametrize("static", [0.0, 0.02, 0.5])
    def test_an_anchor_that_was_left_behind_pulls_no_harder_than_friction_does(self, static):
        """As where a motor is put to an angle by hand, its anchor elsewhere."""
        values = (0.0233, 0.2698, 6.0, 6.0, static, STIFFNESS)
        drawn = motor_step(0.6, 0.0, 0.6 - static / STIFFNESS, 0.0, 0.9, 125.0, 4.5, 0.0, 1e-3, *values)
        left = motor_step(0.6, 0.0, 0.0, 0.0, 0.9, 125.0, 4.5, 0.0, 1e-3, *values)
        assert left == pytest.approx(drawn, abs=1e-12)

    @pytest.mark.parametrize("step", [1e-4, 1e-3])
    @pytest.mark.parametrize(("target", "direction"), [(-1.0, 1.0), (1.0, -1.0)])
    def test_saturated_braking_is_not_pushed_by_friction(self, step, target, direction):
        """The drive at its limit brakes a motor that slips: friction of 0.5 N·m brakes too."""
        inertia, damping, static = 0.0233, 0.2698, 0.5
        values = (inertia, damping, 6.0, 6.0, static, STIFFNESS)
        state = (0.0, direction, -direction * static / STIFFNESS)
        _, speed, _ = motor_step(*state, 0.0, target, 125.0, 4.5, 0.0, step, *values)
        rest = inertia * (speed - direction) / step + direction * 6.0 + 0.5 * damping * (speed + direction)
        assert -rest == pytest.approx(direction * static, rel=1e-9)

    @given(
        st.floats(-0.1, 0.1), st.floats(-6.0, 6.0), st.floats(-1.0, 1.0), st.sampled_from((0.0, 0.02, 0.5)),
        st.floats(-0.3, 0.3), st.floats(1e-4, 4e-3), st.floats(-3.0, 3.0),
    )  # fmt: skip
    def test_a_step_balances_limited_drive_friction_damping_and_load(
        self, angle, speed, bent, static, target, step, load
    ):
        """J·Δω/h is what acts half-way: the one equation, whichever of its pieces holds."""
        inertia, damping, kp, kd, limit = 0.0233, 0.2698, 125.0, 4.5, 6.0
        values, reach = (inertia, damping, limit, 1e6, static, STIFFNESS), static / STIFFNESS
        before = angle, speed, angle - bent * reach
        after = motor_step(*before, load, target, kp, kd, 0.0, step, *values)
        mean = (after[0] - angle) / step
        stiff = step * (damping + kd + step * kp) / inertia
        part = step * (0.5 if stiff <= 1.0 else 1.0 - 0.5 / stiff)
        drive = min(max(kp * (target - angle - part * mean) - kd * mean, -limit), limit)
        deflections = bent * reach + mean * step * (np.arange(20_000) + 0.5) / 20_000
        friction = np.mean(np.clip(STIFFNESS * deflections, -static, static))
        acceleration = (mean - speed + step * load / inertia) / part
        assert inertia * acceleration == pytest.approx(drive - damping * mean - friction, abs=1e-3)

    @pytest.mark.parametrize(("step", "bound"), [(1.25e-4, 2e-6), (2.5e-4, 6e-6), (5e-4, 2e-5), (1e-3, 2e-4)])
    def test_stick_and_slip_hardly_depend_on_the_step(self, step, bound):
        def motion(step):
            """Angles every millisecond, over a swing of 0.02 rad."""
            state, values, angles = (0.0, 0.0, 0.0), motor_values(), []
            for k in range(500):
                for j in range(round(1e-3 / step)):
                    time = k * 1e-3 + (j + 0.5) * step
                    state = torque_step(state, 0.5 * math.sin(2 * math.pi * 4 * time), step, values)
                angles.append(state[0])
            return np.array(angles)

        reference = motion(2e-5)
        assert np.ptp(reference) > 0.02
        assert np.max(np.abs(motion(step) - reference)) < bound


class TestLimits:
    @given(st.floats(-1e3, 1e3), st.floats(-6.0, 6.0), st.floats(-10.0, 10.0), st.floats(1e-4, 4e-3))
    def test_speed_and_angle_obey_the_speed_limit(self, torque, speed, load, step):
        values = motor_values(torque_limit=50.0, speed_limit=6.0)
        angle, new_speed, _ = torque_step((0.1, speed, 0.1), torque, step, values, load)
        assert abs(mean_speed(new_speed, load, step, values[0])) <= 6.0 * (1 + 1e-12)
        assert abs(angle - 0.1) <= 6.0 * step * (1 + 1e-12)

    @given(st.floats(-10.0, 10.0), st.floats(-6.0, 6.0), st.sampled_from((1e-4, 1e-3)))
    def test_a_drive_never_gives_more_than_its_torque_limit(self, target, speed, step):
        values = motor_values(torque_limit=6.0, static_friction=0.0, damping=0.0)
        _, new_speed, _ = motor_step(0.0, speed, 0.0, 0.0, target, 125.0, 4.5, 0.0, step, *values)
        assert values[0] * abs(new_speed - speed) / step <= 6.0 * (1 + 1e-9)

    @given(
        st.floats(1e-6, 1e-2), st.floats(0.0, 1e5), st.floats(0.0, 1e3), st.floats(1e-4, 5e-3),
        st.floats(-0.5, 0.5),
    )  # fmt: skip
    def test_no_inertia_and_no_gain_makes_the_feedback_grow(self, inertia, kp, kd, step, start):
        values = (inertia, 0.0, 1e9, 1e9, 0.0, STIFFNESS)  # no limit is reached
        state = (start, 0.0, start)
        energy = [0.5 * kp * start**2]
        for _ in range(50):
            state = motor_step(*state, 0.0, 0.0, kp, kd, 0.0, step, *values)
            energy.append(0.5 * kp * state[0] ** 2 + 0.5 * inertia * state[1] ** 2)
        assert energy[-1] <= energy[0] * (1 + 1e-9)
        assert max(energy) <= energy[0] * (1 + 1e-9)

    @pytest.mark.parametrize("static_friction", [0.0, 0.5])
    @pytest.mark.parametrize("inertia", [1e-6, 1e-4, 0.0233])
    @pytest.mark.parametrize("step", [1e-3, 8e-3, 20e-3])
    def test_a_stiff_loop_settles_at_any_step_without_a_limit_cycle(self, inertia, step, static_friction):
        values = motor_values(inertia=inertia, torque_limit=6.0, speed_limit=6.0, static_friction=static_friction)
        state, angles = (0.0, 0.0, 0.0), []
        for _ in range(round(2.0 / step)):
            state = motor_step(*state, 0.0, 0.5, 125.0, 4.5, 0.0, step, *values)
            angles.append(state[0])
        assert np.ptp(angles[len(angles) // 2 :]) < 1e-9
        assert abs(state[0] - 0.5) <= static_friction / 125.0 + 1e-9

    @given(
        st.floats(-0.1, 0.1), st.floats(-5.0, 5.0), st.floats(-1.5e-4, 1.5e-4), st.floats(-2.0, 2.0),
        st.floats(-0.3, 0.3), st.sampled_from((2.0, 1e3)),
    )  # fmt: skip
    def test_a_short_step_and_the_rates_agree(self, angle, speed, deflection, load, target, torque_limit):
        values, step = motor_values(torque_limit=torque_limit), 1e-8
        state = (angle, speed, angle - deflection)
        after = motor_step(*state, load, target, 125.0, 4.5, 0.0, step, *values)
        rates = motor_rates(*state, load, 125.0 * (target - angle) - 4.5 * speed, *values, 1e-3)
        assert (after[0] - angle) / step == pytest.approx(rates[0], abs=1e-4)
        assert (after[1] - speed) / step == pytest.approx(rates[1], rel=1e-4, abs=1e-2)

    @given(signs, st.floats(0.0, 5.0))
    def test_at_the_speed_limit_rates_only_slow_down(self, sign, torque):
        values = motor_values(speed_limit=6.0, damping=0.0, static_friction=0.0)
        assert motor_rates(0.0, 6.0 * sign, 0.0, 0.0, sign * torque, *values, 1e-3)[:2] == (6.0 * sign, 0.0)
        assert motor_rates(0.0, 6.0 * sign, 0.0, 0.0, -sign * 1.0, *values, 1e-3)[1] * sign < 0.0
        speed, acceleration, _ = motor_rates(0.0, 6.5 * sign, 0.0, 0.0, sign * torque, *values, 1e-3)
        assert (speed, acceleration * 1e-3) == (6.0 * sign, pytest.approx(-0.5 * sign)), "back within a step"

    @given(st.floats(0.0, 200.0), st.floats(-6.0, 6.0), st.floats(1e-4, 4e-3))
    def test_no_stage_of_rk4_passes_the_speed_limit(self, torque, speed, step):
        values = motor_values(speed_limit=6.0, torque_limit=200.0, damping=0.0, static_friction=0.0)

        def acceleration(now):
            return motor_rates(0.0, now, 0.0, 0.0, torque, *values, step)[1]

        first = acceleration(speed)
        second = acceleration(speed + 0.5 * step * first)
        third = acceleration(speed + 0.5 * step * second)
        fourth = acceleration(speed + step * third)
        assert speed + step * third <= 6.0 + 1e-12
        assert speed + step / 6 * (first + 2 * second + 2 * third + fourth) <= 6.0 + 1e-12

    def test_rates_drag_the_anchor_of_a_slipping_motor_only(self):
        reach, values, step = TORQUE / STIFFNESS, motor_values(), 1e-3

        def anchor_rate(deflection, speed):
            return motor_rates(0.0, speed, -deflection, 0.0, 0.0, *values, step)[2]

        assert anchor_rate(reach, 2.0) == 2.0
        assert anchor_rate(reach, -2.0) == 0.0, "turned round: it sticks at first"
        assert anchor_rate(0.5 * reach, 2.0) == 0.0
        for speed, drag in ((2.0, 2.0), (-2.0, 0.0)):
            assert anchor_rate(1.5 * reach, speed) == pytest.approx(drag + 0.5 * reach / step), (
                "left behind: drawn after"
            )


class TestIntegral:
    @given(st.lists(st.floats(-10.0, 10.0), max_size=50), st.floats(0.0, 1e3), st.floats(0.0, 5.0))
    def test_it_is_clamped(self, errors, ki, limit):
        integral = 0.0
        for error in errors:
            integral = integral_step(integral, error, 1e-2, ki, limit)
            assert abs(integral) <= limit

    def test_it_leaves_its_limit_as_soon_as_the_error_turns(self):
        wound_up = 0.0
        for _ in range(10_000):
            wound_up = integral_step(wound_up, 1.0, 1e-3, 50.0, 2.0)
        assert wound_up == 2.0
        assert integral_step(wound_up, -0.1, 1e-3, 50.0, 2.0) == pytest.approx(2.0 - 0.1 * 1e-3 * 50.0)
        assert integral_rate(2.0, 1.0, 50.0, 2.0) == integral_rate(-2.0, -1.0, 50.0, 2.0) == 0.0
        assert integral_rate(2.0, -1.0, 50.0, 2.0) == -50.0

    def test_it_removes_the_error_that_friction_and_load_leave(self):
        values, state, integral = motor_values(torque_limit=6.0), (0.0, 0.0, 0.0), 0.0
        for _ in range(3000):
            integral = integral_step(integral, 0.5 - state[0], 1e-3, 500.0, 2.0)
            state = motor_step(*state, 1.0, 0.5, 125.0, 4.5, integral, 1e-3, *values)
        assert state[0] == pytest.approx(0.5, abs=1e-6)


class TestDerivative:
    """The loop with the derivative of the error, smoothed or not, and with that of the measured angle."""

    @staticmethod
    def follow(reference, duration, step=2e-5, **pid):
        """Angles of the default motor without friction and limits behind its loop, one a step."""
        values = {**vars(Motor(static_friction=0.0, torque_limit=1e4, speed_limit=1e3)), **vars(PID(**pid))}
        drive = motor_pid(**values)
        known = {**drive.parameters, "load": 0.0, "step": step}
        names = list(inspect.signature(motor_pid.step).parameters)
        state, angles = drive.resting(0.0, reference(0.0)), []
        for k in range(round(duration / step)):
            known |= dict(zip(motor_pid.state, state, strict=True)) | {"target": reference((k + 0.5) * step)}
            state = motor_pid.step(*(known[name] for name in names))
            angles.append(state[0])
        return np.array(angles), step * (1 + np.arange(len(angles)))

    @pytest.mark.parametrize(
        ("pid", "lag"),
        [
            ({}, 0.2698 / 125.0),
            ({"derivative_filter": 0.0}, 0.2698 / 125.0),
            ({"derivative_weight": 0.0}, (0.2698 + 4.5) / 125.0),
        ],
    )
    def test_its_lag_on_a_ramp(self, pid, lag):
        angles, times = self.follow(lambda t: t, 0.5, **pid)
        assert times[-1] - angles[-1] == pytest.approx(lag, rel=1e-3)

    @pytest.mark.parametrize(
        ("pid", "gain", "phase"),
        [
            ({}, 1.08, -12.0),
            ({"derivative_filter": 0.0}, 1.04, -9.0),
            ({"derivative_weight": 0.0}, 0.62, -63.0),
        ],
    )
    def test_its_gain_and_phase_at_6_hz(self, pid, gain, phase):
        omega = 2 * math.pi * 6.0
        angles, times = self.follow(lambda t: math.sin(omega * t), 1.0, **pid)
        late = times > 1.0 - 2 / 6.0  # two periods, the transient over
        answer = 2j * np.mean(angles[late] * np.exp(-1j * omega * times[late]))
        assert abs(answer) == pytest.approx(gain, abs=0.01)
        assert np.degrees(np.angle(answer)) == pytest.approx(phase, abs=1.0)


class TestPivot:
    @given(st.floats(0.0, 0.04), st.floats(0.0, 0.04), st.floats(1e-4, 1e-2))
    def test_it_approaches_its_target_without_passing_it_and_within_its_speed(self, start, target, step):
        after = pivot_step(start, target, step, 0.05, 0.1)
        assert min(start, target) <= after <= max(start, target)
        assert abs(after - start) <= 0.1 * step * (1 + 1e-9)

    def test_its_lag_is_exact_at_any_step(self):
        position = 0.0
        for _ in range(7):
            position = pivot_step(position, 0.004, 0.01, 0.05, 1.0)
        assert position == pytest.approx(0.004 * (1 - math.exp(-0.07 / 0.05)), rel=1e-12)


@pytest.mark.parametrize(("kind", "label"), [(Motor, "motor"), (PID, "PID"), (Pivot, "pivot drive")])
def test_every_number_is_kept_within_its_bounds(kind, label):
    for name, default in vars(kind()).items():
        assert kind(**{name: default}) == kind()
        for value in (-1.0, math.nan, math.inf, 1e12):
            with pytest.raises(OutOfBoundsError, match=f"{label}: {name}"):
                kind(**{name: value})
