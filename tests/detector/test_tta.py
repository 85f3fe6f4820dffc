"""Test-time augmentation: outputs for a transformed input, transformed back, are those for the input itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tallymark.detector.box_coder import BoxCoder
from tallymark.detector.center_coder import CenterCoder
from tallymark.detector.mask_coder import MaskCoder
from tallymark.detector.outputs import Outputs
from tallymark.detector.targets import draw_targets
from tallymark.detector.tta import ALL, TTATransform, tta_transforms
from tallymark.geometry import Boxes, RotatedBoxes
from tallymark.inference.pipeline import ensemble
from tallymark.modalities.image.recipe import ImageRecipe

GRID = (11, 17)
CODERS: dict[str, CenterCoder] = {"boxes": BoxCoder(), "masks": MaskCoder()}


def transform_name(transform: TTATransform) -> str:
    return "+".join(name for name, used in transform._asdict().items() if used) or "identity"


TRANSFORMS = pytest.mark.parametrize("transform", ALL, ids=transform_name)
TASKS = pytest.mark.parametrize("task", CODERS)


def transform_points(
    transform: TTATransform, x: np.ndarray, y: np.ndarray, grid: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Points (x, y) of a grid of this height and width under a transform."""
    height, width = grid
    if transform.transpose:
        x, y, height, width = y, x, width, height
    return (width - x if transform.hflip else x), (height - y if transform.vflip else y)


def transform_shapes(transform: TTATransform, shapes: Any) -> Any:
    if isinstance(shapes, Boxes):
        x0, y0 = transform_points(transform, shapes.x, shapes.y, GRID)
        x1, y1 = transform_points(transform, shapes.x + shapes.width, shapes.y + shapes.height, GRID)
        return Boxes(np.minimum(x0, x1), np.minimum(y0, y1), np.abs(x1 - x0), np.abs(y1 - y0))
    x, y = transform_points(transform, shapes.x, shapes.y, GRID)
    tip_x, tip_y = transform_points(transform, shapes.x + np.cos(shapes.angle), shapes.y + np.sin(shapes.angle), GRID)
    return RotatedBoxes(x, y, shapes.length, shapes.width, np.arctan2(tip_y - y, tip_x - x))


def scene(task: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    center = rng.uniform(0.5, 1, (5, 2)) * (GRID[1] - 1, GRID[0] - 1)
    size = rng.uniform(1.5, 6, (5, 2))
    if task == "boxes":
        return Boxes.of(np.concatenate([center - size / 2, size], 1))
    return RotatedBoxes.of(np.concatenate([center, size, rng.uniform(-4, 4, (5, 1))], 1))


def perfect_outputs(task: str, shapes: Any, grid: tuple[int, int]) -> Outputs:
    """The outputs of a perfect network, with values at the cells of objects."""
    coder = CODERS[task]
    targets = draw_targets(coder.footprint(shapes), np.arange(5) % 2, 2, grid)
    values = np.zeros((coder.values, *grid))
    x, y = targets.x + 0.5, targets.y + 0.5
    values[:, targets.y, targets.x] = coder.encode(shapes.take(targets.object), x, y).T
    return {"heat": targets.heatmap, "values": values, "quality": targets.heatmap[:1], "presence": np.float32(0.7)}


def grid_of(transform: TTATransform) -> tuple[int, int]:
    return (GRID[1], GRID[0]) if transform.transpose else GRID


@TRANSFORMS
def test_invert_undoes_apply(transform: TTATransform) -> None:
    grid = np.arange(GRID[0] * GRID[1]).reshape(GRID)
    assert transform.apply(grid).shape == grid_of(transform)
    np.testing.assert_array_equal(transform.invert(transform.apply(grid)), grid)
    stacked = np.stack([transform.apply(grid), transform.apply(-grid)])
    np.testing.assert_array_equal(transform.invert(stacked), np.stack([grid, -grid]))


@TRANSFORMS
def test_images_and_shapes_are_transformed_alike(transform: TTATransform) -> None:
    image = np.zeros((*GRID, 3), np.uint8)
    image[2, 13] = (1, 2, 3)
    transformed = transform.apply(image)
    x, y = transform_points(transform, np.array(13.5), np.array(2.5), GRID)
    assert transformed[int(y), int(x)].tolist() == [1, 2, 3]
    assert transformed.sum() == 6
    assert transformed.flags.c_contiguous


def test_all_transforms_differ_and_are_in_the_order_of_the_recipe() -> None:
    grid = np.arange(16).reshape(4, 4)
    assert len({transform.apply(grid).tobytes() for transform in ALL}) == 8
    assert tta_transforms(1) == [TTATransform()]
    assert tta_transforms(2)[1] == TTATransform(hflip=True)
    assert not any(transform.transpose for transform in tta_transforms(4))
    assert len(tta_transforms(8)) == 8


@pytest.mark.parametrize("transform", ALL, ids=str)
def test_images_are_transformed_as_grids_are(transform: TTATransform) -> None:
    image = np.random.default_rng(0).integers(0, 256, (6, 9, 3), dtype=np.uint8)[:, 1:]  # a part of a larger one
    transformed = transform.apply_image(image)
    assert transformed.flags.c_contiguous
    np.testing.assert_array_equal(transformed, transform.apply(image))


@TASKS
@TRANSFORMS
@pytest.mark.parametrize("seed", range(3))
def test_outputs_for_a_transformed_scene_are_inverted(task: str, transform: TTATransform, seed: int) -> None:
    shapes = scene(task, seed)
    own = perfect_outputs(task, shapes, GRID)
    other = perfect_outputs(task, transform_shapes(transform, shapes), grid_of(transform))
    np.testing.assert_allclose(transform.invert(other["heat"]), own["heat"], atol=1e-6)
    np.testing.assert_allclose(
        CODERS[task].invert_tta(transform.invert(other["values"]), transform), own["values"], atol=1e-9
    )


@TASKS
def test_only_the_right_transform_inverts_values(task: str) -> None:
    """The scenes of these tests distinguish all transforms."""
    shapes = scene(task, 0)
    own = perfect_outputs(task, shapes, GRID)["values"]
    for transform in ALL:
        other = perfect_outputs(task, transform_shapes(transform, shapes), grid_of(transform))["values"]
        right = [
            wrong
            for wrong in ALL
            if wrong.transpose == transform.transpose
            and np.allclose(CODERS[task].invert_tta(transform.invert(other), wrong), own, atol=1e-9)
        ]
        assert right == [transform]


@TASKS
def test_the_mean_over_transforms_of_a_perfect_model_is_its_output(task: str) -> None:
    shapes = scene(task, 7)
    order = iter(ALL)
    image = np.zeros((*GRID, 3), np.uint8)

    def model(images: np.ndarray) -> Outputs:
        transform = next(order)
        assert images.shape == (1, *grid_of(transform), 3)
        outputs = perfect_outputs(task, transform_shapes(transform, shapes), grid_of(transform))
        return {name: np.asarray(part)[None] for name, part in outputs.items()}

    mean = ensemble(image, [model], ImageRecipe().replace(task=task, tta=8))
    for name, part in perfect_outputs(task, shapes, GRID).items():
        np.testing.assert_allclose(mean[name], part, atol=1e-6, err_msg=name)
