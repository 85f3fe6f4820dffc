"""Center detection: an object is a peak of a heatmap, with its shape regressed at the peak (after CenterNet)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.detector.outputs import Outputs, TileCandidates, no_candidates
from tallymark.detector.peaks import find_peaks
from tallymark.detector.tta import TTATransform
from tallymark.geometry import Clusters, RotatedBoxes

if TYPE_CHECKING:
    from tallymark.detector.batch_targets import CenterTargets
    from tallymark.detector.encoders import Encoder
    from tallymark.detector.network import Network

MIN_SCORE = 0.03
"""Candidates of lower confidence are not kept, even for tuning."""
MIN_CANDIDATES = 30
"""Candidates that a tile may have, however small it is."""
MAX_LOG_SIZE = 5.5
"""Logarithms of lengths are clipped here: exp(5.5) cells are 245, more than an image has."""
AGREEMENT = 0.5
"""IoU from which on the shape that a neighbouring cell predicts is of the same object."""
MIN_SIZE = 0.05
"""Lengths in cells are clipped here before the logarithm."""

ShapeLoss = Literal["giou", "kld", "cuboid", "smooth_l1"]


class CenterCoder(ABC):
    """Shapes as numbers at a cell near their centre. Lengths are in cells of the grid, heights in metres."""

    geometry: ClassVar[type[Any]]
    values: ClassVar[int]
    loss: ClassVar[ShapeLoss]
    whole_item = False
    ranked = False
    one_dimensional = False
    common_size = False
    predicts_coverage = False
    votes = True
    """Whether the cells around a peak vote for its shape."""
    pixels_per_candidate = 1200
    """Pixels of a tile per candidate, at least: more candidates only make an untrained network slow to evaluate."""
    search: ClassVar[Mapping[str, tuple[float, ...]]] = {"nms_iou": (0.3, 0.4, 0.5, 0.6, 0.7)}

    @abstractmethod
    def footprint(self, shapes: Any) -> RotatedBoxes:
        """The area of the grid that shapes cover, which decides where the heatmap is high."""

    @abstractmethod
    def encode(self, shapes: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(n, values): each shape relative to its own position (x, y)."""

    @abstractmethod
    def decode(self, x: np.ndarray, y: np.ndarray, values: np.ndarray) -> Any:
        """The shapes that these values describe."""

    @abstractmethod
    def invert_tta(self, values: np.ndarray, transform: TTATransform) -> np.ndarray:
        """Values (…, values, height, width) for a transformed input, as they are for the input itself."""

    @property
    def truth_geometry(self) -> type[Any]:
        return self.geometry

    def from_truth(self, shapes: Any) -> Any:
        return shapes

    def to_truth_geometry(self, candidates: Annotations[Any], size: np.ndarray, recipe: Recipe) -> Annotations[Any]:
        return candidates

    def iou(self, predicted: Any, truth: Any) -> np.ndarray:
        """How well each predicted shape fits the true one, from 0 to 1."""
        every = np.arange(len(truth))
        intersection, union = predicted.overlap(truth, every, every)
        return np.divide(intersection, union, out=np.zeros(len(every)), where=union > 0)

    def output_shapes(
        self, recipe: Recipe, classes: int, groups: int, size: tuple[int, int]
    ) -> dict[str, tuple[int, ...]]:
        rows, columns = (side // recipe.stride for side in size)
        grid = (1 if self.one_dimensional else rows, columns)
        return {
            "heat": (classes, *grid),
            "values": (groups * self.values, *grid),
            "quality": (groups, *grid),
            "presence": (),
        }

    def read_outputs(
        self,
        outputs: Outputs,
        inside: tuple[int, int, int, int],
        recipe: Recipe,
        groups: np.ndarray,
        peak_distance: int,
    ) -> TileCandidates:
        """The peaks of a tile; their score is the geometric mean of heat and predicted IoU."""
        left, top, right, bottom = (edge / recipe.stride for edge in inside)
        most = (inside[2] - inside[0]) * (inside[3] - inside[1]) // self.pixels_per_candidate
        limit = max(most, MIN_CANDIDATES)
        peaks = find_peaks(outputs["heat"], MIN_SCORE, limit, peak_distance, (left, top, right, bottom))
        x, y = peaks.x + 0.5, peaks.y + 0.5
        at = peaks.y, peaks.x
        label = peaks.label
        group = groups[label] if len(groups) else np.zeros(len(label), np.int64)
        regressed = outputs["values"].reshape(-1, self.values, *outputs["values"].shape[1:])
        values = self.vote(at, label, group, outputs) if self.votes else regressed[group, :, *at]
        quality = outputs["quality"][group, *at]
        heat = peaks.heat
        values, quality = self.refine(x, y, values, heat, quality, outputs)
        score = heat ** (1 - recipe.quality_weight) * quality**recipe.quality_weight
        return TileCandidates(x, y, values, score, label, float(outputs["presence"]))

    def vote(
        self, at: tuple[np.ndarray, np.ndarray], label: np.ndarray, group: np.ndarray, outputs: Outputs
    ) -> np.ndarray:
        """Values at cells (rows, columns): the mean of the shapes that the 3 x 3 cells around each predict there.

        All cells near a centre learn the shape of its object, and their errors differ, so that the mean is better than
        any one of them (after Gidaris and Komodakis: Object detection via a multi-region CNN, 2015). Cells count by
        their squared confidence, if their shape overlaps that at the centre.
        """
        heat, quality = outputs["heat"], outputs["quality"]
        regressed = outputs["values"].reshape(-1, self.values, *heat.shape[1:])
        down, across = np.indices((3, 3)).reshape(2, 9, 1) - 1
        row = np.clip(at[0] + down, 0, heat.shape[1] - 1)
        column = np.clip(at[1] + across, 0, heat.shape[2] - 1)
        values = regressed[group, :, row, column].reshape(-1, self.values)
        shapes = self.decode(column.ravel() + 0.5, row.ravel() + 0.5, values.astype(float))
        every = np.arange(len(label))
        own = every + 4 * len(label)
        agrees = self.iou(shapes, shapes.take(np.tile(own, 9))) >= AGREEMENT
        weight = agrees * ((heat[label, row, column] * quality[group, row, column]) ** 2).ravel().astype(float)
        weight[own] += np.finfo(float).tiny
        voted = shapes.fuse(Clusters.of(np.tile(every, 9), own, weight))
        return self.encode(voted, at[1] + 0.5, at[0] + 0.5).astype(regressed.dtype)

    def refine(
        self, x: np.ndarray, y: np.ndarray, values: np.ndarray, heat: np.ndarray, quality: np.ndarray, outputs: Outputs
    ) -> tuple[np.ndarray, np.ndarray]:
        """Values and predicted IoU of peaks, improved by other outputs where the task has any."""
        return values, quality

    def unreadable(self, classes: int) -> TileCandidates:
        return no_candidates(self.values)

    def invert_outputs(self, outputs: Outputs, transform: TTATransform) -> Outputs:
        inverted = {name: part if part.ndim == 0 else transform.invert(part) for name, part in outputs.items()}
        values = inverted["values"]
        by_group = values.reshape(-1, self.values, *values.shape[1:])
        return inverted | {"values": self.invert_tta(by_group, transform).reshape(values.shape)}

    def network(self, recipe: Recipe, encoder: Encoder, classes: int, groups: Sequence[int]) -> Network[Any]:
        from tallymark.detector.network import CenterDetector

        return CenterDetector(recipe, self, encoder, classes, groups)

    def targets(self, samples: Sequence[Any], classes: int, recipe: Recipe) -> CenterTargets:
        from tallymark.detector.batch_targets import center_targets

        return center_targets(samples, self, classes, recipe)
