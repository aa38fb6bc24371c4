"""Watching a simulated robot: in a window, in a browser, or as a film, with gauges of what is soft about it."""
