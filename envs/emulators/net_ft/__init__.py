"""An emulated Net F/T box: the force-torque sensor at the other end of the wire."""
