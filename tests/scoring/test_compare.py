"""Comparing two submissions: the interval, the verdict, the items that changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tallymark.api import score as api_score
from tallymark.core.registry import challenge
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Boxes
from tallymark.scoring.compare import compare_scores


def scored(found: np.ndarray, **options: Any) -> Any:
    """100 photographs with one head each; `found` says where it was found."""
    items = Items.of([f"{k:03}" for k in range(100)])
    boxes = Boxes.of(np.tile([0, 0, 10, 10], (100, 1)))
    truth = Annotations.from_rows(items, np.arange(100), boxes)
    rows = np.flatnonzero(found)
    predicted = Annotations.from_rows(items, rows, boxes.take(rows))
    what = challenge("wheat")
    return what.score(truth, predicted, what.rule_options(**options))


def test_a_clear_difference_has_an_interval_as_by_the_normal_approximation() -> None:
    rng = np.random.default_rng(0)
    a, b = scored(rng.random(100) < 0.3), scored(rng.random(100) < 0.8)
    compared = compare_scores(a, b)
    assert compared.verdict == "B is better"
    assert compared.low < compared.difference < compared.high
    assert compare_scores(b, a).verdict == "A is better"
    # The normal approximation of the same interval.
    change = b.items["score"].to_numpy() - a.items["score"].to_numpy()
    spread = 1.96 * change.std() / 10
    assert compared.low == pytest.approx(change.mean() - spread, abs=0.03)
    assert compared.high == pytest.approx(change.mean() + spread, abs=0.03)


def test_a_submission_does_not_differ_from_itself() -> None:
    rng = np.random.default_rng(0)
    found = rng.random(100) < 0.5
    same = compare_scores(scored(found), scored(found))
    assert (same.low, same.high, same.difference) == (0, 0, 0)
    assert same.verdict == "no clear difference"
    assert same.changes.is_empty()


def test_changes_are_listed_greatest_first() -> None:
    a = np.ones(100, bool)
    b = a.copy()
    b[[3, 7]] = False
    changes = compare_scores(scored(a), scored(b)).changes
    assert changes["item"].to_list() == ["003", "007"]
    assert changes["change"].to_list() == [-1, -1]


def test_the_seed_decides() -> None:
    rng = np.random.default_rng(0)
    a, b = scored(rng.random(100) < 0.3), scored(rng.random(100) < 0.5)
    assert compare_scores(a, b, seed=1).low == compare_scores(a, b, seed=1).low
    assert compare_scores(a, b, seed=1).low != compare_scores(a, b, seed=2).low


def test_lower_is_better_for_food(tmp_path: Path) -> None:
    names = [f"{k}" for k in range(60)]
    (tmp_path / "truth.csv").write_text("image_name,label\n" + "".join(f"{name},1\n" for name in names))
    header = "image_name,pred1,pred2,pred3\n"
    (tmp_path / "a.csv").write_text(header + "".join(f"{name},2,3,4\n" for name in names))
    (tmp_path / "b.csv").write_text(header + "".join(f"{name},1,3,4\n" for name in names))
    compared = api_score.compare("food", tmp_path / "truth.csv", tmp_path / "a.csv", tmp_path / "b.csv")
    assert compared.difference == -1
    assert compared.verdict == "B is better"


def test_recordings_that_only_one_submission_names(tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text("filename,timestamp,label\na.wav,10,up\nb.wav,5,up\n")
    (tmp_path / "a.csv").write_text("filename,timestamp\na.wav,10\n")
    (tmp_path / "b.csv").write_text("filename,timestamp\na.wav,10\nc.wav,5\n")
    compared = api_score.compare("upcalls", tmp_path / "truth.csv", tmp_path / "a.csv", tmp_path / "b.csv")
    assert compared.a.value == pytest.approx(2 / 3)
    assert compared.b.value == pytest.approx(0.5)
    assert compared.low <= compared.difference <= compared.high
    assert compared.changes["item"].to_list() == ["c.wav"]


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["sdk", "mlebench"])
def test_average_precision_can_be_compared(metric: str, tmp_path: Path) -> None:
    rows = [f"s{k}" for k in range(20)]
    truth = "".join(f"{row},0 0 0 2 4 2 0 car\n" for row in rows)
    a = "".join(f"{row},0.{k + 10} 0 0 0 2 4 2 0 car\n" for k, row in enumerate(rows))
    b = "".join(f"{row},0.{k + 10} {9 * (k % 2)} 0 0 2 4 2 0 car\n" for k, row in enumerate(rows))
    for name, text in (("truth", truth), ("a", a), ("b", b)):
        (tmp_path / f"{name}.csv").write_text("Id,PredictionString\n" + text)
    paths = (tmp_path / f"{name}.csv" for name in ("truth", "a", "b"))
    compared = api_score.compare("lyft", *paths, metric=metric)
    assert compared.verdict == "A is better"
    assert compared.a.value == 1
