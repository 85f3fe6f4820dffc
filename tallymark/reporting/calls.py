"""Calls counted by the hour and by the day, with how long was listened; a table of them, and a page."""

from __future__ import annotations

import datetime
import re
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
import polars as pl

from tallymark.data.annotations import Annotations
from tallymark.data.recording_days import DATE
from tallymark.geometry import Events
from tallymark.inference.recall_curve import QUOTED_RATES, RecallCurve
from tallymark.reporting import plots
from tallymark.reporting.humanize import count, number, plural
from tallymark.reporting.page import Section, cards, page, table

HOUR, HOURS = 3600, 24
CLOCK = re.compile(
    r"(?<!\d)((?:19|20)\d\d)[-_.]?([01]\d)[-_.]?([0-3]\d)[-_.T ]*([0-2]\d)[-_.:]?([0-5]\d)(?:[-_.:]?([0-5]\d))?(?!\d)"
)
"""Day and time in a name, as 20090328_000000 or 2000-05-19_00-15-00."""
EPOCH = datetime.datetime(1970, 1, 1)
DECIMALS = 6


class Begun(NamedTuple):
    """By which recorder a recording was begun, and when, as its name tells.

    seconds: since 1970, by the recorder's clock; None if the name has no day. timed: whether it has the time too.
    """

    recorder: str
    seconds: float | None
    timed: bool


def begun(name: str) -> Begun:
    """What the name of a recording, with the folders in front, tells; without a day it stands for itself.

    A recorder that is not named before the day is the folder that it lies in, or the one above that of a day.
    """
    path = PurePosixPath(name.replace("\\", "/"))
    for pattern in (CLOCK, DATE):
        found = pattern.search(path.stem)
        try:
            if found is not None:
                clock = datetime.datetime.strptime("".join(re.findall(r"\d", found[0])).ljust(14, "0"), "%Y%m%d%H%M%S")
                folders = [folder for folder in path.parts[:-1] if not DATE.search(folder)]
                recorder = path.stem[: found.start()].strip(" _-.") or "".join(folders[-1:])
                return Begun(recorder, (clock - EPOCH).total_seconds(), pattern is CLOCK)
        except ValueError:  # a 31st of February, 25 o'clock
            continue
    return Begun(name, None, False)


def calls_per_hour(calls: Annotations[Events], seconds: np.ndarray, files: pl.Series | None = None) -> pl.DataFrame:
    """A row for each hour in which was listened.

    Parameters
    ----------
    seconds: how long each recording was listened to, nan where it could not be read.
    files: the path of each recording, null where there is none: their folders may name recorders, and ids lack them.

    Columns
    -------
    recorder: what stands before the day in the names of recordings, or their folder; the recording, if it has no day.
    day, hour: by the clock in the name. If that has the day only, the hour is null, and all of it belongs to that day.
    Without either there is no day, and hours are counted from the beginning of the recording.
    hours: how long was listened. count: calls. per_hour: calls in an hour of listening.
    """
    if len(seconds) != len(calls.items):
        raise ValueError(f"{len(seconds)} lengths for {len(calls.items)} recordings")
    who = _recordings(calls.items.ids, calls.items.ids if files is None else files)
    start, length = who["start"].to_numpy(), np.nan_to_num(np.asarray(seconds, float))
    whole = (who["dated"] & ~who["timed"]).to_numpy()  # such a recording is not divided into hours
    first = np.floor_divide(start, HOUR).astype(np.int64)
    spanned = np.where(length > 0, -np.floor_divide(-(start + length), HOUR).astype(np.int64) - first, 0)
    spanned[whole] = length[whole] > 0
    item = np.repeat(np.arange(len(who)), spanned)
    hour = first[item] + np.arange(len(item)) - np.repeat(np.cumsum(spanned) - spanned, spanned)
    heard = np.minimum(start[item] + length[item], (hour + 1) * HOUR) - np.maximum(start[item], hour * HOUR)
    at = np.floor_divide(start[calls.item] + np.clip(calls.shapes.time, 0, None), HOUR).astype(np.int64)
    rows = pl.DataFrame(
        {
            "item": np.concatenate([item, calls.item]),
            "hour": np.concatenate([hour, np.where(whole[calls.item], first[calls.item], at)]),
            "hours": np.concatenate([np.where(whole[item], length[item], heard) / HOUR, np.zeros(len(calls))]),
            "count": np.concatenate([np.zeros(len(item), np.int64), np.ones(len(calls), np.int64)]),
        }
    )
    sums = rows.join(who, on="item").group_by("recorder", "dated", "timed", "hour").agg(pl.col("hours", "count").sum())
    day = pl.from_epoch(pl.col("hour") * HOUR, time_unit="s").dt.strftime("%Y-%m-%d")
    return sums.sort("recorder", "hour", "timed").select(
        "recorder",
        pl.when("dated").then(day).alias("day"),
        pl.when("timed").then(pl.col("hour") % HOURS).when(~pl.col("dated")).then("hour").alias("hour"),
        pl.col("hours").round(DECIMALS),
        "count",
        _rate(),
    )


