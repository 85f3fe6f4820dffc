"""The outputs of every runtime depend neither on threads nor on batches, for models of all challenges."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tallymark.detector.outputs import Outputs
from tallymark.inference.runtimes.choice import RUNTIMES
from tallymark.inference.session import Runtime, Session
from tallymark.modalities import modality_of
from tests.untrained import SMALL, untrained

INSTALLED = [name for name, runtime in RUNTIMES.items() if find_spec(runtime.package) is not None]


@pytest.fixture(scope="module", params=sorted(SMALL))
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained(request.param, tmp_path_factory.mktemp(request.param) / "model.onnx")


def inputs_of(session: Session, count: int = 3) -> np.ndarray:
    """Tiles of the usual shape."""
    recipe, rng = session.metadata.recipe, np.random.default_rng(0)
    tiles = [modality_of(recipe).synthetic_tile(recipe, rng) for _ in range(count)]
    assert {tile.shape for tile in tiles} == {modality_of(recipe).tile_shape(recipe)}
    return np.stack(tiles)


def assert_same(one: Outputs, other: Outputs) -> None:
    for name, part in one.items():
        np.testing.assert_array_equal(part, other[name])


@pytest.mark.parametrize("runtime", INSTALLED)
def test_outputs_depend_neither_on_threads_nor_on_batches(runtime: Runtime, model: Path) -> None:
    sessions = [Session(model, runtime, threads=threads) for threads in (1, 2)]
    tiles = inputs_of(sessions[0])
    for inputs in (tiles, tiles[:, : tiles.shape[1] // 2] if tiles.shape[2] > 1 else tiles):  # and of another size
        one, two = (session(inputs) for session in sessions)
        assert_same(one, two)
        alone = [sessions[0](inputs[number : number + 1]) for number in range(len(inputs))]
        assert_same(one, {name: np.concatenate([part[name] for part in alone]) for name in one})


@pytest.mark.parametrize("runtime", INSTALLED)
def test_concurrent_calls_have_the_outputs_of_single_ones(runtime: Runtime, model: Path) -> None:
    session = Session(model, runtime, threads=2)
    tiles = [tile[None] for tile in inputs_of(session, 6)]
    expected = [session(tile) for tile in tiles]
    with ThreadPoolExecutor(3) as pool:
        for own, outputs in zip(expected, pool.map(session, tiles), strict=True):
            assert_same(own, outputs)


@pytest.mark.parametrize("runtime", INSTALLED)
def test_a_session_says_what_its_outputs_depend_on(runtime: Runtime, model: Path) -> None:
    session = Session(model, runtime, threads=1)
    assert session.runtime == runtime
    name, version, *precision = session.runtime_id.split()
    assert name == runtime.removesuffix("-f32")
    assert version[0].isdigit()
    assert precision in ([], ["cuda"]) if name == "onnxruntime" else precision[0] in ("f32", "bf16")
    assert (runtime, precision) != ("openvino-f32", ["bf16"])
    assert session.note == ""


def test_single_precision_is_closer_to_the_reference(model: Path) -> None:
    pytest.importorskip("openvino")
    names: tuple[Runtime, ...] = ("onnxruntime", "openvino-f32", "openvino")
    sessions = [Session(model, name, threads=1) for name in names]
    inputs = inputs_of(sessions[0])
    reference, single, default = (session(inputs) for session in sessions)
    for name, right in reference.items():
        assert np.abs(single[name] - right).max() < 1e-4
        assert np.abs(default[name] - right).max() < 0.05
