"""Pages about calls: their rates by day and hour, and recall against false positives per hour."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import polars as pl

from tallymark.core.humanize import count, noun, number, plural
from tallymark.drawing import charts as plots
from tallymark.drawing.charts import Chart
from tallymark.inference.recall_curve import QUOTED_RATES, RecallCurve
from tallymark.reporting.blocks import Block, Section, charts, figure, table
from tallymark.reporting.calls import HOURS, calls_per_day, per_hour
from tallymark.reporting.page import write_html


def write_calls_page(hours: pl.DataFrame, out: Path, *, title: str, lead: str = "") -> None:
    """Write a page on the rows of `calls_per_hour`: rates by day, by hour of the day, and by both."""
    days = calls_per_day(hours)
    timed = hours.drop_nulls(["day", "hour"])
    calls = int(hours["count"].sum())
    recorded = float(hours["hours"].sum())
    dates = days["day"].drop_nulls().n_unique()
    facts = [
        (count(calls), noun(calls, "call")),
        (number(recorded), "hours of recording"),
        (number(calls / recorded) if recorded else "-", "calls per hour"),
        (count(dates), noun(dates, "day")),
    ]
    rates = ["hours of recording", "calls", "per hour"]
    by_clock = charts([_by_hour_of_day(timed), _by_day_and_hour(timed)])
    sections = [
        Section("Hours of the day", by_clock, "By the date and time in the file names."),
        Section("By day", _by_day(days) + table(["recorder", "day", *rates], days.rows())),
        Section("By hour", table(["recorder", "day", "hour", *rates], hours.rows())),
    ]
    write_html(out, title, lead, facts, sections)


def write_recall_page(curve: RecallCurve, score_threshold: float, out: Path, *, title: str) -> None:
    """Write a page on recall against false positives per hour; `score_threshold` is the tuned one."""
    rows = curve.table
    tuned = int((rows["score_threshold"] - score_threshold).abs().arg_min() or 0)
    # A logarithmic axis has no 0: no false positive is drawn as half of one in all hours.
    chart = plots.line(
        np.maximum(rows["fp_per_hour"].to_numpy(), 0.5 / curve.hours),
        rows["recall"].to_numpy(),
        "Recall against false positives",
        ("false positives per hour", "recall"),
        f"The highlighted point is the tuned score threshold, {score_threshold:g}. A threshold without false positives "
        "is drawn at half of one in all hours.",
        marked=tuned,
    )
    quoted = [
        (number(curve.recall_at(rate)), f"recall at {plural(rate, 'false positive')} per hour") for rate in QUOTED_RATES
    ]
    lead = f"Measured on {number(curve.hours)} hours of recordings that the models were not trained on."
    usage = "To choose an operating point: tallymark predict RUN FOLDER --fp-per-hour 1."
    sections = [
        Section("Recall", charts([chart]), usage),
        Section("Score thresholds", table(list(rows.columns), rows.iter_rows())),
    ]
    write_html(out, title, lead, quoted, sections)


def _by_hour_of_day(timed: pl.DataFrame) -> Chart | None:
    """Calls per hour of recording, for each hour of the day."""
    sums = timed.group_by("hour").agg(pl.col("hours", "count").sum())
    rate = dict(sums.select("hour", per_hour()).iter_rows())
    values = [rate.get(hour) for hour in range(HOURS)]
    note = f"{count(len(sums))} of 24 hours of the day were recorded"
    return plots.columns([str(hour) for hour in range(HOURS)], values, "Calls per hour", "calls per hour", note)


def _by_day_and_hour(timed: pl.DataFrame) -> Chart | None:
    """A heat map of calls: days from top to bottom, hours of the day from left to right."""
    if timed.is_empty():
        return None
    days = _calendar(timed["day"])
    grid = np.zeros((len(days), HOURS))
    recorded = np.zeros((len(days), HOURS), bool)
    cell = days.search_sorted(timed["day"]).to_numpy(), timed["hour"].to_numpy()
    np.add.at(grid, cell, timed["count"].to_numpy())
    recorded[cell] = True
    note = f"a row for each of {plural(len(days), 'day')}; faint: no calls; blank: not recorded"
    edges = (days[0], "24 h", days[-1] if len(days) > 1 else "", "0 h")
    names = days.to_list(), [f"{hour} h" for hour in range(HOURS)]
    return plots.heat_map(grid, "Calls by day and hour", note, edges, shown=recorded, names=names)


def _by_day(days: pl.DataFrame) -> list[Block]:
    """A chart of the days of each recorder in order, and one of recordings without a date, the highest rate first."""
    drawn = []
    for (recorder,), own in days.drop_nulls("day").partition_by("recorder", as_dict=True, maintain_order=True).items():
        title = f"Calls per hour, {recorder}" if recorder else "Calls per hour"
        rate = dict(own.select("day", "per_hour").iter_rows())
        every = _calendar(own["day"]).to_list()
        note = f"{count(len(own))} of {plural(len(every), 'day')} recorded"
        drawn.append(plots.columns(every, [rate.get(day) for day in every], title, "calls per hour", note))
    undated = days.filter(pl.col("day").is_null()).select("recorder", "per_hour").drop_nulls()
    bars = plots.bars(dict(undated.iter_rows()), "Calls per hour, the highest rate first", "calls per hour")
    return charts(drawn) + figure(bars)


def _calendar(days: pl.Series) -> pl.Series:
    """The days in order, with those between them unless these are the majority."""
    known = days.unique().sort()
    first, last = (datetime.date.fromisoformat(day) for day in (known[0], known[-1]))
    every = [str(first + datetime.timedelta(at)) for at in range((last - first).days + 1)]
    return pl.Series(every) if len(every) <= 2 * len(known) else known
