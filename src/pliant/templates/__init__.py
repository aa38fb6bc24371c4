"""Files to begin a robot, a task, a controller or a law of one's own with, each with its test: `pliant new`.

What stands in the folders is whole and runs as it is; `write_template` copies it under another name.
"""
