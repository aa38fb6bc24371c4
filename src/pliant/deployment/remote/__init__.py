"""A controller as a process of its own: the messages, what carries them, the controller's side and the robot's."""
