"""Post-training quantisation: a model file whose convolutions compute in int8, calibrated on real tiles.

The result is a model file like any other, in which pairs of operators (QuantizeLinear, DequantizeLinear) state the
scale of weights, by channel, and of activations (Jacob et al. 2018; Wu et al. 2020). Runtimes replace them and what is
between them by integer kernels. The last layers stay in float: they are a small part of the work.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from onnx import ModelProto

QUANTIZED = ("Conv", "Add", "Clip", "Relu", "Resize")
"""Operators on int8. Activations are measured behind Clip and Relu, which have a narrower range than before them."""
LAYERS = ("Conv", "Gemm", "MatMul")
"""Operators with weights."""


def quantize_model(data: bytes, tiles: Iterable[np.ndarray]) -> bytes:
    """The bytes of a model in int8, without metadata. tiles: (height, width, channels) each, at least one."""
    import onnx
    from onnxruntime import quantization

    with tempfile.TemporaryDirectory() as temporary, _quiet():
        source, target = Path(temporary) / "single.onnx", Path(temporary) / "int8.onnx"
        _write_single_precision(data, source)
        single = onnx.load(str(source))
        quantization.quantize_static(
            single,
            str(target),
            _Reader(single.graph.input[0].name, tiles),
            quant_format=quantization.QuantFormat.QDQ,
            per_channel=True,
            reduce_range=True,  # weights of 7 bits: without VNNI instructions, sums of 8 would saturate
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
            op_types_to_quantize=list(QUANTIZED),
            nodes_to_exclude=_last_layers(single),
        )
        quantized = onnx.load(str(target))
    del quantized.metadata_props[:]
    used = {node.domain for node in quantized.graph.node}
    for opset in [one for one in quantized.opset_import if one.domain not in used]:  # ONNX Runtime adds all of its own
        quantized.opset_import.remove(opset)
    return bytes(quantized.SerializeToString())


def _write_single_precision(data: bytes, path: Path) -> None:
    """Write a model with all constants computed: weights that are stored in half precision become single again."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def _last_layers(model: ModelProto) -> list[str]:
    """The names of the nodes that give the outputs, up to the last ones with weights."""
    maker = {name: node for node in model.graph.node for name in node.output}
    found = set[str]()
    waiting = [output.name for output in model.graph.output]
    while waiting:
        node = maker.get(waiting.pop())
        if node is None or node.name in found:
            continue
        found.add(node.name)
        if node.op_type not in LAYERS:
            waiting += node.input
    return sorted(found)


class _Reader:
    """Tiles as the calibration asks for them; a `CalibrationDataReader` by its methods."""

    def __init__(self, input_name: str, tiles: Iterable[np.ndarray]) -> None:
        self._inputs = ({input_name: tile[None]} for tile in tiles)

    def get_next(self) -> dict[str, Any] | None:
        return next(self._inputs, None)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warning that a model should be preprocessed: it is."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)
