"""Audio clips for review: seconds around high-scoring, low-scoring and borderline calls, with their spectrograms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import cv2
import numpy as np
import polars as pl

from tallymark.core.humanize import count, plural
from tallymark.core.outputs import make_folder, write_bytes
from tallymark.core.problems import Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.drawing.spectrograms import draw_spectrogram
from tallymark.drawing.text import CAPTION_HEIGHT, draw_caption
from tallymark.geometry import Events
from tallymark.io.audio import finite_samples, read_audio, read_header
from tallymark.io.audio_writer import write_wav
from tallymark.io.media import BadMedia
from tallymark.io.names import safe_name
from tallymark.io.tables import write_frame
from tallymark.modalities.audio.spectrogram import MIN_LEVEL, SpectrogramConfig, spectrogram
from tallymark.reporting.blocks import Review, Section, Tile, gallery
from tallymark.reporting.page import write_html

CONTEXT = 4.0
"""Seconds before and after a call."""
MARKED = 1.0
"""Length in seconds of the bracket that marks a call."""
SIZE = (720, 320)
"""Width and height of a spectrogram in pixels."""
BRIGHTEST = 6.0
"""The normalized level that is drawn brightest."""
INDEX, PAGE = "index.csv", "index.html"
KINDS = {
    "strongest": "The highest scores. If one of these is wrong, the model detects something else.",
    "borderline": "Scores nearest to the threshold, on both sides. Are those above it calls, and those below it not?",
    "weakest": "The lowest scores above the threshold.",
}

KEYS = (
    "Is the marked sound a call? Keys: right and left arrow go to the next and the previous clip, space plays it, "
    "R is right, W wrong, U unsure, S saves. Give the file to tallymark predict or train, as --corrections."
)


class Clip(NamedTuple):
    """The row of a candidate, and why it is worth a review: a key of `KINDS`."""

    row: int
    why: str


def choose_clips(score: np.ndarray, score_threshold: float, each: int) -> list[Clip]:
    """At most `each` candidates of each kind, none twice; of the calls above the threshold, a third of each kind.

    strongest: the highest scores. borderline: scores nearest to the threshold, half of them below it, or more where
    calls are few. weakest: of the other calls, the lowest scores.
    """
    order = np.argsort(-score, kind="stable")
    above = order[score[order] >= score_threshold].tolist()
    below = order[score[order] < score_threshold].tolist()
    third = min(each, -(-len(above) // 3))
    strongest, rest = above[:third], above[third:]
    near = rest[::-1][:third]
    just_below = below[: max(each // 2, each - len(near))]
    just_above = near[: each - len(just_below)]
    weakest = [row for row in rest[::-1] if row not in just_above][:each]
    kinds = {"strongest": strongest, "borderline": just_above[::-1] + just_below, "weakest": weakest}
    return [Clip(row, why) for why, rows in kinds.items() for row in rows]


def write_clips(
    catalog: Catalog,
    candidates: Annotations[Events],
    score_threshold: float,
    config: SpectrogramConfig,
    folder: Path,
    *,
    each: int = 10,
    problems: Problems | None = None,
    challenge: str = "",
) -> pl.DataFrame:
    """Write a WAV file and a spectrogram for each clip, a list of them and a page that plays them; returns the list.

    The spectrograms show the input of the model. Files that cannot be read have no clips.

    Parameters
    ----------
    candidates: all candidates, whatever their score.
    config: the spectrogram that the model was given.
    each: clips of each kind.
    problems: gets the recordings that the system fails to read by now.
    challenge: that the corrections of the page are for; without it, the page only shows the clips.

    Columns
    -------
    file (the spectrogram has the same name), recording, timestamp in seconds, score, why.
    """
    make_folder(folder)
    clips = choose_clips(candidates.scores, score_threshold, each)
    names = [_name(candidates, clip, number) for number, clip in enumerate(clips, 1)]
    items = np.array([int(candidates.item[clip.row]) for clip in clips], np.int64)
    images = dict[int, np.ndarray]()
    for item in np.unique(items).tolist():
        path = catalog.path(item)
        if path is None:
            continue
        own = np.flatnonzero(items == item).tolist()
        times = [float(candidates.shapes.time[clips[at].row]) for at in own]
        try:
            for at, time, level in zip(own, times, _spectrograms_around(path, config, times), strict=True):
                clip = clips[at]
                caption = f"{clip.why}: score {candidates.scores[clip.row]:.3f}, threshold {score_threshold:g}"
                with _up_to_damage():
                    images[at] = _write_clip(path, time, level, config, folder / names[at], caption)
        except BadMedia as bad:
            if problems is not None:
                problems.add(catalog.unread(item, bad))
    written = sorted(images)
    rows = np.array([clips[at].row for at in written], np.int64)
    listed = pl.DataFrame(
        {
            "file": pl.Series([f"{names[at]}.wav" for at in written], dtype=pl.String),
            "recording": candidates.items.ids[candidates.item[rows]],
            "timestamp": candidates.shapes.time[rows].round(3),
            "score": candidates.scores[rows].round(6),
            "why": pl.Series([clips[at].why for at in written], dtype=pl.String),
        }
    )
    write_frame(folder / INDEX, listed)
    numbers = candidates.numbers[rows].tolist()
    _write_page(listed, numbers, [images[at] for at in written], score_threshold, challenge, folder / PAGE)
    return listed


def _write_page(
    listed: pl.DataFrame,
    numbers: Sequence[int],
    images: Sequence[np.ndarray],
    score_threshold: float,
    challenge: str,
    out: Path,
) -> None:
    """A page beside the clips that shows and plays each of them, and saves what the reviewer says about them."""
    tiles: dict[str, list[Tile]] = {why: [] for why in KINDS}
    for row, number, image in zip(listed.iter_rows(named=True), numbers, images, strict=True):
        facts = [row["file"].split("_")[0], f"score {row['score']:.3f}", f"{row['timestamp']:.1f} s"]
        time = row["timestamp"]
        review = {
            "item": row["recording"],
            "number": str(number),
            "shape": f"[{time}]",
            "score": str(row["score"]),
            "start": str(round(max(time - CONTEXT, 0.0), 3)),
            "stop": str(round(time + CONTEXT, 3)),
        }
        tiles[row["why"]].append(
            Tile.make(image, row["recording"], facts, audio=row["file"], review=review if challenge else None)
        )
    bar = [Review(challenge, "events", len(images))] if images and challenge else []
    sections = [Section("Review", bar, KEYS)]
    sections += [
        Section(why.capitalize(), gallery(plural(len(tiles[why]), "clip"), tiles[why], wide=True), note)
        for why, note in KINDS.items()
    ]
    facts = [(count(len(tiles[why])), why) for why in KINDS]
    lead = f"{CONTEXT:g} seconds before and after each call. The score threshold is {score_threshold:g}."
    write_html(out, "Clips to review", lead, facts, sections)


LONGEST_RECORDING = 180
"""Bytes of the name of a recording in the names of its clips."""


def _name(candidates: Annotations[Events], clip: Clip, number: int) -> str:
    """A file name without suffix that sorts as the list does."""
    recording = PurePosixPath(candidates.items.ids[int(candidates.item[clip.row])].replace("\\", "/")).stem
    recording = safe_name(recording, LONGEST_RECORDING)
    return f"{number:03}_{clip.why}_{recording}_{candidates.shapes.time[clip.row]:.1f}s"


def _spectrograms_around(path: Path, config: SpectrogramConfig, times: Sequence[float]) -> list[np.ndarray]:
    """The (bins, frames) spectrogram around each time, silent beyond the ends of the recording.

    The recording is read once, up to the last clip; a damaged one up to the damage.
    """
    half = round(CONTEXT / config.hop_seconds)
    starts = [round(time / config.hop_seconds) - half for time in times]
    levels = [np.full((config.n_bins, 2 * half), MIN_LEVEL, np.float32) for _ in times]
    first = 0
    with _up_to_damage():
        for block in spectrogram(path, config):
            last = first + block.shape[1]
            for start, level in zip(starts, levels, strict=True):
                low, high = max(start, first), min(start + 2 * half, last)
                if low < high:
                    level[:, low - start : high - start] = block[:, low - first : high - first]
            first = last
            if first >= max(starts) + 2 * half:
                break
    return levels


@contextmanager
def _up_to_damage() -> Iterator[None]:
    """What can be read of a damaged recording, which prediction has reported; a failure of the system is raised."""
    try:
        yield
    except BadMedia as bad:
        if bad.transient:
            raise


def _write_clip(
    path: Path, time: float, level: np.ndarray, config: SpectrogramConfig, out: Path, caption: str
) -> np.ndarray:
    """Write the sound and its spectrogram; returns the image without the caption."""
    start, stop = time - CONTEXT, time + CONTEXT
    sound = finite_samples(read_audio(path, max(start, 0.0), stop))
    sound = sound / np.abs(sound).max(initial=1.0)  # samples written as floats may be in any unit
    write_wav(out.with_name(f"{out.name}.wav"), sound, read_header(path).rate)
    fmin, fmax = (band / config.window_seconds for band in (config.first_bin, config.first_bin + config.n_bins - 1))
    event = Events(np.array([time]), np.array([MARKED]))
    image = draw_spectrogram(level, (start, stop), fmax, event, SIZE, fmin=fmin, level_range=(MIN_LEVEL, BRIGHTEST))
    captioned = draw_caption(np.pad(image, ((0, CAPTION_HEIGHT), (0, 0), (0, 0))), caption)
    # OpenCV silently writes no file where a name has letters that the code page of the system lacks.
    _, encoded = cv2.imencode(".png", cv2.cvtColor(captioned, cv2.COLOR_RGB2BGR))
    write_bytes(out.with_name(f"{out.name}.png"), encoded.tobytes(), sync=False)
    return image
