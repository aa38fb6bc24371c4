"""Wrist force-torque sensors: reading, conditioning, and the tool that hangs on one."""
