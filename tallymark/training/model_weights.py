"""Initial weights from a model file, as the pretrained ones are: batch norm is folded into its convolutions there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from tallymark.core.problems import BadInput, Problem
from tallymark.detector.network import Network
from tallymark.inference.onnx_file import REMEDY, read_model

if TYPE_CHECKING:
    from onnx import ModelProto

LAYERS = ("Conv", "Gemm")
"""Operators of a model file that have weights, in the order in which a network applies them."""
PASSED_ON = ("Cast", "Identity")
"""Operators between a stored weight and its layer: weights in half precision are cast, equal ones are stored once."""
BACKBONE = "backbone."


class Layer(NamedTuple):
    """A convolution or linear layer of a network, by its name, and the batch norm that follows it, if any does."""

    name: str
    module: nn.Conv2d | nn.Linear
    batch_norm: str = ""


class StoredLayer(NamedTuple):
    weight: Tensor
    bias: Tensor


def load_model_weights(network: Network[Any], path: Path) -> bool:
    """Load a network's backbone from a model file; neck and head too, if the network is the same.

    Returns whether neck and head were loaded. Every batch norm passes its input on, but for the bias, until
    `restore_batch_norm` is called.
    """
    layers = _layers_of(network)
    stored, others = _read_layers(path)
    own = [layer for layer in layers if layer.name.startswith(BACKBONE)]
    if wrong := _difference(own, stored):
        remedy = "choose the backbone, width and depth that the model was trained with"
        raise BadInput(Problem("other_weights", str(path), wrong, "the weights of the backbone", remedy))
    in_layers = {name for layer in layers for name in _state_of(network, layer)}
    rest = {name: values.shape for name, values in network.named_parameters() if name not in in_layers}
    same = len(layers) == len(stored) and not _difference(layers, stored)
    same = same and all(name in others and others[name].shape == shape for name, shape in rest.items())
    state = {name: others[name] for name in rest} if same else {}
    for layer, values in zip(layers if same else own, stored, strict=False):
        state |= _state_of(network, layer, values)
    network.load_state_dict(state, strict=False)
    network.batch_norm_folded = True
    return same


@torch.no_grad()
def restore_batch_norm(network: Network[Any], inputs: Tensor) -> None:
    """Give every batch norm the statistics of its input, for a network that computes the same.

    Training normalises by the statistics of a batch: without this, its first step would change all activations.
    """
    layers = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    hooks = [layer.register_forward_pre_hook(_restore) for layer in layers]
    training = network.training
    network.eval()(inputs)
    network.train(training)
    for hook in hooks:
        hook.remove()


def _restore(layer: nn.Module, inputs: tuple[Tensor]) -> None:
    """Exchange the statistics of a batch norm for those of its input, and scale and shift as that demands."""
    assert isinstance(layer, nn.BatchNorm2d)
    assert layer.running_mean is not None
    assert layer.running_var is not None
    variance, mean = torch.var_mean(inputs[0].float(), (0, 2, 3), correction=0)
    scale = layer.weight / (layer.running_var + layer.eps).sqrt()
    layer.bias.add_(scale * (mean - layer.running_mean))
    layer.weight.copy_(scale * (variance + layer.eps).sqrt())
    layer.running_mean.copy_(mean)
    layer.running_var.copy_(variance)


@torch.no_grad()
def _layers_of(network: Network[Any]) -> list[Layer]:
    """The layers with weights, in the order in which the network applies them."""
    layers: list[Layer] = []

    def note(name: str, module: nn.Module) -> None:
        if isinstance(module, nn.BatchNorm2d):
            layers[-1] = layers[-1]._replace(batch_norm=name)
        elif isinstance(module, nn.Conv2d | nn.Linear):
            layers.append(Layer(name, module))

    hooks = [
        module.register_forward_hook(lambda module, inputs, outputs, name=name: note(name, module))
        for name, module in network.named_modules()
    ]
    training = network.training
    network.eval()(network.encoder.example().permute(0, 3, 1, 2).float())
    network.train(training)
    for hook in hooks:
        hook.remove()
    return layers


def _state_of(network: Network[Any], layer: Layer, values: StoredLayer | None = None) -> dict[str, Tensor]:
    """The part of the state dict that belongs to a layer and its batch norm; with the given values, or its own."""
    weight, bias = values or StoredLayer(layer.module.weight, torch.empty(0))
    state = {f"{layer.name}.weight": weight.reshape(layer.module.weight.shape)}
    if layer.module.bias is not None:
        state[f"{layer.name}.bias"] = bias
    if layer.batch_norm:
        norm = network.get_submodule(layer.batch_norm)
        assert isinstance(norm, nn.BatchNorm2d)
        ones = torch.ones(len(weight))
        state[f"{layer.batch_norm}.weight"] = ones
        state[f"{layer.batch_norm}.bias"] = bias
        state[f"{layer.batch_norm}.running_mean"] = torch.zeros(len(weight))
        state[f"{layer.batch_norm}.running_var"] = ones - norm.eps
    return state


def _difference(layers: Sequence[Layer], stored: Sequence[StoredLayer]) -> str:
    """The first layer that a model file lacks or has in another shape; nothing if there is none."""
    for number, layer in enumerate(layers):
        if number == len(stored):
            return f"nothing for {layer.name}"
        weight, bias = (tuple(values.shape) for values in stored[number])
        shape = tuple(layer.module.weight.shape)
        if weight != shape:
            return f"{weight} in place of {shape} for {layer.name}"
        if bias != shape[:1]:
            return f"a bias of {bias} in place of {shape[:1]} for {layer.name}"
    return ""


def _read_layers(path: Path) -> tuple[list[StoredLayer], dict[str, Tensor]]:
    """The layers of a model file in their order, and all stored weights by their names in the network."""
    import onnx
    from google.protobuf.message import DecodeError

    data = read_model(path)
    try:
        proto = onnx.load_from_string(data)
        values = _stored_values(proto)
    except (DecodeError, IndexError, ValueError):  # `read_model` has only looked at what prediction needs
        found = "a network or weights that are not what they are said to be"
        raise BadInput(Problem("bad_model", str(path), found, "a model of this package", REMEDY)) from None
    layers = []
    for node in proto.graph.node:
        if node.op_type not in LAYERS:
            continue
        _, weight_name, bias_name = [*node.input, "", "", ""][:3]
        weight = values.get(weight_name)
        if weight is None or (bias_name and bias_name not in values):
            found, expected = f"{node.name} without such weights", "weights as numbers of 16 or 32 bits"
            remedy = "use the model before it was quantised"
            raise BadInput(Problem("other_weights", str(path), found, expected, remedy))
        layers.append(StoredLayer(weight, values[bias_name] if bias_name else torch.zeros(weight.shape[:1])))
    return layers, {name.removeprefix("network."): value for name, value in values.items()}


def _stored_values(proto: ModelProto) -> dict[str, Tensor]:
    """The weights of a model file by name, in single precision."""
    from onnx import TensorProto, numpy_helper

    kinds = (TensorProto.FLOAT, TensorProto.FLOAT16)
    constants = [node for node in proto.graph.node if node.op_type == "Constant"]  # frozen stages are such
    tensors = {one.name: one for one in proto.graph.initializer}
    tensors |= {node.output[0]: one.t for node in constants for one in node.attribute if one.name == "value"}
    values = {
        name: torch.from_numpy(numpy_helper.to_array(one).copy()).float()
        for name, one in tensors.items()
        if one.data_type in kinds
    }
    for node in proto.graph.node:
        if node.op_type in PASSED_ON and node.input[0] in values:
            values[node.output[0]] = values[node.input[0]]
    return values
