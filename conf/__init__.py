"""Hydra configuration: one group per choice a user makes."""
