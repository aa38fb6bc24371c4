"""The laws that come with Pliant say what the literature says."""

import math

import pytest
from scipy.optimize import brentq

from pliant.actuators import PID, Motor, compliance_law, find_law, law_names
from pliant.actuators.laws import as_compliance
from pliant.actuators.motor import motor_step
from pliant.actuators.references import antagonistic, antagonistic_inverse, direct
from pliant.errors import ConfigurationError, UnknownNameError


def test_all_five_laws_of_the_paper_are_there():
    assert set(law_names()) == {"rigid", "sea", "qbmove", "bavs", "awas2"}
    assert all(find_law(name).name == name for name in law_names())


@pytest.mark.parametrize(
    ("name", "values", "preset", "published"),
    [
        ("rigid", "default", 0.0, "0"),
        ("sea", "default", 0.0, "10"),
        ("sea", "soft", 0.0, "200"),
        ("sea", "stiff", 0.0, "400"),
        ("qbmove", "default", 0.0, "0.0342"),
        ("qbmove", "default", 0.2, "0.1063"),
        ("qbmove", "default", 0.6, "3.784"),
        ("bavs", "default", 0.001, "10.03"),
        ("bavs", "default", 0.22, "45.57"),
        ("awas2", "default", 0.005, "2.743"),
        ("awas2", "default", 0.040, "3555.6"),
    ],
)
def test_stiffness_at_rest_is_the_published_one_to_its_last_digit(name, values, preset, published):
    law = find_law(name)(set=values)
    half_a_digit = 0.5 * 10.0 ** -len(published.partition(".")[2])
    stiffness = law.stiffness(0.3, *law.references(0.3, preset))
    assert stiffness == pytest.approx(float(published), abs=half_a_digit)


def test_a_pair_of_qbmove_springs_carries_at_most_twice_1p27_newton_metres():
    law = find_law("qbmove")()
    for side in (1.0, -1.0):
        for beyond in (1.0, 1.5, 4.0):
            torques = law.torques(0.8 * side * beyond, 0.0, 0.0)
            assert torques == pytest.approx((-1.27 * side, -1.27 * side), abs=0.005)


@pytest.mark.parametrize("phi", [-0.2, -0.05, 0.0, 0.1, 0.19])
@pytest.mark.parametrize("preset", [0.0, 0.2, 0.6])
def test_symmetric_qbmove_has_its_closed_form(phi, preset):
    k, a = 0.0019, 8.9992
    law, references = find_law("qbmove")(), antagonistic(0.4, preset)
    torque = 2 * k * math.sinh(a * phi) * math.cosh(a * preset)
    assert law.torque(0.4 - phi, *references) == pytest.approx(torque, rel=1e-12, abs=1e-15)
    assert law.stiffness(0.4, *references) == pytest.approx(2 * a * k * math.cosh(a * preset), rel=1e-12)


@pytest.mark.parametrize("phi", [-0.04, -0.01, 0.0, 0.02, 0.049])
@pytest.mark.parametrize("preset", [0.001, 0.1, 0.22])
def test_bavs_has_its_closed_form(phi, preset):
    a, b, k, ke = 1.21e-6, 2.38e-6, 1.60e5, 8.71
    torque = 2 * k * math.sinh(ke * phi) * (b * math.exp(ke * preset) + a * math.exp(-ke * preset))
    assert find_law("bavs")().torque(-phi, *antagonistic(0.0, preset)) == pytest.approx(
        torque, rel=1e-12, abs=1e-14
    )


@pytest.mark.parametrize(
    ("values", "preset", "offset", "stiffness"),
    [
        ("identified_joint1", 0.2, -0.1043, 0.5951),
        ("identified_joint2", 0.2, -0.0314, 1.1975),
        ("identified_joint1", 0.6, -0.0709, 3.553),
        ("identified_joint2", 0.6, -0.1583, 6.865),
    ],
)
def test_unequal_springs_rest_beside_the_commanded_equilibrium(values, preset, offset, stiffness):
    law = find_law("qbmove")(set=values)
    references = law.references(0.5, preset)
    rest = brentq(lambda q: law.torque(q, *references), 0.2, 0.8, xtol=1e-12)
    assert rest - 0.5 == pytest.approx(offset, abs=6e-5)
    assert law.stiffness(rest, *references) == pytest.approx(stiffness, rel=2e-4)


