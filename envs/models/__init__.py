"""MuJoCo models of the robots, built from data with `MjSpec`."""
