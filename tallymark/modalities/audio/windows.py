"""Windows of recordings: around events, and at quiet and random places of recordings without any."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest
from pathlib import Path

import numpy as np

from tallymark.geometry import Events
from tallymark.io.audio import Header, read_header, read_window
from tallymark.io.media import BadMedia
from tallymark.modalities.scene import Window

SECONDS = 12.0
"""Length of a window; all of a recording that is shorter."""
MARGIN = 1.5
"""Seconds before the first event of a window and after its last one, at least, where the recording has them."""
PLACES = 16
"""Places of a recording whose levels are compared to find a quiet one."""
LISTEN = 1.0
"""Seconds that a level is measured in."""
LOW_RATE = 1000
"""Samples per second that are enough to measure a level."""
NEAR = 3.0
"""Seconds from a predicted event within which an annotated one is taken as found."""


def read_nonempty_header(path: Path) -> Header:
    """The header of a recording; a `BadMedia` if it cannot be read, or has no sample."""
    header = read_header(path)
    if not header.frames:
        raise BadMedia("empty_recording", "no sample", "exclude it")
    return header


def window_around(time: float, seconds: float, width: float = SECONDS) -> Window:
    """`width` seconds around a time, within a recording of this length; nan: of unknown length."""
    end = seconds if np.isfinite(seconds) else np.inf
    start = max(0.0, min(time - width / 2, end - width))
    return start, min(start + width, end)


def windows_around(times: np.ndarray, seconds: float, most: int) -> list[Window]:
    """At most `most` windows with events at these times, in the order of the times given; neighbours share a window.

    Times beyond the recording are taken as its end; those that are not finite have no window.
    """
    times = np.clip(times[np.isfinite(times)], 0.0, seconds)
    order = np.argsort(times, kind="stable")
    sorted_times = times[order]
    windows: dict[Window, int] = {}
    first = 0
    while first < len(order):
        last = int(np.searchsorted(sorted_times, sorted_times[first] + SECONDS - 2 * MARGIN, "right"))
        window = window_around(float(sorted_times[first] + sorted_times[last - 1]) / 2, seconds)
        rank = int(order[first:last].min())
        windows[window] = min(rank, windows.get(window, rank))
        first = last
    return sorted(windows, key=lambda window: windows[window])[:most]


def windows_without_events(path: Path, seconds: float, seed: Sequence[int]) -> list[Window]:
    """A quiet window, but not one of digital silence, and a random one; the whole recording if it is short."""
    if seconds <= SECONDS:
        return [(0.0, seconds)]
    starts = np.linspace(0, seconds - SECONDS, PLACES)
    middle = (SECONDS - LISTEN) / 2
    pieces = [read_window(path, at, at + LISTEN, LOW_RATE) for at in (starts + middle).tolist()]
    power = np.array([np.mean(np.square(piece, dtype=float)) if len(piece) else 0.0 for piece in pieces])
    quiet = float(starts[np.argmin(np.where(power > 0, power, np.inf))])
    random = round(float(np.random.default_rng(seed).uniform(0, seconds - SECONDS)), 1)
    return [(start, start + SECONDS) for start in dict.fromkeys([quiet, random])]


def times_by_interest(predicted: Events, score: np.ndarray, truth: Events | None) -> np.ndarray:
    """Times of events, those to look at first first: the highest scores and the annotated events without a prediction
    nearby, in turn.
    """
    found = predicted.time[np.argsort(-score, kind="stable")]
    annotated = np.empty(0) if truth is None or truth.weak else np.sort(truth.time)
    ordered = np.sort(predicted.time)
    near = np.searchsorted(ordered, annotated - NEAR) < np.searchsorted(ordered, annotated + NEAR, "right")
    in_turn = chain.from_iterable(zip_longest(found.tolist(), annotated[~near].tolist()))
    return np.array([time for time in [*in_turn, *annotated[near].tolist()] if time is not None], float)
