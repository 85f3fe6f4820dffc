"""Model files: the network with its own preprocessing as ONNX, so that predicting needs no PyTorch."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tallymark.detector.network import Network
from tallymark.inference.metadata import KEY, ModelMetadata

INPUT = "input"


class Readout(nn.Module):
    """Bytes of (n, height, width, 3) to maps."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, pictures: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.network.readout(pictures.permute(0, 3, 1, 2).float()).values())


def export(network: Network, card: ModelMetadata, path: Path, *, half: bool = False) -> None:
    """Write the model file. `half`: weights in half precision, for half the size; they are computed with as ever."""
    import onnx

    readout = Readout(copy.deepcopy(network).cpu().float().eval())
    example = network.reader.example()
    with torch.inference_mode():
        names = list(readout.network.readout(example.permute(0, 3, 1, 2).float()))
    unfinished = path.with_suffix(".new")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            readout,
            (example,),
            str(unfinished),
            input_names=[INPUT],
            output_names=names,
            dynamic_axes={INPUT: {0: "count", 1: "down", 2: "across"}},
            opset_version=network.reader.opset,
            dynamo=False,  # the newer exporter needs half a minute for what this one does in one second
        )
    proto = onnx.load(str(unfinished))
    if half:
        _halve(proto)
    proto.metadata_props.append(onnx.StringStringEntryProto(key=KEY, value=card.text()))
    onnx.save(proto, str(unfinished))
    unfinished.replace(path)


def _halve(proto: Any) -> None:
    """Keep the large weights in half precision, each with a node that widens it again when the file is opened."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    graph = proto.graph
    for initializer in list(graph.initializer):
        if initializer.data_type != TensorProto.FLOAT or np.prod(initializer.dims) < 256:
            continue
        name, narrow = initializer.name, f"{initializer.name}_half"
        values = numpy_helper.to_array(initializer).astype(np.float16)
        graph.initializer.remove(initializer)
        graph.initializer.append(numpy_helper.from_array(values, narrow))
        graph.node.insert(0, helper.make_node("Cast", [narrow], [name], to=TensorProto.FLOAT))
