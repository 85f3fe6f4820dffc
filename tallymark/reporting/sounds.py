"""Which moments of recordings are worth a look: typical and odd calls, and recordings as a whole."""

from __future__ import annotations

import numpy as np

from tallymark.core.parallel import in_threads
from tallymark.data.catalog import Catalog
from tallymark.io.audio import read_audio, read_header
from tallymark.io.media import BadMedia
from tallymark.reporting.drawings import levels
from tallymark.reporting.humanize import clock, number, plural
from tallymark.reporting.picks import Pick, drawable
from tallymark.reporting.survey import Survey

RATE = 1000
"""Samples a second to which sounds are brought: upcalls lie below 500 Hz."""
WINDOW = 20.0
"""Seconds shown around a call."""
TILE_FRAMES = 160
"""Calls whose loudness is measured; of more, that many are drawn by lot."""


def call_picks(catalog: Catalog, seen: Survey, most: int, seed: int) -> dict[str, list[Pick]]:
    """Windows around calls: typical ones day by day, and those at the ends of every scale."""
    truth = catalog.truth
    rows = np.empty(0, np.int64) if truth is None else np.flatnonzero(drawable(catalog, seen)[truth.item])
    if truth is None or not len(rows):
        return {}
    chance = np.random.default_rng(seed)
    rows = chance.permutation(rows)
    odd: list[Pick] = []
    length = None if truth.shapes.length is None else truth.shapes.length[rows]
    if length is not None and np.isfinite(length).any():
        for at, word in ((np.nanargmax(length), "longest"), (np.nanargmin(length), "shortest")):
            odd.append(_around(catalog, seen, int(rows[at]), f"{word} call: {number(float(length[at]))} s"))
        rows = rows[np.argsort(np.abs(np.nan_to_num(length - np.nanmedian(length))), kind="stable")]
    heard = rows[:TILE_FRAMES] if len(rows) <= TILE_FRAMES else np.sort(chance.choice(rows, TILE_FRAMES, replace=False))
    loud = np.array(in_threads(lambda row: _loudness(catalog, row), heard.tolist(), "listening to calls"))
    if np.isfinite(loud).any():
        for at, word in ((np.nanargmax(loud), "clearest"), (np.nanargmin(loud), "faintest")):
            odd.append(
                _around(catalog, seen, int(heard[at]), f"{word} call: {number(float(loud[at]))} dB above the rest")
            )
    crowd = _most_crowded(catalog, rows)
    if crowd is not None:
        odd.append(_around(catalog, seen, crowd[0], f"most calls in {WINDOW:g} s: {crowd[1]}"))
    groups = catalog.group.to_numpy()[truth.item[rows]]
    turn = _round_robin(rows, groups, max(1, most - len(odd)))
    return {"Typical calls": [_around(catalog, seen, row) for row in turn], "Odd calls": odd}


def silent_picks(catalog: Catalog, seen: Survey, most: int, seed: int, *, labelled: bool) -> list[Pick]:
    """Windows from the middle of recordings: of those without a call, or of those whose calls are not known."""
    known = catalog.labelled if labelled else ~catalog.labelled
    empty = known & drawable(catalog, seen) & (seen.extent[:, 0] > 0)
    if labelled and catalog.truth is not None:
        empty &= catalog.truth.counts == 0
    chosen = np.random.default_rng(seed).permutation(np.flatnonzero(empty))[:most]
    middle = seen.extent[chosen, 0] / 2
    return [
        Pick(item, window=_window(at, float(2 * at))) for item, at in zip(chosen.tolist(), middle.tolist(), strict=True)
    ]


def whole_picks(catalog: Catalog, seen: Survey, most: int = 4) -> list[Pick]:
    """Whole recordings: the one with most calls, one without, the loudest and the quietest."""
    usable = drawable(catalog, seen) & (seen.extent[:, 0] > 0)
    if not usable.any():
        return []
    amount = np.zeros(len(catalog)) if catalog.truth is None else catalog.truth.counts
    found: dict[int, str] = {}
    rich = int(np.argmax(np.where(usable, amount, -1)))
    if amount[rich] > 0:
        found[rich] = f"most calls: {plural(int(amount[rich]), 'call')} in {clock(float(seen.extent[rich, 0]))}"
    for sign, word in ((1, "loudest"), (-1, "quietest")):
        at = int(np.argmax(np.where(usable & np.isfinite(seen.bright), sign * seen.bright, -np.inf)))
        found.setdefault(at, f"{word}: {number(float(seen.bright[at]))} dB")
    for item in np.flatnonzero(usable & catalog.labelled & (amount == 0))[:1].tolist():
        found.setdefault(item, "no call")
    return [Pick(item, why, window=(0.0, float(seen.extent[item, 0]))) for item, why in list(found.items())[:most]]


