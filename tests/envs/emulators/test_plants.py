"""The physics behind the servos."""

import math
from dataclasses import replace

import pytest

from pliant.envs.emulators.dynamixel.plant import Demand
from pliant.envs.emulators.dynamixel.plants import MOTORS, Motor, Shaft, ShaftPlant, shaft_plant
from pliant.errors import OutOfBoundsError, UnknownNameError

FULL = Demand(1.0, math.inf, None)
OFF = Demand(0.0, 0.0, None)


def test_catalogue_motor_stalls_and_runs_as_its_data_sheet_says():
    motor = MOTORS["XM430-W350"]
    plant = ShaftPlant({1: Shaft(replace(motor, inertia=1e6))})
    plant.drive(1, FULL)
    plant.advance(0.001)
    assert plant.read(1).current * motor.torque_constant == pytest.approx(4.1, rel=1e-6)
    free = ShaftPlant({1: Shaft(replace(motor, friction=0.0, damping=0.0))})
    free.drive(1, FULL)
    free.advance(2.0)
    assert free.read(1).velocity == pytest.approx(46 * math.pi / 30, rel=1e-3)


def test_free_shaft_swings_down_and_stops_within_friction():
    load = Shaft(MOTORS["XM430-W350"], inertia=0.02, gravity=1.0, start=math.pi + 1.5)
    plant = ShaftPlant({1: load})
    plant.drive(1, OFF)
    plant.advance(20.0)
    reading = plant.read(1)
    assert reading.velocity == 0.0
    assert abs(math.sin(reading.position - math.pi)) <= MOTORS["XM430-W350"].friction / 1.0 + 1e-9


def test_undriven_pendulum_keeps_its_energy_without_friction():
    motor = Motor(1.0, 1.0, 0.0, 0.0, 0.0)
    load = Shaft(motor, inertia=0.05, gravity=1.0, start=math.pi + 1.0)
    plant = ShaftPlant({1: load})
    plant.drive(1, OFF)

    def energy() -> float:
        reading = plant.read(1)
        return 0.5 * 0.05 * reading.velocity**2 - math.cos(reading.position - math.pi)

    start = energy()
    for _ in range(100):
        plant.advance(0.05)
        assert energy() == pytest.approx(start, abs=0.01)


def test_friction_holds_what_is_too_weak_to_move_it():
    motor = MOTORS["MX-64(2.0)"]
    plant = ShaftPlant({1: Shaft(motor, start=1.0)})
    plant.drive(1, OFF)
    plant[1].external = 0.9 * motor.friction
    plant.advance(1.0)
    assert plant.read(1).position == 1.0
    plant[1].external = 1.1 * motor.friction
    plant.advance(1.0)
    assert plant.read(1).position > 1.0


def test_current_limit_is_the_largest_current_either_way():
    plant = ShaftPlant({1: Shaft(MOTORS["XM430-W350"], inertia=1.0)})
    for duty in (1.0, -1.0):
        plant.drive(1, Demand(duty, 0.3, None))
        plant.advance(0.01)
        assert plant.read(1).current == pytest.approx(math.copysign(0.3, duty))


def test_supply_sags_with_the_current():
    plant = ShaftPlant({1: Shaft(replace(MOTORS["XM430-W350"], inertia=1e6))}, 12.0, supply_resistance=1.0)
    plant.drive(1, FULL)
    plant.advance(0.1)
    current = plant.read(1).current
    assert plant.voltage == pytest.approx(12.0 - current, rel=1e-3)
    plant.set_supply(8.0)
    plant.drive(1, OFF)
    plant.advance(0.01)
    assert plant.read(1).voltage == 8.0


def test_time_may_come_in_pieces():
    whole, pieces = (ShaftPlant({1: Shaft(MOTORS["XM430-W350"])}) for _ in range(2))
    for plant in (whole, pieces):
        plant.drive(1, FULL)
    whole.advance(0.1)
    for _ in range(400):
        pieces.advance(0.00025)
    assert whole.read(1) == pieces.read(1)


def test_unknown_servos_and_models_are_refused():
    plant = shaft_plant({1: "AX-12A"})
    with pytest.raises(UnknownNameError, match="Valid: 1"):
        plant.read(2)
    with pytest.raises(UnknownNameError, match="AX-12A"):
        shaft_plant({1: "AX-18A"})
    with pytest.raises(OutOfBoundsError, match="supply"):
        plant.set_supply(float("nan"))
    with pytest.raises(OutOfBoundsError, match="temperature"):
        plant.set_temperature(1, 1000.0)
