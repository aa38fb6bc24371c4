"""Frames and recipes of RTDE byte by byte, scripts and dashboard line by line: no client, no process."""

import socket
import struct

import pytest
from tests.envs.emulators.ur.conftest import new_host

from pliant.envs.emulators.ur.controller import Controller
from pliant.envs.emulators.ur.dashboard import Dashboard
from pliant.envs.emulators.ur.listening import TextServer
from pliant.envs.emulators.ur.packets import DamagedError, Frame, FrameParser, Kind, frame
from pliant.envs.emulators.ur.rtde import RTDE_PORT, RtdeServer
from pliant.envs.emulators.ur.script import PathMove, take_scripts
from pliant.envs.emulators.ur.settings import ControllerSettings
from pliant.envs.emulators.ur.variables import INPUTS, OUTPUTS, Recipe, Table
from pliant.envs.emulators.ur.versions import VERSIONS, polyscope
from pliant.errors import OutputError

RECEIVE = [
    "timestamp",
    "target_q",
    "target_qd",
    "target_qdd",
    "target_current",
    "target_moment",
    "actual_q",
    "actual_qd",
    "actual_current",
    "joint_control_output",
    "actual_TCP_pose",
    "actual_TCP_speed",
    "actual_TCP_force",
    "target_TCP_pose",
    "target_TCP_speed",
    "actual_digital_input_bits",
    "joint_temperatures",
    "actual_execution_time",
    "robot_mode",
    "joint_mode",
    "safety_mode",
    "actual_tool_accelerometer",
    "speed_scaling",
    "target_speed_fraction",
    "actual_momentum",
    "actual_main_voltage",
    "actual_robot_voltage",
    "actual_robot_current",
    "actual_joint_voltage",
    "actual_digital_output_bits",
    "runtime_state",
    "standard_analog_input0",
    "standard_analog_input1",
    "standard_analog_output0",
    "standard_analog_output1",
    "robot_status_bits",
    "safety_status_bits",
]
RECEIVE += ["output_int_register_2", *(f"output_int_register_{n}" for n in range(12, 20))]
RECEIVE += [f"output_double_register_{n}" for n in range(12, 20)]
PAYLOAD = ["payload", "payload_cog", "payload_inertia"]


class Wire:
    """One end of a connection to a server that is served by hand."""

    def __init__(self, version="5.22"):
        host = new_host()
        self.inputs, self.outputs = Table(INPUTS), Table(OUTPUTS)
        self.taken = []
        self.server = RtdeServer(
            host, polyscope(version), self.outputs, self.inputs, lambda *frame: self.taken.append(frame)
        )
        self.host = host
        self.sockets = []
        self.connect()

    def connect(self):
        self.sockets.append(socket.create_connection((self.host, RTDE_PORT), 10.0))
        self.sockets[-1].settimeout(10.0)
        self.serve()

    def serve(self):
        for ready in self.server.sockets():
            self.server.serve(ready)

    def ask(self, data, which=-1):
        self.sockets[which].sendall(data)
        answer = b""
        while len(answer) < 2 or len(answer) < struct.unpack_from(">H", answer)[0]:
            self.sockets[which].settimeout(0.05)
            try:
                answer += self.sockets[which].recv(65536)
            except TimeoutError:
                self.serve()
        return answer

    def tell(self, data, count):
        """Send what is not answered, until so many data frames have been looked at."""
        self.sockets[-1].sendall(data)
        while len(self.taken) + self.server.malformed < count:
            self.serve()

    def package(self, cycle=0):
        self.server.publish(cycle, 0.0)
        self.sockets[-1].settimeout(10.0)
        return self.sockets[-1].recv(65536)

    def close(self):
        for one in self.sockets:
            one.close()
        self.server.close()


@pytest.fixture
def wire():
    made = []

    def make(version="5.22"):
        made.append(Wire(version))
        return made[-1]

    yield make
    for one in made:
        one.close()


def request(kind, text="", frequency=None):
    payload = b"" if frequency is None else struct.pack(">d", frequency)
    return frame(ord(kind), payload + text.encode())


def test_the_handshake_is_that_of_the_guide(wire):
    line = wire()
    assert line.ask(bytes.fromhex("0005560002")) == bytes.fromhex("00045601")
    assert line.ask(bytes.fromhex("0005560001")) == bytes.fromhex("00045600"), "protocol 1 is refused"
    answer = line.ask(bytes.fromhex("000376"))
    assert answer[:3] == bytes.fromhex("001376")
    assert struct.unpack(">4I", answer[3:])[:2] == (5, 22)
    assert line.ask(request("O", "timestamp,actual_q,", 500.0)) == b"\x00\x13O\x01DOUBLE,VECTOR6D"
    assert line.ask(request("I", "input_int_register_0,input_double_register_0,")) == b"\x00\x10I\x01INT32,DOUBLE"
    assert line.ask(bytes.fromhex("000353")) == bytes.fromhex("00045301")
    assert line.ask(bytes.fromhex("000350")) == bytes.fromhex("00045001")


