"""Laws of interaction against exact solutions, in free motion and against springs."""

import math

import numpy as np
import pytest
from scipy.linalg import expm

from pliant.controllers.interaction.gains import AdmittanceGains, DirectForceGains, LawLimits
from pliant.controllers.interaction.laws import Admittance, DirectForce, ExplicitAdmittance, exact_step
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, UnknownNameError

WIDE = LawLimits(speed=10.0, turning=20.0, distance=10.0, angle=math.pi, acceleration=1e3)
SIX = ("x", "y", "z", "rx", "ry", "rz")
STILL = np.zeros(6)
GAINS = AdmittanceGains(
    [1.0, 2.0, 1000.0, 0.5, 0.1, 0.05],
    [900.0, 4.0, 5000.0, 0.0, 2.0, 1.0],
    [1300.0, 50.0, 90.0, 8.0, 10.0, 0.0],
    SIX,
)
"""Over-damped, under-damped, slow; undamped, critically damped (2² = 4·0.1·10), without stiffness."""
CLOCKS = [0.001, 0.002, 0.008]


def matrices(mass, damping, stiffness, time):
    """Transition and input of m·ë + d·ė + k·e = f over a time, by the exponential of the augmented matrix."""
    system = np.array([[0.0, 1.0, 0.0], [-stiffness / mass, -damping / mass, 1.0 / mass], [0.0, 0.0, 0.0]])
    return expm(system * time)[:2]


def run(law, forces, rates=None):
    """Offsets after each period, (n, 6)."""
    rates = np.zeros_like(forces) if rates is None else rates
    found = []
    for force, rate in zip(forces, rates, strict=True):
        law.advance(rate, force)
        found.append(law.offset.copy())
    return np.array(found)


