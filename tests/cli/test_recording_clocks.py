"""Times in the names of recordings: days as groups, --time-pattern and --time-zone."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.data.recording_clock import RecordingClock
from tallymark.geometry import Events
from tallymark.reporting.calls import list_calls
from tests.cli.running import run
from tests.formats.files import put, put_recording
from tests.untrained import untrained

NAMES = ("5100.210401010000.wav", "5100.210401130000.wav", "5100.210402130000.wav", "230401-120000.wav")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES:
        put_recording(tmp_path / "set" / name)
    put(tmp_path / "set" / "annotations.csv", "filename,timestamp\n" + "".join(f"{name},0.5\n" for name in NAMES))
    return tmp_path / "set"


def days(folder: Path, *words: object) -> list[str]:
    """The days by which folds are made, in the order of the recordings."""
    out = folder.parent / f"folds{len(words)}.csv"
    run("folds", "upcalls", folder, "--folds", 2, "--out", out, *words)
    return pl.read_csv(out)["group"].to_list()


def test_days_of_recorders_are_groups(folder: Path) -> None:
    assert days(folder) == ["2021-04-01", "2021-04-01", "2021-04-02", "2023-04-01"]
    zone = ("--time-zone", "UTC,America/Halifax")
    assert days(folder, *zone) == ["2021-03-31", "2021-04-01", "2021-04-02", "2023-04-01"]
    pattern = ("--time-pattern", "%d%m%y-%H%M%S", "--time-zone", "UTC")
    assert days(folder, *pattern) == [*NAMES[:3], "2001-04-23"]  # recordings without a date are groups of their own


def test_bad_patterns_and_zones_are_refused(folder: Path) -> None:
    assert "write e.g. %Y%m%d_%H%M%S" in run("check", "upcalls", folder, "--time-pattern", "%H", code=2)
    assert "America/Halifax" in run("check", "upcalls", folder, "--time-zone", "Mars", code=2)


def test_calls_are_listed_in_utc_if_the_zone_is_known() -> None:
    calls = Annotations.from_rows(Items.of([NAMES[0], "x.wav"]), np.array([0, 1]), Events(np.array([1.5, 2.0])))
    assert "utc" not in list_calls(calls).columns
    listed = list_calls(calls, RecordingClock(zone="-03:00"))
    assert listed["clock"].to_list() == ["2021-04-01 01:00:01.500", None]
    assert listed["utc"].to_list() == ["2021-04-01 04:00:01.500", None]


def test_predicted_calls_have_the_time_of_the_clock_and_utc(folder: Path, tmp_path: Path) -> None:
    model = untrained("upcalls", tmp_path / "model.onnx")
    calls = ("--out", tmp_path / "detections.csv", "--objects", tmp_path / "calls.csv", "score_threshold=0")
    run("predict", model, folder, *calls, "--time-zone", "-03:00")
    listed = pl.read_csv(tmp_path / "calls.csv").filter(pl.col("recording") == NAMES[0])
    assert listed.height
    for row in listed.iter_rows(named=True):
        clock, utc = (datetime.fromisoformat(row[name]) for name in ("clock", "utc"))
        assert utc - clock == timedelta(hours=3)
        assert abs((clock - datetime(2021, 4, 1, 1)).total_seconds() - row["timestamp"]) < 0.01