def test_a_package_is_packed_in_the_order_asked_for(wire):
    line = wire()
    line.ask(request("O", "timestamp,actual_q,robot_mode,runtime_state,actual_digital_input_bits", 500.0))
    line.ask(request("S"))
    line.outputs.set("timestamp", 1.5)
    line.outputs.set_vector("actual_q", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    line.outputs.set("robot_mode", 7)
    line.outputs.set("runtime_state", 2)
    line.outputs.set("actual_digital_input_bits", 1 << 17)
    expected = struct.pack(">HBB7diIQ", 4 + 72, 85, 1, 1.5, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 7, 2, 1 << 17)
    assert line.package() == expected


@pytest.mark.parametrize(
    ("version", "names", "size"),
    [
        ("3.15", RECEIVE + PAYLOAD, 1128),
        ("5.11", [*RECEIVE, *PAYLOAD, "ft_raw_wrench"], 1176),
        ("5.22", [*RECEIVE, *PAYLOAD, "ft_raw_wrench"], 1176),
        ("5.23", [*RECEIVE, *PAYLOAD, "ft_raw_wrench", "actual_current_as_torque"], 1224),
        ("10.12", RECEIVE, 1048),
    ],
)
def test_what_the_client_subscribes_to_has_the_size_known_of_it(wire, version, names, size):
    line = wire(version)
    answer = line.ask(request("O", ",".join(names) + ",", 500.0))
    assert b"NOT_FOUND" not in answer
    line.ask(request("S"))
    assert len(line.package()) == size + 4


def test_what_a_version_lacks_is_not_found(wire):
    line = wire("3.15")
    assert line.ask(request("O", "timestamp,ft_raw_wrench,nonsense", 125.0)).endswith(
        b"\x00DOUBLE,NOT_FOUND,NOT_FOUND"
    )
    assert line.ask(request("I", "nonsense,")).endswith(b"\x00NOT_FOUND")
    for name in VERSIONS:
        assert polyscope(name).name == name


def test_inputs_belong_to_whoever_asked_first_until_it_leaves(wire):
    line = wire()
    assert line.ask(request("I", "input_int_register_3")).endswith(b"\x01INT32")
    assert line.ask(request("I", "input_int_register_3,input_int_register_4")).endswith(b"\x02INT32,INT32")
    line.connect()
    assert line.ask(request("I", "input_int_register_3,input_int_register_5")).endswith(b"\x00IN_USE,INT32")
    assert line.ask(request("I", "input_int_register_5")).endswith(b"\x01INT32")
    line.sockets.pop(0).close()
    while line.server.clients > 1:
        line.serve()
    assert line.ask(request("I", "input_int_register_3")).endswith(b"\x02INT32")


def test_values_of_the_computer_arrive_and_frames_of_the_wrong_size_are_dropped(wire):
    line = wire()
    line.ask(request("I", "input_int_register_0,input_double_register_0,input_double_register_1"))
    line.tell(frame(Kind.DATA, struct.pack(">Bidd", 1, 11, 0.25, -0.5)), 1)
    assert line.inputs.get("input_int_register_0") == 11
    assert line.inputs.get("input_double_register_1") == -0.5
    for payload in (struct.pack(">Bid", 1, 12, 9.0), struct.pack(">Biddd", 1, 12, 9.0, 9.0, 9.0), b"\x02", b""):
        before = line.server.malformed
        line.tell(frame(Kind.DATA, payload), 2 + before)
        assert line.server.malformed == before + 1
    assert line.inputs.get("input_int_register_0") == 11


def test_packages_come_as_often_as_asked_for(wire):
    line = wire()
    line.ask(request("O", "timestamp", 125.0))
    line.ask(request("S"))
    for cycle in range(40):
        line.server.publish(cycle, 0.0)
    assert line.server.packages == 10


def test_frames_are_cut_from_the_stream_wherever_it_was_broken():
    data = frame(ord("v"), b"") + frame(ord("U"), b"\x01abc") + frame(ord("S"), b"")
    for size in range(1, len(data)):
        parser, found = FrameParser(), []
        for at in range(0, len(data), size):
            found += parser.feed(data[at : at + size])
        assert found == [Frame(ord("v"), b""), Frame(ord("U"), b"\x01abc"), Frame(ord("S"), b"")]
    with pytest.raises(DamagedError):
        FrameParser().feed(b"\x00\x01V")


def test_a_connection_that_sends_nonsense_is_dropped(wire):
    line = wire()
    line.sockets[-1].sendall(b"\x00\x00\x00\x00")
    while line.server.clients:
        line.serve()


def test_a_recipe_of_one_variable_packs_and_unpacks():
    table = Table(OUTPUTS)
    table.set("timestamp", 2.5)
    recipe = Recipe(table, ["timestamp"])
    assert recipe.pack() == struct.pack(">d", 2.5)
    assert recipe.unpack(recipe.pack()) == (2.5,)


def test_a_port_that_is_taken_is_explained(wire):
    line = wire()
    with pytest.raises(OutputError, match=r"need two addresses, such as host=127\.0\.0\.2"):
        TextServer(line.host, RTDE_PORT, lambda text: ("", ""))


SCRIPT = """def rtde_control():
    global reg_offset_float = # float register offset
24    global reg_offset_int = # int register offset
12
    def exec_move_path():
        textmsg("exec_move_path")
        # inject move path
	signal_async_progress(0)
	movej([0.1,-1.5,1.5,-1.5,-1.5,0],a=3,v=1.5,r=0)
	signal_async_progress(1)
	movel(p[-0.6,-0.3,7e-1,1.87,2.5,0],a=1.2,v=.25,r=0.01)
    end
end
"""


def test_a_script_is_taken_when_its_last_line_has_come():
    left, scripts = take_scripts(SCRIPT[:300])
    assert scripts == []
    left, scripts = take_scripts(left + SCRIPT[300:] + "def other():\n  stopj(2)\n")
    assert left == "def other():\n  stopj(2)\n"
    (script,) = scripts
    assert (script.name, script.float_offset, script.int_offset) == ("rtde_control", 24, 12)
    assert script.path == (
        0,
        PathMove("movej", False, (0.1, -1.5, 1.5, -1.5, -1.5, 0.0), 3.0, 1.5),
        1,
        PathMove("movel", True, (-0.6, -0.3, 0.7, 1.87, 2.5, 0.0), 1.2, 0.25),
    )


def test_lines_that_are_no_program_are_dropped():
    assert take_scripts("stopj(2)\n") == ("", [])


@pytest.fixture
def dashboard(tmp_path):
    def make(**settings):
        return Dashboard(Controller(ControllerSettings(**settings), tmp_path))

    return make


def test_the_dashboard_answers_what_the_client_asks(dashboard):
    panel = dashboard(polyscope="5.22", serial_number="20251234567")
    left, answers = panel.take("PolyscopeVersion\nget serial number\nis in remote control\nrunn")
    assert left == "runn"
    version, serial, remote = answers.splitlines()
    assert "5.22.0." in version
    assert serial == "20251234567"
    assert remote == "true"
    assert panel.take("stop\n") == ("", "Stopped\n")
    assert panel.take("dance\n") == ("", "could not understand: 'dance'\n")


def test_the_dashboard_unlocks_a_protective_stop_after_its_time(dashboard):
    panel = dashboard(unlock_delay=0.1)
    controller = panel._controller
    from pliant.envs.emulators.ur.safety import SafetyMode

    controller.trip(SafetyMode.PROTECTIVE_STOP, "test")
    assert "Cannot unlock" in panel.take("unlock protective stop\n")[1]
    assert panel.take("safetymode\n")[1] == "Safetymode: PROTECTIVE_STOP\n"
    for _ in range(60):
        controller.advance()
    assert panel.take("unlock protective stop\n")[1] == "Protective stop releasing\n"
    assert panel.take("safetystatus\n")[1] == "Safetystatus: NORMAL\n"


def test_local_control_refuses_what_would_change_something(dashboard):
    panel = dashboard(remote_control=False)
    assert "local control" in panel.take("stop\n")[1]
    assert panel.take("is in remote control\n")[1] == "false\n"


def test_the_arm_is_switched_off_and_on(dashboard):
    panel = dashboard()
    lines = ["power off", "robotmode", "power on", "robotmode", "brake release", "robotmode", "programstate"]
    _, answers = panel.take("".join(f"{line}\n" for line in lines))
    assert answers.splitlines() == [
        "Powering off",
        "Robotmode: POWER_OFF",
        "Powering on",
        "Robotmode: IDLE",
        "Brake releasing",
        "Robotmode: RUNNING",
        "STOPPED <unnamed>",
    ]
