"""The threshold for counts, and the prediction intervals of counts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Boxes
from tallymark.inference.candidates import Candidates
from tallymark.inference.counting import CountCalibration, calibrate_counts
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.image.recipe import ImageRecipe

RECIPE = ImageRecipe().replace(score_threshold=0.5, nms_iou=0.5)


def held_out(
    items: int = 200, seed: int = 0, group_error: float = 0.0, classes: tuple[str, ...] = ()
) -> tuple[Candidates, Annotations[Boxes]]:
    """Items with about 30 objects each: four of five are detected with high scores, others are false positives."""
    rng = np.random.default_rng(seed)
    names = pl.Series([f"{k}" for k in range(items)])
    group = pl.Series([f"g{k % 10}" for k in range(items)])
    bias = rng.normal(0, group_error, 10)[np.arange(items) % 10]
    true = rng.poisson(30, items)
    found = rng.poisson(30 * (1 + bias)) if group_error else rng.poisson(0.8 * true + 6)
    low = rng.poisson(10, items)

    def boxes(counts: np.ndarray) -> Boxes:
        at = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return Boxes(10.0 * at, np.zeros(len(at)), np.full(len(at), 8.0), np.full(len(at), 8.0))

    score = np.concatenate(
        [np.r_[rng.uniform(0.42, 0.9, a), rng.uniform(0.1, 0.38, b)] for a, b in zip(found, low, strict=True)]
    )
    item = np.repeat(np.arange(items), found + low)
    label = rng.integers(0, max(len(classes), 1), len(item))
    objects = Annotations.from_rows(Items(names), item, boxes(found + low), score=score, label=label, classes=classes)
    own = rng.integers(0, max(len(classes), 1), true.sum())
    truth_items = Items(names, group)
    truth = Annotations.from_rows(
        truth_items, np.repeat(np.arange(items), true), boxes(true), label=own, classes=classes
    )
    return Candidates(objects, np.full((items, 2), 1e4), np.ones(items)), truth


def counts_of(candidates: Candidates, counting: CountCalibration) -> np.ndarray:
    return candidates.objects.filter(candidates.objects.scores >= counting.score_threshold).counts


def test_at_the_threshold_for_counts_the_total_is_right() -> None:
    candidates, truth = held_out()
    counting = calibrate_counts(candidates, truth, RECIPE)
    assert counting is not None
    counts = counts_of(candidates, counting)
    assert abs(int(counts.sum()) - len(truth)) <= 1
    assert (counting.items, counting.objects, counting.groups) == (200, len(truth), 10)
    assert CountCalibration.of(counting.as_dict()) == counting


def test_the_intervals_hold_95_percent_of_other_items() -> None:
    counting = calibrate_counts(*held_out(), RECIPE)
    assert counting is not None
    candidates, truth = held_out(2000, seed=1)
    low, high = counting.interval(counts_of(candidates, counting))
    share = ((low <= truth.counts) & (truth.counts <= high)).mean()
    assert 0.92 < share < 0.99
    assert (low >= 0).all()


def test_the_interval_of_the_total_holds_the_error_of_a_group() -> None:
    """Fields are off by 10 % each; the errors of single photographs cancel in the total, that of the field does not."""
    counting = calibrate_counts(*held_out(400, group_error=0.1), RECIPE)
    assert counting is not None
    assert counting.group_error == pytest.approx(0.1, abs=0.05)
    low, high = counting.total_interval(np.full(1000, 30))
    assert (high - low) / 2 / 30_000 == pytest.approx(1.96 * counting.group_error, rel=0.05)
    own = counting.interval(np.array([30]))
    assert counting.total_interval(np.array([30])) == tuple(int(end[0]) for end in own), (
        "one photograph has one interval"
    )
    alone = calibrate_counts(*held_out(400), RECIPE)
    assert alone is not None
    assert alone.group_error is not None
    assert alone.group_error < 0.03


def test_every_class_has_its_own_threshold() -> None:
    candidates, truth = held_out(classes=("ear", "awn"))
    counting = calibrate_counts(candidates, truth, RECIPE)
    assert counting is not None
    own = dict(pair.rsplit(" ", 1) for pair in counting.class_thresholds.split(", "))
    for label, name in enumerate(("ear", "awn")):
        scores = candidates.objects.scores[candidates.objects.labels == label]
        assert abs(int((scores >= float(own[name])).sum()) - int((truth.labels == label).sum())) <= 3


def test_where_nothing_can_be_said_there_is_no_calibration() -> None:
    candidates, truth = held_out()
    assert calibrate_counts(candidates, truth, RECIPE.replace(task="labels")) is None
    assert calibrate_counts(candidates, truth, AudioRecipe()) is None
    few = np.arange(4)
    assert calibrate_counts(candidates.select(few), truth.reindex(Items(truth.items.ids[few])), RECIPE) is None
    nothing = Annotations.empty(truth.items, Boxes.of(np.empty((0, 4))))
    assert calibrate_counts(candidates, nothing, RECIPE) is None
    assert CountCalibration.of({}) is None


def test_a_few_items_have_an_interval_too() -> None:
    candidates, truth = held_out(8)
    counting = calibrate_counts(candidates, truth.reindex(Items(truth.items.ids)), RECIPE)
    assert counting is not None
    assert counting.group_error is None
    assert counting.quantile == pytest.approx(1.96 * counting.dispersion**0.5, abs=1e-3)
