"""Running what was learned on a machine: predicted by simulation, played behind the safety layer, and reported."""
