"""Coders: what a network predicts for each task, as numbers on its output grid, and back.

Four tasks are center detection on a regular grid (`CenterCoder`); classification is a coder of its own. Everything
that depends on the task is a method or an attribute of its coder: nothing else compares task names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.detector.box_coder import BoxCoder
from tallymark.detector.cuboid_coder import CuboidCoder
from tallymark.detector.event_coder import EventCoder
from tallymark.detector.label_coder import LabelCoder
from tallymark.detector.mask_coder import MaskCoder
from tallymark.detector.outputs import Outputs, TileCandidates
from tallymark.detector.tta import TTATransform

if TYPE_CHECKING:
    from tallymark.detector.encoders import Encoder
    from tallymark.detector.network import Network


class Coder(Protocol):
    """What the core has to know of a task."""

    @property
    def geometry(self) -> type[Any]:
        """The geometry of its candidates."""

    @property
    def truth_geometry(self) -> type[Any]:
        """The geometry of its predictions, which is that of the challenge's truth."""

    @property
    def values(self) -> int:
        """Numbers regressed at each cell."""

    @property
    def whole_item(self) -> bool:
        """Whether an item is predicted as a whole, not in tiles."""

    @property
    def one_dimensional(self) -> bool:
        """Whether its grid is a line of time; then candidates are also measured per hour."""

    @property
    def ranked(self) -> bool:
        """Whether predictions are a ranking for each item, so that there is nothing to threshold."""

    @property
    def common_size(self) -> bool:
        """Whether all items of a submission must have one size."""

    @property
    def search(self) -> Mapping[str, tuple[float, ...]]:
        """The values that tuning tries, for recipe fields other than the score threshold."""

    def from_truth(self, shapes: Any) -> Any:
        """What the network learns, from the geometry of the challenge's truth."""

    def to_truth_geometry(self, candidates: Annotations[Any], size: np.ndarray, recipe: Recipe) -> Annotations[Any]:
        """Predictions in the geometry of the challenge; `size` is (n, 2) width and height of all items."""

    def decode(self, x: np.ndarray, y: np.ndarray, values: np.ndarray) -> Any:
        """The shapes that the values (n, `values`) describe, at positions (x, y) in cells."""

    def output_shapes(
        self, recipe: Recipe, classes: int, groups: int, size: tuple[int, int]
    ) -> dict[str, tuple[int, ...]]:
        """The shape of each output for an input of that height and width. groups: how many `head_groups` there are."""

    def read_outputs(
        self,
        outputs: Outputs,
        inside: tuple[int, int, int, int],
        recipe: Recipe,
        groups: np.ndarray,
        peak_distance: int,
    ) -> TileCandidates:
        """The candidates of one tile. `inside`: left, top, right, bottom in pixels of the area that counts."""

    def unreadable(self, classes: int) -> TileCandidates:
        """The candidates of an item that could not be read."""

    def invert_outputs(self, outputs: Outputs, transform: TTATransform) -> Outputs:
        """Outputs for a transformed input, as they are for the input itself."""

    def network(self, recipe: Recipe, encoder: Encoder, classes: int, groups: Sequence[int]) -> Network[Any]:
        """The network of the task, without trained weights."""

    def targets(self, samples: Sequence[Any], classes: int, recipe: Recipe) -> Any:
        """What the network should predict for a batch of training samples, as tensors."""


CODERS: dict[str, Coder] = {
    "boxes": BoxCoder(),
    "masks": MaskCoder(),
    "labels": LabelCoder(),
    "events": EventCoder(),
    "cuboids": CuboidCoder(),
}
