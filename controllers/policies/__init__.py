"""Policies of every kind behind one interface: learned networks, exported ones, feed-forwards and controllers."""

from pliant.controllers.policies.controlled import ControllerPolicy
from pliant.controllers.policies.feedforward import FeedForwardPolicy
from pliant.controllers.policies.loading import load_policy, made_for, period_of
from pliant.controllers.policies.normalisation import Normalisation
from pliant.controllers.policies.onnx import OnnxPolicy, compare_onnx, export_onnx, onnx_content
from pliant.controllers.policies.sanity import RandomPolicy, ZeroPolicy
from pliant.controllers.policies.sb3 import SB3Policy

__all__ = [
    "ControllerPolicy",
    "FeedForwardPolicy",
    "Normalisation",
    "OnnxPolicy",
    "RandomPolicy",
    "SB3Policy",
    "ZeroPolicy",
    "compare_onnx",
    "export_onnx",
    "load_policy",
    "made_for",
    "onnx_content",
    "period_of",
]
