"""A model file as initial weights: the network computes what the model does, in training too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from torch import Tensor, nn

from tallymark.core.problems import BadInput
from tallymark.detector.network import Network
from tallymark.inference.metadata import ModelMetadata
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.training.export import export
from tallymark.training.model_weights import restore_batch_norm
from tallymark.training.network import make_network

RECIPE = ImageRecipe().replace(width=4, neck=8, task="masks")
IMAGES = torch.from_numpy(np.random.default_rng(0).integers(0, 255, (4, 3, 64, 64)).astype(np.float32))


@pytest.fixture
def trained() -> Network[Any]:
    """A network with the statistics that a training leaves in its batch norm."""
    network = make_network(RECIPE.replace(seed=3), 1)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 2)
            nn.init.normal_(module.bias)
    network.train()
    for _ in range(30):
        network(IMAGES)
    return network.eval()


@pytest.fixture
def model(trained: Network[Any], tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    export(trained, ModelMetadata("ships", RECIPE), path, half=True)
    return path


def outputs(network: Network[Any]) -> dict[str, Tensor]:
    with torch.no_grad():
        return network(IMAGES)


def assert_close(one: dict[str, Tensor], other: dict[str, Tensor], tolerance: float = 1e-3) -> None:
    for name, values in one.items():
        scale = values.abs().max() + 1
        assert (values - other[name]).abs().max() / scale < tolerance, name


def test_the_network_computes_what_the_model_does(trained: Network[Any], model: Path) -> None:
    network = make_network(RECIPE.replace(weights=str(model)), 1).eval()
    assert network.head_fitted
    assert_close(outputs(trained), outputs(network))


def test_frozen_stages_are_loaded_too(trained: Network[Any], model: Path) -> None:
    network = make_network(RECIPE.replace(weights=str(model), frozen_stages=3), 1).eval()
    assert_close(outputs(trained), outputs(network))


def test_restored_batch_norm_computes_the_same(trained: Network[Any], model: Path) -> None:
    network = make_network(RECIPE.replace(weights=str(model)), 1).eval()
    restore_batch_norm(network, IMAGES)
    assert_close(outputs(trained), outputs(network))


def test_restored_batch_norm_computes_the_same_in_training(trained: Network[Any], model: Path) -> None:
    network = make_network(RECIPE.replace(weights=str(model)), 1)
    before = outputs(network.train())
    network = make_network(RECIPE.replace(weights=str(model)), 1)
    restore_batch_norm(network, IMAGES)
    after = outputs(network.train())
    assert_close(outputs(trained), after, 0.02)
    with pytest.raises(AssertionError):
        assert_close(outputs(trained), before, 0.02)


def test_another_head_is_not_loaded(model: Path) -> None:
    network = make_network(RECIPE.replace(weights=str(model), task="boxes"), 1).eval()
    assert not network.head_fitted
    same = make_network(RECIPE.replace(weights=str(model)), 1).eval()
    ours, theirs = (one.backbone(IMAGES)[-1] for one in (network, same))
    assert torch.equal(ours, theirs)


def test_another_backbone_is_refused(model: Path) -> None:
    with pytest.raises(BadInput, match=r"other_weights.*backbone, width and depth"):
        make_network(RECIPE.replace(weights=str(model), width=6), 1)


def test_a_layer_without_weights_as_numbers_is_refused(model: Path) -> None:
    proto = onnx.load(model)
    first = next(node for node in proto.graph.node if node.op_type == "Conv")
    first.input[1] = "input"
    onnx.save(proto, model)
    with pytest.raises(BadInput, match="quantised"):
        make_network(RECIPE.replace(weights=str(model)), 1)


def _weight(proto: Any) -> Any:
    first = next(node for node in proto.graph.node if node.op_type == "Conv")
    return next(one for one in proto.graph.initializer if one.name == first.input[1])


def _bias(proto: Any) -> Any:
    last = [node for node in proto.graph.node if node.op_type == "Conv"][-1]
    return next(one for one in proto.graph.initializer if one.name == last.input[2])


def _every(proto: Any, kind: str) -> list[Any]:
    return [node for node in proto.graph.node if node.op_type == kind]


DAMAGE: dict[str, Callable[[Any], object]] = {
    "a convolution without inputs": lambda proto: _every(proto, "Conv")[0].ClearField("input"),
    "a convolution without weights": lambda proto: _every(proto, "Conv")[0].input.pop(1),
    "a bias that is not there": lambda proto: _every(proto, "Conv")[0].input.insert(2, "nothing"),
    "weights that are cut": lambda proto: setattr(_weight(proto), "raw_data", _weight(proto).raw_data[:-4]),
    "weights in odd bytes": lambda proto: setattr(_weight(proto), "raw_data", _weight(proto).raw_data[:-1]),
    "weights of no shape": lambda proto: _weight(proto).ClearField("dims"),
    "weights as large as a disk": lambda proto: _weight(proto).dims.__setitem__(0, 1 << 40),
    "one number as weights": lambda proto: _weight(proto).CopyFrom(
        onnx.numpy_helper.from_array(np.float32(1), _weight(proto).name)
    ),
    "weights of no type": lambda proto: setattr(_weight(proto), "data_type", 99),
    "a constant that goes nowhere": lambda proto: proto.graph.node.add(op_type="Constant").attribute.add(name="value"),
    "a cast of nothing": lambda proto: proto.graph.node.add(op_type="Cast"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_or_foreign_model_is_refused(damage: str, trained: Network[Any], tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    export(trained, ModelMetadata("ships", RECIPE), model)
    proto = onnx.load(model)
    DAMAGE[damage](proto)
    onnx.save(proto, model)
    with pytest.raises(BadInput, match=r"bad_model|other_weights"):
        make_network(RECIPE.replace(weights=str(model)), 1)


def test_a_model_with_a_damaged_part_that_prediction_does_not_need_is_refused(model: Path) -> None:
    graph, cut_input = b"\x3a\x03", b"\x5a\x01\x0a"
    model.write_bytes(model.read_bytes() + graph + cut_input)
    with pytest.raises(BadInput, match="bad_model"):
        make_network(RECIPE.replace(weights=str(model)), 1)


def test_a_head_with_a_bias_of_another_size_is_not_loaded(trained: Network[Any], tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    export(trained, ModelMetadata("ships", RECIPE), model)
    proto = onnx.load(model)
    bias = _bias(proto)
    bias.CopyFrom(onnx.numpy_helper.from_array(np.zeros(3, np.float32), bias.name))
    onnx.save(proto, model)
    assert not make_network(RECIPE.replace(weights=str(model)), 1).head_fitted


def test_a_model_that_is_not_there_is_said(tmp_path: Path) -> None:
    for name, kind in (("model.onnx", "bad_model"), ("model.pt", "bad_weights")):
        with pytest.raises(BadInput, match=f"{kind}: found no such file or directory"):
            make_network(RECIPE.replace(weights=str(tmp_path / name)), 1)


def test_no_other_file_is_taken_for_a_model(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"no model")
    with pytest.raises(BadInput):
        make_network(RECIPE.replace(weights=str(path)), 1)
