"""The everyday tool of a bus, on emulated servos."""

import pytest

pytest.importorskip("dynamixel_sdk")
from pliant.envs.emulators.dynamixel.bus import BusSettings
from pliant.envs.emulators.dynamixel.process import EmulatedBus
from pliant.envs.emulators.dynamixel.servo import ServoSettings
from pliant.errors import ConfigurationError, RobotError, UnknownNameError
from pliant.scripts.bus import Options, parse, run

pytestmark = pytest.mark.real_time


@pytest.fixture
def machine(tmp_path):
    servos = (
        ServoSettings(1, "XM430-W350"),
        ServoSettings(2, "XM430-W350"),
        ServoSettings(7, "XL330-M288", baud=57_600),
    )
    with EmulatedBus(tmp_path / "bus", BusSettings(servos, lock_step=True)) as bus:
        yield bus


@pytest.fixture(scope="module")
def untouched(tmp_path_factory):
    """A bus that nothing is written to."""
    servos = (ServoSettings(1, "XM430-W350"),)
    with EmulatedBus(tmp_path_factory.mktemp("untouched") / "bus", BusSettings(servos, lock_step=True)) as bus:
        yield bus


@pytest.fixture
def tool(machine, capsys):
    def carry_out(action, *arguments):
        run([action, f"port={machine.port}", *arguments])
        return capsys.readouterr().out

    return carry_out


def test_scan_finds_servos_at_the_rates_it_is_told(tool, capsys):
    here = tool("scan", "servo=0-8")
    assert "XM430-W350" in here
    assert "XL330" not in here
    everywhere = tool("scan", "servo=1,7", "rates=1000000,57600")
    assert "XL330-M288" in everywhere
    assert "57600" in everywhere
    with pytest.raises(SystemExit) as ended:
        tool("scan", "servo=4")
    assert ended.value.code == 1
    assert "in Protocol 2. Others: rates=all, protocol=1" in capsys.readouterr().out


def test_ping_ends_with_an_error_if_one_is_silent(tool, capsys):
    assert tool("ping", "servo=1-2").count("XM430-W350") == 2
    with pytest.raises(SystemExit) as ended:
        tool("ping", "servo=1,9")
    assert ended.value.code == 1
    assert "servo 9: no answer" in capsys.readouterr().out


def test_write_and_read_back(tool, machine):
    assert "goal_position = 2100" in tool("write", "servo=1", "register=goal_position", "value=2100")
    assert machine.register(1, "goal_position") == 2100
    assert tool("read", "servo=1,2", "register=torque_enable").split() == (
        ["servo", "1:", "torque_enable", "=", "0", "servo", "2:", "torque_enable", "=", "0"]
    )
    whole = tool("read", "servo=2")
    for register in ("model_number", "present_position", "hardware_error_status"):
        assert register in whole


def test_id_and_rate_are_changed(tool, machine):
    tool("set-id", "servo=2", "id=5")
    assert machine.register(5, "id") == 5
    tool("set-baud", "servo=5", "rate=57600")
    assert "XM430-W350" in tool("ping", "servo=5", "baud=57600")
    with pytest.raises(RobotError, match="gave no whole answer"):
        tool("read", "servo=5", "register=id")


def test_a_reboot_drops_the_torque(tool, machine):
    tool("write", "servo=1", "register=torque_enable", "value=1")
    assert machine.register(1, "torque_enable") == 1
    tool("reboot", "servo=1")
    assert machine.register(1, "torque_enable") == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (["raed", "port=x"], UnknownNameError, "Did you mean 'read'"),
        (["scan"], ConfigurationError, "needs port="),
        (["scan", "port=nowhere"], RobotError, "no serial port nowhere"),
        (["read", "port={}"], ConfigurationError, "needs servo="),
        (["read", "port={}", "servo=one"], ConfigurationError, "whole number"),
        (["read", "port={}", "servo=1", "register=torque"], UnknownNameError, "torque_enable"),
        (["write", "port={}", "servo=1", "register=id", "value=3"], ConfigurationError, "pliant bus set-id"),
        (["write", "port={}", "servo=1", "register=model_number", "value=3"], ConfigurationError, "read-only"),
        (["ping", "port={}", "servo=300"], ValueError, "252"),
        (["ping", "port={}", "servo=1", "baud=1234"], ConfigurationError, "1234"),
    ],
)
def test_a_wrong_argument_is_explained(untouched, arguments, error, message):
    with pytest.raises(error, match=message):
        run([argument.format(untouched.port) for argument in arguments])


def test_arguments_are_key_value_known_and_given_once():
    assert parse("read", ["port=a=b", "servo=1"], ("servo",)).values == {"port": "a=b", "servo": "1"}
    with pytest.raises(UnknownNameError, match="Did you mean 'servo'"):
        parse("read", ["servos=1"], ("servo",))
    with pytest.raises(ConfigurationError, match="not key=value"):
        parse("read", ["1"], ("servo",))
    with pytest.raises(ConfigurationError, match="twice"):
        parse("read", ["servo=1", "servo=2"], ("servo",))


def test_the_command_explains_itself_and_its_errors(pliant):
    for arguments in (["bus"], ["bus", "--help"]):
        done = pliant(*arguments)
        assert done.returncode == 0
        for action in ("scan", "ping", "read", "write", "set-id", "set-baud", "reboot"):
            assert action in done.stdout
    failed = pliant("bus", "scan", "port=nowhere")
    assert failed.returncode == 2
    assert failed.stderr.startswith("pliant: there is no serial port nowhere")


def test_a_descending_range_is_refused():
    with pytest.raises(ConfigurationError, match="servo: the range 9-5 descends; write 5-9"):
        Options("ping", {"servo": "1,9-5"}).numbers("servo")
