import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box

from pliant.controllers.policies import Normalisation
from pliant.controllers.policy import PolicyInfo
from pliant.hardware.robot import Channel


class Still(gymnasium.Env):
    """An environment in which nothing happens: something to make a network for."""

    observation_space = Box(-10.0, 10.0, (5,), np.float32)
    action_space = Box(-1.0, 1.0, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(5, np.float32), {}

    def step(self, action):
        return np.zeros(5, np.float32), 0.0, False, False, {}


@pytest.fixture(scope="session")
def still():
    return Still


@pytest.fixture(scope="session")
def info():
    bounds = {"position": 3.14, "velocity": 20.0, "torque": 10.0, "equilibrium_command": 1.57, "goal": 0.8}
    units = {"position": "rad", "velocity": "rad/s", "torque": "N·m", "equilibrium_command": "rad", "goal": "rad"}
    return PolicyInfo(
        robot="rig",
        joints=("joint",),
        observations=tuple(Channel(f"joint/{n}", units[n], -top, top) for n, top in bounds.items()),
        actions=(Channel("joint/equilibrium", "rad", -1.57, 1.57), Channel("joint/preset", "rad", 0.0, 0.6)),
        period=0.02,
        origin={"environment": ["env=joint", "task=reach"]},
    )


@pytest.fixture(scope="session")
def normalisation():
    """One entry hardly ever varied, as a preset that is held."""
    return Normalisation(
        mean=np.array([0.3, -2.0, 0.1, 1.2345678, 0.0]),
        variance=np.array([0.5, 30.0, 2.0, 1e-12, 0.2]),
        clip=10.0,
        epsilon=1e-8,
    )


@pytest.fixture(scope="session")
def make_model():
    """Makes an algorithm with a network as at random, whose actions fill their range and go beyond it."""
    torch = pytest.importorskip("torch")
    sb3 = pytest.importorskip("stable_baselines3")
    contrib = pytest.importorskip("sb3_contrib")

    def make(name, **policy_kwargs):
        algorithm = getattr(contrib if name == "TQC" else sb3, name)
        small = {} if name in ("PPO", "A2C") else {"buffer_size": 10}
        kwargs = {"net_arch": [16, 16], **policy_kwargs}
        model = algorithm("MlpPolicy", Still(), policy_kwargs=kwargs, seed=0, device="cpu", **small)
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for parameter in model.policy.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.4)
        return model

    return make
