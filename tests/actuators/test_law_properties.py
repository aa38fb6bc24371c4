"""What every elastic law does: stiffness, torque and energy agree; springs pull back; bad values are refused."""

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pliant.actuators import Compliance, CompliantJoint, Parameter, compliance_law, find_law
from pliant.actuators.law import check_preset
from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError

ELASTIC = ("sea", "qbmove", "bavs", "awas2")
SETS = [(name, values) for name in ELASTIC for values in ("default", *find_law(name).sets)]

angles = st.floats(-1.5, 1.5)
unit = st.floats(0.0, 1.0)


def configured(choice: tuple[str, str]) -> Compliance:
    return find_law(choice[0])(set=choice[1])


def motor_references(law: Compliance, theta: float, fraction: float) -> tuple[float, float]:
    """Motor references with the preset at a fraction of its range."""
    preset = law.preset
    return law.references(theta, preset.low + fraction * (preset.high - preset.low) if preset else 0.0)


def distance_to_kinks(law: Compliance, q: float, references: tuple[float, float]) -> float:
    motors = references[:1] if law.law.pivot else references[: law.law.motors]
    return min(abs(abs(q - theta) - law.max_deflection) for theta in motors)


@given(st.sampled_from(SETS), angles, angles, unit)
def test_stiffness_is_minus_the_slope_of_the_torque_also_past_saturation(choice, q, theta, fraction):
    law = configured(choice)
    references = motor_references(law, theta, fraction)
    step = 1e-5
    assume(distance_to_kinks(law, q, references) > 2 * step)
    slope = (law.torque(q + step, *references) - law.torque(q - step, *references)) / (2 * step)
    stiffness = law.stiffness(q, *references)
    assert stiffness == pytest.approx(-slope, rel=1e-6, abs=1e-6)
    assert stiffness >= 0.0


@pytest.mark.parametrize("choice", SETS)
def test_past_max_deflection_the_torque_is_flat_and_the_stiffness_zero(choice):
    law = configured(choice)
    references = motor_references(law, 0.0, 0.7)
    beyond = law.max_deflection + (0.0 if law.law.pivot else abs(references[0])) + 0.01
    for side in (beyond, -beyond):
        assert law.stiffness(side, *references) == 0.0
        assert law.torque(side, *references) == law.torque(1.5 * side, *references) != 0.0


@given(st.sampled_from(SETS), angles, angles, unit)
def test_torque_is_minus_the_slope_of_the_energy_for_link_and_motors(choice, q, theta, fraction):
    law = configured(choice)
    references = motor_references(law, theta, fraction)
    step, scale = 1e-5, max(law.stiffest() * law.max_deflection, 1.0)
    slope = (law.energy(q + step, *references) - law.energy(q - step, *references)) / (2 * step)
    assert law.torque(q, *references) == pytest.approx(-slope, abs=1e-5 * scale)
    for motor, torque in enumerate(law.torques(q, *references)[: 1 if law.law.pivot else law.law.motors]):
        ahead, behind = list(references), list(references)
        ahead[motor] += step
        behind[motor] -= step
        slope = (law.energy(q, *ahead) - law.energy(q, *behind)) / (2 * step)
        assert torque == pytest.approx(slope, abs=1e-5 * scale), "the motor feels the spring's reaction"


@given(st.sampled_from(SETS), angles, unit, angles, angles)
def test_a_spring_never_pulls_harder_where_it_is_stretched_less(choice, theta, fraction, one, other):
    law = configured(choice)
    references = motor_references(law, theta, fraction)
    low, high = sorted((one, other))
    assert law.torque(low, *references) >= law.torque(high, *references) - 1e-12


@given(st.sampled_from(SETS), angles, angles, unit)
def test_mirrored_deflections_give_mirrored_torques(choice, q, theta, fraction):
    law = configured(choice)
    theta1, theta2 = motor_references(law, theta, fraction)
    mirrored = (-theta1, theta2 if law.law.pivot else -theta2)
    if choice[0] == "bavs":
        mirrored = (-theta2, -theta1)  # its springs are each other's mirror image
    assert law.torque(-q, *mirrored) == pytest.approx(-law.torque(q, theta1, theta2), rel=1e-9, abs=1e-9)


@given(st.sampled_from(SETS), angles, angles, unit)
def test_the_springs_give_back_no_more_than_they_store(choice, start, end, fraction):
    law = configured(choice)
    references = motor_references(law, 0.0, fraction)
    drop = law.energy(start, *references) - law.energy(end, *references)
    assert drop <= abs(end - start) * max(abs(law.torque(q, *references)) for q in (start, end)) + 1e-9
    if choice[1] == "default" and choice[0] != "bavs":  # equal springs
        assert law.torque(0.0, *references) == pytest.approx(0.0, abs=1e-12)
        assert law.energy(start, *references) >= law.energy(0.0, *references) - 1e-12


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(SETS), st.floats(0.05, 0.7), unit, unit, st.floats(-1.0, 1.0))
def test_no_reachable_setting_is_stiffer_than_the_stiffest(choice, max_deflection, low, width, at):
    name, values = choice
    law = find_law(name)(values, max_deflection=max_deflection)
    described = law.preset
    if described is None:
        assert law.stiffest() == law.stiffness(0.0, 0.0)
        return
    bottom = low * described.high
    top = bottom + width * (described.high - bottom)
    stiffest = law.stiffest((bottom, top))
    assert stiffest <= law.stiffest((bottom, top), independent=True) * (1 + 1e-4)
    for preset in (bottom, 0.5 * (bottom + top), top):
        reach = max_deflection + abs(preset)
        assert law.stiffness(at * reach, *law.references(0.0, preset)) <= stiffest * (1 + 1e-4)


