"""Codes: what hangs on each centre. A code turns shapes into numbers at a cell of the grid, and back.

Lengths are in cells of the grid, so that the numbers are of the size that a network likes; heights are in metres.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np

from tallymark.data.annotations import Annotations
from tallymark.detector.tta import TTATransform
from tallymark.geometry import Boxes, Cuboids, Events, Masks, RotatedBoxes, Spatial
from tallymark.geometry.rectangles import fill_rectangles, fit_rectangles

LEAST = 8
"""Pixels below which a mask is nothing."""
LONG = 24.0
"""Cells that a moment's heat is drawn over, of which it fills about half."""
WAY = 4.0
"""Cells to a unit of the way to a moment."""
LARGEST = 5.5
"""Logarithms of lengths are cut off here: exp(5.5) cells are 245, more than a picture has."""


class ShapeCoder(Protocol):
    """One way to describe a shape by numbers at a cell near its middle."""

    @property
    def values(self) -> int:
        """How many numbers there are."""

    @property
    def line(self) -> bool:
        """Whether centres lie on a line of time, not on a plane."""

    @property
    def covers(self) -> bool:
        """Whether it is also told how much of every cell is covered, by which shapes are corrected."""

    @property
    def loss(self) -> Literal["giou", "kld", "cuboid", "smooth_l1"]:
        """How wrong numbers are punished: by the overlap of four sides, as rectangles or volumes, or one by one."""

    def shapes(self, truth: Any) -> Any:
        """What is described, from the geometry of the challenge's truth."""

    def footprint(self, shapes: Any) -> RotatedBoxes:
        """The ground that the shapes cover, which decides where the heat is."""

    def encode(self, shapes: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(n, values): each shape as seen from its own place (x, y)."""

    def decode(self, x: np.ndarray, y: np.ndarray, values: np.ndarray) -> Any:
        """The shapes that these numbers describe."""

    def iou(self, told: Any, truth: Any) -> np.ndarray:
        """How well each shape that was told fits the true one, from 0 to 1."""

    def invert_tta(self, values: np.ndarray, view: TTATransform) -> np.ndarray:
        """Numbers (…, values, height, width) told of a turned picture, as they are for the picture itself."""

    def to_truth_geometry(self, found: Annotations[Any], shape: tuple[int, int] | None) -> Annotations[Any]:
        """The findings in the geometry of the challenge; `shape` is that of the pictures."""


def _overlap(told: Spatial, truth: Spatial) -> np.ndarray:
    every = np.arange(len(truth))
    shared, union = told.overlap(truth, every, every)
    return np.divide(shared, union, out=np.zeros(len(every)), where=union > 0)


class BoxCoder:
    """Upright boxes by the logarithm of the ways to the left, top, right and bottom side."""

    line = covers = False
    values = 4
    loss: Literal["giou"] = "giou"

    def shapes(self, truth: Boxes) -> Boxes:
        return truth

    def footprint(self, shapes: Boxes) -> RotatedBoxes:
        x, y = shapes.x + shapes.width / 2, shapes.y + shapes.height / 2
        return RotatedBoxes(x, y, shapes.width, shapes.height, np.zeros(len(shapes)))

    def encode(self, shapes: Boxes, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        right, bottom = shapes.x + shapes.width, shapes.y + shapes.height
        ways = np.stack([x - shapes.x, y - shapes.y, right - x, bottom - y], 1)
        return np.log(np.maximum(ways, 0.05))

    def decode(self, x: np.ndarray, y: np.ndarray, values: np.ndarray) -> Boxes:
        left, top, right, bottom = np.exp(np.minimum(values, LARGEST)).T
        return Boxes(x - left, y - top, left + right, top + bottom)

    def iou(self, told: Any, truth: Any) -> np.ndarray:
        return _overlap(told, truth)

    def invert_tta(self, values: np.ndarray, view: TTATransform) -> np.ndarray:
        left, top, right, bottom = np.moveaxis(values, -3, 0)
        if view.mirror:
            left, right = right, left
        if view.flip:
            top, bottom = bottom, top
        if view.transpose:
            left, top, right, bottom = top, left, bottom, right
        return np.stack([left, top, right, bottom], -3)

    def to_truth_geometry(self, found: Annotations[Boxes], shape: tuple[int, int] | None) -> Annotations[Boxes]:
        return found


class MaskCoder:
    """Masks as turned rectangles: the way to the centre, the logarithms of the sides, and twice the angle."""

    line, covers = False, True
    values = 6
    loss: Literal["kld"] = "kld"

    def shapes(self, truth: Masks | RotatedBoxes) -> RotatedBoxes:
        return truth if isinstance(truth, RotatedBoxes) else fit_rectangles(truth)

    def footprint(self, shapes: RotatedBoxes) -> RotatedBoxes:
        return shapes

    def encode(self, shapes: RotatedBoxes, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        twice = 2 * shapes.angle  # a ship turned by half a circle looks the same
        sides = np.log(np.maximum([shapes.length, shapes.width], 0.05))
        return np.stack([shapes.x - x, shapes.y - y, *sides, np.cos(twice), np.sin(twice)], 1)

    def decode(self, x: np.ndarray, y: np.ndarray, values: np.ndarray) -> RotatedBoxes:
        across, down, length, width, cos, sin = values.T
        length, width = np.exp(np.minimum([length, width], LARGEST))
        return RotatedBoxes(x + across, y + down, length, width, np.arctan2(sin, cos) / 2)

    def iou(self, told: Any, truth: Any) -> np.ndarray:
        return _overlap(told, truth)

    def invert_tta(self, values: np.ndarray, view: TTATransform) -> np.ndarray:
        across, down, length, width, cos, sin = np.moveaxis(values, -3, 0)
        if view.mirror:
            across, sin = -across, -sin
        if view.flip:
            down, sin = -down, -sin
        if view.transpose:
            across, down, cos = down, across, -cos
        return np.stack([across, down, length, width, cos, sin], -3)

    def to_truth_geometry(self, found: Annotations[RotatedBoxes], shape: tuple[int, int] | None) -> Annotations[Masks]:
        if shape is None:
            raise ValueError("masks need pictures of one known shape")
        masks, kept = fill_rectangles(found.shapes, found.item, found.scores, shape, least=LEAST)
        return Annotations.from_rows(found.items, found.item[kept], masks, score=found.scores[kept])


class EventCoder:
    """Moments on a line of time, by the way to them."""

    line, covers = True, False
    values = 1
    loss: Literal["smooth_l1"] = "smooth_l1"

    def shapes(self, truth: Events) -> Events:
        return truth

    def footprint(self, shapes: Events) -> RotatedBoxes:
        every = np.ones(len(shapes))
        return RotatedBoxes(shapes.time, 0.5 * every, LONG * every, every, 0 * every)

    def encode(self, shapes: Events, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (shapes.time - x)[:, None] / WAY

    def decode(self, x: np.ndarray, y: np.ndarray, values: np.ndarray) -> Events:
        return Events(x + WAY * values[:, 0])

    def iou(self, told: Events, truth: Events) -> np.ndarray:
        return np.exp(-np.abs(told.time - truth.time) / WAY)

    def invert_tta(self, values: np.ndarray, view: TTATransform) -> np.ndarray:
        raise ValueError("time has one direction only: tta=1")

    def to_truth_geometry(self, found: Annotations[Events], shape: tuple[int, int] | None) -> Annotations[Events]:
        """In the order of time, to the millisecond."""
        order = np.lexsort((found.shapes.time, found.item))
        moments = Events(found.shapes.time[order].round(3))
        label, score = found.labels[order], found.scores[order]
        return Annotations.from_rows(found.items, found.item, moments, label=label, score=score, classes=found.classes)


class CuboidCoder:
    """Volumes: a rectangle on the ground as masks have it, the height of the middle, log height, and the heading.

    Which way something heads is often hard to see, and along which line it stands is not: so these are told apart.
    """

    line = covers = False
    values = 10
    loss: Literal["cuboid"] = "cuboid"

    def shapes(self, truth: Cuboids) -> Cuboids:
        return truth

    def footprint(self, shapes: Cuboids) -> RotatedBoxes:
        return shapes.ground

    def encode(self, shapes: Cuboids, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        ground, heading = MASKS.encode(shapes.ground, x, y), np.stack([np.cos(shapes.yaw), np.sin(shapes.yaw)], 1)
        return np.column_stack([ground, shapes.z, np.log(np.maximum(shapes.height, 0.05)), heading])

    def decode(self, x: np.ndarray, y: np.ndarray, values: np.ndarray) -> Cuboids:
        ground, (z, height, cos, sin) = MASKS.decode(x, y, values[:, :6]), values[:, 6:].T
        back = np.cos(ground.angle) * cos + np.sin(ground.angle) * sin < 0
        yaw = ground.angle + np.where(back, np.pi, 0)
        return Cuboids(ground.x, ground.y, z, ground.width, ground.length, np.exp(np.minimum(height, LARGEST)), yaw)

    def iou(self, told: Any, truth: Any) -> np.ndarray:
        return _overlap(told, truth)

    def invert_tta(self, values: np.ndarray, view: TTATransform) -> np.ndarray:
        ground = MASKS.invert_tta(values[..., :6, :, :], view)
        z, height, cos, sin = np.moveaxis(values[..., 6:, :, :], -3, 0)
        cos, sin = -cos if view.mirror else cos, -sin if view.flip else sin
        if view.transpose:
            cos, sin = sin, cos
        return np.concatenate([ground, np.stack([z, height, cos, sin], -3)], -3)

    def to_truth_geometry(self, found: Annotations[Cuboids], shape: tuple[int, int] | None) -> Annotations[Cuboids]:
        return found


MASKS = MaskCoder()
CODERS: dict[str, ShapeCoder] = {
    "boxes": BoxCoder(), "masks": MASKS, "events": EventCoder(), "cuboids": CuboidCoder(),
}  # fmt: skip
