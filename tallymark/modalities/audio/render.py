"""Rendering of audio data sets: spectrograms with events, and charts of lengths, levels and times of day."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tallymark.core.humanize import count, number
from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.drawing.charts import Chart, columns, histogram
from tallymark.drawing.colors import Color
from tallymark.drawing.spectrograms import SIZE, draw_spectrogram
from tallymark.geometry import Events
from tallymark.io.audio import read_audio, read_header
from tallymark.io.media import Medium
from tallymark.modalities.audio.gallery import (
    NOUN,
    NOUNS,
    WINDOW,
    read_long_spectrogram,
    read_spectrogram,
    select_windows,
)
from tallymark.modalities.audio.scene import (
    draw_windows,
    event_paths,
    recording_scene,
    recording_windows,
    scene_config,
)
from tallymark.modalities.gallery import GalleryItem, annotations_of, select_item
from tallymark.modalities.render import CameraImage, RateColumns
from tallymark.modalities.scene import MAX_WINDOWS, SCENE_SIDE, Scene, Window
from tallymark.modalities.survey import MediaStatistics, Survey, size_table

LEVEL_WINDOWS = 16
"""Windows of one second, spread over a recording, that its level is measured in."""
HOURS = 24
SECONDS_PER_HOUR = 3600


class AudioRenderer:
    """Recordings with events."""

    thumbnail_size = SIZE
    drawing_suffix = ".png"
    wide = True
    windowed = True
    objects_note = "Number, length and time."

    def measure(self, medium: Medium, path: Path) -> MediaStatistics:
        """From the header and a few windows: a recording of hours need not be read to its end."""
        header = read_header(path)
        if not header.frames:
            return MediaStatistics((0.0, header.rate), np.nan, np.nan)
        starts = np.linspace(0, max(0.0, header.seconds - 1), LEVEL_WINDOWS)
        windows = [read_audio(path, start, start + 1) for start in starts.tolist()]
        power = [float(np.mean(np.nan_to_num(window) ** 2)) for window in windows if len(window)]
        level = 10 * np.log10(np.array(power) + 1e-12)
        return MediaStatistics((header.seconds, header.rate), float(np.median(level)), float(np.ptp(level)))

    def total(self, survey: Survey) -> tuple[str, str] | None:
        seconds = survey.extent[:, 0]
        return (
            (number(np.nansum(seconds) / SECONDS_PER_HOUR), "hours of recording")
            if np.isfinite(seconds).any()
            else None
        )

    def rate_columns(self, survey: Survey) -> RateColumns | None:
        return RateColumns(("hours", f"{NOUNS} per hour"), survey.extent[:, 0] / SECONDS_PER_HOUR)

    def media_charts(self, survey: Survey) -> list[Chart | None]:
        seconds, rate = survey.extent[np.isfinite(survey.extent).all(axis=1)].T
        return [
            size_table(seconds, rate, ("seconds", "samples per second")),
            histogram(seconds, "Length of recordings", "seconds") if len(np.unique(seconds)) > 1 else None,
            histogram(survey.level, "Level of recordings", "decibels"),
        ]

    def object_charts(self, catalog: Catalog, survey: Survey) -> list[Chart | None]:
        truth = catalog.truth
        if truth is None or not len(truth):
            return []
        time, length = truth.shapes.time, truth.shapes.length
        order = np.lexsort([time, truth.item])
        intervals = np.diff(time[order])[np.diff(truth.item[order]) == 0]
        return [
            None if length is None else histogram(length, f"Length of {NOUNS}", "seconds"),
            histogram(intervals[intervals > 0], f"Interval from one {NOUN} to the next", "seconds"),
            histogram(time, f"Time of {NOUNS} in the recording", "seconds from its start"),
            _by_hour(catalog, truth),
        ]

    def gallery_note(self, catalog: Catalog) -> str:
        return f"Spectrograms, each frequency relative to its own median. Orange brackets are annotated {NOUNS}."

    def gallery(self, catalog: Catalog, survey: Survey, most: int, seed: int) -> dict[str, list[GalleryItem]]:
        return select_windows(catalog, survey, most, seed)

    def draw(self, catalog: Catalog, item: GalleryItem) -> np.ndarray:
        start, stop = item.window or (0.0, WINDOW)
        truth = annotations_of(catalog, item.item)
        events = Events(np.empty(0)) if truth is None else truth.shapes
        if stop - start > 2 * WINDOW:
            level, fmax = read_long_spectrogram(catalog, item.item, stop)
            events = Events(events.time)  # an event is a dot on so long an axis
        else:
            level, fmax = read_spectrogram(catalog, item.item, start, stop)
        return draw_spectrogram(level, (start, stop), fmax, events)

    def legend(self, catalog: Catalog) -> list[tuple[str, Color]]:
        return []

    def scene(
        self,
        catalog: Catalog,
        item: int,
        window: Window | None = None,
        *,
        around: Annotations[Events] | None = None,
        recipe: Recipe | None = None,
        side: int = SCENE_SIDE,
    ) -> Scene:
        """Without a window, the first of those with the events of `around`."""
        events = [] if around is None else [around.shapes]
        chosen = window or recording_windows(catalog, item, events, 1, 0)[0]
        return recording_scene(catalog, item, chosen, scene_config(recipe), side)

    def paths(self, scene: Scene, annotations: Annotations[Events]) -> list[str]:
        return event_paths(scene, annotations)

    def cuboids(self, scene: Scene, annotations: Annotations[Events]) -> np.ndarray:
        return np.empty((0, 7))

    def windows(
        self, catalog: Catalog, item: int, *shown: Annotations[Events], most: int = MAX_WINDOWS, seed: int = 0
    ) -> Sequence[Window | None]:
        return recording_windows(catalog, item, [one.shapes for one in shown], most, seed)

    def drawings(
        self, catalog: Catalog, predictions: Annotations[Events], item: int, recipe: Recipe | None = None
    ) -> dict[str, np.ndarray]:
        """Spectrograms of windows with events, in the band of the recipe, by the seconds at which they begin."""
        predicted = select_item(predictions, item)
        return draw_windows(catalog, item, predicted, annotations_of(catalog, item), scene_config(recipe))

    def camera_images(self, catalog: Catalog, survey: Survey, seed: int) -> list[CameraImage]:
        return []


RENDERER = AudioRenderer()


def _by_hour(catalog: Catalog, truth: Annotations[Events]) -> Chart | None:
    """Events by hour of the day, of the recordings whose names state when they started."""
    names = [catalog.clock.parse(name) for name in catalog.items.ids]
    known = np.array([name.has_time for name in names], bool)
    if not known.any():
        return None
    start = np.array([name.start if name.has_time else 0.0 for name in names])
    chosen = known[truth.item]
    hour = ((start[truth.item] + truth.shapes.time)[chosen] // SECONDS_PER_HOUR % HOURS).astype(int)
    amounts = np.bincount(hour, minlength=HOURS)
    note = f"hour of the day by the file names of {count(int(known.sum()))} recordings"
    labels = [str(hour) for hour in range(HOURS)]
    return columns(labels, amounts.tolist(), f"{NOUNS.capitalize()} by hour of the day", NOUNS, note)
