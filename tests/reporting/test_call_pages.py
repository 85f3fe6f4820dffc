"""Pages of calls: rates by day and hour, and recall against false positives per hour."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl

from tallymark.inference.recall_curve import RecallCurve
from tallymark.reporting.call_pages import write_calls_page, write_recall_page
from tallymark.reporting.calls import calls_per_hour
from tests.reporting.test_calls import EARLY, LATE, UNDATED, calls_in


def test_the_page_has_rates_by_day_and_hour_and_escapes_names(tmp_path: Path) -> None:
    hours = calls_per_hour(
        calls_in([LATE, EARLY, "<b>.wav"], [0, 0, 1, 2], [0, 10, 20, 30]), np.array([3600, 2700, 60])
    )
    write_calls_page(hours, tmp_path / "calls.html", title="Calls in <here>")
    text = (tmp_path / "calls.html").read_text()
    assert "Calls in &lt;here&gt;" in text
    assert "<b>.wav" not in text
    assert "Calls by day and hour" in text
    assert "23: 4 calls per hour" in text  # two in half an hour
    for drawing in text.split("<svg")[1:]:
        ElementTree.fromstring("<svg" + drawing.split("</svg>")[0] + "</svg>")


def test_days_are_charted_in_order(tmp_path: Path) -> None:
    names = [f"{who}_2009{month:02}01_000000.wav" for who in "AB" for month in range(1, 13)]
    calls = calls_in(names, [0, 3, 3, 3, 11, 11, 12], [1.0] * 7)
    write_calls_page(calls_per_hour(calls, np.full(24, 3600.0)), tmp_path / "calls.html", title="t")
    text = (tmp_path / "calls.html").read_text()
    chart = text[text.index("Calls per hour, A<") : text.index("Calls per hour, B<")]
    tooltips = re.findall(r"<title>(\S+): (\d) calls per hour", chart)
    assert [day for day, _ in tooltips] == [f"2009-{month:02}-01" for month in range(1, 13)]
    assert [int(rate) for _, rate in tooltips] == [1, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 2]


def test_days_and_hours_without_recordings_are_blank_and_not_zero(tmp_path: Path) -> None:
    names = [f"A_200903{day}_050000.wav" for day in (28, 29, 31)]
    write_calls_page(
        calls_per_hour(calls_in(names, [0], [1.0]), np.full(3, 7200.0)), tmp_path / "calls.html", title="t"
    )
    text = (tmp_path / "calls.html").read_text()
    assert "3 of 4 days recorded" in text
    assert "2009-03-29: 0 calls per hour" in text
    assert "2009-03-30:" not in text
    assert "6: 0 calls per hour" in text
    assert "7: 0 calls per hour" not in text
    assert "a row for each of 4 days" in text
    cells = re.findall(r"<title>(\S+), (\d+) h: (\d)</title>", text)
    assert [(hour, calls) for _, hour, calls in cells] == [("5", "1"), ("6", "0"), *[("5", "0"), ("6", "0")] * 2]
    assert [day for day, _, _ in cells[::2]] == ["2009-03-28", "2009-03-29", "2009-03-31"]
    assert "<b>3</b><span>days" in text


def test_a_page_without_dates_and_calls(tmp_path: Path) -> None:
    write_calls_page(calls_per_hour(calls_in([UNDATED], [], []), np.array([60.0])), tmp_path / "a.html", title="t")
    text = (tmp_path / "a.html").read_text()
    assert "Hours of the day" not in text
    assert UNDATED in text


def test_the_recall_page_has_every_threshold_and_highlights_the_tuned_one(tmp_path: Path) -> None:
    rows = [(0.1, 1.0, 0.2, 0.333, 40.0), (0.5, 0.8, 0.8, 0.8, 2.0), (0.9, 0.3, 1.0, 0.46, 0.0)]
    table = pl.DataFrame(rows, schema=["score_threshold", "recall", "precision", "f1", "fp_per_hour"], orient="row")
    write_recall_page(RecallCurve(2.0, table), 0.5, tmp_path / "recall.html", title="Recall")
    text = (tmp_path / "recall.html").read_text()
    assert text.count("<circle") == 3
    assert text.count('class="marked"') == 1
    assert "0.8 recall at 2 false positives per hour" in text
    assert "0.3 recall at 0.25 false positives per hour" in text  # none is drawn as half of one in two hours
    assert "<b>0.3</b><span>recall at 1 false positive per hour" in text
    write_recall_page(
        RecallCurve(2.0, table.head(1)), 0.5, tmp_path / "one.html", title="Recall"
    )  # one point makes no line
