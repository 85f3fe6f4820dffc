"""Calls by hour, by day and by date and time, with numbers computed by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.data.recording_clock import RecordingClock
from tallymark.geometry import Events
from tallymark.reporting.calls import call_summary, calls_per_day, calls_per_hour, list_calls

LATE = "bay/SITE_20090328_233000.wav"
EARLY = "SITE_20090329_003000.wav"
UNDATED = "B_cont_23.wav"


def calls_in(names: list[str], item: list[int], time: list[float]) -> Annotations[Events]:
    score = np.linspace(0.9, 0.5, len(time))
    return Annotations.from_rows(Items.of(names), np.array(item, np.int64), Events(np.array(time, float)), score=score)


def test_recordings_continue_over_midnight() -> None:
    """From 23:30 to 0:30, and on to 1:15: three hours of the clock."""
    calls = calls_in([LATE, EARLY], [0, 0, 0, 1, 1], [0, 1799.9, 1800, 0, 2699])
    table = calls_per_hour(calls, np.array([3600, 2700]))
    assert table.rows() == [
        ("SITE", "2009-03-28", 23, 0.5, 2, 4),
        ("SITE", "2009-03-29", 0, 1, 2, 2),
        ("SITE", "2009-03-29", 1, 0.25, 1, 4),
    ]
    assert table.columns == ["recorder", "day", "hour", "hours", "count", "per_hour"]
    assert calls_per_day(table).rows() == [("SITE", "2009-03-28", 0.5, 2, 4), ("SITE", "2009-03-29", 1.25, 3, 2.4)]


def test_clocks_are_put_forward_and_back() -> None:
    """In Halifax by an hour on 8 March at 06:00 UTC and on 1 November at 05:00 UTC; the recorders run in UTC."""
    clock = RecordingClock(zone="UTC,America/Halifax")
    names = ["A_20090308_050000.wav", "A_20091101_053000.wav"]
    calls = calls_in(names, [0, 0, 0, 1], [3599, 3600, 8000, 60])
    assert calls_per_hour(calls, np.array([9000, 900]), clock=clock).rows() == [
        ("A", "2009-03-08", 1, 1, 1, 1),
        ("A", "2009-03-08", 3, 1, 1, 1),
        ("A", "2009-03-08", 4, 0.5, 1, 2),
        ("A", "2009-11-01", 1, 0.25, 1, 4),
    ]
    assert list_calls(calls, clock).select("clock", "utc").rows() == [
        ("2009-03-08 01:59:59.000", "2009-03-08 05:59:59.000"),
        ("2009-03-08 03:00:00.000", "2009-03-08 06:00:00.000"),
        ("2009-03-08 04:13:20.000", "2009-03-08 07:13:20.000"),
        ("2009-11-01 01:31:00.000", "2009-11-01 05:31:00.000"),
    ]


def test_an_undated_recording_is_its_own_recorder() -> None:
    table = calls_per_hour(calls_in([UNDATED, "c.wav", "d.wav"], [0, 0], [10, 3700]), np.array([5400, 1800, np.nan]))
    assert table.rows() == [
        (UNDATED, None, 0, 1, 1, 1),
        (UNDATED, None, 1, 0.5, 1, 2),
        ("c.wav", None, 0, 0.5, 0, 0),
    ]


def test_a_recording_without_a_time_is_not_divided_into_hours() -> None:
    names = ["A_20090328.wav", "A_20090328_b.wav", "A_20090328_010000.wav"]
    table = calls_per_hour(calls_in(names, [0, 0, 1, 2], [10, 5000, 20, 30]), np.array([7200, 1800, 900]))
    assert table.rows() == [
        ("A", "2009-03-28", None, 2.5, 3, 1.2),
        ("A", "2009-03-28", 1, 0.25, 1, 4),
    ]
    assert calls_per_day(table).rows() == [("A", "2009-03-28", 2.75, 4, pytest.approx(4 / 2.75, abs=1e-6))]
    assert list_calls(calls_in(names, [0, 2], [10, 30]))["clock"].to_list() == [None, "2009-03-28 01:00:30.000"]


def test_recorders_are_distinguished_by_the_folders_of_their_files() -> None:
    """Ids have no folders, and of a missing file only the id is known."""
    ids = ["20200102_000000.wav", "20200102_010000.wav", "c.wav", "C_20200102_000000.wav"]
    files = pl.Series(["pierA/20200102_000000.wav", "pierB/20200102_010000.wav", "pierB/c.wav", None])
    table = calls_per_hour(calls_in(ids, [0, 1], [1, 2]), np.full(4, 3600.0), files)
    assert table["recorder"].to_list() == ["C", "c.wav", "pierA", "pierB"]
    assert table["count"].to_list() == [0, 0, 1, 1]


def test_recordings_of_whole_hours_have_no_empty_last_hour() -> None:
    table = calls_per_hour(calls_in(["A_20090328_020000.wav"], [], []), np.array([7200.0]))
    assert table["hour"].to_list() == [2, 3]
    assert table["hours"].to_list() == [1, 1]


def test_a_call_at_the_end_of_a_recording_is_of_its_last_hour() -> None:
    """A call that the end of a file cuts in two is predicted at that end, where nothing is recorded any more."""
    table = calls_per_hour(calls_in(["A_20090328_234500.wav", UNDATED], [0, 1], [900, 3600]), np.array([900, 3600]))
    assert table.rows() == [("A", "2009-03-28", 23, 0.25, 1, 4), (UNDATED, None, 0, 1, 1, 1)]


def test_unreadable_recordings_have_no_hours() -> None:
    table = calls_per_hour(calls_in(["a.wav"], [], []), np.array([np.nan]))
    assert table.height == 0
    assert call_summary(calls_in(["a.wav"], [], []), np.array([np.nan])) == {
        "items": 1, "count": 0, "hours": 0, "per_hour": None,
    }  # fmt: skip
    with pytest.raises(ValueError, match="2 lengths"):
        calls_per_hour(calls_in(["a.wav"], [], []), np.zeros(2))


def test_calls_are_listed_with_date_and_time() -> None:
    table = list_calls(calls_in([LATE, UNDATED], [0, 1], [1800.25, 4]))
    assert table.rows() == [
        (LATE, 1, 0.9, 1800.25, "2009-03-29 00:00:00.250"),
        (UNDATED, 1, 0.5, 4, None),
    ]
    assert list_calls(calls_in([LATE], [], [])).height == 0
