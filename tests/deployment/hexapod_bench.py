"""The hexapod on its bus in virtual time: driver, packets, servos and MuJoCo with floor contact in one thread."""

from dataclasses import replace

import numpy as np
from tests.hardware.dynamixel.virtual_bus import VirtualBus

from pliant.deployment.machines import dynamixel_config
from pliant.envs import describe
from pliant.envs.emulated_robot import servo_map
from pliant.envs.emulators.dynamixel.bus import Bus, BusSettings
from pliant.envs.emulators.dynamixel.robot_plant import RobotPlant
from pliant.envs.emulators.dynamixel.servo import ServoSettings
from pliant.envs.models.hexapod import WALKING
from pliant.hardware.dynamixel.robot import DynamixelRobot
from pliant.hardware.limits import MotionLimits
from pliant.hardware.safety import SafeRobot
from pliant.hardware.safety_config import SafetyConfig

HEXAPOD = describe("hexapod")
CONFIG = dynamixel_config(HEXAPOD, "bench")
SAFETY = SafetyConfig(motion={"rad": MotionLimits(**HEXAPOD.limits["rad"])}, rest=HEXAPOD.rest)
QUICK = SafetyConfig(
    motion={"rad": MotionLimits(**{**HEXAPOD.limits["rad"], "walk_speed": 1.5})}, rest=HEXAPOD.rest
)
"""It goes to rest almost four times as fast."""
STANDING = replace(HEXAPOD, model=replace(HEXAPOD.model, start=replace(HEXAPOD.model.start, joints=WALKING)))
LYING = 0.025
"""Height of the trunk's middle when it lies on the ground, m."""


class HexapodBench(VirtualBus):
    """The machine, lying on its trunk, and its driver behind the safety layer.

    Args:
        description: of the machine; the usual one, where it rests, by default.
        supply: V.
        stop_key: of the safety layer.
        gap: of the machine.
        safety: of the safety layer.
        standing: whether its servos hold it on its feet from the beginning, as a program that was killed left it.
    """

    def __init__(
        self, description=HEXAPOD.lying, supply=None, stop_key=None, gap=None, safety=SAFETY, standing=False
    ):
        description = STANDING if standing else description
        simulated = description.simulated(0.001, randomisation=gap)
        self.plant = RobotPlant(simulated, servo_map(CONFIG), supply or 12.0, powering=supply is not None)
        servos = tuple(
            ServoSettings(mount.servo, mount.model, registers={"return_delay_time": 0})
            for mount in CONFIG.mounts()
        )
        super().__init__(Bus(BusSettings(servos, lock_step=True, goal_delay=0.02), self.plant))
        for servo in self.bus.servos if standing else ():
            servo.memory["torque_enable"] = 1
        self.data = simulated.data
        self.heights: list[tuple[float, float]] = []
        """Time, s, and height of the trunk, m, of every tick."""
        advance = self.plant.advance

        def watched(dt):
            advance(dt)
            self.heights.append((self.bus.now, self.height))

        self.plant.advance = watched
        self.guards: list[SafeRobot] = []
        """Further safety layers before this machine."""
        self.driver = DynamixelRobot(CONFIG, self)
        self.safe = SafeRobot(self.driver, safety, stop_key, self)

    @property
    def height(self):
        """Of the trunk, m."""
        return float(self.data.qpos[2])

    @property
    def tilt(self):
        """Of the trunk against the vertical, rad."""
        _, x, y, _ = self.data.qpos[3:7]
        return float(np.arccos(min(1.0 - 2.0 * (x * x + y * y), 1.0)))

    def sinking(self, since=0.0, over=0.05):
        """Return the largest speed at which the trunk came down since a time, m/s, averaged over a little."""
        z = np.array([height for time, height in self.heights if time >= since])
        ticks = round(over / 0.001)
        return float((z[:-ticks] - z[ticks:]).max() / over)

    def height_at(self, time):
        """Return the height of the trunk at a time, m."""
        times, heights = np.array(self.heights).T
        return float(np.interp(time, times, heights))

    def torque_off(self):
        """Return when each servo's torque was switched off last, by servo, s."""
        return {e.servo: e.time for e in self.bus.journal if e.register == "torque_enable" and e.value == 0}
