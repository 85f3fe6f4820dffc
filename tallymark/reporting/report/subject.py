"""The subject of a report: predictions with their media and, where it is known, their truth and score."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from tallymark.core.registry import Analysis, Challenge
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.modalities.render import Renderer, renderer_of
from tallymark.scoring.outcomes import Outcomes
from tallymark.scoring.score import Score

Rule = Callable[[Annotations[Any], Annotations[Any]], Score]


@dataclass(frozen=True, eq=False)
class Subject:
    """Predictions, and all that a report can say about them.

    predicted: what is reported on, in the geometry of the challenge. truth: under the same items; None if unknown.
    rule: the official rule for these items. catalog: the data set that has the media; None if there are none.
    score_threshold: where the slider of the page stands at first; None if the predictions have no scores.
    notes: sentences for the top of the page. analyses: further tables about the score, by name.
    """

    challenge: Challenge
    title: str
    predicted: Annotations[Any]
    truth: Annotations[Any] | None
    rule: Rule
    catalog: Catalog | None
    score_threshold: float | None = None
    notes: tuple[str, ...] = ()
    analyses: Mapping[str, Analysis] = field(default_factory=dict)

    @property
    def items(self) -> Items:
        return self.predicted.items

    @cached_property
    def official(self) -> Annotations[Any]:
        """The predictions that count at the initial threshold."""
        if self.score_threshold is None or self.predicted.score is None:
            return self.predicted
        return self.predicted.filter(self.predicted.scores >= self.score_threshold)

    @cached_property
    def score(self) -> Score | None:
        """The official score at the initial threshold; None without truth."""
        return None if self.truth is None else self.rule(self.truth, self.official)

    @cached_property
    def outcomes(self) -> Outcomes | None:
        """What became of each prediction, whatever its score, and of each object of the truth; None without truth."""
        return None if self.truth is None else self.rule(self.truth, self.predicted).outcomes

    @cached_property
    def group(self) -> pl.Series | None:
        """The group of each item, by the truth or by the data set."""
        known = self.items.group if self.truth is None or self.truth.items.group is None else self.truth.items.group
        if known is not None or self.catalog is None or self.catalog.items.group is None:
            return known
        group = self.catalog.items.group.to_numpy().astype(object)
        return pl.Series([group[row] if row >= 0 else None for row in self.rows.tolist()], dtype=pl.String)

    @cached_property
    def rows(self) -> np.ndarray:
        """The row of each item in the catalog; -1 where it has no file."""
        if self.catalog is None:
            return np.full(len(self.items), -1)
        known = self.catalog.items
        items = self.items.spelled_like(known) if self.challenge.suffix_optional else self.items
        at = known.find(items.ids)
        present = self.catalog.files.is_not_null().to_numpy()
        return np.where((at >= 0) & present[at], at, -1)

    @cached_property
    def renderer(self) -> Renderer | None:
        return None if self.catalog is None else renderer_of(self.catalog)

    @property
    def medium(self) -> str:
        """What an item is called."""
        return "item" if self.catalog is None else self.catalog.medium.noun
