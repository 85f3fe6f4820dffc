"""The stages of inference, with models that detect bright pixels."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import tallymark
from tallymark.core.problems import EVERY, BadInput, Problems
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.detector.outputs import Outputs, TileCandidates
from tallymark.geometry import Boxes, Cuboids
from tallymark.geometry.poses import Poses
from tallymark.inference import pipeline
from tallymark.inference.execution import Execution
from tallymark.inference.pipeline import (
    SEQUENTIAL,
    DecodedTile,
    LoadedItem,
    LoadedTile,
    collect,
    ensemble,
    infer,
    infer_outputs,
    load,
    run,
    tile,
)
from tallymark.inference.time_limit import TimeLimit
from tallymark.io.media import BadMedia
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.base import UNREADABLE, ModelInput, Tile
from tallymark.modalities.image import tiling
from tallymark.modalities.image.modality import ImageModality
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.lidar.recipe import LidarRecipe

STRIDE = 4
RECIPE = ImageRecipe().replace(task="boxes", stride=STRIDE, image_size=64, tta=1, quality_weight=0.0)
LABELS = ImageRecipe().replace(task="labels", image_size=64)


def bright_cells(images: np.ndarray) -> Outputs:
    """A model whose heat is 0.9 where a cell has a bright pixel; its boxes have the size of a cell."""
    count, height, width, _ = images.shape
    cells = images[..., 0].reshape(count, height // STRIDE, STRIDE, width // STRIDE, STRIDE).max(axis=(2, 4))
    heat = np.where(cells > 200, 0.9, 0.0)[:, None]
    return {
        "heat": heat,
        "values": np.full((count, 4, *cells.shape[1:]), np.log(0.5)),
        "quality": np.ones_like(heat),
        "presence": heat.max(axis=(1, 2, 3)),
    }


def mean_color(images: np.ndarray) -> Outputs:
    """A model whose class probabilities are the shares of red, green and blue."""
    color = images.astype(float).mean(axis=(1, 2)) + 1e-9
    return {"classes": color / color.sum(axis=1, keepdims=True)}


def dark_image(height: int, width: int, *bright: tuple[int, int]) -> np.ndarray:
    """An image with bright cells at these rows and columns of cells."""
    image = np.zeros((height, width, 3), np.uint8)
    for row, column in bright:
        image[row * STRIDE : (row + 1) * STRIDE, column * STRIDE : (column + 1) * STRIDE] = 255
    return image


def catalog_of(folder: Path, *images: np.ndarray | None) -> Catalog:
    """Images a, b, c, …; None is a file that cannot be read."""
    for number, image in enumerate(images):
        path = folder / f"{'abcdefgh'[number]}.png"
        if image is None:
            path.write_bytes(b"not an image")
        else:
            cv2.imwrite(str(path), image[..., ::-1])
    return tallymark.read("wheat", folder)


def centers(boxes: Boxes) -> list[tuple[float, float]]:
    x = boxes.x + boxes.width / 2
    y = boxes.y + boxes.height / 2
    return sorted(zip(x.tolist(), y.tolist(), strict=True))


class FakeModality(ImageModality):
    """Items of two tiles each; the second tile of an item in `damaged` cannot be read."""

    def __init__(self, *damaged: int) -> None:
        self.damaged = damaged

    def open(self, catalog: Catalog, item: int, recipe: ImageRecipe) -> ModelInput:
        def tiles() -> Iterator[Tile]:
            yield Tile(dark_image(32, 32, (item, 1)), 0, 0, (0, 0, 32, 32))
            if item in self.damaged:
                raise BadMedia("corrupt_media", "damage in the middle")
            yield Tile(dark_image(32, 32, (item, 2)), 32, 0, (0, 0, 32, 32))

        return ModelInput((64, 32), tiles(), 1.0)


@pytest.fixture
def three(tmp_path: Path) -> Catalog:
    return catalog_of(tmp_path, dark_image(64, 64, (2, 3)), None, dark_image(32, 64))


def test_items_are_loaded_in_order_and_unreadable_ones_are_problems(three: Catalog) -> None:
    problems = Problems(EVERY)
    loaded = list(load(three, RECIPE, problems, Execution(1, 1, readers=2, prefetch=2)))
    assert [item.number for item in loaded] == [0, 1, 2]
    assert [item.input.size for item in loaded][::2] == [(64, 64), (64, 32)]
    assert loaded[1].input is UNREADABLE
    assert not list(loaded[1].input.tiles)
    [problem] = problems
    assert (problem.kind, problem.item, problem.file) == ("corrupt_media", "b", three.place(1))
    assert problem.expected == "a readable image"


def test_a_damaged_item_keeps_the_tiles_before_the_damage(three: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "modality_of", lambda recipe: FakeModality(1))
    problems = Problems(EVERY)
    loaded = list(load(three, RECIPE, problems, SEQUENTIAL))
    assert not problems
    assert [len(list(item.input.tiles)) for item in loaded] == [2, 1, 2]
    assert [(problem.kind, problem.item, problem.found) for problem in problems] == [
        ("corrupt_media", "b", "damage in the middle")
    ]


def test_the_first_tiles_of_items_are_made_before_they_are_needed(
    three: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    modality = FakeModality(0)
    made: list[int] = []

    def open_item(catalog: Catalog, item: int, recipe: ImageRecipe) -> ModelInput:
        def tiles() -> Iterator[Tile]:
            for number in range(2):
                made.append(item)
                yield Tile(dark_image(32, 32, (item, number)), 32 * number, 0, (0, 0, 32, 32))

        return ModelInput((64, 32), tiles(), 1.0)

    monkeypatch.setattr(modality, "open", open_item)
    monkeypatch.setattr(pipeline, "modality_of", lambda recipe: modality)
    loaded = list(load(three, RECIPE, Problems(EVERY), SEQUENTIAL))
    assert sorted(made) == [0, 1, 2]
    assert [[tile.x for tile in item.input.tiles] for item in loaded] == [[0, 32]] * 3


def test_tiles_of_all_items_come_in_order_with_progress_after_each_item() -> None:
    tiles = [Tile(np.zeros((32, 32, 3)), 32 * k, 0, (0, 0, 32, 32)) for k in range(2)]
    items = [
        LoadedItem(0, ModelInput((10, 20), tiles, 1.0)),
        LoadedItem(1, UNREADABLE),
        LoadedItem(2, ModelInput((30, 40), tiles[:1], 1.0)),
    ]
    size = np.zeros((3, 2))
    progress = list[str]()
    for loaded in tile(items, size, lambda: progress.append("item")):
        progress.append(f"tile {loaded.item.number} {loaded.tile.x}")
    assert progress == ["tile 0 0", "tile 0 32", "item", "item", "tile 2 0", "item"]
    np.testing.assert_array_equal(size, [[10, 20], [np.nan, np.nan], [30, 40]])


def test_candidates_are_shifted_to_the_position_of_their_tile() -> None:
    item = LoadedItem(5, ModelInput((128, 64), (), 2.0))
    data = dark_image(32, 64, (3, 9), (7, 0))
    tiles = iter([LoadedTile(item, Tile(data, 64, 32, (16, 0, 64, 32)))])
    [decoded] = run(tiles, [bright_cells], RECIPE, (), SEQUENTIAL)
    assert decoded.item is item
    assert decoded.candidates.x.tolist() == [9.5 + 16]  # the cell in column 0 is outside the area that counts
    assert decoded.candidates.y.tolist() == [3.5 + 8]
    assert decoded.candidates.score.tolist() == [pytest.approx(0.9)]
    assert decoded.end == 2.0 * (64 + 64)


def test_an_image_at_several_sizes_has_one_candidate_for_each_object(tmp_path: Path) -> None:
    """Bright cells stay where they are at every size; the candidates of all sizes agree, in pixels of the image."""
    image = np.zeros((128, 128, 3), np.uint8)
    image[32:64, 64:96] = 230
    catalog = catalog_of(tmp_path, image)
    recipe = RECIPE.replace(image_size=128)
    alone, fused = (
        infer(catalog, [bright_cells], recipe.replace(tta_scales=scales), Problems(), classes=("a",))
        for scales in (1, 3)
    )
    assert len(alone.objects)
    found = fused.objects
    assert found.scores.max() <= alone.objects.scores.max()
    center = found.shapes.x + found.shapes.width / 2, found.shapes.y + found.shapes.height / 2
    best = int(found.scores.argmax())
    assert 60 < center[0][best] < 100
    assert 28 < center[1][best] < 68
    assert fused.presence[0] == pytest.approx(alone.presence[0])


def test_tiles_at_other_sizes_are_in_the_units_of_the_item() -> None:
    item = LoadedItem(0, ModelInput((128, 64), (), 2.0))
    data = dark_image(32, 64, (3, 9))
    tiles = iter([LoadedTile(item, Tile(data, 0, 0, (0, 0, 64, 32), zoom)) for zoom in (1.0, 0.5)])
    decoded = list(run(tiles, [bright_cells], RECIPE, (), SEQUENTIAL))
    assert [one.end for one in decoded] == [128, 256]
    found = collect(decoded, Items.of(["a"]), np.array([[256.0, 128.0]]), RECIPE, ("a",)).objects
    assert sorted((found.shapes.x + found.shapes.width / 2).tolist()) == [76, 152]
    np.testing.assert_allclose(found.scores, 0.45)


def test_an_image_at_some_of_its_sizes_is_whole_when_the_time_is_over(tmp_path: Path) -> None:
    now = 0.0
    limit = TimeLimit(100.0, clock=lambda: now)
    problems = Problems(EVERY)
    recipe = RECIPE.replace(image_size=64, tta_scales=3)
    [item] = load(catalog_of(tmp_path, dark_image(64, 64)), recipe, problems, replace(SEQUENTIAL, limit=limit))
    tiles = iter(item.input.tiles)
    assert next(tiles).zoom == 1
    now = 100.0
    assert not list(tiles)
    assert not problems


def test_concurrent_tiles_come_in_order_and_side_by_side() -> None:
    """The barrier lets three tiles pass only together."""
    barrier = threading.Barrier(3)

    def model(images: np.ndarray) -> Outputs:
        barrier.wait(timeout=20)
        return bright_cells(images)

    items = [LoadedItem(number, ModelInput((32, 32), (), 1.0)) for number in range(9)]
    tiles = (LoadedTile(one, Tile(dark_image(32, 32, (one.number % 8, 2)), 0, 0, (0, 0, 32, 32))) for one in items)
    decoded = list(run(tiles, [model], RECIPE, (), Execution(tile_threads=1, concurrent_tiles=3)))
    assert [one.item.number for one in decoded] == list(range(9))
    assert [one.candidates.y.tolist() for one in decoded] == [[number % 8 + 0.5] for number in range(9)]


def test_unknown_classes_in_head_groups_are_refused() -> None:
    with pytest.raises(BadInput, match="head_groups"):
        list(run(iter([]), [bright_cells], RECIPE.replace(head_groups="bus"), ("car",), SEQUENTIAL))


def test_the_output_of_one_model_is_not_changed() -> None:
    outputs = ensemble(dark_image(32, 32, (1, 1)), [bright_cells], RECIPE)
    assert outputs["heat"].shape == (1, 8, 8)
    assert float(outputs["presence"]) == 0.9


def test_an_ensemble_is_the_mean_over_models() -> None:
    def dim(images: np.ndarray) -> Outputs:
        return {name: part / 3 for name, part in bright_cells(images).items()}

    image = dark_image(32, 32, (1, 1))
    outputs = ensemble(image, [bright_cells, dim], RECIPE)
    alone = ensemble(image, [bright_cells], RECIPE)
    for name, part in alone.items():
        np.testing.assert_allclose(outputs[name], part * 2 / 3)


@pytest.mark.parametrize("tta", [2, 4, 8])
def test_test_time_augmentation_calls_each_model_once_per_transform(tta: int) -> None:
    shapes = list[tuple[int, ...]]()

    def model(images: np.ndarray) -> Outputs:
        shapes.append(images.shape)
        return bright_cells(images)

    image = dark_image(32, 64, (1, 5), (6, 14))
    outputs = ensemble(image, [model, model], RECIPE.replace(tta=tta))
    assert len(shapes) == 2 * tta
    assert shapes.count((1, 64, 32, 3)) == (tta if tta == 8 else 0)
    for name, part in ensemble(image, [bright_cells], RECIPE).items():
        np.testing.assert_allclose(outputs[name], part, err_msg=name)


def test_candidates_are_collected_in_the_units_of_their_item() -> None:
    half, double = (LoadedItem(number, ModelInput((64, 64), (), scale)) for number, scale in ((0, 0.5), (2, 2.0)))
    values = np.log([[1.0, 1.0, 1.0, 1.0]])
    one = TileCandidates(np.array([5.0]), np.array([3.0]), values, np.array([0.8]), np.array([0]), 0.3)
    two = one._replace(score=np.array([0.6]), presence=0.7)
    size = np.array([[64.0, 64], [np.nan, np.nan], [64, 64]])
    decoded = [DecodedTile(double, one, 1.0), DecodedTile(half, two, 1.0), DecodedTile(double, two, 1.0)]
    candidates = collect(decoded, Items.of(["a", "b", "c"]), size, RECIPE, ("ear",))
    objects = candidates.objects
    assert objects.counts.tolist() == [1, 0, 2]
    assert objects.classes == ("ear",)
    assert objects.scores.tolist() == [0.6, 0.8, 0.6]
    assert candidates.presence.tolist() == [0.7, 0, 0.7]
    np.testing.assert_allclose(objects.shapes.x, [4 * STRIDE / 2, 4 * STRIDE * 2, 4 * STRIDE * 2])
    np.testing.assert_allclose(objects.shapes.width, [STRIDE, 4 * STRIDE, 4 * STRIDE])
    assert candidates.readable.tolist() == [True, False, True]


def test_no_items_have_no_candidates() -> None:
    candidates = collect([], Items.of([]), np.empty((0, 2)), RECIPE, ())
    assert len(candidates.objects) == len(candidates.size) == len(candidates.presence) == 0


def test_the_length_of_a_recording_is_that_of_its_tiles() -> None:
    """Of a damaged recording, only a part could be read."""
    event = TileCandidates(np.array([3.0]), np.array([0.5]), np.zeros((1, 1)), np.array([0.5]), np.array([0]), 1.0)
    whole, damaged = (LoadedItem(number, ModelInput((20, np.nan), (), 0.032)) for number in (0, 1))
    size = np.array([[20.0, np.nan], [20, np.nan], [np.nan, np.nan]])
    decoded = [DecodedTile(whole, event, 12.0), DecodedTile(whole, event, 20.3), DecodedTile(damaged, event, 8.5)]
    recipe = AudioRecipe()
    candidates = collect(decoded, Items.of(["a", "b", "c"]), size, recipe, ())
    np.testing.assert_array_equal(candidates.size[:, 0], [20, 8.5, np.nan])
    np.testing.assert_allclose(candidates.objects.shapes.time, 3.0 * recipe.stride * 0.032)


def test_cuboids_are_posed_in_the_world() -> None:
    recipe = LidarRecipe()
    values = np.zeros((1, 10))
    values[:, [4, 8]] = 1.0  # along x
    read = TileCandidates(np.array([10.0]), np.array([20.0]), values, np.array([0.5]), np.array([0]), 1.0)
    poses = [Poses.of((1.0, 0.0, 0.0, 0.0), (100.0 * number, 7.0, 1.0)) for number in range(3)]
    items = [LoadedItem(number, ModelInput((128, 128), (), 0.25, pose)) for number, pose in enumerate(poses)]
    decoded = [DecodedTile(items[number], read, 0.0) for number in (0, 2)]
    size = np.array([[128.0, 128], [np.nan, np.nan], [128, 128]])
    shapes: Cuboids = collect(decoded, Items.of(["a", "b", "c"]), size, recipe, ()).objects.shapes
    meters = 0.25 * recipe.stride
    np.testing.assert_allclose(shapes.x, [10 * meters, 10 * meters + 200])
    np.testing.assert_allclose(shapes.y, [20 * meters + 7] * 2)
    np.testing.assert_allclose(shapes.z, [1, 1])


@pytest.mark.parametrize("classes", [(), ("red", "green", "blue")])
def test_unreadable_images_have_uniform_class_probabilities(classes: tuple[str, ...], tmp_path: Path) -> None:
    red, blue = (np.zeros((40, 40, 3), np.uint8) for _ in range(2))
    red[..., 0] = 200
    blue[..., 2] = 200
    catalog = catalog_of(tmp_path, red, None, blue)
    candidates = infer(catalog, [mean_color], LABELS, Problems(EVERY), classes=classes)
    np.testing.assert_allclose(candidates.probabilities, [[1, 0, 0], [1 / 3] * 3, [0, 0, 1]], atol=1e-9)
    assert candidates.objects.classes == classes
    assert candidates.readable.tolist() == [True, False, True]


@pytest.mark.parametrize("execution", [SEQUENTIAL, Execution(tile_threads=1, concurrent_tiles=3)])
def test_every_object_of_a_tiled_image_is_detected_once(
    execution: Execution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiling, "TILE_SIZE", 128)
    monkeypatch.setattr(tiling, "OVERLAP", 64)
    rng = np.random.default_rng(0)
    scenes = []
    for height, width in ((320, 256), (64, 320), (320, 320)):
        cells = rng.choice(height // 8 * (width // 8), 20, replace=False)
        scenes.append(
            (height, width, [(2 * int(cell // (width // 8)), 2 * int(cell % (width // 8))) for cell in cells])
        )
    catalog = catalog_of(tmp_path, *(dark_image(height, width, *bright) for height, width, bright in scenes))
    problems = Problems(EVERY)
    recipe = RECIPE.replace(image_size=320)
    candidates = infer(catalog, [bright_cells], recipe, problems, title="testing", execution=execution)
    assert not problems
    objects = candidates.objects
    for number, (height, width, bright) in enumerate(scenes):
        own = objects.shapes.take(np.flatnonzero(objects.item == number))
        expected = sorted((STRIDE * (column + 0.5), STRIDE * (row + 0.5)) for row, column in bright)
        np.testing.assert_allclose(centers(own), expected)
        assert candidates.size[number].tolist() == [width, height]


def test_boxes_of_a_resized_image_are_in_its_own_pixels(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path, dark_image(256, 128, (8, 16), (9, 16), (8, 17), (9, 17)))
    candidates = infer(catalog, [bright_cells], RECIPE.replace(image_size=128), Problems(EVERY))
    assert centers(candidates.objects.shapes) == [(STRIDE * 17, STRIDE * 9)]
    assert candidates.objects.shapes.width.tolist() == [pytest.approx(2 * STRIDE)]


def test_outputs_are_given_with_the_number_of_their_item(three: Catalog) -> None:
    problems = Problems(EVERY)
    outputs: list[tuple[int, Any]] = list(infer_outputs(three, [bright_cells], RECIPE, problems, title="testing"))
    assert [number for number, _ in outputs] == [0, 2]
    assert outputs[0][1]["heat"].max() == pytest.approx(0.9)
    assert outputs[1][1]["heat"].max() == 0
    assert [problem.item for problem in problems] == ["b"]
