"""The states of the controller, its goals and refusals, and that nothing jumps from one to another."""

import math
import threading

import numpy as np
import pytest
from tests.controllers.interaction.conftest import START, Rig

from pliant.controllers.interaction import (
    AdmittanceGains,
    Approach,
    CartesianTrajectory,
    Contact,
    DesiredWrench,
    DirectForceGains,
    JointSetpoint,
    LawLimits,
    Mode,
    NewGains,
    Wait,
    Watch,
)
from pliant.controllers.poses import difference
from pliant.errors import (
    ConfigurationError,
    MismatchError,
    OutOfBoundsError,
    RobotError,
    ShapeError,
    UnknownNameError,
)
from pliant.hardware.robot import Channel, RobotInfo

SOFT = AdmittanceGains(10.0, 400.0, 800.0)
PRESSING = DirectForceGains(0.0, 4e-4)
GUIDING = DirectForceGains(0.0, [5e-3] * 3 + [0.05] * 3, ("x", "y", "z", "rx", "ry", "rz"))
LINE = CartesianTrajectory([[0.1, 0.05, 0.0]], [2.0])
NEAR = JointSetpoint(np.add(START, [0.1, -0.1, 0.1, 0.0, 0.1, 0.2]))


def wall(stiffness, depth, slope=0.0):
    """A level plane a depth below where the tip starts, of a stiffness; it rises towards +x of the world."""

    def wrench(time, tip):
        height = wall.begin[2] - depth + slope * (tip[0] - wall.begin[0])
        return [0.0, 0.0, -stiffness * max(0.0, height - tip[2]), 0.0, 0.0, 0.0]

    return wrench


@pytest.fixture(autouse=True)
def begin(ur10):
    wall.begin = ur10.preview.pose(START)


def test_the_start_is_where_the_published_tip_is(ur10):
    """In the world of the paper, z + 1 and turned by π: (0, .8007, .8587)."""
    x, y, z = ur10.preview.pose(START)[:3]
    np.testing.assert_allclose([-x, -y, z + 1.0], [0.0, 0.8007, 0.8587], atol=5e-4)


def test_at_rest_it_commands_what_it_found(rig):
    found = rig(SOFT).run(0.5)
    np.testing.assert_allclose(found.commands[-1], START, atol=1e-12)
    assert (found.now.mode, found.now.goal, found.now.reason) == (Mode.STATIC, "", "")
    assert not found.now.contact


def test_a_trajectory_is_on_time_and_on_its_line(rig):
    found = rig(DirectForceGains(0.0, 1e-5, ()), period=0.004)
    found.controller.submit(CartesianTrajectory([[0.1, 0.0, 0.0], [0.1, 0.05, 0.02, 0.0, 0.0, 0.3]], [1.0, 2.5]))
    found.run(1.0)
    begin = found.arm.preview.pose(START)
    there = difference(found.now.measured, begin)
    # F_f x is the world's −y of our base, and z points down
    np.testing.assert_allclose(np.linalg.norm(there[:3]), 0.1, atol=2e-5)
    assert found.now.waypoint == 1
    assert found.now.remaining == pytest.approx(1.5)
    found.run(1.5)
    assert found.now.mode is Mode.STATIC
    assert np.linalg.norm(found.now.error[:3]) < 2e-5
    turned = difference(found.now.measured, begin)
    np.testing.assert_allclose(np.linalg.norm(turned[3:]), 0.3, atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(turned[:3]), math.sqrt(0.1**2 + 0.05**2 + 0.02**2), atol=2e-5)
    assert "motion done" in found.said


def test_the_lag_of_free_motion_is_damping_over_stiffness_times_speed(rig):
    found = rig(SOFT, period=0.004)
    found.controller.submit(CartesianTrajectory([[0.0, 0.1, 0.0]], [5.0], ramp=0.5))
    found.run(4.0)
    assert np.linalg.norm(found.now.error[:3]) == pytest.approx(400.0 / 800.0 * 0.1 / 4.5, rel=1e-3)