@pytest.mark.parametrize(("values", "k1", "a1", "k2", "a2"), [
    ("manual", 0.0026, 8.9995, 0.0011, 8.9989),
    ("maker_pro", 0.0227, 6.7328, 0.0216, 6.9602),
])  # fmt: skip
def test_the_makers_parameter_sets_are_there(values, k1, a1, k2, a2):
    law = find_law("qbmove")(set=values)
    assert law.parameters == {"k1": k1, "a1": a1, "k2": k2, "a2": a2, "max_deflection": 0.8}
    assert find_law("qbmove")(set=values, k1=0.5).parameters["k1"] == 0.5


def test_the_lever_gets_stiffer_without_bound_as_its_pivot_nears_the_end():
    law = find_law("awas2")()
    presets = [0.0, 0.01, 0.02, 0.03, 0.04]
    stiffness = [law.stiffness(0.0, 0.0, preset) for preset in presets]
    expected = [2 * 10.0 * (0.05 / 0.015 * s / (0.05 - s)) ** 2 for s in presets]
    assert stiffness == pytest.approx(expected, rel=1e-12)
    assert law.torques(0.1, 0.0, 0.04)[1] == 0.0, "the screw of the pivot cannot be back-driven"


def test_the_position_loop_of_the_default_motor_has_73_rad_per_second_and_damping_1p4():
    motor, pid, step = Motor(), PID(), 1e-5

    def advance(angle, speed):
        free = (motor.inertia, motor.damping, 1e9, 1e9, 0.0, motor.bristle_stiffness)
        return motor_step(angle, speed, angle, 0.0, 0.0, pid.kp, pid.kd, 0.0, step, *free)[:2]

    (a, c), (b, d) = advance(1e-6, 0.0), advance(0.0, 1e-6)
    trace, determinant = (a + d) * 1e6, (a * d - b * c) * 1e12
    root = math.sqrt(trace**2 - 4 * determinant)
    poles = [math.log((trace + sign * root) / 2) / step for sign in (1, -1)]
    frequency = math.sqrt(poles[0] * poles[1])
    assert frequency == pytest.approx(73.0, abs=0.5)
    assert -(poles[0] + poles[1]) / (2 * frequency) == pytest.approx(1.40, abs=0.01)


def test_equilibrium_and_preset_come_back_from_the_motor_references():
    for equilibrium, preset in [(0.3, 0.2), (-1.0, 0.0), (0.0, -0.4)]:
        assert antagonistic_inverse(*antagonistic(equilibrium, preset)) == pytest.approx((equilibrium, preset))
        assert direct(*direct(equilibrium, preset)) == (equilibrium, preset)
    for name in law_names():
        law = find_law(name)
        assert law.inverse_map(*law.reference_map(0.3, 0.02)) == pytest.approx((0.3, 0.02))


def test_a_law_is_given_by_name_as_a_law_or_with_values():
    sea = find_law("sea")
    assert as_compliance("sea") == as_compliance(sea) == sea() != sea(k=11.0)
    assert find_law("pliant.actuators.laws.sea:sea") is sea
    with pytest.raises(ConfigurationError, match="not as float"):
        as_compliance(3.0)


def test_an_unknown_law_is_refused_with_the_valid_ones():
    with pytest.raises(UnknownNameError, match=r"Did you mean 'qbmove'.*awas2, bavs, qbmove, rigid, sea"):
        find_law("qbmov")


@pytest.mark.parametrize("name", ["no_such_module:law", "pliant.actuators.laws.sea:no_such_law"])
def test_a_law_that_cannot_be_imported_says_so(name):
    with pytest.raises(ConfigurationError, match="cannot be imported"):
        find_law(name)


def test_what_is_not_a_law_is_refused():
    with pytest.raises(ConfigurationError, match="is a function, not a law"):
        find_law("pliant.actuators.laws.sea:stiffness")


def test_a_law_without_energy_says_so():
    @compliance_law()
    def hole(q: float, theta: float) -> float:
        return -(q - theta)

    with pytest.raises(ConfigurationError, match="'hole' describes no elastic energy"):
        hole().energy(0.1, 0.0)