@pytest.mark.parametrize("period", [1e-4, 0.001, 0.008, 0.1])
@pytest.mark.parametrize("mass", [1e-3, 1.0, 1000.0])
@pytest.mark.parametrize("damping", [0.0, 1e-3, 2.0, 63.245553, 63.2455532, 5000.0])
@pytest.mark.parametrize("stiffness", [0.0, 1e-6, 1.0, 1000.0])
def test_a_step_is_the_exponential_of_the_system(mass, damping, stiffness, period):
    a, b, c, d, g, h = exact_step(mass, damping, stiffness, period)
    expected = matrices(mass, damping, stiffness, period)
    np.testing.assert_allclose([[a, b, g], [c, d, h]], expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("period", CLOCKS)
def test_free_motion_is_the_exact_solution(period):
    """Under a force that is constant in pieces of 40 ms, and from where a piece began, at any clock."""
    pieces, length = np.random.default_rng(0).uniform(-20.0, 20.0, (5, 6)), 0.04
    each = round(length / period)
    found = run(Admittance(period, GAINS, WIDE), np.repeat(pieces, each, axis=0))
    for i in range(6):
        step = matrices(GAINS.mass[i], GAINS.damping[i], GAINS.stiffness[i], length)
        state = np.zeros(2)
        for number, piece in enumerate(pieces, start=1):
            state = step @ [*state, piece[i]]
            assert abs(found[number * each - 1, i] - state[0]) < 1e-6 * max(1.0, abs(state[0]))


@pytest.mark.parametrize("period", CLOCKS)
def test_a_held_sinusoid_is_answered_exactly(period):
    time = period * np.arange(round(0.4 / period))
    force = 10.0 * np.sin(2 * np.pi * 3.0 * time)
    found = run(Admittance(period, GAINS, WIDE), np.tile(force[:, None], 6))
    for i in range(6):
        fine = matrices(GAINS.mass[i], GAINS.damping[i], GAINS.stiffness[i], period / 4)
        state = np.zeros(2)
        for k, value in enumerate(force):
            for _ in range(4):
                state = fine @ [*state, value]
            assert abs(found[k, i] - state[0]) < 1e-9 * max(1.0, abs(state[0]))


def test_the_damping_acts_on_the_commanded_speed_unless_it_is_relative():
    """At constant speed the tool lags by damping/stiffness·speed, or not at all."""
    speed = np.array([0.01, 0.0, 0.003, 0.0, 0.05, 0.0])
    rates = np.tile(speed, (4000, 1))
    mass, damping, stiffness = [1.0] * 6, [900.0] * 6, [1300.0] * 6
    for relative, expected in ((False, -np.array(damping) / stiffness * speed), (True, STILL)):
        law = Admittance(0.008, AdmittanceGains(mass, damping, stiffness, SIX, relative), WIDE)
        np.testing.assert_allclose(run(law, np.zeros_like(rates), rates)[-1], expected, atol=1e-9)


@pytest.mark.parametrize(
    ("damping", "stiffness", "seconds"),
    [(5000.0, 90.0, 55.6), (500.0, 10.0, 50.0), (9000.0, 300.0, 30.0)],
    ids=["ur10", "real ur10", "smart-six"],
)
def test_recovery_takes_damping_over_stiffness(damping, stiffness, seconds):
    """Fitted between a fifth and the whole of a recovery from 30 mm."""
    law = Admittance(0.01, AdmittanceGains(1.0, damping, stiffness), WIDE)
    law.begin([0.0, 0.0, 0.03, 0.0, 0.0, 0.0], STILL)
    course = run(law, np.zeros((20000, 6)))[:, 2]
    time = 0.01 * np.arange(1, 20001)
    slope = np.polyfit(time[4000:], np.log(course[4000:]), 1)[0]
    assert -1.0 / slope == pytest.approx(seconds, rel=0.01)
    assert -1.0 / slope == pytest.approx(damping / stiffness, rel=0.01)


def test_the_update_of_the_papers_code_diverges_where_its_step_is_too_long():
    """Speeds grow by |1 − T·damping/mass| a period, so from T = 2·mass/damping on."""

    def growth(mass, damping, period):
        law = ExplicitAdmittance(period, AdmittanceGains(mass, damping, 0.0))
        law.begin(STILL, [0.0, 0.0, 1e-9, 0.0, 0.0, 0.0])
        law.advance(STILL, STILL)
        return abs(law.rate[2]) / 1e-9

    # its "mass matrix" taken as masses
    assert growth(0.001, 5000.0, 0.001) == pytest.approx(4999.0)
    assert growth(0.1, 500.0, 0.008) == pytest.approx(39.0)
    # as the inverse that it is
    for damping, longest in ((900.0, 2.22e-3), (1300.0, 1.54e-3)):
        assert growth(1.0, damping, 0.99 * longest) < 1.0
        assert growth(1.0, damping, 1.01 * longest) > 1.0


@pytest.mark.parametrize("mass", [0.001, 1.0, 1000.0])
@pytest.mark.parametrize("period", CLOCKS)
def test_the_exact_step_is_stable_at_any_period(mass, period):
    law = Admittance(period, AdmittanceGains(mass, 5000.0, 90.0), WIDE)
    law.begin(0.01 * np.array([1, 1, 1, 0, 0, 0]), 0.001 * np.array([1, 1, 1, 0, 0, 0]))
    course = np.abs(run(law, np.zeros((2000, 6)))[:, :3])
    assert (course <= 0.0103).all()
    assert (np.diff(course[1500:], axis=0) < 0.0).all()


def test_both_updates_agree_where_the_explicit_one_is_stable():
    gains = AdmittanceGains(10.0, 300.0, 900.0)
    force = np.zeros((500, 6))
    force[:, 2] = 5.0
    exact, explicit = run(Admittance(0.001, gains, WIDE), force), run(ExplicitAdmittance(0.001, gains), force)
    difference = np.abs(exact - explicit)[:, 2].max()
    assert 1e-8 < difference < 0.02 * exact[-1, 2]


@pytest.mark.parametrize("servo", [math.inf, 1.04e5])
def test_an_admittance_rests_against_a_spring_where_the_closed_form_says(servo):
    """error = K_P/(K_P + K_e)·[f_d + K_e·(x_e − x_d)], K_e of surroundings and servo in series."""
    k_p, surroundings, desired, deep = 90.0, 5e4, 10.0, 5e-3
    total = 1.0 / (1.0 / surroundings + 1.0 / servo)
    law = Admittance(0.001, AdmittanceGains(10.0, 5000.0, k_p), WIDE)
    force = 0.0
    for _ in range(60000):
        law.advance(STILL, np.array([0.0, 0.0, desired - force, 0.0, 0.0, 0.0]))
        force = max(0.0, total * (law.offset[2] + deep))  # the wall is `deep` in front of the desired position
    error = k_p / (k_p + total) * (desired + total * -deep)
    assert desired - force == pytest.approx(error, abs=1e-6)
    if servo == math.inf:
        assert force == pytest.approx(10.0 - 90.0 / 50090.0 * (10.0 - 250.0), abs=1e-6)


def test_the_number_of_a_prototype_in_contact():
    """f_d 10 N, x_d 5 mm inside a contact of 0.3 MN/m behind a servo of 0.104 MN/m: 10.4378 N in MuJoCo."""
    total = 1.0 / (1.0 / 3e5 + 1.0 / 1.04e5)
    law, force = Admittance(0.001, AdmittanceGains(1000.0, 5000.0, 90.0), WIDE), 0.0
    for _ in range(20000):
        law.advance(STILL, np.array([0.0, 0.0, 10.0 - force, 0.0, 0.0, 0.0]))
        force = max(0.0, total * (law.offset[2] + 5e-3))
    assert force == pytest.approx(10.4378, abs=1e-3)


def against_wall(law, total, desired, seconds, tilt_speed=0.0):
    """Forces on z of a spring, (n,), that comes nearer at a speed; `desired` is a function of time."""
    forces, wall, force = [], 0.0, 0.0
    for k in range(round(seconds / law.period)):
        law.advance(STILL, np.array([0.0, 0.0, desired(k * law.period) - force, 0.0, 0.0, 0.0]))
        wall -= tilt_speed * law.period
        force = max(0.0, total * (law.offset[2] - wall))
        forces.append(force)
    return np.array(forces)


@pytest.mark.parametrize(
    ("ki", "surroundings", "servo"), [(6e-5, 2e3, 1.04e5), (6e-5, 5e4, 1.04e5), (4e-4, 5e4, 6.1e5)]
)
def test_direct_force_settles_with_the_time_constant_of_its_loop(ki, surroundings, servo):
    total = 1.0 / (1.0 / surroundings + 1.0 / servo)
    tau = 1.0 / (ki * total)
    law = DirectForce(0.001, DirectForceGains(0.0, ki), WIDE)
    forces = against_wall(law, total, lambda t: 10.0, 5.0 * tau)
    time = 0.001 * np.arange(1, len(forces) + 1)
    early = (time > 0.5 * tau) & (time < 3.0 * tau)
    fitted = -1.0 / np.polyfit(time[early], np.log(10.0 - forces[early]), 1)[0]
    assert fitted == pytest.approx(tau, rel=0.02)
    assert against_wall(DirectForce(0.001, law.gains, WIDE), total, lambda t: 10.0, 20 * tau)[-1] == pytest.approx(
        10.0, abs=1e-6
    )


@pytest.mark.parametrize("kp", [0.0, 2.5e-9])
def test_direct_force_slides_with_the_error_of_the_formula(kp):
    """(ḟ_d/K + v·tan θ)/K_i; a surface that comes nearer presses more."""
    ki, total, ramp, speed, tilt = 6e-5, 3.4e4, 50.0 / 180.0, 3.5e-3, math.radians(0.39)
    law = DirectForce(0.001, DirectForceGains(kp, ki), WIDE)
    forces = against_wall(law, total, lambda t: 10.0 + ramp * t, 10.0, speed * math.tan(tilt))
    error = 10.0 + ramp * (10.0 - 0.001) - forces[-1]
    assert error == pytest.approx((ramp / total - speed * math.tan(tilt)) / ki, abs=1e-3)


@pytest.mark.parametrize("speed", [0.05, 0.1])
def test_guiding_by_hand_takes_speed_over_gain(speed):
    for ki in (0.01, 0.02, 0.03):
        law = DirectForce(0.001, DirectForceGains(0.0, ki), WIDE)
        run(law, np.tile([0.0, 0.0, speed / ki, 0.0, 0.0, 0.0], (3000, 1)))
        assert law.rate[2] == pytest.approx(speed)


def test_nothing_winds_up_at_a_limit():
    """After ten seconds at the limit of the correction, or of the speed, it turns back at once."""
    gains = DirectForceGains(1e-6, 1e-3)
    limits = LawLimits(speed=0.01, distance=0.02)
    law = DirectForce(0.001, gains, limits)
    pressed = run(law, np.tile([0.0, 0.0, 50.0, 0.0, 0.0, 0.0], (10000, 1)))
    assert np.abs(np.diff(pressed[:, 2])).max() <= 0.01 * 0.001 + 1e-15
    assert law.offset[2] == 0.02
    law.advance(STILL, np.array([0.0, 0.0, -5.0, 0.0, 0.0, 0.0]))
    law.advance(STILL, np.array([0.0, 0.0, -5.0, 0.0, 0.0, 0.0]))
    assert law.rate[2] == pytest.approx(-0.005)
    assert law.offset[2] < 0.02
    soft = Admittance(0.001, AdmittanceGains(1.0, 10.0, 0.0), limits)
    run(soft, np.tile([0.0, 0.0, 50.0, 0.0, 0.0, 0.0], (10000, 1)))
    assert soft.offset[2] == 0.02
    for _ in range(5):
        soft.advance(STILL, np.array([0.0, 0.0, -5.0, 0.0, 0.0, 0.0]))
    assert soft.offset[2] < 0.02


CHANGES = [
    AdmittanceGains(2.0, 50.0, 200.0),
    AdmittanceGains(2.0, 400.0, 0.0, ("z",)),
    AdmittanceGains(2.0, 80.0, 100.0, ("x",), relative_damping=True),
    DirectForceGains(0.0, 2e-3),
    DirectForceGains(1e-6, 8e-3, ("x", "y", "z")),
    DirectForceGains(0.0, 1e-4, ("x",)),
]


@pytest.mark.parametrize("before", range(len(CHANGES)))
@pytest.mark.parametrize("after", range(len(CHANGES)))
def test_gains_and_laws_change_without_a_jump_of_command_or_speed(before, after):
    random = np.random.default_rng(10 * before + after)
    period, limits = 0.001, LawLimits(distance=2.0)
    law = _made(CHANGES[before], period, limits)
    course, rates = [np.zeros(6)], [np.zeros(6)]
    when = int(random.integers(100, 900))
    force = np.zeros(6)
    for k in range(1200):
        if k == when:
            if type(CHANGES[before]) is type(CHANGES[after]):
                law.gains = CHANGES[after]
            else:
                old, law = law, _made(CHANGES[after], period, limits)
                law.begin(old.offset, old.rate)
        force = 8.0 * np.sin(2e-3 * k + np.arange(6))
        law.advance(STILL, force)
        course.append(law.offset.copy())
        rates.append(law.rate.copy())
    velocity = np.diff(course, axis=0) / period
    # what masses do under these forces, and the fading of a speed: no more than a few m/s² anywhere
    assert np.abs(np.diff(velocity, axis=0)).max() < 12.0 * period
    assert np.abs(np.diff(rates, axis=0)).max() < 12.0 * period


def _made(gains, period, limits):
    return (Admittance if isinstance(gains, AdmittanceGains) else DirectForce)(period, gains, limits)


def test_turned_axes_go_on_with_the_same_motion():
    law = Admittance(0.001, GAINS, WIDE)
    law.begin([1.0, 2.0, 3.0, 0.1, 0.2, 0.3], [4.0, 5.0, 6.0, 0.4, 0.5, 0.6])
    law.turn(
        np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    )  # new axes a quarter turn about z ahead
    np.testing.assert_allclose(law.offset, [2.0, -1.0, 3.0, 0.2, -0.1, 0.3])
    np.testing.assert_allclose(law.rate, [5.0, -4.0, 6.0, 0.5, -0.4, 0.6])


def test_an_axis_without_a_law_goes_back_to_the_desired_motion_and_stays():
    for gains in (AdmittanceGains(1.0, 10.0, 10.0, ("x",)), DirectForceGains(0.0, 1e-3, ("x",))):
        law = _made(gains, 0.002, WIDE)
        law.begin([0.0, 0.02, 0.0, 0.0, 0.0, 0.3], [0.0, 0.1, 0.0, 0.0, 0.0, 0.0])
        moving = np.tile([0.0, 0.1, 0.0, 0.0, 0.0, 0.2], (2000, 1))
        course = run(law, np.full((2000, 6), 100.0), moving)
        assert np.abs(course[-1, 1:]).max() < 1e-6
        np.testing.assert_allclose(law.rate[1:], moving[-1, 1:], atol=1e-6)


@pytest.mark.parametrize(
    ("make", "error", "part"),
    [
        (lambda: AdmittanceGains(0.0, 1.0, 1.0), OutOfBoundsError, "mass has the entry 0; all must be ≥ 1e-06"),
        (lambda: AdmittanceGains(1.0, -1.0, 1.0), OutOfBoundsError, "damping has the entry -1"),
        (lambda: AdmittanceGains(1.0, math.nan, 1.0), OutOfBoundsError, "damping is nan"),
        (lambda: AdmittanceGains([1.0, 2.0], 1.0, 1.0), ShapeError, r"mass has shape \(2,\)"),
        (lambda: AdmittanceGains(1.0, 1.0, 1.0, ("rx",)), ShapeError, "six are needed"),
        (lambda: AdmittanceGains(1.0, 1.0, 1.0, ("w",)), UnknownNameError, "unknown axis 'w'"),
        (lambda: AdmittanceGains(1.0, 1.0, 1.0, "xy"), ConfigurationError, "axes are 'xy'"),
        (lambda: AdmittanceGains(1.0, 1.0, 1.0, relative_damping=1), ConfigurationError, "true or false"),
        (lambda: AdmittanceGains("a", 1.0, 1.0), ShapeError, "mass is not an array of numbers"),
        (lambda: DirectForceGains(0.0, -1e-5), OutOfBoundsError, "ki has the entry -1e-05"),
        (lambda: LawLimits(speed=0.0), OutOfBoundsError, "speed = 0"),
        (lambda: LawLimits(angle=4.0), OutOfBoundsError, "angle = 4"),
        (lambda: Admittance(0.0, GAINS), OutOfBoundsError, "period of the law is 0 s"),
    ],
)
def test_what_cannot_be_is_refused(make, error, part):
    with pytest.raises(error, match=part):
        make()


def test_gains_of_direct_force_that_change_in_every_period_act_a_period_later():
    """What a gain would change the speed by fades at once, if the limits' acceleration allows."""
    law = DirectForce(0.001, DirectForceGains(0.0, 2e-4, ("z",)), WIDE)
    force = np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.0])
    gains = 2e-4 * (1.0 + 0.3 * np.sin(0.05 * np.arange(200)))
    law.advance(STILL, force)
    for _ in range(20):
        law.advance(STILL, force)  # the first speed is 0
    for before, gain in zip([2e-4, *gains], gains, strict=False):
        law.gains = DirectForceGains(0.0, float(gain), ("z",))
        law.advance(STILL, force)
        assert law.rate[2] == pytest.approx(before * 5.0, abs=1e-12)