def test_an_admittance_rests_in_contact_where_the_closed_form_says(rig):
    """Pressing 10 N, with the desired position 5 mm above the wall."""
    stiffness, k_p = 5e4, 90.0
    found = rig(AdmittanceGains(100.0, 3000.0, k_p), wrench=wall(stiffness, 0.0), period=0.004)
    found.controller.submit(DesiredWrench([0.0, 0.0, 10.0]))
    found.run(10.0)
    assert 10.0 - found.now.wrench[2] == pytest.approx(k_p / (k_p + stiffness) * 10.0, abs=1e-6)
    np.testing.assert_allclose(found.now.wrench[[0, 1]], 0.0, atol=1e-3)
    assert found.now.contact


def test_torques_are_those_at_the_tip(rig):
    """A force that acts at the tip, 0.195 m below the sensor, does not turn the tool."""
    found = rig(GUIDING, wrench=lambda time, tip: [3.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    found.run(0.5)
    assert np.abs(found.now.wrench[3:]).max() < 1e-9
    way = difference(found.now.measured, found.arm.preview.pose(START))
    assert np.abs(way[3:]).max() < 1e-6
    assert way[0] == pytest.approx(-0.5 * 3.0 * 5e-3, rel=0.2), "away from what it presses on"


def test_direct_force_presses_and_slides_with_the_error_of_the_formula(rig):
    ki, stiffness, slope, speed = 4e-4, 5e4, 0.02, 0.1 / 9.0
    found = rig(PRESSING, wrench=wall(stiffness, 0.0, slope), period=0.004)
    found.controller.submit(DesiredWrench([0.0, 0.0, 20.0], over=1.0))
    found.run(3.0)
    assert found.now.wrench[2] == pytest.approx(20.0, abs=1e-6)
    found.controller.submit(CartesianTrajectory([[0.0, 0.1, 0.0]], [10.0], ramp=1.0))
    found.run(5.0)
    along = (found.feedback[-1].measured - found.feedback[-2].measured)[0] / 0.004
    assert abs(along) == pytest.approx(speed, rel=1e-3)
    assert found.now.wrench[2] - 20.0 == pytest.approx(along * slope / ki, rel=0.02)


def test_the_wrench_of_a_trajectory_ramps_with_it_and_ends_with_it(rig):
    found = rig(PRESSING, wrench=wall(5e4, 0.0), period=0.004)
    found.controller.submit(CartesianTrajectory([[0.0, 0.05, 0.0]], [4.0], wrench=[[0.0, 0.0, 40.0]], ramp=0.5))
    found.run(2.0)
    assert found.now.desired_wrench[2] == pytest.approx(20.0, abs=0.1)
    # behind a ramp of 10 N/s it is late by 1/(Ki·K)
    assert found.now.wrench[2] == pytest.approx(20.0 - 10.0 / (4e-4 * 5e4), abs=0.1)
    found.run(4.0)
    assert found.now.mode is Mode.STATIC
    assert found.now.desired_wrench[2] == 0.0
    assert abs(found.now.wrench[2]) < 0.1


SCENES = {
    "in the air": (SOFT, {}),
    "pressed": (
        AdmittanceGains(10.0, 400.0, 800.0),
        {"wrench": lambda time, tip: [5.0, -8.0, -9.0, 0.2, 0.1, 0.0]},
    ),
    "moved": (SOFT, {"wrench": lambda time, tip: 6.0 * np.sin(1.3 * time + np.arange(6)) * [1, 1, 1, 0, 0, 0]}),
    "pressing": (
        PRESSING,
        {"wrench": lambda time, tip: 6.0 * np.sin(1.3 * time + np.arange(6)) * [1, 1, 1, 0, 0, 0]},
    ),
    "guided": (
        GUIDING,
        {"wrench": lambda time, tip: 6.0 * np.sin(1.3 * time + np.arange(6)) * [1, 1, 1, 0, 0, 0]},
    ),
}


def acted(rig, what):
    """One of the things that can happen to a controller."""
    controller = rig.controller
    actions = {
        "trajectory": lambda: controller.submit(LINE),
        "joints": lambda: controller.submit(NEAR),
        "approach": lambda: controller.submit(
            Approach([0.0, 0.3, 0.9], 0.02, 0.05, force=1.0, wrench=[0, 0, 5.0])
        ),
        "wrench": lambda: controller.submit(DesiredWrench([3.0, -4.0, 5.0])),
        "softer": lambda: controller.submit(NewGains(AdmittanceGains(5.0, 100.0, 50.0))),
        "force": lambda: controller.submit(NewGains(DirectForceGains(0.0, 1e-3, ("x", "z")))),
        "guide": lambda: controller.submit(NewGains(GUIDING)),
        "pause": controller.pause,
        "resume": controller.resume,
        "cancel": controller.cancel,
        "fault": lambda: setattr(rig.conditioning, "fault", "frozen: for a test"),
        "healed": lambda: setattr(rig.conditioning, "fault", ""),
        "recover": controller.recover,
    }
    try:
        actions[what]()
    except (RobotError, OutOfBoundsError):
        return f"{what} refused"
    return what


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.slow
def test_nothing_jumps_whatever_happens_when(rig, scene, seed):
    """Every kind of switch, at random instants and in random order: accelerations are the same at two clocks."""
    random = np.random.default_rng(seed)
    largest = {}
    order = list(random.permutation(["trajectory", "wrench", "softer", "pause", "resume", "joints", "force"]))
    order += ["trajectory", "cancel", "guide", "approach", "fault", "healed", "recover", "joints", "cancel"]
    waits = random.uniform(0.15, 0.7, len(order))
    for period in (0.008, 0.004):
        gains, options = SCENES[scene]
        found = rig(gains, period=period, limits=LawLimits(distance=1.5), **options)
        happened = []
        for what, wait in zip(order, waits, strict=True):
            found.run(round(wait / 0.008) * 0.008)
            happened.append(acted(found, what))
        found.run(1.0)
        largest[period] = np.abs(found.accelerations()).max()
        assert "fault" in happened
        assert found.now.mode in (Mode.STATIC, Mode.HELD, Mode.TRAJECTORY, Mode.JOINT)
    # a jump of the speed would be twice as large at the shorter period
    assert largest[0.004] < 1.4 * max(largest[0.008], 1.0), happened
    assert largest[0.004] < 5.0, happened


def test_the_frame_of_the_law_is_renewed_by_a_motion_without_a_jump(rig):
    """After the tool has turned, its new axes are those of the law; the course of the command goes on."""
    found = rig(SOFT, wrench=lambda time, tip: [4.0, 0.0, -3.0, 0.0, 0.0, 0.0])
    found.controller.submit(CartesianTrajectory([[0.0, 0.0, 0.0, 0.0, 0.0, 1.2]], [5.0]))
    found.run(5.5, until=lambda now: now.mode is Mode.STATIC)
    before = found.now.wrench
    found.controller.submit(CartesianTrajectory([[0.0, 0.0, 0.0]], [1.0]))
    found.run(0.5)
    after = found.now.wrench
    assert np.abs(after[:2] - before[:2]).max() > 1.0
    assert np.linalg.norm(after) == pytest.approx(np.linalg.norm(before), rel=1e-6)
    assert np.abs(found.accelerations()).max() < 1.5


def test_an_approach_ends_at_a_contact_and_hands_over(rig):
    """2/√(K·m) of 50 kN/m and 12 kg is 2.6 mm/s: the peak stays within 2 N of what is desired."""
    contact = Contact(5e4, mass=12.0)
    speed = contact.fastest_approach(2.0)
    found = rig(PRESSING, period=0.001, wrench=wall(5e4, 0.004), contact=contact)
    found.controller.submit(Approach([0, 0, 1], 0.99 * speed, 0.02, force=1.0, wrench=[0.0, 0.0, 5.0]))
    found.run(4.0, until=lambda now: now.mode is Mode.STATIC)
    touched = next(i for i, f in enumerate(found.feedback) if f.wrench[2] > 1e-9)
    along = np.linalg.norm(
        np.diff([f.commanded[:3] for f in found.feedback[touched - 300 : touched]], axis=0), axis=1
    )
    np.testing.assert_allclose(along / 0.001, 0.99 * speed, rtol=1e-6)
    assert "touches" in found.said
    found.run(2.0)
    assert found.now.wrench[2] == pytest.approx(5.0, abs=1e-3)
    assert max(f.wrench[2] for f in found.feedback) < 5.0 + 2.0
    assert np.abs(found.accelerations()).max() < 1.0
    with pytest.raises(OutOfBoundsError, match=r"an approach at 0.01 m/s hits .* at most 0.00258 m/s"):
        found.controller.submit(Approach([0, 0, 1], 0.01, 0.02))


def test_another_law_asked_for_on_an_approach_takes_over_at_the_contact(rig):
    found = rig(PRESSING, period=0.002, wrench=wall(5e4, 0.004))
    found.controller.submit(Approach([0, 0, 1], 0.004, 0.02, wrench=[0.0, 0.0, 5.0]))
    found.run(0.5)
    found.controller.submit(NewGains(SOFT))
    found.run(0.1)
    assert found.controller.gains == SOFT
    found.run(4.0, until=lambda now: now.mode is Mode.STATIC)
    found.run(5.0)
    assert found.controller.gains == SOFT
    assert found.now.wrench[2] == pytest.approx(5.0, abs=0.3)
    assert np.abs(found.accelerations()).max() < 1.0


def test_an_approach_that_meets_nothing_holds_and_says_so(rig):
    found = rig(PRESSING, period=0.004)
    found.controller.submit(Approach([0, 0, 1], 0.02, 0.01))
    found.run(2.0, until=lambda now: now.mode is Mode.HELD)
    assert found.now.reason == "nothing was touched within 0.01 m"
    assert found.controller.gains == PRESSING


@pytest.mark.parametrize(
    ("happens", "part"),
    [
        (lambda rig: setattr(rig.conditioning, "fault", "saturated: force_z"), "wrench: saturated: force_z"),
        (lambda rig: setattr(rig, "wrench", lambda t, tip: [0, 0, -300.0, 0, 0, 0]), "presses with 300 N"),
        (lambda rig: setattr(rig, "wrench", lambda t, tip: [0, 0, 0, 60.0, 0, 0]), "turns with 60 N·m"),
        (lambda rig: setattr(rig, "wrench", lambda t, tip: [0, 0, np.nan, 0, 0, 0]), "gives a NaN"),
    ],
)
@pytest.mark.parametrize("goal", [None, LINE, NEAR])
def test_a_fault_holds_the_joints_and_is_told(rig, happens, part, goal):
    found = rig(SOFT, period=0.004)
    if goal is not None:
        found.controller.submit(goal)
    found.run(0.8)
    happens(found)
    found.run(1.0)
    assert found.now.mode is Mode.HELD
    assert part in found.now.reason
    assert part in found.said[-1]
    if goal is not None:
        assert f"during {type(goal).__name__}" in found.said[-1]
    np.testing.assert_array_equal(found.commands[-1], found.commands[-50])
    assert np.abs(found.accelerations()).max() < 6.0, "it comes to rest without a jump"
    with pytest.raises(RobotError, match="cannot recover: "):
        found.controller.recover()
    with pytest.raises(RobotError, match=r"in the state 'held' \(.*which `recover` ends"):
        found.controller.submit(LINE)
    found.conditioning.fault, found.wrench = "", lambda time, tip: np.zeros(6)
    found.run(0.1)
    found.controller.recover()
    found.run(0.1)
    assert (found.now.mode, found.now.reason) == (Mode.STATIC, "")
    np.testing.assert_allclose(found.commands[-1], found.commands[-100], atol=1e-9)


def test_it_does_not_recover_while_it_comes_to_rest(rig):
    found = rig(SOFT, period=0.004)
    found.controller.submit(NEAR)
    found.run(0.5)
    found.conditioning.fault = "frozen"
    found.run(0.1)
    found.conditioning.fault = ""
    found.run(0.02)
    with pytest.raises(RobotError, match="still coming to rest"):
        found.controller.recover()


def test_a_contact_that_is_lost_while_it_presses_stops_it(rig):
    found = rig(PRESSING, wrench=wall(5e4, 0.0), period=0.004)
    found.controller.submit(DesiredWrench([0.0, 0.0, 10.0]))
    found.run(1.0)
    found.wrench = lambda time, tip: np.zeros(6)
    found.run(1.5)
    assert found.now.mode is Mode.HELD
    assert "the contact is lost for 0.5 s while it is to press with 10 N" in found.now.reason
    free = rig(PRESSING, period=0.004)
    free.controller.submit(DesiredWrench([0.0, 0.0, 10.0]))
    free.run(1.5)
    assert free.now.mode is Mode.STATIC, "it had none yet"


def test_a_force_that_no_axis_is_to_press_with_is_not_missed(rig):
    """Lifted off under a law without axes, with a force still desired."""
    found = rig(PRESSING, wrench=wall(5e4, 0.0), period=0.004)
    found.controller.submit(DesiredWrench([0.0, 0.0, 10.0]))
    found.run(1.0)
    found.controller.submit(NewGains(DirectForceGains(0.0, 0.0, ())))
    found.run(0.1)
    found.controller.submit(CartesianTrajectory([[0.0, 0.0, -0.02]], [2.0]))
    found.run(4.0)
    assert (found.now.mode, found.now.reason) == (Mode.STATIC, "")
    assert not found.now.contact


def test_it_says_when_a_list_of_goals_is_done(rig):
    goals = [{"wait": 0.2}, {"wrench": {"wrench": [0.0, 0.0, 1.0], "over": 0.4}}]
    found = rig(SOFT, period=0.004, goals=goals, start=START.tolist())
    found.run(0.5)
    assert found.controller.ended is None, "the wrench is on its way"
    found.run(0.2)
    assert found.controller.ended == ("all goals are done", False)
    found.controller.cancel()
    assert found.controller.ended is None, "a list that was stopped waits for its rest"
    without = rig(SOFT, period=0.004).run(0.5)
    assert without.controller.ended is None


def test_it_says_that_it_gave_up_once_the_joints_rest(rig):
    found = rig(SOFT, period=0.004)
    found.controller.submit(LINE)
    found.run(0.8)
    found.conditioning.fault = "frozen: for long"
    found.run(0.1)
    assert (found.now.mode, found.controller.ended) == (Mode.HELD, None)
    found.run(0.3)
    assert found.controller.ended == ("wrench: frozen: for long", True)
    np.testing.assert_array_equal(found.commands[-1], found.commands[-2])
    found.conditioning.fault = ""
    found.run(0.1)
    found.controller.recover()
    assert found.controller.ended is None


def test_at_a_limit_of_a_joint_it_stays_and_comes_back_at_once(rig, ur10):
    """Guided upwards until the arm is stretched: singular, then pushed back."""
    pushed = [0.0]
    found = rig(
        GUIDING,
        wrench=lambda time, tip: [0.0, 0.0, -pushed[0], 0.0, 0.0, 0.0],
        period=0.004,
        limits=LawLimits(distance=3.0),
    )
    pushed[0] = 40.0
    found.run(12.0, until=lambda now: "singular" in now.slowed)
    found.run(3.0)
    high = found.now.measured[2]
    pushed[0] = -10.0
    found.run(0.5)
    assert high - found.now.measured[2] > 0.5 * 0.5 * 10.0 * 5e-3
    assert found.now.mode is Mode.STATIC


def test_a_trajectory_that_is_stuck_holds(rig, ur10, monkeypatch):
    """What the rehearsal did not see: a joint that may hardly move."""
    from dataclasses import replace

    slow = replace(ur10, speed=[1e-4] * 6)
    found = Rig(slow, SOFT, period=0.004, watch=Watch(stuck_after=0.5))
    found.controller.submit(LINE)
    found.run(10.0, until=lambda now: now.slowed != "")
    assert "the speed limit of " in found.now.slowed


def test_unmeasured_joints_are_taken_to_be_where_they_are_commanded(rig):
    found = rig(SOFT)
    found.measured = False
    found.run(0.1)
    np.testing.assert_allclose(found.now.measured, found.now.commanded, atol=1e-9)


def test_a_late_period_slows_the_motion_and_makes_no_jump(rig):
    found = rig(SOFT)
    found.controller.submit(LINE)
    found.run(1.0)
    found.time += 0.05
    found.run(0.5)
    assert found.now.late == pytest.approx(0.05)
    assert np.abs(found.accelerations()).max() < 2.0


def test_the_goals_of_a_list_follow_one_another(rig):
    goals = [
        {"wait": 0.2},
        {"joints": {"position": (START + 0.05).tolist()}},
        {"tare": None},
        {"gains": {"mass": 10.0, "damping": 500.0, "stiffness": 900.0}},
        {"trajectory": {"waypoints": [[0.05, 0.0, 0.0]], "times": [1.0]}},
        {"wrench": [0.0, 0.0, 1.0]},
    ]
    found = rig(SOFT, period=0.004, goals=goals, start=START.tolist())
    np.testing.assert_array_equal(found.controller.initial_command, START)
    assert found.controller.duration == pytest.approx(0.2 + 2.0 + 1.0, abs=1.0)
    found.run(3.0, until=lambda now: now.goal == "Tare")
    found.run(0.5)
    assert found.conditioning.speeds == (0.0, 0.0)
    assert found.now.goal == "Tare"
    found.conditioning.tare.state = "done"
    found.run(2.0)
    kinds = ["Wait", "JointSetpoint", "Tare", "NewGains", "CartesianTrajectory", "DesiredWrench"]
    assert [text.removeprefix("begins ") for text in found.said if text.startswith("begins")] == kinds
    assert found.now.desired_wrench[2] == 1.0


def test_a_tare_makes_no_jump(rig):
    """A sensor that is 5 N off while a PI law is at work, and not any more."""
    off = [5.0]
    found = rig(DirectForceGains(5e-6, 1e-3), wrench=lambda time, tip: [0.0, 0.0, -off[0], 0.0, 0.0, 0.0])
    found.run(1.0)
    found.controller.submit({"tare": {}})
    found.run(1.0)
    off[0], found.conditioning.tare.state = 0.0, "done"
    found.run(1.0)
    assert "begins Tare" in found.said
    assert np.abs(found.accelerations()[2:]).max() < 1.0
    assert np.abs(found.commands[-1] - found.commands[-200]).max() < 1e-9


def test_a_refused_tare_holds_and_keeps_the_rest_of_the_list(rig):
    found = rig(SOFT, period=0.004, goals=[{"tare": {}}, LINE], start=START.tolist())
    found.run(0.1)
    found.conditioning.tare.state, found.conditioning.tare.reason = "refused", "the tool moves"
    found.run(0.5)
    assert found.now.reason == "the tare is refused: the tool moves"
    found.controller.recover()
    found.run(0.2)
    assert found.now.goal == ""
    found.controller.resume()
    found.run(0.2)
    assert found.now.goal == "CartesianTrajectory"


def test_goals_come_from_another_thread(rig):
    found = rig(SOFT)
    errors = []

    def ask():
        try:
            found.controller.submit(LINE)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while thread.is_alive():
        found.run(found.info.period)
    found.run(0.1)
    assert not errors
    assert found.now.goal == "CartesianTrajectory"


FAR = CartesianTrajectory([[0.0, 0.0, 1.6]], [5.0])
OVERHEAD = CartesianTrajectory([[0.0, 0.0, -0.6], [0.9, 0.0, -0.6]], [5.0, 10.0])


@pytest.mark.parametrize(
    ("goal", "error", "part"),
    [
        (lambda: FAR, OutOfBoundsError, "cannot be followed at|singular posture"),
        (lambda: OVERHEAD, OutOfBoundsError, "cannot be followed at|singular posture"),
        (lambda: JointSetpoint([9.0] * 6), OutOfBoundsError, "set-point of 'shoulder_pan'"),
        (lambda: JointSetpoint([0.0] * 5), ConfigurationError, "has 5 positions; the arm has 6"),
        (lambda: JointSetpoint([math.nan] * 6), OutOfBoundsError, "joint set-point"),
        (lambda: CartesianTrajectory([[math.nan, 0, 0]], [1.0]), OutOfBoundsError, "waypoint 0"),
        (lambda: CartesianTrajectory([[0, 0]], [1.0]), ShapeError, "waypoint 0"),
        (lambda: CartesianTrajectory([[0, 0, 0.1]], [1.0, 2.0]), ShapeError, r"1 waypoint\(s\) and 2 time\(s\)"),
        (lambda: CartesianTrajectory([[0, 0, 0.1]] * 2, [1.0, 1.0]), OutOfBoundsError, "must increase"),
        (lambda: CartesianTrajectory([[0, 0, 0.1]], [1.0], wrench=[]), ShapeError, r"0 wrench"),
        (lambda: CartesianTrajectory([[0, 0, 0, 1, 1, 0, 0]], [1.0]), OutOfBoundsError, "no unit quaternion"),
        (lambda: DesiredWrench([0, 0, math.inf]), OutOfBoundsError, "wrench"),
        (lambda: DesiredWrench([0, 0]), ShapeError, "a wrench has shape"),
        (lambda: Approach([0, 0, 0], 0.1, 0.1), OutOfBoundsError, "needs a direction"),
        (lambda: Approach([0, 0, 1], -0.1, 0.1), OutOfBoundsError, "speed of an approach"),
        (lambda: Wait(math.nan), OutOfBoundsError, "duration of a wait"),
        (lambda: NewGains(DirectForceGains(0.0, 0.2)), ConfigurationError, "axis z is unstable in contact"),
        (lambda: {"trajectry": {}}, UnknownNameError, "Did you mean 'trajectory'"),
        (lambda: {"trajectory": {"waypoint": []}}, UnknownNameError, "Did you mean 'waypoints'"),
        (lambda: {"trajectory": {"times": [1.0]}}, ConfigurationError, "waypoints"),
        (lambda: {"joints": {"position": [math.nan]}}, OutOfBoundsError, r"goal 1 \(joints\)"),
        (lambda: {"gains": {"mas": 1.0}}, UnknownNameError, "unknown entry 'mas'"),
        (lambda: {"gains": 3}, ConfigurationError, "gains are 3"),
        (lambda: {"tare": 3}, ConfigurationError, "takes no entries"),
        (lambda: 3, ConfigurationError, "goal 1 is 3"),
    ],
)
def test_a_goal_that_cannot_be_is_refused_and_nothing_changes(rig, goal, error, part):
    found = rig(SOFT, contact=Contact(5e4, 1e5, 90.0))
    with pytest.raises(error, match=part):
        found.controller.submit(goal())
    found.run(0.05)
    assert (found.now.mode, found.now.goal) == (Mode.STATIC, "")
    np.testing.assert_allclose(found.commands[-1], START, atol=1e-12)


def test_a_list_that_cannot_be_is_refused_before_anything_moves(rig):
    with pytest.raises(OutOfBoundsError, match=r"goal 2 \(CartesianTrajectory\): the path c"):
        rig(SOFT, goals=[{"wait": 1.0}, FAR], start=START.tolist())
    with pytest.raises(ConfigurationError, match=r"goal 2 \(NewGains\): axis z is unstable"):
        rig(
            SOFT,
            goals=[{"wait": 1.0}, {"gains": {"kp": 0.0, "ki": 0.2}}],
            contact=Contact(5e4, 1e5, 90.0),
            start=START.tolist(),
        )
    with pytest.raises(ConfigurationError, match="goals are"):
        rig(SOFT, goals={"wait": 1.0})
    with pytest.raises(ConfigurationError, match="axis z is unstable"):
        rig(DirectForceGains(0.0, 0.2), contact=Contact(5e4, 1e5, 90.0))


@pytest.mark.parametrize(
    ("first", "second", "part"),
    [
        (LINE, LINE, "in the state 'trajectory'"),
        (LINE, NEAR, "JointSetpoint is taken in the static law"),
        (NEAR, DesiredWrench([0, 0, 1.0]), "in the state 'joint control'.*static law and on a trajectory"),
        (NEAR, NewGains(PRESSING), "in the state 'joint control'"),
        (Wait(5.0), LINE, "Wait comes first"),
    ],
)
def test_a_goal_in_the_wrong_state_is_refused(rig, first, second, part):
    found = rig(SOFT)
    found.controller.submit(first)
    with pytest.raises(RobotError, match=r"comes first|taken in"):
        found.controller.submit(LINE)
    found.run(0.1)
    with pytest.raises(RobotError, match=part):
        found.controller.submit(second)


def test_before_the_reset_nothing_is_taken(ur10, rig):
    from pliant.controllers.interaction import InteractionController

    found = rig(SOFT)
    fresh = InteractionController(ur10, found.info, SOFT, found.conditioning)
    for ask in (
        lambda: fresh.submit(LINE),
        fresh.pause,
        fresh.resume,
        fresh.cancel,
        fresh.recover,
        fresh.feedback,
    ):
        with pytest.raises(RobotError, match="has not begun"):
            ask()
    with pytest.raises(RobotError, match="not held"):
        found.controller.recover()


def test_another_robot_is_refused_with_all_that_it_lacks(ur10, rig):
    from dataclasses import replace

    from pliant.controllers.interaction import InteractionController

    found = rig(SOFT)
    torques = tuple(Channel(f"{j}/torque", "N·m", -1.0, 1.0) for j in ur10.kinematics.joints[:5])
    other = RobotInfo("arm", ur10.kinematics.joints[:5], (), torques, 0.002)
    with pytest.raises(MismatchError) as told:
        InteractionController(ur10, other, SOFT, found.conditioning)
    for part in ("joint 'wrist_3'", "positions for joint 'elbow'", "signal 'wrist/force_x'", "wrist/torque_z"):
        assert part in str(told.value)
    with pytest.raises(MismatchError, match=r"a period of 0\.002 s; that of robot 'ur10' is 0\.004 s"):
        found.controller.check(replace(found.info, period=0.004))


def test_it_finds_its_signals_on_a_robot_that_has_more(ur10, rig):
    """As a machine has that its simulation has not: the prediction and the machine share a controller."""
    from dataclasses import replace

    found = rig(SOFT, wrench=lambda time, tip: [0.0, 0.0, -4.0, 0.0, 0.0, 0.0])
    found.run(0.1)
    extra = [Channel(f"tcp/{axis}", "m", -np.inf, np.inf) for axis in "xyz"]
    own = found.info.signals[: -len(found.info.sensors)]
    more = replace(found.info, signals=(*own, *extra, *found.info.sensors))
    found.controller.check(more)
    state = found.state()
    found.controller.update(state._replace(sensors=np.array([9.0, 9.0, 9.0, *state.sensors])), found.time)
    np.testing.assert_allclose(found.controller.feedback().wrench, found.now.wrench, atol=1e-2)


def test_a_watch_and_rates_that_cannot_be_are_refused(rig):
    for make, error, part in (
        (lambda: Watch(force=-1.0), OutOfBoundsError, "watch: force"),
        (lambda: Watch(lost_after=0.0), OutOfBoundsError, "watch: lost_after"),
        (lambda: Watch(force=1.0), ConfigurationError, "a contact begins at 2 N"),
        (lambda: rig(SOFT, wrench_rate=[0.0, 1.0]), OutOfBoundsError, "wrench_rate"),
        (lambda: rig(SOFT, joint_speed=math.nan), OutOfBoundsError, "joint_speed"),
        (lambda: rig(SOFT, start=[0.0] * 5), ShapeError, "start"),
        (lambda: rig(SOFT, frame="moon"), UnknownNameError, "unknown frame 'moon'"),
    ):
        with pytest.raises(error, match=part):
            make()