@pytest.mark.parametrize("name", ELASTIC)
def test_every_parameter_is_kept_within_its_bounds(name):
    law = find_law(name)
    for parameter in law.parameters:
        assert parameter.meaning
        assert parameter.unit
        assert law(**{parameter.name: parameter.low}).parameters[parameter.name] == parameter.low
        for value in (parameter.low - 1.0, 2 * parameter.high, math.nan, math.inf):
            with pytest.raises(OutOfBoundsError, match=rf"law '{name}': {parameter.name}"):
                law(**{parameter.name: value})


def test_unknown_parameters_and_sets_are_refused_by_name():
    with pytest.raises(UnknownNameError, match=r"unknown parameter 'k3' in law 'qbmove'.*Valid: k1, a1, k2, a2"):
        find_law("qbmove")(k3=1.0)
    with pytest.raises(UnknownNameError, match=r"parameter set 'maker' in law 'qbmove'.*'maker_pro'"):
        find_law("qbmove")("maker")


@pytest.mark.parametrize("sigma", [0.05, 0.06, -0.01, math.nan])
def test_a_pivot_beyond_the_lever_is_refused_everywhere(sigma):
    law = find_law("awas2")()
    for evaluate in (law.torque, law.stiffness, law.energy):
        with pytest.raises(OutOfBoundsError, match=r"law 'awas2': pivot"):
            evaluate(0.1, 0.0, sigma)
    with pytest.raises(OutOfBoundsError, match=r"law 'awas2': preset"):
        CompliantJoint(law="awas2", preset=sigma)
    with pytest.raises(OutOfBoundsError, match="preset range"):
        CompliantJoint(law="awas2", preset_range=(0.0, sigma))


def test_a_preset_range_must_lie_inside_what_the_law_allows():
    qbmove = find_law("qbmove")()
    assert check_preset(qbmove, 0.1, 0.5) == (0.1, 0.5)
    for low, high in [(0.5, 0.1), (0.2, 0.2), (0.0, 0.9), (-0.9, 0.0), (math.nan, 0.5)]:
        with pytest.raises(OutOfBoundsError, match=r"ascending and inside \[-0.8, 0.8\] rad"):
            check_preset(qbmove, low, high)
    with pytest.raises(ConfigurationError, match="'sea' has no stiffness preset"):
        check_preset(find_law("sea")(), 0.0, 0.1)


def test_a_default_outside_its_bounds_is_a_mistake_of_the_law():
    with pytest.raises(ConfigurationError, match=r"'k': default 3 is outside \[0, 1\]"):
        Parameter("k", "1", 3.0, 0.0, 1.0, "too large")


def test_a_law_whose_signature_and_description_differ_is_refused():
    k = Parameter("k", "N·m/rad", 1.0, 0.0, 10.0, "stiffness")
    with pytest.raises(ConfigurationError, match=r"the first arguments are \('x', 'y'\)"):
        compliance_law()(lambda x, y: 0.0)
    with pytest.raises(ConfigurationError, match="names and order must agree"):
        compliance_law(parameters=(k,))(lambda q, theta, stiffness: 0.0)
    with pytest.raises(ConfigurationError, match="one motor, so it can have neither preset nor pivot"):
        compliance_law(pivot=True)(lambda q, theta: 0.0)
    many = tuple(Parameter(f"p{i}", "1", 0.5, 0.0, 1.0, "one of many") for i in range(17))
    crowded = eval(f"lambda q, theta, {', '.join(p.name for p in many)}: 0.0")
    with pytest.raises(ConfigurationError, match="17 parameters; at most 16"):
        compliance_law(parameters=many)(crowded)


def test_a_law_without_readable_source_cannot_be_recognised():
    law = compliance_law()(eval("lambda q, theta: 0.0"))
    with pytest.raises(ConfigurationError, match="no readable source"):
        _ = law.identity


@compliance_law(parameters=(Parameter("k3", "N·m/rad³", 40.0, 0.0, 1e4, "cubic stiffness"),))
def hardening(q: float, theta: float, k3: float) -> float:
    """Names no largest deflection."""
    return -(8.0 * (q - theta) + k3 * (q - theta) ** 3)


@compliance_law(parameters=(Parameter("at", "rad", 0.0, -1.0, 1.0, "where it snaps in"),))
def detent(q: float, theta: float, at: float) -> float:
    """A soft spring with a detent of 1 N·m that is a milliradian wide: 1005 N·m/rad."""
    return -5.0 * (q - theta) - math.tanh((q - theta - at) / 1e-3)


def test_without_a_largest_deflection_all_that_the_joints_range_allows_counts():
    """A reference of 3 rad against a link at 0: K = 8 + 3·40·9."""
    joint = CompliantJoint(hardening(), 3, position_range=(0.0, 3.0))
    assert joint.stiffest == pytest.approx(8.0 + 3 * 40.0 * 9.0, rel=1e-4)
    assert CompliantJoint(hardening(), 3).stiffest == pytest.approx(8.0 + 120.0 * (2 * math.pi) ** 2, rel=1e-4)


@pytest.mark.parametrize("at", [0.0, 0.1234567, -0.777])
@pytest.mark.parametrize("mode", [3, 6])
def test_a_narrow_detent_is_found_wherever_it_is(at, mode):
    assert CompliantJoint(detent(at=at), mode).stiffest == pytest.approx(1005.0, rel=0.01)
