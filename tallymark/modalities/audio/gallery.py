"""Selection of the windows of recordings that a gallery shows: typical and extreme events, and whole recordings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tallymark.core.humanize import clock, number, plural
from tallymark.core.parallel import in_threads
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.drawing.spectrograms import decibel_spectrogram
from tallymark.geometry import Events
from tallymark.io.audio import read_audio, read_header
from tallymark.io.media import BadMedia
from tallymark.modalities.audio.windows import window_around
from tallymark.modalities.gallery import GalleryItem, drawable, object_counts, unreadable_items
from tallymark.modalities.survey import Survey

SAMPLE_RATE = 1000
"""Samples per second that sounds are resampled to: upcalls lie below 500 Hz."""
WINDOW = 20.0
"""Seconds shown around an event."""
MAX_LEVELS = 160
"""Events whose loudness is measured; of more, a random sample of that size."""
CONTEXT = 5.0
"""Seconds before and after an event that its loudness is compared with."""
NOUN, NOUNS = Events.noun


def select_windows(catalog: Catalog, survey: Survey, most: int, seed: int) -> dict[str, list[GalleryItem]]:
    """Whole recordings, windows around events, and windows of recordings without events or labels, by heading."""
    whole = whole_recordings(catalog, survey, max(1, most // 6))
    return {
        "Whole recordings": whole,
        **event_windows(catalog, survey, most - len(whole) - most // 4, seed),
        f"Without {NOUNS}": empty_windows(catalog, survey, max(1, most // 8), seed, labelled=True),
        "Unlabelled": empty_windows(catalog, survey, max(1, most // 8), seed, labelled=False),
        "Unreadable": unreadable_items(survey, max(1, most // 8)),
    }


def event_windows(catalog: Catalog, survey: Survey, most: int, seed: int) -> dict[str, list[GalleryItem]]:
    """Windows around events: typical ones of each group in turn, and the extremes of every scale."""
    truth = catalog.truth
    if truth is None:
        return {}
    rows = np.flatnonzero(drawable(catalog, survey)[truth.item])
    if not len(rows):
        return {}
    rng = np.random.default_rng(seed)
    rows = rng.permutation(rows)
    reasons: list[tuple[int, str]] = []
    length = None if truth.shapes.length is None else truth.shapes.length[rows]
    if length is not None and np.isfinite(length).any():
        for at, word in ((np.nanargmax(length), "longest"), (np.nanargmin(length), "shortest")):
            reasons.append((int(rows[at]), f"{word} {NOUN}: {number(float(length[at]))} s"))
        rows = rows[np.argsort(np.abs(np.nan_to_num(length - np.nanmedian(length))), kind="stable")]
    sample = rows if len(rows) <= MAX_LEVELS else np.sort(rng.choice(rows, MAX_LEVELS, replace=False))
    reasons += _by_loudness(catalog, survey, truth, sample)
    reasons += _most_crowded(truth, rows)
    extremes = [_window_around(catalog, survey, truth, row, reason) for row, reason in reasons]
    groups = catalog.group.to_numpy()[truth.item[rows]]
    typical = _round_robin(rows, groups, max(1, most - len(extremes)))
    return {
        f"Typical {NOUNS}": [_window_around(catalog, survey, truth, row) for row in typical],
        f"Extreme {NOUNS}": extremes,
    }


def empty_windows(catalog: Catalog, survey: Survey, most: int, seed: int, *, labelled: bool) -> list[GalleryItem]:
    """Windows from the middle of recordings without events, or of recordings that are not labelled."""
    chosen = catalog.labelled if labelled else ~catalog.labelled
    chosen = chosen & drawable(catalog, survey) & (survey.extent[:, 0] > 0)
    if labelled and catalog.truth is not None:
        chosen &= catalog.truth.counts == 0
    items = np.random.default_rng(seed).permutation(np.flatnonzero(chosen))[:most]
    seconds = survey.extent[items, 0].tolist()
    return [
        GalleryItem(item, window=window_around(length / 2, length, WINDOW))
        for item, length in zip(items.tolist(), seconds, strict=True)
    ]


def whole_recordings(catalog: Catalog, survey: Survey, most: int) -> list[GalleryItem]:
    """The recordings with most events, the loudest, the quietest, and one without events."""
    usable = drawable(catalog, survey) & (survey.extent[:, 0] > 0)
    if not usable.any():
        return []
    events = object_counts(catalog)
    reasons: dict[int, str] = {}
    richest = int(np.argmax(np.where(usable, events, -1)))
    if events[richest] > 0:
        length = clock(float(survey.extent[richest, 0]))
        reasons[richest] = f"most {NOUNS}: {plural(int(events[richest]), NOUN, NOUNS)} in {length}"
    for sign, word in ((1, "loudest"), (-1, "quietest")):
        at = int(np.argmax(np.where(usable & np.isfinite(survey.level), sign * survey.level, -np.inf)))
        reasons.setdefault(at, f"{word}: {number(float(survey.level[at]))} dB")
    for item in np.flatnonzero(usable & catalog.labelled & (events == 0))[:1].tolist():
        reasons.setdefault(item, f"no {NOUNS}")
    return [
        GalleryItem(item, reason, window=(0.0, float(survey.extent[item, 0])))
        for item, reason in list(reasons.items())[:most]
    ]


def read_spectrogram(catalog: Catalog, item: int, start: float, stop: float) -> tuple[np.ndarray, float]:
    """The spectrogram of a window in decibels, and its highest frequency in hertz."""
    path = catalog.path(item)
    assert path is not None, "only recordings with a file are drawn"
    rate = min(SAMPLE_RATE, read_header(path).rate)
    return decibel_spectrogram(read_audio(path, start, stop, rate), rate), rate / 2


def read_long_spectrogram(catalog: Catalog, item: int, seconds: float, columns: int = 432) -> tuple[np.ndarray, float]:
    """The spectrogram of a whole recording as the mean spectrum of each column, and its highest frequency in hertz.

    Of long recordings, two seconds of each column are read.
    """
    path = catalog.path(item)
    assert path is not None, "only recordings with a file are drawn"
    rate = min(SAMPLE_RATE, read_header(path).rate)
    step = max(seconds / columns, 0.3)
    spectra = []
    for start in np.arange(0, max(seconds - 0.29, 0.01), step).tolist():
        level = decibel_spectrogram(read_audio(path, start, start + min(step, 2.0), rate), rate)
        if level.size:
            spectra.append(10 * np.log10((10 ** (level / 10)).mean(axis=1)))
    bins = max((len(spectrum) for spectrum in spectra), default=0)
    complete = [spectrum for spectrum in spectra if len(spectrum) == bins]  # the last piece may be shorter
    return (np.stack(complete, axis=1) if complete else np.empty((0, 0))), rate / 2


def _by_loudness(
    catalog: Catalog, survey: Survey, truth: Annotations[Events], rows: np.ndarray
) -> Iterator[tuple[int, str]]:
    """The clearest and the faintest of these events, and why.

    A recording that can be read no longer is shown among the unreadable ones: its events are not compared.
    """

    def measure(row: int) -> float:
        try:
            return _contrast(catalog, truth, row)
        except BadMedia as bad:
            survey.unreadable.setdefault(int(truth.item[row]), bad)
            return float("nan")

    contrast = np.array(in_threads(measure, rows.tolist(), "measuring events"))
    if np.isfinite(contrast).any():
        for at, word in ((np.nanargmax(contrast), "clearest"), (np.nanargmin(contrast), "faintest")):
            yield int(rows[at]), f"{word} {NOUN}: {number(float(contrast[at]))} dB above its surroundings"


def _most_crowded(truth: Annotations[Events], rows: np.ndarray) -> Iterator[tuple[int, str]]:
    """The event with most others within one window around it, and why; nothing if all are alone."""
    order = np.lexsort([truth.shapes.time[rows], truth.item[rows]])
    item, time = truth.item[rows][order], truth.shapes.time[rows][order]
    line = time + item * (np.max(time) + 2 * WINDOW)  # recordings one after another, more than a window apart
    near = np.searchsorted(line, line + WINDOW / 2) - np.searchsorted(line, line - WINDOW / 2)
    at = int(np.argmax(near))
    if near[at] > 1:
        yield int(rows[order][at]), f"most {NOUNS} in {WINDOW:g} s: {int(near[at])}"


def _window_around(
    catalog: Catalog, survey: Survey, truth: Annotations[Events], row: int, reason: str = ""
) -> GalleryItem:
    item = int(truth.item[row])
    window = window_around(float(truth.shapes.time[row]), _seconds(catalog, survey, item), WINDOW)
    return GalleryItem(item, reason, row, window)


def _seconds(catalog: Catalog, survey: Survey, item: int) -> float:
    """The length of a recording, which the survey may have omitted; nan if it cannot be read."""
    known = float(survey.extent[item, 0])
    path = catalog.path(item)
    if np.isfinite(known) or path is None:
        return known
    try:
        return read_header(path).seconds
    except BadMedia:
        return known


def _contrast(catalog: Catalog, truth: Annotations[Events], row: int) -> float:
    """Decibels of an event above its surroundings: its 95th percentile against the median of each frequency."""
    time = float(truth.shapes.time[row])
    length = 1.0 if truth.shapes.length is None else float(np.nan_to_num(truth.shapes.length[row], nan=1.0))
    start = max(0.0, time - CONTEXT)
    level, _ = read_spectrogram(catalog, int(truth.item[row]), start, time + CONTEXT)
    if level.shape[1] < 8:
        return float("nan")
    above = level - np.median(level, axis=1, keepdims=True)
    frame_time = np.linspace(start, time + CONTEXT, level.shape[1])
    inside = above[:, np.abs(frame_time - time) <= max(length, 0.4) / 2]
    return float(np.percentile(inside, 95)) if inside.size else float("nan")


def _round_robin(rows: np.ndarray, groups: np.ndarray, most: int) -> list[int]:
    """Rows in their order, one of each group in turn."""
    queues = [rows[groups == name][:most].tolist() for name in dict.fromkeys(groups.tolist())]
    return [queue[at] for at in range(most) for queue in queues if at < len(queue)][:most]
