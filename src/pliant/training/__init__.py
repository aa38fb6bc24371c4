"""Reinforcement learning in simulation: environments and settings of a run, its loop, evaluation and sweeps.

What needs stable-baselines3 says so in its module's docstring and is imported when something is trained.
"""
