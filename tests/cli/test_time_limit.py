"""`predict --minutes` keeps a time limit: test-time augmentation is dropped first, then items, and both are said."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tallymark.api import predict as api_predict
from tallymark.inference import pipeline, time_limit
from tallymark.inference.time_limit import TimeLimit
from tests.cli.running import run

LONG = 10_000.0
"""Seconds that no test takes before it predicts: less is what this process really took."""
FAST = ("image_size=128", "tta=8", "tta_scales=1")


@pytest.fixture
def slow_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pass of the network takes a second, by the clock of the time limit."""
    now = 0.0
    real = pipeline.ensemble

    def ensemble(grid: Any, networks: Sequence[Any], recipe: Any, tta: int | None = None) -> Any:
        nonlocal now
        now += recipe.tta if tta is None else tta
        return real(grid, networks, recipe, 1)

    monkeypatch.setattr(pipeline, "ensemble", ensemble)

    class Slow(TimeLimit):
        def __init__(self, seconds: float, spent: float = 0.0) -> None:
            super().__init__(seconds, spent if spent > LONG else 0.0, clock=lambda: now)

    for module in (api_predict, time_limit):
        monkeypatch.setattr(module, "TimeLimit", Slow)


def predict(sets: Path, out: Path, *more: object) -> dict[str, Any]:
    return json.loads(run("predict", "wheat", sets / "wheat", "--split", "all", "--out", out, "--json", *FAST, *more))


@pytest.mark.usefixtures("slow_network")
def test_tta_is_reduced_first(sets: Path, tmp_path: Path) -> None:
    printed = predict(sets, tmp_path / "submission.csv", "--minutes", 1)
    [note] = [note for note in printed["notes"] if "time limit" in note]
    items = pl.read_csv(tmp_path / "submission.csv").height
    assert note == (
        f"time limit of 1 min: test-time augmentation was reduced from tta=8 to tta=2 after 2 of {items} images"
    )
    assert printed["total"] == 0


@pytest.mark.usefixtures("slow_network")
def test_sizes_are_reduced_after_transforms(sets: Path, tmp_path: Path) -> None:
    printed = predict(sets, tmp_path / "submission.csv", "tta=2", "tta_scales=3", "--minutes", 0.5)
    [note] = [note for note in printed["notes"] if "reduced" in note]
    assert "reduced from tta=2 tta_scales=3 to tta=1 after 2 of" in note


@pytest.mark.usefixtures("slow_network")
def test_items_that_there_is_no_time_for_are_named_and_empty(sets: Path, tmp_path: Path) -> None:
    out = tmp_path / "submission.csv"
    printed = predict(sets, out, "--minutes", 0.4)
    late = printed["counts"]["time_limit"]
    assert any(f"{late} of" in note and "not predicted, or only in part" in note for note in printed["notes"])
    rows = pl.read_csv(out, infer_schema=False)
    empty = set(rows.filter(pl.col("PredictionString").fill_null("") == "")["image_id"])
    assert 0 < late < rows.height
    assert {problem["item"] for problem in printed["problems"]} <= empty


@pytest.mark.usefixtures("slow_network")
def test_enough_time_changes_nothing(sets: Path, tmp_path: Path) -> None:
    printed = predict(sets, tmp_path / "submission.csv", "--minutes", 60)
    assert not any("time limit" in note for note in printed["notes"])
    predict(sets, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "submission.csv").read_bytes()


def test_a_time_limit_excludes_a_journal(sets: Path, tmp_path: Path) -> None:
    text = run("predict", "wheat", sets / "wheat", "--journal", tmp_path / "j", "--minutes", 5, code=2)
    assert "leave out the time limit" in text


def test_another_name_than_the_organisers_want_is_noted(sets: Path, tmp_path: Path) -> None:
    words = ("predict", "wheat", sets / "wheat", "image_size=64", "tta=1", "--out")
    expected = "wheat wants its submission to be named submission.csv: rename heads.csv"
    assert expected in run(*words, tmp_path / "heads.csv")
    assert expected in run("check", "wheat", tmp_path / "heads.csv")
    assert "wants its submission" not in run(*words, tmp_path / "submission.csv")


@pytest.mark.usefixtures("slow_network")
def test_the_time_before_the_model_is_open_counts(sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minutes = (2 * LONG / (1 - time_limit.RESERVE) + 60) / 60
    first = predict(sets, tmp_path / "a.csv", "--minutes", minutes)
    assert not any("time limit" in note for note in first["notes"])
    monkeypatch.setattr("tallymark.cli.predict.STARTED", time.monotonic() - 2 * LONG)
    second = predict(sets, tmp_path / "b.csv", "--minutes", minutes)
    assert any("test-time augmentation was reduced" in note for note in second["notes"])
