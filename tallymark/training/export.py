"""Model files: a network as ONNX, with its metadata, so that prediction needs no torch."""

from __future__ import annotations

import copy
import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from tallymark.core.outputs import write_bytes
from tallymark.detector.network import Network
from tallymark.inference.metadata import KEY, ModelMetadata

if TYPE_CHECKING:
    from onnx import ModelProto

INPUT = "input"
MIN_HALVED = 256
"""Weights with fewer elements stay in single precision."""


class ExportedModel(nn.Module):
    """A network that takes inputs (n, height, width, channels), images as bytes, and gives its outputs as a tuple."""

    def __init__(self, network: Network[Any]) -> None:
        super().__init__()
        self.network = network

    def forward(self, inputs: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.network.predict(inputs.permute(0, 3, 1, 2).float()).values())


def export(network: Network[Any], metadata: ModelMetadata, path: Path, *, half: bool = False) -> None:
    """Write a model file. half: store weights in half precision, for half the size; computation stays in single."""
    import onnx

    model = ExportedModel(copy.deepcopy(network).cpu().float().eval())
    example = network.encoder.example()
    with torch.inference_mode():
        names = list(model.network.predict(example.permute(0, 3, 1, 2).float()))
    exported = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            (example,),
            exported,  # type: ignore[arg-type]  # the stub lacks files in memory
            input_names=[INPUT],
            output_names=names,
            dynamic_axes={INPUT: {0: "count", 1: "down", 2: "across"}},
            opset_version=network.encoder.opset,
            dynamo=False,  # the newer exporter needs half a minute for what this one does in one second
        )
    proto = onnx.load_from_string(exported.getvalue())
    if half:
        halve_weights(proto)
    proto.metadata_props.append(onnx.StringStringEntryProto(key=KEY, value=metadata.text()))
    write_bytes(path, proto.SerializeToString())


def halve_weights(proto: ModelProto) -> None:
    """Store the large weights in half precision, each followed by a cast to single precision."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    graph = proto.graph
    for initializer in list(graph.initializer):
        if initializer.data_type != TensorProto.FLOAT or np.prod(initializer.dims) < MIN_HALVED:
            continue
        name = initializer.name
        half_name = f"{name}_half"
        values = numpy_helper.to_array(initializer).astype(np.float16)
        graph.initializer.remove(initializer)
        graph.initializer.append(numpy_helper.from_array(values, half_name))
        graph.node.insert(0, helper.make_node("Cast", [half_name], [name], to=TensorProto.FLOAT))
