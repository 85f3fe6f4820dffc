"""Clips for review: some seconds around the surest, the least sure and the undecided calls, to hear and to look at."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import cv2
import numpy as np
import polars as pl

from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.geometry import Events
from tallymark.io.audio import read_header, read_sound
from tallymark.io.media import BadMedia
from tallymark.io.tables import write_frame
from tallymark.modalities.audio.spectrogram import MIN_LEVEL, SpectrogramConfig, spectrogram
from tallymark.reporting.drawings import draw_spectrogram, write_label
from tallymark.reporting.humanize import count, plural
from tallymark.reporting.page import Section, gallery, page, tile

AROUND = 4.0
"""Seconds before and after a call."""
MARKED = 1.0
"""Seconds between the lines that mark a call."""
SIZE = (720, 320)
BRIGHTEST = 6.0
"""The level, in units of what is usual, that is drawn brightest."""
INDEX, PAGE = "index.csv", "index.html"
KINDS = {
    "strongest": "The surest: if one of these is wrong, the model has learned something else.",
    "borderline": "Nearest to the cut, on both sides: are the calls above it, and the rest below?",
    "weakest": "Calls of which it is least sure, among those that were found.",
}


class Clip(NamedTuple):
    """Which of the candidates, and why it is worth a look."""

    row: int
    why: str


def choose_clips(score: np.ndarray, cut: float, each: int) -> list[Clip]:
    """Of candidates, so many of each kind at most, none twice; of the calls that were found, a third of each kind.

    strongest: the surest. borderline: those nearest to the cut, half of them below it, or more where calls are few.
    weakest: of the other calls, the least sure.
    """
    order = np.argsort(-score, kind="stable")
    above, below = order[score[order] >= cut].tolist(), order[score[order] < cut].tolist()
    third = min(each, -(-len(above) // 3))
    strongest, rest = above[:third], above[third:]
    near = rest[::-1][:third]
    under = below[: max(each // 2, each - len(near))]
    over = near[: each - len(under)]
    weakest = [row for row in rest[::-1] if row not in over][:each]
    kinds = {"strongest": strongest, "borderline": over[::-1] + under, "weakest": weakest}
    return [Clip(row, why) for why, rows in kinds.items() for row in rows]


def write_clips(
    catalog: Catalog,
    candidates: Annotations[Events],
    cut: float,
    ear: SpectrogramConfig,
    folder: Path,
    *,
    each: int = 10,
) -> pl.DataFrame:
    """Write a WAV file and a spectrogram for each clip, a list of them and a page to hear them by; returns the list.

    The spectrograms show the levels that the model saw. What cannot be read has no clips.

    Parameters
    ----------
    candidates: everything that might be a call, whatever the cut. ear: how the model listened. each: clips of a kind.

    Columns
    -------
    file (the picture has the same name), recording, timestamp in seconds, score, why.
    """
    folder.mkdir(parents=True, exist_ok=True)
    clips, score, time = choose_clips(candidates.scores, cut, each), candidates.scores, candidates.shapes.time
    names = [_name(candidates, clip, at) for at, clip in enumerate(clips)]
    pictures = dict[int, np.ndarray]()
    items = np.array([int(candidates.item[clip.row]) for clip in clips], np.int64)
    for item in np.unique(items).tolist():
        own = np.flatnonzero(items == item).tolist()
        moments = [float(time[clips[at].row]) for at in own]
        path = catalog.path(item)
        if path is None:
            continue
        for at, moment, level in zip(own, moments, _levels_around(path, ear, moments), strict=True):
            words = f"{clips[at].why}: {score[clips[at].row]:.3f}, cut {cut:g}"
            with suppress(BadMedia):  # predicting has said so
                pictures[at] = _write(path, moment, level, ear, folder / names[at], words)
    kept = sorted(pictures)
    rows = np.array([clips[at].row for at in kept], np.int64)
    listed = pl.DataFrame(
        {
            "file": pl.Series([f"{names[at]}.wav" for at in kept], dtype=pl.String),
            "recording": candidates.items.ids[candidates.item[rows]],
            "timestamp": time[rows].round(3),
            "score": score[rows].round(6),
            "why": pl.Series([clips[at].why for at in kept], dtype=pl.String),
        }
    )
    write_frame(folder / INDEX, listed)
    _write_page(listed, [pictures[at] for at in kept], cut, folder / PAGE)
    return listed


def _write_page(listed: pl.DataFrame, pictures: Sequence[np.ndarray], cut: float, out: Path) -> None:
    """A page beside the clips, on which each is heard and seen."""
    tiles: dict[str, list[str]] = {why: [] for why in KINDS}
    for row, picture in zip(listed.iter_rows(named=True), pictures, strict=True):
        facts = [row["file"].split("_")[0], f"score {row['score']:.3f}", f"{row['timestamp']:.1f} s"]
        tiles[row["why"]].append(tile(picture, row["recording"], facts, sound=row["file"]))
    sections = [
        Section(why.capitalize(), gallery(plural(len(tiles[why]), "clip"), tiles[why], wide=True), note)
        for why, note in KINDS.items()
    ]
    facts = [(count(len(tiles[why])), why) for why in KINDS]
    lead = f"{AROUND:g} seconds before and after each call, as the model heard them. The cut is {cut:g}."
    out.write_text(page("Clips to review", lead, facts, sections), encoding="utf-8")


def _name(candidates: Annotations[Events], clip: Clip, number: int) -> str:
    """A name that sorts as the list does."""
    recording = PurePosixPath(candidates.items.ids[int(candidates.item[clip.row])].replace("\\", "/")).stem
    return f"{number + 1:03}_{clip.why}_{recording}_{candidates.shapes.time[clip.row]:.1f}s"


def _levels_around(path: Path, ear: SpectrogramConfig, moments: Sequence[float]) -> list[np.ndarray]:
    """(bands, frames) around each moment, dark beyond the ends; the recording is heard once, up to the last of them.

    Of a damaged one, up to there.
    """
    half = round(AROUND / ear.hop_seconds)
    starts = [round(moment / ear.hop_seconds) - half for moment in moments]
    seen = [np.full((ear.n_bins, 2 * half), MIN_LEVEL, np.float32) for _ in moments]
    first = 0
    with suppress(BadMedia):
        for block in spectrogram(path, ear):
            last = first + block.shape[1]
            for start, level in zip(starts, seen, strict=True):
                low, high = max(start, first), min(start + 2 * half, last)
                if low < high:
                    level[:, low - start : high - start] = block[:, low - first : high - first]
            first = last
            if first >= max(starts) + 2 * half:
                break
    return seen


def _write(path: Path, moment: float, level: np.ndarray, ear: SpectrogramConfig, out: Path, words: str) -> np.ndarray:
    """The sound, and what the model saw of it, which is returned."""
    import soundfile

    sound = read_sound(path, max(moment - AROUND, 0.0), moment + AROUND)
    soundfile.write(out.with_name(f"{out.name}.wav"), np.nan_to_num(sound), read_header(path).rate, subtype="PCM_16")
    low, top = (band / ear.window_seconds for band in (ear.first_bin, ear.first_bin + ear.n_bins - 1))
    picture = draw_spectrogram(
        level,
        (moment - AROUND, moment + AROUND),
        top,
        Events(np.array([moment]), np.array([MARKED])),
        SIZE,
        bottom=low,
        shades=(MIN_LEVEL, BRIGHTEST),
    )
    labelled = write_label(np.pad(picture, ((0, 24), (0, 0), (0, 0))), words)
    # OpenCV itself writes no file, and says nothing, where a name has letters that its system's code page lacks.
    _, code = cv2.imencode(".png", cv2.cvtColor(labelled, cv2.COLOR_RGB2BGR))
    out.with_name(f"{out.name}.png").write_bytes(code.tobytes())
    return picture