def _recordings(ids: pl.Series, files: pl.Series) -> pl.DataFrame:
    """Each recording's number, recorder, start in seconds since 1970, and whether its day and its time are known."""
    told = [begun(file or name) for name, file in zip(ids, files, strict=True)]
    known = [one if one.seconds is not None else Begun(name, 0.0, False) for name, one in zip(ids, told, strict=True)]
    return pl.DataFrame(
        {
            "item": np.arange(len(told)),
            "recorder": pl.Series([one.recorder for one in known], dtype=pl.String),
            "start": pl.Series([one.seconds for one in known], dtype=pl.Float64),
            "dated": pl.Series([one.seconds is not None for one in told], dtype=pl.Boolean),
            "timed": pl.Series([one.timed for one in told], dtype=pl.Boolean),
        }
    )


def calls_per_day(hours: pl.DataFrame) -> pl.DataFrame:
    """The rows of `tally_hours` by recorder and day."""
    sums = hours.group_by("recorder", "day").agg(pl.col("hours", "count").sum()).sort("recorder", "day")
    return sums.with_columns(pl.col("hours").round(DECIMALS), _rate())


def list_calls(calls: Annotations[Events]) -> pl.DataFrame:
    """A row for each call: its recording, number, score, seconds from the beginning, and the time by the clock."""
    starts = [begun(name) for name in calls.items.ids]
    since = pl.Series([round(1000 * (one.seconds or 0)) if one.timed else None for one in starts], dtype=pl.Int64)
    time = pl.Series((1000 * calls.shapes.time).round().astype(np.int64))
    return pl.DataFrame(
        {
            "recording": calls.items.ids[calls.item],
            "number": calls.numbers,
            "score": calls.scores.round(DECIMALS),
            "timestamp": calls.shapes.time.round(3),
            "clock": pl.from_epoch(since[calls.item] + time, time_unit="ms").dt.strftime("%Y-%m-%d %H:%M:%S%.3f"),
        }
    )


def call_summary(calls: Annotations[Events], seconds: np.ndarray) -> dict[str, float | None]:
    """Recordings, calls, hours that were listened to, and calls in one of these."""
    hours, found = float(np.nansum(seconds)) / HOUR, len(calls)
    rate = round(found / hours, DECIMALS) if hours else None
    return {"items": len(calls.items), "count": found, "hours": round(hours, DECIMALS), "per_hour": rate}


def write_calls_page(hours: pl.DataFrame, out: Path, *, title: str, lead: str = "") -> None:
    """Write a page on the rows of `tally_hours`: days, hours of the day, and both at once."""
    days, timed = calls_per_day(hours), hours.drop_nulls(["day", "hour"])
    calls, heard = int(hours["count"].sum()), float(hours["hours"].sum())
    facts = [
        (count(calls), "call" if calls == 1 else "calls"),
        (number(heard), "hours listened to"),
        (number(calls / heard) if heard else "-", "calls per hour"),
        (count(dated := days["day"].drop_nulls().n_unique()), "day" if dated == 1 else "days"),
    ]
    last = ["hours listened", "calls", "per hour"]
    sections = [
        Section("Through the day", cards([_through_the_day(timed), _presence(timed)]), "By the clock in the names."),
        Section("Day by day", _by_day(days) + table(["recorder", "day", *last], days.rows())),
        Section("Hour by hour", table(["recorder", "day", "hour", *last], hours.rows())),
    ]
    out.write_text(page(title, lead, facts, sections), encoding="utf-8")


