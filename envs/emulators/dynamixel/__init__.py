"""A bus of emulated Dynamixel servos on a pseudo-terminal: both protocols, real time or lock step."""
