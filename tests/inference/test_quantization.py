"""Quantised models: integer kernels, outputs close to those of the source, and a file that every guard accepts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tallymark.inference.metadata import KEY
from tallymark.inference.onnx_file import metadata_text, read_model, with_metadata
from tallymark.inference.quantization import quantize_model
from tallymark.inference.session import Session
from tallymark.modalities import modality_of
from tests.untrained import SMALL, untrained

onnx = pytest.importorskip("onnx")
CHANGES: dict[str, dict[str, object]] = {"pillars": {"bev_encoder": "pillars", "max_points": 2000}}


def tiles_of(session: Session, count: int) -> list[np.ndarray]:
    recipe, rng = session.metadata.recipe, np.random.default_rng(1)
    return [modality_of(recipe).synthetic_tile(recipe, rng) for _ in range(count)]


@pytest.mark.parametrize("name", [*sorted(SMALL), "pillars"])
def test_a_quantised_model_is_a_model_with_about_the_same_outputs(name: str, tmp_path: Path) -> None:
    source = untrained("lyft" if name == "pillars" else name, tmp_path / "model.onnx", **CHANGES.get(name, {}))
    session = Session(source, threads=1)
    tiles = tiles_of(session, 3)
    text = metadata_text(source.read_bytes(), KEY)
    quantized = quantize_model(source.read_bytes(), iter(tiles))
    assert metadata_text(quantized, KEY) == ""
    path = tmp_path / "int8.onnx"
    path.write_bytes(with_metadata(quantized, KEY, text))
    assert read_model(path)  # the guards of foreign files
    again = Session(path, threads=1)
    assert again.metadata == session.metadata
    for output, right in session(tiles[0][None]).items():
        found = again(tiles[0][None])[output]
        assert np.abs(found - right).max() > 0
        assert np.sqrt(np.mean((found - right) ** 2)) < 0.02


def test_weights_are_whole_numbers_and_the_last_layers_stay_in_float(tmp_path: Path) -> None:
    source = untrained("wheat", tmp_path / "model.onnx")
    model = onnx.load_from_string(quantize_model(source.read_bytes(), tiles_of(Session(source, threads=1), 1)))
    assert {opset.domain for opset in model.opset_import} == {""}
    maker = {name: node for node in model.graph.node for name in node.output}
    weights = {node.name: node.input[1] for node in model.graph.node if node.op_type == "Conv"}
    in_float = {name for name, weight in weights.items() if weight not in maker}
    assert in_float == {"/network/head/heatmap/Conv", "/network/head/regression/Conv"}
    stored = {one.name: one.data_type for one in model.graph.initializer}
    for name in weights.keys() - in_float:
        dequantize = maker[weights[name]]
        assert dequantize.op_type == "DequantizeLinear"
        assert stored[dequantize.input[0]] == onnx.TensorProto.INT8


def test_weights_in_half_precision_are_quantised_too(tmp_path: Path) -> None:
    source = untrained("wheat", tmp_path / "model.onnx", half=True)
    tiles = tiles_of(Session(source, threads=1), 1)
    stored = [
        {one.data_type for one in onnx.load_from_string(data).graph.initializer}
        for data in (source.read_bytes(), quantize_model(source.read_bytes(), tiles))
    ]
    assert [onnx.TensorProto.FLOAT16 in one for one in stored] == [True, False]
    assert onnx.TensorProto.INT8 in stored[1]
