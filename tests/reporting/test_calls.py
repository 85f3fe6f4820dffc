"""Calls by the hour, by the day and by the clock, with numbers computed by hand."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Events
from tallymark.inference.recall_curve import RecallCurve
from tallymark.reporting.calls import (
    begun,
    call_summary,
    calls_per_day,
    calls_per_hour,
    list_calls,
    write_calls_page,
    write_recall_page,
)

LATE, EARLY, PLAIN = "bay/SITE_20090328_233000.wav", "SITE_20090329_003000.wav", "B_cont_23.wav"


def found(names: list[str], item: list[int], time: list[float]) -> Annotations[Events]:
    score = np.linspace(0.9, 0.5, len(time))
    return Annotations.from_rows(Items.of(names), np.array(item, np.int64), Events(np.array(time, float)), score=score)


@pytest.mark.parametrize(
    ("name", "recorder", "clock"),
    [
        ("NOPP6_EST_20090328/NOPP6_EST_20090328_001500.wav", "NOPP6_EST", "2009-03-28T00:15:00"),
        ("GSC_2000-05-19_00-30-00.flac", "GSC", "2000-05-19T00:30:00"),
        ("SITE.20210102T030405Z.wav", "SITE", "2021-01-02T03:04:05"),
        ("pier/20210102_030405.WAV", "pier", "2021-01-02T03:04:05"),
        ("20210102/20210102_030405.WAV", "", "2021-01-02T03:04:05"),
        ("pier/2021-01-02/20210102_030405.WAV", "pier", "2021-01-02T03:04:05"),
        ("A_202101020304.wav", "A", "2021-01-02T03:04:00"),
        ("5_2021-01-02 03.04.05_x.wav", "5", "2021-01-02T03:04:05"),
    ],
)
def test_clocks_in_names(name: str, recorder: str, clock: str) -> None:
    told = begun(name)
    assert told.recorder == recorder
    assert told.timed
    assert told.seconds is not None
    assert datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=told.seconds) == datetime.datetime.fromisoformat(
        clock
    )


@pytest.mark.parametrize("name", [PLAIN, "A_20090231_000000.wav", "x120090328_000000.wav"])
def test_names_without_a_day(name: str) -> None:
    assert begun(name) == (name, None, False)


@pytest.mark.parametrize("name", ["A_20090328.wav", "A_2009-03-28_dive7.wav", "A_20090328_250000.wav"])
def test_names_with_a_day_and_no_time(name: str) -> None:
    assert begun(name) == ("A", datetime.datetime(2009, 3, 28, tzinfo=datetime.UTC).timestamp(), False)


def test_hours_go_on_over_midnight() -> None:
    """From 23:30 to 0:30, and on to 1:15: three hours of the clock."""
    calls = found([LATE, EARLY], [0, 0, 0, 1, 1], [0, 1799.9, 1800, 0, 2699])
    table = calls_per_hour(calls, np.array([3600, 2700]))
    assert table.rows() == [
        ("SITE", "2009-03-28", 23, 0.5, 2, 4),
        ("SITE", "2009-03-29", 0, 1, 2, 2),
        ("SITE", "2009-03-29", 1, 0.25, 1, 4),
    ]
    assert table.columns == ["recorder", "day", "hour", "hours", "count", "per_hour"]
    assert calls_per_day(table).rows() == [("SITE", "2009-03-28", 0.5, 2, 4), ("SITE", "2009-03-29", 1.25, 3, 2.4)]


def test_without_a_clock_a_recording_stands_for_itself() -> None:
    table = calls_per_hour(found([PLAIN, "c.wav", "d.wav"], [0, 0], [10, 3700]), np.array([5400, 1800, np.nan]))
    assert table.rows() == [
        (PLAIN, None, 0, 1, 1, 1),
        (PLAIN, None, 1, 0.5, 1, 2),
        ("c.wav", None, 0, 0.5, 0, 0),
    ]


def test_a_day_without_a_time_is_not_divided_into_hours() -> None:
    names = ["A_20090328.wav", "A_20090328_b.wav", "A_20090328_010000.wav"]
    table = calls_per_hour(found(names, [0, 0, 1, 2], [10, 5000, 20, 30]), np.array([7200, 1800, 900]))
    assert table.rows() == [
        ("A", "2009-03-28", None, 2.5, 3, 1.2),
        ("A", "2009-03-28", 1, 0.25, 1, 4),
    ]
    assert calls_per_day(table).rows() == [("A", "2009-03-28", 2.75, 4, pytest.approx(4 / 2.75, abs=1e-6))]
    assert list_calls(found(names, [0, 2], [10, 30]))["clock"].to_list() == [None, "2009-03-28 01:00:30.000"]


def test_sites_are_told_apart_by_the_folders_of_their_files() -> None:
    """The ids lack the folders, and of a file that is not there nothing but the id is known."""
    ids = ["20200102_000000.wav", "20200102_010000.wav", "c.wav", "C_20200102_000000.wav"]
    files = pl.Series(["pierA/20200102_000000.wav", "pierB/20200102_010000.wav", "pierB/c.wav", None])
    table = calls_per_hour(found(ids, [0, 1], [1, 2]), np.full(4, 3600.0), files)
    assert table["recorder"].to_list() == ["C", "c.wav", "pierA", "pierB"]
    assert table["count"].to_list() == [0, 0, 1, 1]


def test_whole_hours_have_no_empty_last_one() -> None:
    table = calls_per_hour(found(["A_20090328_020000.wav"], [], []), np.array([7200.0]))
    assert table["hour"].to_list() == [2, 3]
    assert table["hours"].to_list() == [1, 1]


def test_nothing_was_listened_to() -> None:
    table = calls_per_hour(found(["a.wav"], [], []), np.array([np.nan]))
    assert table.height == 0
    assert call_summary(found(["a.wav"], [], []), np.array([np.nan])) == {
        "items": 1, "count": 0, "hours": 0, "per_hour": None,
    }  # fmt: skip
    with pytest.raises(ValueError, match="2 lengths"):
        calls_per_hour(found(["a.wav"], [], []), np.zeros(2))


def test_a_list_of_calls() -> None:
    table = list_calls(found([LATE, PLAIN], [0, 1], [1800.25, 4]))
    assert table.rows() == [
        (LATE, 1, 0.9, 1800.25, "2009-03-29 00:00:00.250"),
        (PLAIN, 1, 0.5, 4, None),
    ]
    assert list_calls(found([LATE], [], [])).height == 0


def test_the_page_has_rates_by_day_and_hour_and_runs_no_names(tmp_path: Path) -> None:
    hours = calls_per_hour(found([LATE, EARLY, "<b>.wav"], [0, 0, 1, 2], [0, 10, 20, 30]), np.array([3600, 2700, 60]))
    write_calls_page(hours, tmp_path / "calls.html", title="Calls in <here>")
    text = (tmp_path / "calls.html").read_text()
    assert "Calls in &lt;here&gt;" in text
    assert "<b>.wav" not in text
    assert "Calls by day and hour" in text
    assert "23: 4 calls per hour" in text  # two in half an hour
    for drawing in text.split("<svg")[1:]:
        ElementTree.fromstring("<svg" + drawing.split("</svg>")[0] + "</svg>")


def test_days_are_charted_in_their_order(tmp_path: Path) -> None:
    names = [f"{who}_2009{month:02}01_000000.wav" for who in "AB" for month in range(1, 13)]
    calls = found(names, [0, 3, 3, 3, 11, 11, 12], [1.0] * 7)
    write_calls_page(calls_per_hour(calls, np.full(24, 3600.0)), tmp_path / "calls.html", title="t")
    text = (tmp_path / "calls.html").read_text()
    chart = text[text.index("Calls per hour, A<") : text.index("Calls per hour, B<")]
    told = re.findall(r"<title>(\S+): (\d) calls per hour", chart)
    assert [day for day, _ in told] == [f"2009-{month:02}-01" for month in range(1, 13)]
    assert [int(rate) for _, rate in told] == [1, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 2]


def test_what_was_not_listened_to_is_not_told_to_be_without_calls(tmp_path: Path) -> None:
    names = [f"A_200903{day}_050000.wav" for day in (28, 29, 31)]
    write_calls_page(calls_per_hour(found(names, [0], [1.0]), np.full(3, 7200.0)), tmp_path / "calls.html", title="t")
    text = (tmp_path / "calls.html").read_text()
    assert "3 of 4 days listened to" in text
    assert "2009-03-29: 0 calls per hour" in text
    assert "2009-03-30:" not in text
    assert "6: 0 calls per hour" in text
    assert "7: 0 calls per hour" not in text
    assert "a row for each of 4 days" in text
    cells = re.findall(r"<title>(\S+), (\d+) h: (\d)</title>", text)
    assert [(hour, calls) for _, hour, calls in cells] == [("5", "1"), ("6", "0"), *[("5", "0"), ("6", "0")] * 2]
    assert [day for day, _, _ in cells[::2]] == ["2009-03-28", "2009-03-29", "2009-03-31"]
    assert "<b>3</b><span>days" in text


def test_a_page_without_clocks_and_calls(tmp_path: Path) -> None:
    write_calls_page(calls_per_hour(found([PLAIN], [], []), np.array([60.0])), tmp_path / "a.html", title="t")
    text = (tmp_path / "a.html").read_text()
    assert "Through the day" not in text
    assert PLAIN in text


def test_the_page_on_recall(tmp_path: Path) -> None:
    rows = [(0.1, 1.0, 0.2, 0.333, 40.0), (0.5, 0.8, 0.8, 0.8, 2.0), (0.9, 0.3, 1.0, 0.46, 0.0)]
    table = pl.DataFrame(rows, schema=["score_threshold", "recall", "precision", "f1", "fp_per_hour"], orient="row")
    write_recall_page(RecallCurve(2.0, table), 0.5, tmp_path / "recall.html", title="Recall")
    text = (tmp_path / "recall.html").read_text()
    assert text.count("<circle") == 3
    assert text.count('class="marked"') == 1
    assert "0.8 of the calls at 2 false positives per hour" in text
    assert "0.3 of the calls at 0.25 false positives per hour" in text  # none is drawn as half of one in two hours
    assert "<b>0.3</b><span>recall at 1 false positive an hour" in text
    write_recall_page(
        RecallCurve(2.0, table.head(1)), 0.5, tmp_path / "one.html", title="Recall"
    )  # no line through a point
