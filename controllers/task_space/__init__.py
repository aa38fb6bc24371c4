"""Task-space control: prioritised tasks of any robot with torque-controlled joints, by a model of its own."""