def write_recall_page(curve: RecallCurve, cut: float, out: Path, *, title: str) -> None:
    """Write a page on recall against false positives per hour; `cut` is the one that was tuned."""
    rows = curve.table
    price, marked = rows["fp_per_hour"].to_numpy(), int((rows["score_threshold"] - cut).abs().arg_min() or 0)
    # A logarithmic axis has no 0: no false positive is drawn as half of one in all the hours.
    chart = plots.line(
        np.maximum(price, 0.5 / curve.hours),
        rows["recall"].to_numpy(),
        "Calls that are found",
        ("false positives per hour", "of the calls"),
        f"The marked point is the cut {cut:g}, tuned by the score. No false positive is drawn as half of one.",
        marked=marked,
    )
    prices = {price: plural(price, "false positive") for price in QUOTED_RATES}
    quoted = [(number(curve.recall_at(price)), f"recall at {words} an hour") for price, words in prices.items()]
    lead = f"Measured on {number(curve.hours)} hours of recordings that the models did not learn from."
    told = table(list(rows.columns), rows.iter_rows())
    how = "To choose a point: tallymark predict RUN FOLDER --fp-per-hour 1."
    sections = [Section("Recall", cards([chart]), how), Section("Every cut", told)]
    out.write_text(page(title, lead, quoted, sections), encoding="utf-8")


def _rate() -> pl.Expr:
    return pl.when(pl.col("hours") > 0).then(pl.col("count") / pl.col("hours")).round(DECIMALS).alias("per_hour")


def _through_the_day(timed: pl.DataFrame) -> str:
    if timed.is_empty():
        return ""
    sums = timed.group_by("hour").agg(pl.col("hours", "count").sum())
    rate = dict(sums.select("hour", _rate()).iter_rows())
    values = [rate.get(hour) for hour in range(HOURS)]
    note = f"{count(len(sums))} of 24 hours of the day were listened to"
    return plots.columns([str(hour) for hour in range(HOURS)], values, "Calls per hour", "calls per hour", note)


def _presence(timed: pl.DataFrame) -> str:
    """Days from top to bottom, the hours of the day from left to right."""
    if timed.is_empty():
        return ""
    days = _calendar(timed["day"])
    grid, heard = np.zeros((len(days), HOURS)), np.zeros((len(days), HOURS), bool)
    place = days.search_sorted(timed["day"]).to_numpy(), timed["hour"].to_numpy()
    np.add.at(grid, place, timed["count"].to_numpy())
    heard[place] = True
    note = f"a row for each of {plural(len(days), 'day')}; faint: no call; blank: not listened to"
    edges = (days[0], "24 h", days[-1] if len(days) > 1 else "", "0 h")
    names = days.to_list(), [f"{hour} h" for hour in range(HOURS)]
    return plots.heat(grid, "Calls by day and hour", note, edges, drawn=heard, names=names)


def _calendar(days: pl.Series) -> pl.Series:
    """The days in order; with those between them, unless most days would be such."""
    known = days.unique().sort()
    first, last = (datetime.date.fromisoformat(day) for day in (known[0], known[-1]))
    every = [str(first + datetime.timedelta(at)) for at in range((last - first).days + 1)]
    return pl.Series(every) if len(every) <= 2 * len(known) else known


def _by_day(days: pl.DataFrame) -> str:
    """For each recorder its days in their order; recordings without a day, the busiest first."""
    dated, rest = days.drop_nulls("day"), days.filter(pl.col("day").is_null())
    drawn = []
    for who, own in dated.partition_by("recorder", as_dict=True, maintain_order=True).items():
        title = f"Calls per hour, {who[0]}" if who[0] else "Calls per hour"
        rate, every = dict(own.select("day", "per_hour").iter_rows()), _calendar(own["day"]).to_list()
        note = f"{count(len(own))} of {plural(len(every), 'day')} listened to"
        drawn.append(plots.columns(every, [rate.get(day) for day in every], title, "calls per hour", note))
    named = dict(rest.select("recorder", "per_hour").drop_nulls().iter_rows())
    return cards(drawn) + plots.bars(named, "Calls per hour, the busiest first", "calls per hour")
