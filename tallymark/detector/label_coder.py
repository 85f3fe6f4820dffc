"""Classification: class probabilities of a whole item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.detector.outputs import Outputs, TileCandidates
from tallymark.detector.tta import TTATransform
from tallymark.geometry import Labels

if TYPE_CHECKING:
    from torch import Tensor

    from tallymark.detector.encoders import Encoder
    from tallymark.detector.network import Network

TEMPERATURES = tuple(round(2 ** (k / 8), 3) for k in range(-16, 17))
"""Tried by tuning: from a quarter to four, in steps of 9 %."""
TOP_K = 3
"""Classes that are predicted of an item, the most probable first."""


class LabelCoder:
    """Every class is a candidate of every item, its probability is the score, and the value is its number."""

    geometry = Labels
    truth_geometry = Labels
    values = 1
    whole_item = True
    ranked = True
    one_dimensional = False
    common_size = False
    search: ClassVar[Mapping[str, tuple[float, ...]]] = {"temperature": TEMPERATURES}

    def from_truth(self, shapes: Labels) -> Labels:
        return shapes

    def to_truth_geometry(
        self, candidates: Annotations[Labels], size: np.ndarray, recipe: Recipe
    ) -> Annotations[Labels]:
        """The `TOP_K` most probable classes of each item; of equal probabilities the lower class first."""
        scaled = scale_probabilities(candidates.scores, candidates.item, recipe.temperature)
        return top_k(candidates, TOP_K, scaled)

    def decode(self, x: np.ndarray, y: np.ndarray, values: np.ndarray) -> Labels:
        return Labels(values[:, 0].astype(np.int64))

    def output_shapes(
        self, recipe: Recipe, classes: int, groups: int, size: tuple[int, int]
    ) -> dict[str, tuple[int, ...]]:
        return {"classes": (classes,)}

    def read_outputs(
        self,
        outputs: Outputs,
        inside: tuple[int, int, int, int],
        recipe: Recipe,
        groups: np.ndarray,
        peak_distance: int,
    ) -> TileCandidates:
        return _every_class(outputs["classes"])

    def unreadable(self, classes: int) -> TileCandidates:
        """All classes alike, so that a submission which needs a ranking has one."""
        return _every_class(np.full(classes, 1 / max(classes, 1)))

    def invert_outputs(self, outputs: Outputs, transform: TTATransform) -> Outputs:
        return outputs

    def network(self, recipe: Recipe, encoder: Encoder, classes: int, groups: Sequence[int]) -> Network[Any]:
        from tallymark.detector.network import Classifier

        return Classifier(recipe, encoder, classes)

    def targets(self, samples: Sequence[Any], classes: int, recipe: Recipe) -> Tensor:
        from tallymark.detector.batch_targets import label_targets

        return label_targets(samples, classes, recipe)


def _every_class(probabilities: np.ndarray) -> TileCandidates:
    label = np.arange(len(probabilities))
    position = np.zeros(len(label))
    return TileCandidates(position, position, label[:, None].astype(float), probabilities, label, 1.0)


def scale_probabilities(probabilities: np.ndarray, item: np.ndarray, temperature: float) -> np.ndarray:
    """Probabilities of classes, those of an item raised to 1 / temperature and divided by their sum."""
    if temperature == 1 or not len(item):
        return probabilities
    powers = probabilities ** (1 / temperature)
    totals = np.bincount(item, powers)[item]
    scaled: np.ndarray = np.divide(powers, totals, out=powers.copy(), where=totals > 0)
    return scaled


def top_k(candidates: Annotations[Labels], count: int, scores: np.ndarray | None = None) -> Annotations[Labels]:
    """The most probable distinct classes of each item, in order. scores: to write in place of the probabilities."""
    order = np.lexsort((candidates.labels, -candidates.scores, candidates.item))
    rank = np.arange(len(candidates)) - candidates.offsets[candidates.item]
    kept = order[rank < count]
    return Annotations.from_rows(
        candidates.items,
        candidates.item[kept],
        candidates.shapes.take(kept),
        label=candidates.labels[kept],
        score=(candidates.scores if scores is None else scores)[kept],
        classes=candidates.classes,
    )
