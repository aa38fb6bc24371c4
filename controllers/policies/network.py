"""From the network of a stable-baselines3 policy to an ONNX graph, layer by layer.

Written out by hand because it is short, and because the exporters of torch change from release to release.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.controllers.policies.normalisation import Normalisation
from pliant.controllers.policies.sb3 import SB3Policy
from pliant.errors import ConfigurationError

if TYPE_CHECKING:
    from onnx import ModelProto

_OPSET = 17
_IR_VERSION = 8

_ACTIVATIONS: dict[str, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    "ELU": ("Elu", lambda layer: {"alpha": layer.alpha}),
    "LeakyReLU": ("LeakyRelu", lambda layer: {"alpha": layer.negative_slope}),
    "ReLU": ("Relu", lambda layer: {}),
    "SELU": ("Selu", lambda layer: {}),
    "Sigmoid": ("Sigmoid", lambda layer: {}),
    "Softsign": ("Softsign", lambda layer: {}),
    "Tanh": ("Tanh", lambda layer: {}),
}
"""Activation layers of torch: the operator, and its attributes."""

_TRANSPARENT = ("Dropout", "Flatten", "FlattenExtractor", "Identity")
"""Layers that do nothing to one vector when a policy runs."""


def onnx_network(policy: SB3Policy) -> "ModelProto":
    """Return the graph from `observation` to `action`: normaliser, layers, limits.

    Raises:
        ConfigurationError: the policy has a layer that is not in the table above.
    """
    from onnx import TensorProto, checker, helper

    graph = _Graph()
    value = "observation"
    if policy.normalisation is not None:
        value = _normalise(graph, value, policy.normalisation)
    for layer in _layers(policy.model):
        value = _add_layer(graph, value, layer)
    if policy.chooses:
        value = graph.add("Softmax", [value], axis=-1)
        value = graph.add("Mul", [value, graph.constant(np.float32(2.0))])
        value = graph.add("Sub", [value, graph.constant(np.float32(1.0))])
    graph.add("Clip", [value, graph.constant(np.float32(-1.0)), graph.constant(np.float32(1.0))], output="action")
    sizes = {"observation": len(policy.info.observations), "action": len(policy.info.actions)}
    tensors = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", k]) for name, k in sizes.items()}
    model = helper.make_model(
        helper.make_graph(graph.nodes, "policy", [tensors["observation"]], [tensors["action"]], graph.constants),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="pliant",
    )
    checker.check_model(model, full_check=True)
    return model


@dataclass
class _Graph:
    """A graph that grows node by node."""

    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def constant(self, value: Any) -> str:
        """Add numbers and return their name."""
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, operator: str, inputs: list[str], output: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its value."""
        from onnx import helper

        name = output or f"value_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name


def _normalise(graph: _Graph, value: str, normalisation: Normalisation) -> str:
    """Add the normaliser, in double precision as in training."""
    from onnx import TensorProto

    limit = normalisation.clip
    value = graph.add("Cast", [value], to=TensorProto.DOUBLE)
    value = graph.add("Sub", [value, graph.constant(normalisation.mean)])
    value = graph.add("Div", [value, graph.constant(normalisation.deviation)])
    value = graph.add("Clip", [value, graph.constant(np.float64(-limit)), graph.constant(np.float64(limit))])
    return graph.add("Cast", [value], to=TensorProto.FLOAT)


def _layers(model: Any) -> Iterator[Any]:
    """The modules that an observation passes on its way to the deterministic action."""
    policy = model.policy
    if hasattr(policy, "mlp_extractor"):  # actor and critic in one: PPO, A2C
        shared = policy.share_features_extractor
        yield policy.features_extractor if shared else policy.pi_features_extractor
        yield from _flat(policy.mlp_extractor.policy_net)
        yield from _flat(policy.action_net)
        if policy.squash_output:
            yield _torch_layer("Tanh")
        return
    actor = getattr(policy, "actor", None)
    if actor is None:
        raise ConfigurationError(f"a policy of {type(model).__name__} cannot be exported: it has no actor.")
    yield actor.features_extractor
    if hasattr(actor, "latent_pi"):  # SAC, TQC: a squashed normal distribution
        yield from _flat(actor.latent_pi)
        yield from _flat(actor.mu)
        yield _torch_layer("Tanh")
    else:  # TD3, DDPG
        yield from _flat(actor.mu)


def _flat(module: Any) -> Iterator[Any]:
    """The layers of a sequence, or the module itself."""
    if type(module).__name__ == "Sequential":
        for layer in module:
            yield from _flat(layer)
    else:
        yield module


def _torch_layer(name: str) -> Any:
    import torch

    return getattr(torch.nn, name)()


def _add_layer(graph: _Graph, value: str, layer: Any) -> str:
    kind = type(layer).__name__
    if kind in _TRANSPARENT:
        return value
    if kind == "Linear":
        numbers = [graph.constant(_numbers(n)) for n in (layer.weight, layer.bias) if n is not None]
        return graph.add("Gemm", [value, *numbers], transB=1)
    if kind == "Hardtanh":
        limits = (graph.constant(np.float32(layer.min_val)), graph.constant(np.float32(layer.max_val)))
        return graph.add("Clip", [value, *limits])
    if kind not in _ACTIVATIONS:
        known = ", ".join(("Linear", "Hardtanh", *_ACTIVATIONS))
        raise ConfigurationError(f"the network has a layer {kind!r}, which cannot be exported. Can be: {known}.")
    operator, attributes = _ACTIVATIONS[kind]
    return graph.add(operator, [value], **attributes(layer))


def _numbers(parameter: Any) -> NDArray[np.float32]:
    values: NDArray[np.float32] = parameter.detach().cpu().numpy()
    return values
