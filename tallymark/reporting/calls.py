"""Calls per hour and per day with the hours of recording, and the list of calls, as tables."""

from __future__ import annotations

import numpy as np
import polars as pl

from tallymark.data.annotations import Annotations
from tallymark.data.recording_clock import RecordingClock, RecordingName
from tallymark.geometry import Events

HOUR = 3600
"""Seconds."""
HOURS = 24
DECIMALS = 6
CLOCK = "%Y-%m-%d %H:%M:%S%.3f"


def calls_per_hour(
    calls: Annotations[Events],
    seconds: np.ndarray,
    files: pl.Series | None = None,
    clock: RecordingClock = RecordingClock(),  # noqa: B008  # it is frozen
) -> pl.DataFrame:
    """A row for each hour with any recording.

    Parameters
    ----------
    seconds: length of each recording, nan where it could not be read.
    files: path of each recording, null where it is missing. Folders may name recorders, and ids do not have them.
    clock: how the names state when recordings started.

    Columns
    -------
    recorder: what precedes the date in the names of recordings, or their folder; the recording, if it has no date.
    day, hour: by the date and time in the name. If a name has no time, the hour is null and the whole recording belongs
        to that day. If it has no date either, the day is null and hours count from the start of the recording.
    hours: length of the recordings. count: number of calls. per_hour: calls per hour of recording.
    """
    if len(seconds) != len(calls.items):
        raise ValueError(f"{len(seconds)} lengths for {len(calls.items)} recordings")
    length = np.nan_to_num(np.asarray(seconds, float))
    recordings = _recordings(calls.items.ids, calls.items.ids if files is None else files, length, clock)
    own = _part_of_calls(calls, recordings)
    start, begin, length = (recordings[name].to_numpy() for name in ("start", "begin", "length"))
    undivided = (recordings["dated"] & ~recordings["timed"]).to_numpy()  # without a time: not divided into hours
    first = np.floor_divide(start, HOUR).astype(np.int64)
    spanned = np.where(length > 0, -np.floor_divide(-(start + length), HOUR).astype(np.int64) - first, 0)
    spanned[undivided] = length[undivided] > 0
    part = np.repeat(np.arange(len(recordings)), spanned)
    hour = first[part] + np.arange(len(part)) - np.repeat(np.cumsum(spanned) - spanned, spanned)
    covered = np.minimum(start[part] + length[part], (hour + 1) * HOUR) - np.maximum(start[part], hour * HOUR)
    time = np.clip(calls.shapes.time, 0, None) - begin[own]
    last = first + np.maximum(spanned, 1) - 1  # of a call at the very end, which nothing is recorded after
    call_hour = np.minimum(np.floor_divide(start[own] + time, HOUR).astype(np.int64), last[own])
    rows = pl.DataFrame(
        {
            "part": np.concatenate([part, own]),
            "hour": np.concatenate([hour, np.where(undivided[own], first[own], call_hour)]),
            "hours": np.concatenate([np.where(undivided[part], length[part], covered) / HOUR, np.zeros(len(calls))]),
            "count": np.concatenate([np.zeros(len(part), np.int64), np.ones(len(calls), np.int64)]),
        }
    )
    keys = ["recorder", "dated", "timed", "hour"]
    sums = rows.join(recordings.with_row_index("part"), on="part").group_by(keys).agg(pl.col("hours", "count").sum())
    day = pl.from_epoch(pl.col("hour") * HOUR, time_unit="s").dt.strftime("%Y-%m-%d")
    return sums.sort("recorder", "hour", "timed").select(
        "recorder",
        pl.when("dated").then(day).alias("day"),
        pl.when("timed").then(pl.col("hour") % HOURS).when(~pl.col("dated")).then("hour").alias("hour"),
        pl.col("hours").round(DECIMALS),
        "count",
        per_hour(),
    )


def calls_per_day(hours: pl.DataFrame) -> pl.DataFrame:
    """The rows of `calls_per_hour` summed by recorder and day."""
    sums = hours.group_by("recorder", "day").agg(pl.col("hours", "count").sum()).sort("recorder", "day")
    return sums.with_columns(pl.col("hours").round(DECIMALS), per_hour())


