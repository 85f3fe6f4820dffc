"""OpenVINO: its settings for a process of its own and for several side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tallymark.inference.execution import Execution
from tallymark.inference.onnx_file import read_model
from tallymark.inference.runtimes.base import ModelFile
from tallymark.inference.runtimes.openvino import OpenVino, Precision
from tallymark.inference.session import Session
from tallymark.modalities import modality_of
from tests.untrained import untrained

openvino = pytest.importorskip("openvino")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelFile:
    path = untrained("wheat", tmp_path_factory.mktemp("openvino") / "model.onnx")
    return ModelFile(read_model(path), None, ("heat",), (64, 64, 3))


def setting_of(model: ModelFile, plan: Execution, name: str, precision: Precision = "bf16") -> Any:
    network: Any = OpenVino("openvino", precision).open(model, lambda: plan).run
    return network.compile(model.tile_shape)._compiled.get_property(name)


@pytest.mark.parametrize("plan", [Execution(1, 1), Execution(2, 1), Execution(1, 2)])
def test_threads_and_streams_are_those_of_the_plan(plan: Execution, model: ModelFile) -> None:
    assert setting_of(model, plan, "NUM_STREAMS") == plan.concurrent_tiles
    assert setting_of(model, plan, "INFERENCE_NUM_THREADS") == plan.tile_threads * plan.concurrent_tiles


def test_workers_are_not_pinned_to_the_same_core(model: ModelFile) -> None:
    assert setting_of(model, Execution(1, 1), "ENABLE_CPU_PINNING") is False


def test_single_precision_is_used_on_request(model: ModelFile) -> None:
    fast = "BF16" in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    names = [
        setting_of(model, Execution(1, 1), "INFERENCE_PRECISION_HINT", one).get_type_name() for one in ("f32", "bf16")
    ]
    assert names == ["f32", "bf16" if fast else "f32"]


def test_the_usual_tile_shape_has_a_network_of_its_own(model: ModelFile) -> None:
    network: Any = OpenVino("openvino", "f32").open(model, lambda: Execution(1, 1)).run
    shapes = [network.compile(shape)._compiled.input(0).partial_shape for shape in (model.tile_shape, None)]
    assert [shape.is_static for shape in shapes] == [True, False]
    assert shapes[0].to_shape() == [1, *model.tile_shape]


def test_a_network_is_compiled_when_it_is_needed_for_the_shape_that_is_expected(model: ModelFile) -> None:
    network, _, expect = OpenVino("openvino", "f32").open(model, lambda: Execution(1, 1))
    compiled: Any = network.__getattribute__("_compiled")
    assert not compiled
    expect((32, 32, 3))
    for shape in ((32, 32, 3), (64, 64, 3)):
        network(np.zeros((1, *shape), np.uint8))
    assert list(compiled) == [(32, 32, 3), None]


def test_rows_of_spectrograms_are_pooled_by_windows_where_their_number_is_known(tmp_path: Path) -> None:
    path = untrained("upcalls", tmp_path / "model.onnx")
    recipe = Session(path, "openvino-f32", threads=1).metadata.recipe
    tile = modality_of(recipe).tile_shape(recipe)
    model = ModelFile(read_model(path), None, ("heat", "values"), tile)
    network: Any = OpenVino("openvino", "f32").open(model, lambda: Execution(1, 1)).run

    def reductions(shape: tuple[int, ...] | None) -> int:
        nodes = network.compile(shape)._compiled.get_runtime_model().get_ordered_ops()
        kinds = [node.get_rt_info()["layerType"].value for node in nodes if node.get_output_size()]
        return kinds.count("Reduce")

    assert reductions(tile) < reductions(None)


def test_outputs_stay_as_they_are_when_the_next_input_is_run(model: ModelFile) -> None:
    network = OpenVino("openvino", "f32").open(model, lambda: Execution(1, 1)).run
    rng = np.random.default_rng(0)
    inputs = [rng.integers(0, 256, (1, *model.tile_shape), np.uint8) for _ in range(2)]
    first = network(inputs[0])["heat"]
    before = first.copy()
    second = network(inputs[1])["heat"]
    np.testing.assert_array_equal(first, before)
    assert not np.array_equal(first, second)
