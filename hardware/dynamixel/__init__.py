"""Dynamixel servos: control tables, packets, the serial port, the bus and the robot on it."""
