"""What `predict` writes beside the submission: tables, and of calls also pages, tables for other tools, and clips."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tallymark.api.models import refuse_paths
from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import Recipe
from tallymark.formats import write_audacity, write_raven
from tallymark.inference.predictor import PredictionResult
from tallymark.io.tables import write_frame
from tallymark.modalities.audio.config import spectrogram_config
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.audio.spectrogram import SpectrogramConfig
from tallymark.reporting.call_pages import write_calls_page
from tallymark.reporting.calls import call_summary, calls_per_day, calls_per_hour, list_calls
from tallymark.reporting.clips import write_clips
from tallymark.reporting.measurements import measure_items, measure_objects, summary

SECONDS = 1.0
"""How long a call is, where the model does not know."""
OF_CALLS = ("days", "plot", "raven", "audacity", "clips")
"""What is written of calls only."""


@dataclass(frozen=True)
class Outputs:
    """Where to write what, if anywhere. ground: metres to a pixel. each: clips of a kind."""

    counts: Path | None
    objects: Path | None
    gsd: float | None
    days: Path | None
    plot: Path | None
    raven: Path | None
    audacity: Path | None
    clips: Path | None
    each: int

    @property
    def files(self) -> list[Path]:
        return [path for path in (self.counts, self.objects, self.days, self.plot) if path is not None]

    @property
    def paths(self) -> list[Path]:
        return self.files + [path for path in (self.raven, self.audacity, self.clips) if path is not None]

    def refuse(self, recipe: Recipe) -> None:
        """What does not go with the model, or cannot be written, before any work is done."""
        other = {name: "a model of calls in recordings" for name in OF_CALLS if recipe.task != "events"}
        if recipe.task not in ("boxes", "masks"):
            other["gsd"] = "a model of boxes or masks in pictures"
        if recipe.task == "labels":
            other["counts"] = "a model that finds things to count"
        for name, expected in other.items():
            if getattr(self, name) is not None:
                raise BadInput(Problem("bad_option", "predict", f"--{name}", expected, "leave it out"))
        refuse_paths(self.files)
        for folder in (self.raven, self.audacity):
            if folder is not None and folder.is_file():
                raise BadInput(Problem("bad_path", str(folder), "a file", "a folder", "name another"))
        if self.clips is not None and self.clips.exists() and (not self.clips.is_dir() or any(self.clips.iterdir())):
            remedy = "name a new folder: clips of two runs would be mixed up"
            raise BadInput(Problem("not_empty", str(self.clips), "something", "a new or empty folder", remedy))

    def write(self, predicted: PredictionResult) -> dict[str, float | None]:
        """Write it all; returns the findings in a few numbers."""
        recipe = predicted.recipe
        if isinstance(recipe, AudioRecipe):
            return self._of_calls(predicted, spectrogram_config(recipe))
        table = measure_items(predicted.predictions, predicted.candidates.size, self.gsd)
        if self.counts is not None:
            write_frame(self.counts, table)
        if self.objects is not None:
            write_frame(self.objects, measure_objects(predicted.predictions, self.gsd))
        told = summary(table)
        return told if recipe.task != "labels" else {"items": told["items"]}  # each picture has as many labels

    def _of_calls(self, predicted: PredictionResult, ear: SpectrogramConfig) -> dict[str, float | None]:
        calls, seconds, cut = predicted.predictions, predicted.candidates.size[:, 0], predicted.recipe.score_threshold
        hours = calls_per_hour(calls, seconds, predicted.catalog.files)
        if self.counts is not None:
            write_frame(self.counts, hours)
        if self.objects is not None:
            write_frame(self.objects, list_calls(calls))
        if self.days is not None:
            write_frame(self.days, calls_per_day(hours))
        if self.plot is not None:
            title, lead = f"Calls in {predicted.catalog.root}", f"Everything surer than {cut:g}."
            write_calls_page(hours, self.plot, title=title, lead=lead)
        long = predicted.metadata.event_seconds or SECONDS
        if self.raven is not None:
            write_raven(calls, self.raven, (ear.fmin, ear.fmin + ear.n_bins / ear.window_seconds), default_length=long)
        if self.audacity is not None:
            write_audacity(calls, self.audacity, default_length=long)
        if self.clips is not None:
            write_clips(predicted.catalog, predicted.candidates.objects, cut, ear, self.clips, each=self.each)
        return call_summary(calls, np.asarray(seconds))
