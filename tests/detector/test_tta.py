"""Maps of a turned picture, turned back, are those of the picture itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tallymark.detector.coders import BoxCoder, MaskCoder, ShapeCoder
from tallymark.detector.targets import draw_targets
from tallymark.detector.tta import ALL, TTATransform, tta_transforms
from tallymark.geometry import Boxes, RotatedBoxes
from tallymark.inference.pipeline import Maps, mean_maps
from tallymark.modalities.image.recipe import ImageRecipe

GRID = (11, 17)
CODERS: dict[str, ShapeCoder] = {"boxes": BoxCoder(), "masks": MaskCoder()}
EACH = pytest.mark.parametrize("view", ALL, ids=lambda view: "".join("tmf"[k] for k in range(3) if view[k]) or "same")
KIND = pytest.mark.parametrize("kind", CODERS)


def turned_points(
    view: TTATransform, x: np.ndarray, y: np.ndarray, grid: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Where places of a picture of this height and width are in the view."""
    height, width = grid
    if view.transpose:
        x, y, height, width = y, x, width, height
    return (width - x if view.mirror else x), (height - y if view.flip else y)


def turned(view: TTATransform, shapes: Any) -> Any:
    if isinstance(shapes, Boxes):
        x0, y0 = turned_points(view, shapes.x, shapes.y, GRID)
        x1, y1 = turned_points(view, shapes.x + shapes.width, shapes.y + shapes.height, GRID)
        return Boxes(np.minimum(x0, x1), np.minimum(y0, y1), np.abs(x1 - x0), np.abs(y1 - y0))
    x, y = turned_points(view, shapes.x, shapes.y, GRID)
    tip_x, tip_y = turned_points(view, shapes.x + np.cos(shapes.angle), shapes.y + np.sin(shapes.angle), GRID)
    return RotatedBoxes(x, y, shapes.length, shapes.width, np.arctan2(tip_y - y, tip_x - x))


def scene(kind: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    place, size = rng.uniform(0.5, 1, (5, 2)) * (GRID[1] - 1, GRID[0] - 1), rng.uniform(1.5, 6, (5, 2))
    if kind == "boxes":
        return Boxes.apply(np.concatenate([place - size / 2, size], 1))
    return RotatedBoxes.apply(np.concatenate([place, size, rng.uniform(-4, 4, (5, 1))], 1))


def perfect_maps(kind: str, shapes: Any, grid: tuple[int, int]) -> Maps:
    """What a perfect network would say: heat, and the values where there are any."""
    code = CODERS[kind]
    targets = draw_targets(code.footprint(shapes), np.arange(5) % 2, 2, grid)
    values = np.zeros((code.values, *grid))
    x, y = targets.x + 0.5, targets.y + 0.5
    values[:, targets.y, targets.x] = code.encode(shapes.take(targets.object), x, y).T
    return {"heat": targets.heat, "values": values, "quality": targets.heat[:1], "presence": np.float32(0.7)}  # type: ignore[dict-item]


def grid_of(view: TTATransform) -> tuple[int, int]:
    return (GRID[1], GRID[0]) if view.transpose else GRID


@EACH
def test_back_undoes_of(view: TTATransform) -> None:
    maps = np.arange(GRID[0] * GRID[1]).reshape(GRID)
    assert view.apply(maps).shape == grid_of(view)
    np.testing.assert_array_equal(view.invert(view.apply(maps)), maps)
    stacked = np.stack([view.apply(maps), view.apply(-maps)])
    np.testing.assert_array_equal(view.invert(stacked), np.stack([maps, -maps]))


@EACH
def test_a_picture_turns_as_its_shapes_do(view: TTATransform) -> None:
    picture = np.zeros((*GRID, 3), np.uint8)
    picture[2, 13] = (1, 2, 3)
    seen = view.apply(picture)
    x, y = turned_points(view, np.array(13.5), np.array(2.5), GRID)
    assert seen[int(y), int(x)].tolist() == [1, 2, 3]
    assert seen.sum() == 6
    assert seen.flags.c_contiguous


def test_all_views_differ_and_come_in_the_order_of_the_recipe() -> None:
    maps = np.arange(16).reshape(4, 4)
    assert len({view.apply(maps).tobytes() for view in ALL}) == 8
    assert tta_transforms(1) == [TTATransform()]
    assert tta_transforms(2)[1] == TTATransform(mirror=True)
    assert not any(view.transpose for view in tta_transforms(4))
    assert len(tta_transforms(8)) == 8


@KIND
@EACH
@pytest.mark.parametrize("seed", range(3))
def test_maps_of_a_turned_scene_turn_back(kind: str, view: TTATransform, seed: int) -> None:
    shapes = scene(kind, seed)
    own, other = perfect_maps(kind, shapes, GRID), perfect_maps(kind, turned(view, shapes), grid_of(view))
    np.testing.assert_allclose(view.invert(other["heat"]), own["heat"], atol=1e-6)
    np.testing.assert_allclose(CODERS[kind].invert_tta(view.invert(other["values"]), view), own["values"], atol=1e-9)


@KIND
def test_only_the_right_view_turns_values_back(kind: str) -> None:
    """The scenes of these tests can tell all views apart."""
    shapes = scene(kind, 0)
    own = perfect_maps(kind, shapes, GRID)["values"]
    for view in ALL:
        other = perfect_maps(kind, turned(view, shapes), grid_of(view))["values"]
        right = [
            wrong
            for wrong in ALL
            if wrong.transpose == view.transpose
            and np.allclose(CODERS[kind].invert_tta(view.invert(other), wrong), own, atol=1e-9)
        ]
        assert right == [view]


@KIND
def test_the_mean_over_views_of_a_perfect_model_is_what_it_says_of_the_picture(kind: str) -> None:
    shapes, order = scene(kind, 7), iter(ALL)
    picture = np.zeros((*GRID, 3), np.uint8)

    def model(pictures: np.ndarray) -> Maps:
        view = next(order)
        assert pictures.shape == (1, *grid_of(view), 3)
        maps = perfect_maps(kind, turned(view, shapes), grid_of(view))
        return {name: np.asarray(part)[None] for name, part in maps.items()}

    mean = mean_maps(picture, [model], ImageRecipe().replace(task=kind, tta=8))
    for name, part in perfect_maps(kind, shapes, GRID).items():
        np.testing.assert_allclose(mean[name], part, atol=1e-6, err_msg=name)
