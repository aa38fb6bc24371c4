"""Benches in virtual time of machines of two motors."""

import atexit
import math

import numpy as np
import pytest

from pliant.hardware.dynamixel.config import DynamixelConfig, DynamixelJoint, ServoMount
from pliant.hardware.dynamixel.robot import DynamixelRobot
from pliant.hardware.dynamixel.tables import servo_model
from pliant.hardware.safety import SafeRobot

pytest.importorskip("dynamixel_sdk")
emulated = pytest.importorskip("pliant.envs.emulators.dynamixel.bus")
from tests.hardware.dynamixel.virtual_bus import Killed, VirtualBus  # noqa: E402

from pliant.envs.emulators.dynamixel.plants import ShaftPlant, bare_shaft  # noqa: E402
from pliant.envs.emulators.dynamixel.servo import ServoSettings  # noqa: E402

PERIOD = 0.02
XM, XL, AX = "XM430-W350", "XL430-W250", "AX-12A"
KINDS = ("position", "extended", "current_position", "compliant", "current", "pwm", "xl430", "ax12a")
"""Machines of two motors: every mode that the driver knows, both protocols, with and without a current sensor."""


def joints_of(kind):
    """Return the joints of a machine; all range over ±1 of their own unit."""
    if kind == "compliant":
        mounts = [ServoMount(1, XM), ServoMount(2, XM, direction=-1)]
        return [DynamixelJoint("elbow", mounts, -0.8, 0.8, preset=(0.0, 0.2))]
    model = {"xl430": XL, "ax12a": AX}.get(kind, XM)
    mode = "position" if kind in ("xl430", "ax12a") else kind
    torque = {"torque": 1.0} if kind in ("current", "current_position") else {}
    gentle = {"moving_speed": 200} if kind == "ax12a" else {}
    return [
        DynamixelJoint(f"j{i}", [ServoMount(i, model, settings=gentle)], -1.0, 1.0, mode=mode, **torque)
        for i in (1, 2)
    ]


class Bench(VirtualBus):
    """Two emulated servos on a wire, and the driver of a machine on them.

    Args:
        kind: of the machine, one of `KINDS`.
        others: of the `DynamixelConfig`.
    """

    def __init__(self, kind="position", **others):
        self.kind = kind
        joints = joints_of(kind)
        protocol = joints[0].servos[0].table.protocol
        others = {"watchdog": 0.2 if protocol == 2 else 0.0, "release_pause": 0.02, "period": PERIOD} | others
        self.config = DynamixelConfig(joints, "bench", **others)
        models = {mount.servo: mount.model for mount in self.config.mounts()}
        self.plant = ShaftPlant({servo: bare_shaft(model) for servo, model in models.items()})
        servos = tuple(ServoSettings(i, m, registers={"return_delay_time": 0}) for i, m in models.items())
        super().__init__(emulated.Bus(emulated.BusSettings(servos, lock_step=True), self.plant))
        self.model = servo_model(models[1])
        self.guards: list[SafeRobot] = []
        """Safety layers before this machine."""
        self.fastest = 0.0
        """Largest speed of any shaft since it was last set to 0, rad/s."""
        advance, plant = self.plant.advance, self.plant

        def watched(dt):
            advance(dt)
            speeds = [abs(plant[servo].velocity) for servo in models]
            self.fastest = max(self.fastest, *speeds)

        self.plant.advance = watched
        self.robot = DynamixelRobot(self.config, self)

    # What is done to the machine and seen of it

    def servo(self, number):
        return self.bus.axis(number)[1]

    def registers(self, name):
        for servo in self.bus.servos:
            servo.refresh()
        return [servo.memory[name] for servo in self.bus.servos]

    def speeds(self):
        return [abs(servo.reading.velocity) for servo in self.bus.servos]

    def journal(self, *registers, since=0.0):
        return [e for e in self.bus.journal if e.time >= since and (not registers or e.register in registers)]

    def place(self, *angles):
        """Turn the shafts by hand, rad from their middle."""
        for servo, angle in zip(self.bus.servos, angles, strict=True):
            self.plant[servo.id].position = self.model.zero_count * self.model.radians_per_count + angle
        self.sleep(0.002)

    @property
    def drive_register(self):
        """What drives a servo of this machine."""
        return {"current": "goal_current", "pwm": "goal_pwm"}.get(self.kind, "goal_position")

    @property
    def holds_position(self):
        return self.kind not in ("current", "pwm")

    def far_command(self):
        """A command that sets the machine in fast motion."""
        return np.where([c.unit == "1" for c in self.robot.info.command], 0.9, self.robot.info.high)

    def still_after(self, seconds):
        """Whether nothing moves any more after some time without a program."""
        self.sleep(seconds)
        before = [self.plant[servo.id].position for servo in self.bus.servos]
        self.sleep(0.3)
        after = [self.plant[servo.id].position for servo in self.bus.servos]
        return max(abs(a - b) for a, b in zip(after, before, strict=True)) < math.radians(0.2)


@pytest.fixture
def bench(monkeypatch):
    """Return `bench(kind, **config)`: a machine in virtual time, one at a time."""

    benches = []

    def make(kind="position", **others):
        made = Bench(kind, **others)
        benches.append(made)
        made.plug(monkeypatch)
        return made

    yield make
    for made in benches:
        # A test leaves its machine as it is; nobody walks it home when the tests end.
        for robot in made.guards:
            atexit.unregister(robot._close_at_exit)
            robot._interrupts.uninstall()


@pytest.fixture
def killed():
    return Killed
