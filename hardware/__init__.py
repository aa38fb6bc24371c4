"""One robot: the interface that simulated and real machines serve alike, its drivers and their safety."""
