"""The fuzzers find what is planted, and their figures say so."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tallymark.challenges.upcalls import dialect
from tests.fuzz import case
from tests.fuzz.case import Outcome, run_case
from tests.fuzz.families import FAMILIES
from tests.fuzz.mutations import BYTES, JSON, mutate, texts
from tests.fuzz.runner import Statistics, fuzz, save, seeded, table

CASES = 60


def first_finding(folder: Path) -> Outcome:
    """The first finding among submissions, of upcalls or not."""
    for seed in range(CASES):
        own = folder / str(seed)
        own.mkdir()
        outcome = run_case(FAMILIES["submissions"], seeded("submissions", seed), folder, own)
        if outcome.finding:
            return outcome
    return Outcome()


def without_the_last(read: Callable[..., Any]) -> Callable[..., Any]:
    """A reader of ids that loses a row."""

    def lossy(*arguments: Any) -> Any:
        rows, ids = read(*arguments)
        kept = np.arange(len(ids)) < len(ids) - 1
        return rows.filter(kept), ids.filter(pl.Series(kept))

    return lossy


def fail(*_: Any) -> None:
    raise ZeroDivisionError("planted")


def test_a_lost_row_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(dialect, "read_ids", without_the_last(dialect.read_ids))
    assert first_finding(tmp_path).finding == "silent drop"


def test_a_traceback_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(dialect, "read_ids", fail)
    outcome = first_finding(tmp_path)
    assert (outcome.finding, outcome.shown) == ("traceback", "ZeroDivisionError: planted")


def test_a_hang_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(case, "SECONDS", 1)
    monkeypatch.setattr(dialect, "require_columns", lambda *_: time.sleep(60))
    assert first_finding(tmp_path).finding == "hang"


def test_a_finding_is_kept_with_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "submission.csv").write_bytes(b"\xff")
    outcome = Outcome("refused", "traceback", "…\nOSError: planted", "a submission", [["check", "wheat"]])
    save(outcome, "submissions", 7, tmp_path / "case", tmp_path / "kept")
    kept = tmp_path / "kept" / "submissions-7"
    assert (kept / "submission.csv").read_bytes() == b"\xff"
    assert '[["check", "wheat"]]' in (kept / "finding.txt").read_text()
    assert capsys.readouterr().out == "submissions 7: traceback: OSError: planted\n"


@pytest.mark.parametrize("mutations", [BYTES, JSON, texts(", ")])
def test_a_seed_stands_for_a_file(mutations: Any) -> None:
    data = b'{"a": [1, 2, {"b": null}],\n"c": "d"}\n'
    files = [[mutate(data, seeded("x", seed), mutations) for seed in range(50)] for _ in range(2)]
    assert files[0] == files[1]
    assert len(set(files[0])) > 25


def test_figures_are_counted(tmp_path: Path) -> None:
    """In a process of its own, as `make fuzz` does."""
    figures = fuzz({"truths": FAMILIES["truths"]}, minutes=0.02, seed=0, workers=1, keep=tmp_path)
    assert figures["truths"].verdicts.total() > 0
    assert not figures["truths"].findings
    figures["truths"] = Statistics()
    figures["truths"].add(Outcome("refused", "hang", memory=3 << 20), 1.0)
    rows = [line.split() for line in table(figures).splitlines()]
    assert rows[1] == ["truths", "1", "0", "1", "0", "0", "1", "0", "3"]
    assert rows[2] == ["all", *rows[1][1:]]