def read_levels(catalog: Catalog, item: int, start: float, stop: float) -> tuple[np.ndarray, float]:
    """Spectrogram of a window in decibels, and its highest frequency."""
    path = catalog.path(item)
    assert path is not None, "only recordings that are there are drawn"
    rate = min(RATE, read_header(path).rate)
    return levels(read_audio(path, start, stop, rate), rate), rate / 2


def read_long_levels(catalog: Catalog, item: int, seconds: float, columns: int = 432) -> tuple[np.ndarray, float]:
    """Spectrogram of a whole recording, a mean spectrum for each column; of long ones only two seconds of each."""
    path = catalog.path(item)
    assert path is not None, "only recordings that are there are drawn"
    rate = min(RATE, read_header(path).rate)
    step = max(seconds / columns, 0.3)
    starts = np.arange(0, max(seconds - 0.29, 0.01), step).tolist()
    means = []
    for start in starts:
        level = levels(read_audio(path, start, start + min(step, 2.0), rate), rate)
        if level.size:
            means.append(10 * np.log10((10 ** (level / 10)).mean(axis=1)))
    tall = max((len(mean) for mean in means), default=0)
    alike = [mean for mean in means if len(mean) == tall]  # the last piece may be shorter
    return (np.stack(alike, axis=1) if alike else np.empty((0, 0))), rate / 2


def _around(catalog: Catalog, seen: Survey, row: int, why: str = "") -> Pick:
    truth = catalog.truth
    assert truth is not None
    item = int(truth.item[row])
    return Pick(item, why, row, _window(float(truth.shapes.time[row]), _seconds(catalog, seen, item)))


def _seconds(catalog: Catalog, seen: Survey, item: int) -> float:
    """The length of a recording, which may be none of those that were looked at; nan if it cannot be read."""
    known, path = float(seen.extent[item, 0]), catalog.path(item)
    if np.isfinite(known) or path is None:
        return known
    try:
        return read_header(path).seconds
    except BadMedia:
        return known


def _window(time: float, seconds: float) -> tuple[float, float]:
    """About 20 s around a moment, within the recording."""
    end = seconds if np.isfinite(seconds) else np.inf
    start = max(0.0, min(time - WINDOW / 2, end - WINDOW))
    return start, min(start + WINDOW, end)


def _loudness(catalog: Catalog, row: int) -> float:
    """How far a call stands out: its strongest tenth of the spectrogram against the median of its surroundings."""
    truth = catalog.truth
    assert truth is not None
    time = float(truth.shapes.time[row])
    length = 1.0 if truth.shapes.length is None else float(np.nan_to_num(truth.shapes.length[row], nan=1.0))
    start = max(0.0, time - 5)
    try:
        level, _ = read_levels(catalog, int(truth.item[row]), start, time + 5)
    except BadMedia:
        return float("nan")
    if level.shape[1] < 8:
        return float("nan")
    above = level - np.median(level, axis=1, keepdims=True)
    at = np.linspace(start, time + 5, level.shape[1])
    inside = above[:, np.abs(at - time) <= max(length, 0.4) / 2]
    return float(np.percentile(inside, 95)) if inside.size else float("nan")


def _most_crowded(catalog: Catalog, rows: np.ndarray) -> tuple[int, int] | None:
    """The call with most others within one window around it, and how many there are together."""
    truth = catalog.truth
    assert truth is not None
    order = np.lexsort([truth.shapes.time[rows], truth.item[rows]])
    own, time = truth.item[rows][order], truth.shapes.time[rows][order]
    line = time + own * (np.max(time) + 2 * WINDOW)
    near = np.searchsorted(line, line + WINDOW / 2) - np.searchsorted(line, line - WINDOW / 2)
    at = int(np.argmax(near))
    return (int(rows[order][at]), int(near[at])) if near[at] > 1 else None


def _round_robin(rows: np.ndarray, groups: np.ndarray, most: int) -> list[int]:
    """Rows in their order, one of each group in turn."""
    queues = [rows[groups == name][:most].tolist() for name in dict.fromkeys(groups.tolist())]
    return [queue[at] for at in range(most) for queue in queues if at < len(queue)][:most]
