"""Model files: the outputs of the network on every runtime, and metadata."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import polars as pl
import pytest
import torch

import tallymark
from tallymark.core.problems import BadInput, Problem, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.detector.network import Network
from tallymark.detector.outputs import Outputs
from tallymark.geometry import Boxes
from tallymark.inference.metadata import KEY, ModelMetadata
from tallymark.inference.pipeline import infer
from tallymark.inference.predictor import Predictor
from tallymark.inference.session import Runtime, Session
from tallymark.io.images import IMAGE
from tallymark.io.media import BadMedia
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.training.adapter import as_model
from tallymark.training.export import export
from tallymark.training.network import make_network

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

TINY = ImageRecipe().replace(width=4, neck=8)
TASKS = pytest.mark.parametrize("task", ["boxes", "masks", "labels"])
SIZES = [(1, 32, 64), (3, 96, 32), (2, 64, 96)]
"""Count, height and width; the last is the one that is exported."""
Make = Callable[..., Path]


def network_of(recipe: ImageRecipe, classes: int = 2) -> Network[Any]:
    """A network with random weights, and batch norm statistics of some batches."""
    network = make_network(recipe, classes).train()
    with torch.no_grad():
        for _ in range(3):
            network(torch.from_numpy(random_images(4, 64, 64)).permute(0, 3, 1, 2).float())
    return network.eval()


def random_images(count: int, height: int, width: int) -> np.ndarray:
    return np.random.default_rng(height).integers(0, 256, (count, height, width, 3), dtype=np.uint8)


def largest_difference(one: Outputs, other: Outputs) -> float:
    assert {name: part.shape for name, part in one.items()} == {name: part.shape for name, part in other.items()}
    return max(float(np.abs(part - other[name]).max()) for name, part in one.items())


CHALLENGES = {"boxes": "wheat", "masks": "ships", "labels": "food"}


def metadata_of(recipe: ImageRecipe, challenge: str = "", classes: tuple[str, ...] = ("ear", "awn")) -> ModelMetadata:
    return ModelMetadata(challenge or CHALLENGES[recipe.task], recipe, classes, {"score": 0.5})


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """A function that writes a model file, each once only."""
    written: dict[str, Path] = {}

    def of(task: str = "boxes", challenge: str = "", stride: int = 4, classes: tuple[str, ...] = ("a",)) -> Path:
        key = f"{task}-{challenge}-{stride}-{len(classes)}"
        if key not in written:
            recipe = TINY.replace(task=task, stride=stride, image_size=64)
            written[key] = tmp_path_factory.mktemp(key) / "model.onnx"
            export(network_of(recipe, len(classes)), metadata_of(recipe, challenge, classes), written[key])
        return written[key]

    return of


def problem_of(act: Callable[[], object]) -> Problem:
    with pytest.raises(BadInput) as caught:
        act()
    (problem,) = caught.value.problems
    return problem


def assert_same_outputs(runtime: Runtime, recipe: ImageRecipe, folder: Path, tolerance: float = 1e-4) -> None:
    network = network_of(recipe)
    export(network, metadata_of(recipe), folder / "model.onnx")
    session = Session(folder / "model.onnx", runtime, threads=1)
    model = as_model(network)
    for size in SIZES:
        given = random_images(*size)
        assert largest_difference(session(given), model(given)) < tolerance
    assert sorted(path.name for path in folder.iterdir()) == ["model.onnx"]


@TASKS
def test_a_model_file_has_the_outputs_of_the_network_at_any_size(task: str, tmp_path: Path) -> None:
    assert_same_outputs("onnxruntime", TINY.replace(task=task), tmp_path)


@pytest.mark.parametrize("stride", [8, 16])
def test_a_model_file_has_the_outputs_of_the_network_at_any_stride_with_frozen_stages(
    stride: int, tmp_path: Path
) -> None:
    assert_same_outputs("onnxruntime", TINY.replace(stride=stride, frozen_stages=2), tmp_path)


@pytest.mark.slow
def test_a_model_file_has_the_outputs_of_backbones_side_by_side(tmp_path: Path) -> None:
    recipe = TINY.replace(task="labels", backbone="efficientnet_lite012", frozen_stages=6, head_stages=3)
    assert_same_outputs("onnxruntime", recipe, tmp_path)


@TASKS
def test_openvino_has_the_same_outputs(task: str, tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    bf16 = "BF16" in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")  # then it computes in that
    assert_same_outputs("openvino", TINY.replace(task=task), tmp_path, tolerance=1e-2 if bf16 else 1e-4)


def test_export_does_not_change_the_network(tmp_path: Path) -> None:
    network = network_of(TINY).train()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    export(network, metadata_of(TINY), tmp_path / "model.onnx")
    assert network.training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


@TASKS
def test_half_precision_halves_the_file(task: str, tmp_path: Path) -> None:
    recipe = TINY.replace(task=task, width=12, neck=24)
    network = network_of(recipe)
    single = tmp_path / "single.onnx"
    half = tmp_path / "half.onnx"
    export(network, metadata_of(recipe), single)
    export(network, metadata_of(recipe), half, half=True)
    assert 0.5 <= half.stat().st_size / single.stat().st_size < 0.56
    session = Session(half, threads=1)
    assert session.metadata == metadata_of(recipe)
    for size in SIZES:
        given = random_images(*size)
        assert 0 < largest_difference(session(given), as_model(network)(given)) < 1e-2


def test_metadata_is_read_as_it_was_written(tmp_path: Path) -> None:
    recipe = TINY.replace(
        task="masks", score_threshold=0.34, tta=8, weights='é "x"', train_on_val=True, learning_rate=1e-7
    )
    facts = {"score": 0.123456789, "evaluations": 17, "data": "Weizen — 小麦"}
    metadata = ModelMetadata("ships", recipe, ("ship", "böot"), facts)
    export(network_of(recipe.replace(weights="none")), metadata, tmp_path / "model.onnx")
    assert Session(tmp_path / "model.onnx", threads=1).metadata == metadata


@pytest.mark.parametrize("content", [None, b"", b"not a model", b"\x08\x07\x12\x04"])
def test_a_file_that_is_not_a_model_is_refused(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    if content is not None:
        path.write_bytes(content)
    problem = problem_of(lambda: Session(path, threads=1))
    assert (problem.kind, problem.file) == ("bad_model", str(path))
    assert "\n" not in problem.found


@pytest.mark.parametrize(
    ("metadata", "found"),
    [
        (None, "no metadata"),
        ("", "no metadata"),
        ("{}", "metadata without 'challenge'"),
        ("[]", "metadata that cannot be read"),
        ('{"challenge": "wheat", "recipe": {"score_threshold": 7}, "classes": []}', "metadata with score_threshold=7"),
        ('{"challenge": "wheat", "recipe": {"score_treshold": 7}, "classes": []}', "metadata with 'score_treshold'"),
    ],
)
def test_a_model_without_valid_metadata_is_refused(
    metadata: str | None, found: str, make: Make, tmp_path: Path
) -> None:
    proto = onnx.load(str(make()))
    path = tmp_path / "model.onnx"
    del proto.metadata_props[:]
    if metadata is not None:
        proto.metadata_props.append(onnx.StringStringEntryProto(key=KEY, value=metadata))
    onnx.save(proto, str(path))
    problem = problem_of(lambda: Session(path, threads=1))
    assert (problem.kind, problem.file) == ("bad_model", str(path))
    assert problem.found == found


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ({"task": "masks"}, "challenge ships"),
        ({"stride": 8}, "stride 8"),
        ({"classes": ("a", "b")}, "classes ('a', 'b')"),
    ],
)
def test_models_that_differ_are_no_ensemble(other: dict[str, Any], found: str, make: Make) -> None:
    problem = problem_of(lambda: Predictor([make(), make(**other)]))
    assert (problem.kind, problem.file) == ("other_model", str(make(**other)))
    assert found in problem.found
    assert found not in problem.expected


class Folder:
    """The part of a catalog that prediction uses."""

    medium = IMAGE

    def __init__(self, folder: Path, sizes: list[tuple[int, int] | None]) -> None:
        self.items = Items(pl.Series("id", [f"p{k}" for k in range(len(sizes))], dtype=pl.String))
        self.paths = [folder / f"p{k}.png" for k in range(len(sizes))]
        for path, size in zip(self.paths, sizes, strict=True):
            if size is None:
                path.write_bytes(b"not an image")
            else:
                cv2.imwrite(str(path), random_images(1, *size)[0])

    def __len__(self) -> int:
        return len(self.paths)

    def path(self, item: int) -> Path:
        return self.paths[item]

    def place(self, item: int) -> str:
        return str(self.paths[item])

    def unread(self, item: int, bad: BadMedia) -> Problem:
        return Problem(bad.kind, self.place(item), bad.found, "a readable image", bad.remedy, item=self.items.ids[item])


def test_two_models_are_an_ensemble(make: Make, tmp_path: Path) -> None:
    Folder(tmp_path, [(50, 70), None, (80, 40)])
    catalog = tallymark.read("wheat", tmp_path)
    result = Predictor([make(), make()]).predict(catalog, score_threshold=0.0, tta="2")
    alone = Predictor([make()]).predict(catalog, score_threshold=0.0, tta="2")
    assert result.recipe.tta == 2
    assert [problem.item for problem in result.problems] == ["p1"]
    np.testing.assert_array_equal(result.candidates.size, [[70, 50], [np.nan, np.nan], [40, 80]])
    for one, other in zip(result.predictions.shapes.columns, alone.predictions.shapes.columns, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
    assert isinstance(result.predictions, Annotations)
    boxes = result.predictions.shapes
    assert isinstance(boxes, Boxes)
    assert result.predictions.counts[1] == 0
    assert len(boxes) > 0
    width, height = result.candidates.size[result.predictions.item].T
    assert ((boxes.x >= 0) & (boxes.y >= 0)).all()
    assert ((boxes.x + boxes.width <= width + 1e-9) & (boxes.y + boxes.height <= height + 1e-9)).all()


@pytest.mark.parametrize("size", [(2000, 30), (30, 2000)])
def test_rounding_of_the_shorter_side_does_not_shift_boxes(size: tuple[int, int], tmp_path: Path) -> None:
    """Resized to 512 px, the shorter side of 7.7 px is rounded to 8, which must not stretch the longer side."""
    catalog: Any = Folder(tmp_path, [size])

    def model(given: np.ndarray) -> Outputs:
        """A box of 4 by 4 pixels in the last cell along the longer side."""
        rows, columns = given.shape[1] // 4, given.shape[2] // 4
        heat = np.zeros((1, 1, rows, columns), np.float32)
        heat[0, 0, rows - 1 if rows > columns else 0, columns - 1 if columns > rows else 0] = 0.9
        values = np.full((1, 4, rows, columns), np.log(0.5))
        return {"heat": heat, "values": values, "quality": np.ones_like(heat), "presence": np.ones(1)}

    boxes = infer(catalog, [model], TINY.replace(image_size=512, tta=1), Problems()).objects.shapes
    x, y, width, height = (float(column[0]) for column in boxes.columns)
    assert max(x + width, y + height) == pytest.approx(2000)


def test_unknown_fields_are_refused(make: Make, tmp_path: Path) -> None:
    catalog: Any = Folder(tmp_path, [(32, 32)])
    assert problem_of(lambda: Predictor([make()]).predict(catalog, ttaa=2)).kind == "unknown_option"


def test_fields_of_the_model_cannot_be_changed(make: Make, tmp_path: Path) -> None:
    catalog: Any = Folder(tmp_path, [(50, 70)])
    with pytest.raises(BadInput, match=r"stride=8.*one of tta, .*image_size.*train with stride=8"):
        Predictor([make()]).predict(catalog, stride=8)
