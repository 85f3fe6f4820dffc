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
    recordings = _recordings(calls.items.ids, calls.items.ids if files is None else files, clock)
    start = recordings["start"].to_numpy()
    length = np.nan_to_num(np.asarray(seconds, float))
    undivided = (recordings["dated"] & ~recordings["timed"]).to_numpy()  # without a time: not divided into hours
    first = np.floor_divide(start, HOUR).astype(np.int64)
    spanned = np.where(length > 0, -np.floor_divide(-(start + length), HOUR).astype(np.int64) - first, 0)
    spanned[undivided] = length[undivided] > 0
    item = np.repeat(np.arange(len(recordings)), spanned)
    hour = first[item] + np.arange(len(item)) - np.repeat(np.cumsum(spanned) - spanned, spanned)
    covered = np.minimum(start[item] + length[item], (hour + 1) * HOUR) - np.maximum(start[item], hour * HOUR)
    call_hour = np.floor_divide(start[calls.item] + np.clip(calls.shapes.time, 0, None), HOUR).astype(np.int64)
    rows = pl.DataFrame(
        {
            "item": np.concatenate([item, calls.item]),
            "hour": np.concatenate([hour, np.where(undivided[calls.item], first[calls.item], call_hour)]),
            "hours": np.concatenate([np.where(undivided[item], length[item], covered) / HOUR, np.zeros(len(calls))]),
            "count": np.concatenate([np.zeros(len(item), np.int64), np.ones(len(calls), np.int64)]),
        }
    )
    keys = ["recorder", "dated", "timed", "hour"]
    sums = rows.join(recordings, on="item").group_by(keys).agg(pl.col("hours", "count").sum())
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
    listed = pl.DataFrame(
        {
            "recording": calls.items.ids[calls.item],
            "number": calls.numbers,
            "score": calls.scores.round(DECIMALS),
            "timestamp": calls.shapes.time.round(3),
            "clock": pl.from_epoch(start[calls.item] + time, time_unit="ms").dt.strftime("%Y-%m-%d %H:%M:%S%.3f"),
        }
    )
    if not clock.zone:
        return listed
    times = (start[calls.item] + time).to_list()
    return listed.with_columns(
        utc=pl.Series([None if at is None else clock.utc(at / 1000) for at in times], dtype=pl.String)
    )


def call_summary(calls: Annotations[Events], seconds: np.ndarray) -> dict[str, float | None]:
    """Number of recordings (items) and of calls (count), hours of recording, and calls per hour."""
    hours = float(np.nansum(seconds)) / HOUR
    rate = round(len(calls) / hours, DECIMALS) if hours else None
    return {"items": len(calls.items), "count": len(calls), "hours": round(hours, DECIMALS), "per_hour": rate}


def per_hour() -> pl.Expr:
    """Calls per hour of recording, from the columns `count` and `hours`; null without any recording."""
    return pl.when(pl.col("hours") > 0).then(pl.col("count") / pl.col("hours")).round(DECIMALS).alias("per_hour")


def _recordings(ids: pl.Series, files: pl.Series, clock: RecordingClock) -> pl.DataFrame:
    """Number, recorder and start (seconds since 1970) of each recording, and whether its date and time are known."""
    parsed = [clock.parse(file or name) for name, file in zip(ids, files, strict=True)]
    known = [
        one if one.start is not None else RecordingName(name, 0.0, False) for name, one in zip(ids, parsed, strict=True)
    ]
    return pl.DataFrame(
        {
            "item": np.arange(len(parsed)),
            "recorder": pl.Series([one.recorder for one in known], dtype=pl.String),
            "start": pl.Series([one.start for one in known], dtype=pl.Float64),
            "dated": pl.Series([one.start is not None for one in parsed], dtype=pl.Boolean),
            "timed": pl.Series([one.has_time for one in parsed], dtype=pl.Boolean),
        }
    )
