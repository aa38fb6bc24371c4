import pytest

from pliant.errors import ConfigurationError, OutOfBoundsError, RobotError
from pliant.hardware.dynamixel.config import DynamixelConfig, DynamixelJoint, ServoMount
from pliant.hardware.dynamixel.tables import AX_12A
from pliant.hardware.dynamixel.watching import BLOCK, ServoLimits, Watch

LIMITS = ServoLimits(load=(0.5, 0.8), load_time=0.4, temperature=(60, 68), voltage=(10.2, 9.3))


def block(**counts):
    """A servo's memory from the first to the last register of the block."""
    memory = bytearray(64)
    for name, count in ({"present_voltage": 111, "present_temperature": 40} | counts).items():
        register = AX_12A.register(name)
        memory[register.address : register.address + register.size] = register.encode(count)
    return bytes(memory[BLOCK[0] : sum(BLOCK)])


def test_the_block_has_what_is_checked():
    assert BLOCK == (24, 20)
    look = Watch(None, 0.2).look(1, block(torque_enable=1, led=1, goal_position=700, torque_limit=1023))
    assert [look.counts[name] for name in ("torque_enable", "led", "goal_position")] == [1, 1, 700]
    assert (look.counts["torque_limit"], look.warnings, look.end) == (1023, (), "")


def test_a_warm_servo_is_warned_of_once_until_it_is_cool_again():
    watch = Watch(LIMITS, 0.2)
    assert watch.look(1, block(present_temperature=60)).warnings == []
    assert watch.look(1, block(present_temperature=61)).warnings == ["at 61 °C; the limit is 68"]
    assert watch.look(1, block(present_temperature=62)).warnings == []
    assert watch.look(2, block(present_temperature=62)).warnings != [], "another servo"
    watch.look(1, block(present_temperature=59))
    assert watch.look(1, block(present_temperature=61)).warnings != []
    assert watch.look(1, block(present_temperature=68)).end == ""
    assert watch.look(1, block(present_temperature=69)).end == "at 69 °C; the limit is 68"


def test_the_supply_is_watched_downwards():
    watch = Watch(LIMITS, 0.2)
    assert watch.look(1, block(present_voltage=103)).warnings == []
    assert watch.look(1, block(present_voltage=101)).warnings == ["at 10.1 V; the limit is 9.3"]
    assert watch.look(2, block(present_voltage=101)).warnings == [], "it is the same supply"
    assert watch.look(1, block(present_voltage=92)).end == "at 9.2 V; the limit is 9.3"


def test_the_load_counts_on_average_either_way():
    """Two looks are 0.4 s: one at full drive is a peak, as every step has."""
    watch = Watch(LIMITS, 0.2)
    assert watch.look(1, block(present_load=1023)).end == "", "too early to tell"
    assert watch.look(1, block(present_load=0)).warnings == []
    assert watch.look(1, block(present_load=-1023)).warnings == []
    look = watch.look(1, block(present_load=307))
    assert (look.warnings, look.end) == (["a mean load of 0.65 of full drive; the limit is 0.8"], "")
    assert watch.look(1, block(present_load=-1023)).end == ""
    assert "0.90 of full drive" in watch.look(1, block(present_load=818)).end
    watch.restart()
    assert watch.look(1, block(present_load=1023)).end == ""


@pytest.mark.parametrize(
    ("given", "error", "part"),
    [
        ({"load": 0.5}, ConfigurationError, r"load is 0.5; \[warning, end\] is needed"),
        ({"load": (0.5, 1.5)}, OutOfBoundsError, "load"),
        ({"temperature": (70, 60)}, ConfigurationError, "would end at 60 before it warns at 70"),
        ({"voltage": (9.0, 10.0)}, ConfigurationError, "would end at 10 before it warns at 9"),
        ({"load_time": float("nan")}, OutOfBoundsError, "load_time"),
    ],
)
def test_limits_that_are_none_are_refused(given, error, part):
    with pytest.raises(error, match=part):
        ServoLimits(**given)


def test_only_ax_12a_have_such_limits():
    joint = DynamixelJoint("a", [ServoMount(1, "XM430-W350")], -1.0, 1.0)
    with pytest.raises(ConfigurationError, match="for AX-12A servos only"):
        DynamixelConfig([joint], "port", limits=LIMITS)


# On a bus


def periods(robot, count):
    for _ in range(count):
        robot.send(robot.read().command)


def test_a_hot_servo_is_told_of_and_a_hotter_one_ends_it(bench):
    bench = bench("ax12a", limits=LIMITS)
    robot = bench.robot
    robot.connect()
    robot.send(robot.read().command)
    bench.plant.set_temperature(2, 64.0)
    for _ in range(3):
        robot.send(robot.read().command)
    assert robot.notices() == ["servo 2, joint 'j2', is near its limits: at 64 °C; the limit is 68"]
    assert robot.notices() == []
    bench.plant.set_temperature(2, 69.0)
    with pytest.raises(RobotError, match="servo 2, joint 'j2', is beyond its limits: at 69 °C"):
        periods(robot, 3)
    assert bench.registers("torque_enable") == [1, 1], "all joints hold"
    robot.close()


def test_it_carries_on_without_a_servo_that_has_shut_down(bench):
    bench = bench("ax12a")
    robot = bench.robot
    robot.connect()
    robot.send(robot.read().command)
    bench.servo(1).overload()
    with pytest.raises(RobotError, match="servo 1 of joint 'j1': overload"):
        periods(robot, 3)
    assert robot.carry_on()
    for k in range(50):
        robot.send([0.0, 0.01 * k])
        state = robot.read()
    assert abs(state.position[1] - 0.49) < 0.05
    goals = {entry.servo for entry in bench.journal("goal_position", since=bench.now() - 0.5)}
    assert goals == {2}, "the other one is not told to move"
    robot.close()
    assert bench.registers("torque_enable") == [0, 0]


def test_it_carries_on_without_a_servo_that_does_not_answer(bench):
    for kind in ("ax12a", "position"):
        made = bench(kind)
        robot = made.robot
        robot.connect()
        robot.send(robot.read().command)
        made.servo(2).alive = False
        with pytest.raises(RobotError, match="servo 2 on bench did not answer"):
            robot.read()
        robot.stop()
        assert robot.carry_on()
        before = made.now()
        for _ in range(20):
            robot.send(robot.read().command)
        assert made.now() - before < 20.5 * made.config.period, "nobody waits for it"
        robot.close()


def test_nothing_carries_on_without_torque_or_port(bench):
    bench = bench("ax12a")
    robot = bench.robot
    assert not robot.carry_on()
    robot.connect()
    assert not robot.carry_on()
    robot.send(robot.read().command)
    bench.unplugged = True
    with pytest.raises(RobotError, match="lost the port"):
        robot.read()
    assert not robot.carry_on()
