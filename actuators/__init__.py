"""One joint: compliance laws, motor, friction, PID, operation modes, and the MuJoCo callbacks that run them."""

from pliant.actuators.callbacks import (
    Backend,
    CallbackOwnershipError,
    current_backend,
    install,
    uninstall,
)
from pliant.actuators.drive import Affine, Drive, DriveKind, find_drive, link_drive, motor_drive
from pliant.actuators.drives.position_loop import position_loop
from pliant.actuators.joint import CompliantJoint, Reference
from pliant.actuators.law import Compliance, Law, Preset, compliance_law
from pliant.actuators.laws import find_law, law_names
from pliant.actuators.model import (
    JointOnModel,
    compile_model,
    compliant_joints,
    load_model,
    prepare_model,
    save_model,
)
from pliant.actuators.modes import Mode
from pliant.actuators.motor import Motor, Pivot
from pliant.actuators.mounting import add_compliant_joint
from pliant.actuators.parameters import Parameter
from pliant.actuators.pid import LINK_PID, PID
from pliant.actuators.protection import ServoStatus, restart_servo, servo_status
from pliant.actuators.references import antagonistic, antagonistic_inverse, direct
from pliant.actuators.servo import ServoDrive
from pliant.actuators.signals import JointReader, trace_joint
from pliant.actuators.stability import Margin, StabilityError, stability_margin
from pliant.actuators.structs import StructLayoutError
from pliant.actuators.units import HINGE, SLIDE, JointUnits

__all__ = [
    "HINGE",
    "LINK_PID",
    "PID",
    "SLIDE",
    "Affine",
    "Backend",
    "CallbackOwnershipError",
    "Compliance",
    "CompliantJoint",
    "Drive",
    "DriveKind",
    "JointOnModel",
    "JointReader",
    "JointUnits",
    "Law",
    "Margin",
    "Mode",
    "Motor",
    "Parameter",
    "Pivot",
    "Preset",
    "Reference",
    "ServoDrive",
    "ServoStatus",
    "StabilityError",
    "StructLayoutError",
    "add_compliant_joint",
    "antagonistic",
    "antagonistic_inverse",
    "compile_model",
    "compliance_law",
    "compliant_joints",
    "current_backend",
    "direct",
    "find_drive",
    "find_law",
    "install",
    "law_names",
    "link_drive",
    "load_model",
    "motor_drive",
    "position_loop",
    "prepare_model",
    "restart_servo",
    "save_model",
    "servo_status",
    "stability_margin",
    "trace_joint",
    "uninstall",
]
