"""Ranks of the true labels, counts by class and the worst items, against plain loops over the items."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
import pytest

from tallymark.challenges.food.rule import RuleOptions
from tallymark.data.annotations import Annotations, offset_type
from tallymark.data.items import Items
from tallymark.geometry import Labels
from tallymark.scoring import by_class, ranked_matches
from tallymark.scoring.by_class import label_table
from tallymark.scoring.ranked_matches import rank_labels
from tallymark.scoring.score import Score


def rows_of(lists: list[list[int]]) -> Annotations[Labels]:
    item = np.repeat(np.arange(len(lists)), [len(row) for row in lists])
    labels = np.array([label for row in lists for label in row], np.int64)
    return Annotations.from_rows(Items.of([f"{at:03}" for at in range(len(lists))]), item, Labels(labels))


@pytest.mark.parametrize("fewest", [0, 1])
def test_ranks_are_those_of_a_loop(fewest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranked_matches, "BLOCK", 7)
    rng = np.random.default_rng(fewest)
    true = [rng.integers(0, 4, rng.integers(fewest, 2)).tolist() for _ in range(50)]
    guessed = [rng.integers(0, 4, rng.integers(0, 5)).tolist() for _ in range(50)]
    found = rank_labels(rows_of(true), rows_of(guessed), 3)
    assert found.label.tolist() == [row[0] if row else -1 for row in true]
    assert found.first.tolist() == [row[0] if row else -1 for row in guessed]
    ranks = [row.index(one[0]) + 1 if one and one[0] in row else 0 for one, row in zip(true, guessed, strict=True)]
    assert found.rank.tolist() == ranks
    assert np.isnan(found.probability).all()


def test_classes_are_counted_in_every_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_class, "BLOCK", 3)
    label = np.array([2, 0, 2, -1, 2, 0, 5], np.int32)
    wrong = np.array([1, 0, 0, 1, 1, 0, 1], bool)
    table = label_table(label, wrong, ~wrong, ())
    assert table.select("class", "items", "errors").rows() == [(5, 1, 1), (2, 3, 2), (0, 2, 0)]
    assert label_table(label[:0], wrong[:0], wrong[:0], ()).is_empty()


@pytest.mark.parametrize("better", ["lower", "higher"])
@pytest.mark.parametrize("items", [0, 3, 5, 60])
@pytest.mark.parametrize("nulls", [0.0, 0.5, 1.0])
def test_the_worst_items_are_the_first_of_all_in_order(
    better: Literal["lower", "higher"], items: int, nulls: float
) -> None:
    rng = np.random.default_rng(items)
    value = np.where(rng.random(items) < nulls, np.nan, rng.integers(0, 3, items) / 2)
    ids = [f"{at:02}" for at in rng.permutation(items)]
    table = pl.DataFrame(
        {"item": ids, "score": pl.Series(value, nan_to_null=True)}, schema={"item": pl.String, "score": pl.Float64}
    )
    score = Score("food", 0.5, better, RuleOptions(), table, total=lambda weight: 0.5)
    in_order = table.drop_nulls("score").sort(["score", "item"], descending=[better == "lower", False])
    assert score.worst().equals(in_order.head(5))


def test_offsets_are_as_wide_as_they_need_to_be() -> None:
    assert offset_type(2**31 - 1) is np.int32
    assert offset_type(2**31) is np.int64