def list_calls(
    calls: Annotations[Events],
    clock: RecordingClock = RecordingClock(),  # noqa: B008  # it is frozen
) -> pl.DataFrame:
    """A row for each call: recording, number, score, seconds from the start, and date and time by the file name.

    If the time zone is known, there is a column `utc` too.
    """
    starts = [clock.parse(name) for name in calls.items.ids]
    start = pl.Series([round(1000 * (one.start or 0)) if one.has_time else None for one in starts], dtype=pl.Int64)
    time = pl.Series((1000 * calls.shapes.time).round().astype(np.int64))
    shown = start[calls.item] + time
    if clock.zone:
        known = pl.Series([None if one.utc is None else round(1000 * one.utc) for one in starts], dtype=pl.Int64)
        utc = known[calls.item] + time
        times = zip(shown.to_list(), utc.to_list(), strict=True)
        moved = [by_name if at is None else round(1000 * clock.shown(at / 1000)) for by_name, at in times]
        shown = pl.Series(moved, dtype=pl.Int64)  # the clock may have been put forward or back in between
    listed = pl.DataFrame(
        {
            "recording": calls.items.ids[calls.item],
            "number": calls.numbers,
            "score": calls.scores.round(DECIMALS),
            "timestamp": calls.shapes.time.round(3),
            "clock": pl.from_epoch(shown, time_unit="ms").dt.strftime(CLOCK),
        }
    )
    if not clock.zone:
        return listed
    return listed.with_columns(utc=pl.from_epoch(utc, time_unit="ms").dt.strftime(CLOCK))


def call_summary(calls: Annotations[Events], seconds: np.ndarray) -> dict[str, float | None]:
    """Number of recordings (items) and of calls (count), hours of recording, and calls per hour."""
    hours = float(np.nansum(seconds)) / HOUR
    rate = round(len(calls) / hours, DECIMALS) if hours else None
    return {"items": len(calls.items), "count": len(calls), "hours": round(hours, DECIMALS), "per_hour": rate}


def per_hour() -> pl.Expr:
    """Calls per hour of recording, from the columns `count` and `hours`; null without any recording."""
    return pl.when(pl.col("hours") > 0).then(pl.col("count") / pl.col("hours")).round(DECIMALS).alias("per_hour")


def _recordings(ids: pl.Series, files: pl.Series, length: np.ndarray, clock: RecordingClock) -> pl.DataFrame:
    """A row for each recording, and one more from where its clock is put forward or back.

    Columns: item, the number of the recording; recorder; start (seconds since 1970); whether the date and the time are
    known; begin (in the recording) and length in seconds.
    """
    parsed = [clock.parse(file or name) for name, file in zip(ids, files, strict=True)]
    known = [
        one if one.start is not None else RecordingName(name, 0.0, False) for name, one in zip(ids, parsed, strict=True)
    ]
    changes = [clock.changes(one, seconds) for one, seconds in zip(known, length.tolist(), strict=True)]
    parts = [[(0.0, one.start), *later] for one, later in zip(known, changes, strict=True)]
    item = np.repeat(np.arange(len(known)), [len(own) for own in parts])
    begin = np.array([at for own in parts for at, _ in own], float)
    end = np.where(np.append(np.diff(item), 1) == 0, np.append(begin[1:], 0), length[item])
    recordings = pl.DataFrame(
        {
            "recorder": pl.Series([one.recorder for one in known], dtype=pl.String),
            "dated": pl.Series([one.start is not None for one in parsed], dtype=pl.Boolean),
            "timed": pl.Series([one.has_time for one in parsed], dtype=pl.Boolean),
        }
    )
    start = pl.Series([at for own in parts for _, at in own], dtype=pl.Float64)
    return recordings[item].with_columns(item=item, start=start, begin=begin, length=end - begin)


def _part_of_calls(calls: Annotations[Events], recordings: pl.DataFrame) -> np.ndarray:
    """The row of `_recordings` that each call is in."""
    item, begin = recordings["item"].to_numpy(), recordings["begin"].to_numpy()
    part = np.searchsorted(item, calls.item)
    for later in np.flatnonzero(begin > 0).tolist():
        part[(calls.item == item[later]) & (calls.shapes.time >= begin[later])] = later
    return part
