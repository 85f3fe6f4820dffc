"""Calls counted by the hour and by the day, with how long was listened; a table of them, and a page."""

from __future__ import annotations

import datetime
import re
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
import polars as pl

from tallymark.data.annotations import Annotations
from tallymark.data.geometry import Instants
from tallymark.data.recorded import DAY
from tallymark.predicting.curve import PRICES, Curve
from tallymark.reporting import charts
from tallymark.reporting.page import Section, cards, page, table
from tallymark.reporting.wording import count, number, plural

HOUR, HOURS = 3600, 24
CLOCK = re.compile(
    r"(?<!\d)((?:19|20)\d\d)[-_.]?([01]\d)[-_.]?([0-3]\d)[-_.T ]*([0-2]\d)[-_.:]?([0-5]\d)(?:[-_.:]?([0-5]\d))?(?!\d)"
)
"""Day and time in a name, as 20090328_000000 or 2000-05-19_00-15-00."""
EPOCH = datetime.datetime(1970, 1, 1)
DECIMALS = 6


class Begun(NamedTuple):
    """When and by which recorder a recording was begun. seconds: since 1970, by its own clock; None if it has none."""

    recorder: str
    seconds: float | None


def begun(name: str) -> Begun:
    """What the name of a recording tells; without a time in it, the recording stands for itself."""
    path = PurePosixPath(name.replace("\\", "/"))
    found = CLOCK.search(path.stem)
    if found is None:
        return Begun(name, None)
    try:
        clock = datetime.datetime(*(int(digits or 0) for digits in found.groups()))  # type: ignore[arg-type]  # six of them
    except ValueError:  # a 31st of February
        return Begun(name, None)
    recorder = path.stem[: found.start()].strip(" _-.")
    folder = path.parent.name
    if not recorder and folder and not DAY.search(folder):
        recorder = folder
    return Begun(recorder, (clock - EPOCH).total_seconds())


def tally_hours(calls: Annotations[Instants], seconds: np.ndarray) -> pl.DataFrame:
    """A row for each hour in which was listened.

    Parameters
    ----------
    seconds: the length of every recording, nan where it could not be read.

    Columns
    -------
    recorder: what stands before the time in the names of recordings, or the recording, if no time is in its name.
    day, hour: by the clock; without one there is no day, and hours are counted from the beginning of the recording.
    hours: how long was listened. count: calls. per_hour: calls in an hour of listening.
    """
    if len(seconds) != len(calls.items):
        raise ValueError(f"{len(seconds)} lengths for {len(calls.items)} recordings")
    told = [begun(name) for name in calls.items.ids]
    start = np.array([one.seconds or 0.0 for one in told])
    length = np.nan_to_num(np.asarray(seconds, float))
    first = np.floor_divide(start, HOUR).astype(np.int64)
    spanned = np.where(length > 0, -np.floor_divide(-(start + length), HOUR).astype(np.int64) - first, 0)
    item = np.repeat(np.arange(len(told)), spanned)
    hour = first[item] + np.arange(len(item)) - np.repeat(np.cumsum(spanned) - spanned, spanned)
    heard = np.minimum(start[item] + length[item], (hour + 1) * HOUR) - np.maximum(start[item], hour * HOUR)
    at = np.floor_divide(start[calls.item] + np.clip(calls.shapes.time, 0, None), HOUR).astype(np.int64)
    rows = pl.DataFrame(
        {
            "item": np.concatenate([item, calls.item]),
            "hour": np.concatenate([hour, at]),
            "hours": np.concatenate([heard / HOUR, np.zeros(len(calls))]),
            "count": np.concatenate([np.zeros(len(item), np.int64), np.ones(len(calls), np.int64)]),
        }
    )
    who = pl.DataFrame(
        {
            "item": np.arange(len(told)),
            "recorder": pl.Series([one.recorder for one in told], dtype=pl.String),
            "clock": pl.Series([one.seconds is not None for one in told], dtype=pl.Boolean),
        }
    )
    sums = rows.join(who, on="item").group_by("recorder", "clock", "hour").agg(pl.col("hours", "count").sum())
    day = pl.from_epoch(pl.col("hour") * HOUR, time_unit="s").dt.strftime("%Y-%m-%d")
    return sums.sort("recorder", "hour").select(
        "recorder",
        pl.when("clock").then(day).alias("day"),
        pl.when("clock").then(pl.col("hour") % HOURS).otherwise("hour").alias("hour"),
        pl.col("hours").round(DECIMALS),
        "count",
        _rate(),
    )


def tally_days(hours: pl.DataFrame) -> pl.DataFrame:
    """The rows of `tally_hours` by recorder and day."""
    sums = hours.group_by("recorder", "day").agg(pl.col("hours", "count").sum()).sort("recorder", "day")
    return sums.with_columns(pl.col("hours").round(DECIMALS), _rate())


