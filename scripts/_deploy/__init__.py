"""The parts of `pliant deploy`: what is played on a machine, and what is told of it."""