def list_calls(calls: Annotations[Instants]) -> pl.DataFrame:
    """A row for each call: its recording, number, score, seconds from the beginning, and the time by the clock."""
    starts = [begun(name).seconds for name in calls.items.ids]
    since = pl.Series([None if start is None else round(1000 * start) for start in starts], dtype=pl.Int64)
    time = pl.Series((1000 * calls.shapes.time).round().astype(np.int64))
    return pl.DataFrame(
        {
            "recording": calls.items.ids[calls.item],
            "number": calls.numbers,
            "score": calls.confidence.round(DECIMALS),
            "timestamp": calls.shapes.time.round(3),
            "clock": pl.from_epoch(since[calls.item] + time, time_unit="ms").dt.strftime("%Y-%m-%d %H:%M:%S%.3f"),
        }
    )


def call_summary(calls: Annotations[Instants], seconds: np.ndarray) -> dict[str, float | None]:
    """Recordings, calls, hours that were listened to, and calls in one of these."""
    hours, found = float(np.nansum(seconds)) / HOUR, len(calls)
    rate = round(found / hours, DECIMALS) if hours else None
    return {"items": len(calls.items), "count": found, "hours": round(hours, DECIMALS), "per_hour": rate}


def write_calls_page(hours: pl.DataFrame, out: Path, *, title: str, lead: str = "") -> None:
    """Write a page on the rows of `tally_hours`: days, hours of the day, and both at once."""
    days, dated = tally_days(hours), hours.drop_nulls("day")
    calls, heard = int(hours["count"].sum()), float(hours["hours"].sum())
    facts = [
        (count(calls), "call" if calls == 1 else "calls"),
        (number(heard), "hours listened to"),
        (number(calls / heard) if heard else "-", "calls per hour"),
        (count(dated["day"].n_unique()), "days"),
    ]
    last = ["hours listened", "calls", "per hour"]
    sections = [
        Section("Through the day", cards([_through_the_day(dated), _presence(dated)]), "By the clock in the names."),
        Section("Day by day", _by_day(days) + table(["recorder", "day", *last], days.rows())),
        Section("Hour by hour", table(["recorder", "day", "hour", *last], hours.rows())),
    ]
    out.write_text(page(title, lead, facts, sections), encoding="utf-8")


def write_recall_page(curve: Curve, cut: float, out: Path, *, title: str) -> None:
    """Write a page on recall against false positives per hour; `cut` is the one that was tuned."""
    rows = curve.table
    price, marked = rows["fp_per_hour"].to_numpy(), int((rows["cut"] - cut).abs().arg_min() or 0)
    # A logarithmic axis has no 0: no false positive is drawn as half of one in all the hours.
    chart = charts.line(
        np.maximum(price, 0.5 / curve.hours),
        rows["recall"].to_numpy(),
        "Calls that are found",
        ("false positives per hour", "of the calls"),
        f"The marked point is the cut {cut:g}, tuned by the score. No false positive is drawn as half of one.",
        marked=marked,
    )
    prices = {price: plural(price, "false positive") for price in PRICES}
    quoted = [(number(curve.recall_at(price)), f"recall at {words} an hour") for price, words in prices.items()]
    lead = f"Measured on {number(curve.hours)} hours of recordings that the models did not learn from."
    told = table(list(rows.columns), rows.iter_rows())
    how = "To choose a point: tallymark predict RUN FOLDER --fp-per-hour 1."
    sections = [Section("Recall", cards([chart]), how), Section("Every cut", told)]
    out.write_text(page(title, lead, quoted, sections), encoding="utf-8")


def _rate() -> pl.Expr:
    return pl.when(pl.col("hours") > 0).then(pl.col("count") / pl.col("hours")).round(DECIMALS).alias("per_hour")


def _through_the_day(dated: pl.DataFrame) -> str:
    if dated.is_empty():
        return ""
    sums = dated.group_by("hour").agg(pl.col("hours", "count").sum())
    rate = dict(sums.select("hour", _rate()).iter_rows())
    values = [float(rate.get(hour) or 0) for hour in range(HOURS)]
    note = f"{count(len(sums))} of 24 hours of the day were listened to"
    return charts.columns([str(hour) for hour in range(HOURS)], values, "Calls per hour", "calls per hour", note)


def _presence(dated: pl.DataFrame) -> str:
    """Days from top to bottom, the hours of the day from left to right."""
    if dated.is_empty():
        return ""
    days = dated["day"].unique().sort()
    grid = np.zeros((len(days), HOURS))
    np.add.at(grid, (days.search_sorted(dated["day"]).to_numpy(), dated["hour"].to_numpy()), dated["count"].to_numpy())
    note = f"a row for each of {plural(len(days), 'day')}; blank: none, or not listened to"
    edges = (days[0], "24 h", days[-1] if len(days) > 1 else "", "0 h")
    return charts.heat(grid, "Calls by day and hour", note, edges)


def _by_day(days: pl.DataFrame) -> str:
    rates = days.select(pl.col("day").fill_null(pl.col("recorder")), "recorder", "per_hour").drop_nulls("per_hour")
    several = rates["recorder"].n_unique() > 1
    named = {f"{day} {who}" if several and day != who else day: rate for day, who, rate in rates.iter_rows()}
    return charts.bars(named, "Calls per hour, the busiest first", "calls per hour")
