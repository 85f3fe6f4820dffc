"""Exports of predictions: tables, a page, files for other tools, and sound clips.

Each takes the result of `predict`. What does not go with the model, such as a table of days for images, is a
`BadInput`.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import numpy as np
import polars as pl

from tallymark.api.data import PathLike
from tallymark.api.export import export, format_for, writes_folder
from tallymark.api.report import export_report
from tallymark.core.outputs import filling, holds_files
from tallymark.core.planned_outputs import refuse_outputs
from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import Recipe
from tallymark.data.catalog import Catalog
from tallymark.detector.coders import CODERS
from tallymark.formats.export_source import recording_names
from tallymark.formats.photos import DECIMALS, positions
from tallymark.inference.candidate_files import write_candidates
from tallymark.inference.predictor import PredictionResult
from tallymark.io.names import output_paths
from tallymark.io.tables import write_frame
from tallymark.modalities.audio.config import spectrogram_config
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.reporting.call_pages import write_calls_page
from tallymark.reporting.calls import call_summary, calls_per_day, calls_per_hour, list_calls
from tallymark.reporting.clips import write_clips
from tallymark.reporting.drawings import write_drawings
from tallymark.reporting.measurements import measure_items, measure_objects, summary

EVENTS_ONLY = ("days", "plot", "raven", "audacity", "clips")
"""Exports of events in recordings."""


def export_counts(result: PredictionResult, path: PathLike, *, gsd: float | None = None) -> pl.DataFrame:
    """Write a CSV table of counts, and return it: one row per item, or per hour of the recordings.

    Photographs with a GPS position have the columns latitude, longitude (degrees), altitude_m and time.

    gsd: (images) ground sampling distance in metres per pixel, for densities and areas in square metres.
    """
    _check_supported(result.recipe, "counts", *(() if gsd is None else ("gsd",)))
    if _predicts_events(result.recipe):
        return _write(path, _hours(result))
    table = measure_items(result.counted, result.candidates.size, gsd, result.counting)
    return _write(path, _with_positions(table, result))


def export_objects(result: PredictionResult, path: PathLike, *, gsd: float | None = None) -> pl.DataFrame:
    """Write a CSV table with one row per prediction (position, size, heading or time, and score), and return it.

    gsd: (images) ground sampling distance in metres per pixel, for sizes in metres.
    """
    _check_supported(result.recipe, *(() if gsd is None else ("gsd",)))
    return _write(path, object_table(result, gsd))


def object_table(result: PredictionResult, gsd: float | None) -> pl.DataFrame:
    """The table that `export_objects` writes."""
    if _predicts_events(result.recipe):
        return list_calls(result.predictions, result.catalog.clock)
    return measure_objects(result.counted, gsd)


def export_days(result: PredictionResult, path: PathLike) -> pl.DataFrame:
    """Write a CSV table of events per day, and return it."""
    _check_supported(result.recipe, "days")
    return _write(path, calls_per_day(_hours(result)))


def export_plot(result: PredictionResult, path: PathLike) -> None:
    """Write an HTML page with charts of events by hour and by day."""
    _check_supported(result.recipe, "plot")
    lead = f"All predictions with a score of at least {result.recipe.score_threshold:g}."
    write_calls_page(_hours(result), Path(path), title=f"Calls in {result.catalog.root}", lead=lead)


def export_raven(result: PredictionResult, folder: PathLike) -> list[Path]:
    """Write a Raven selection table for each recording, or one of all to a path ending in .txt; return their paths."""
    return _export_tables(result, "raven", folder)


def export_audacity(result: PredictionResult, folder: PathLike) -> list[Path]:
    """Write an Audacity label track for each recording, and return their paths."""
    return _export_tables(result, "audacity", folder)


def _export_tables(result: PredictionResult, name: str, folder: PathLike) -> list[Path]:
    _check_supported(result.recipe, name)
    export(result, name, folder)
    if not writes_folder(name, Path(folder)):
        return [Path(folder)]
    ending = {"raven": ".Table.1.selections.txt", "audacity": ".txt"}[name]
    return output_paths(Path(folder), recording_names(result.catalog), ending)


def export_clips(result: PredictionResult, folder: PathLike, *, per_kind: int = 10) -> pl.DataFrame:
    """Write sound clips with spectrograms and a page to review them by, and return their table.

    per_kind: number of the highest scores, of the lowest scores, and of those next to the score threshold.
    """
    _check_supported(result.recipe, "clips")
    config = spectrogram_config(cast(AudioRecipe, result.recipe))
    threshold = result.recipe.score_threshold
    objects, problems = result.candidates.load().objects, result.problems
    with filling(folder) as unfinished:
        return write_clips(
            result.catalog,
            objects,
            threshold,
            config,
            unfinished,
            each=per_kind,
            problems=problems,
            challenge=result.metadata.challenge,
        )


def export_drawings(result: PredictionResult, folder: PathLike) -> list[Path]:
    """Write an image of each item with its predictions, and with the truth where it is known; return their paths.

    Sweeps are drawn in bird's-eye view, on the map where there is one, and in the image of each camera. Of a recording,
    up to 12 windows of 12 s with events are drawn as spectrograms.
    """
    readable = np.flatnonzero(result.candidates.readable)
    with filling(folder) as unfinished:
        drawn = write_drawings(result.catalog, result.predictions, readable, unfinished, result.problems, result.recipe)
    return [Path(folder) / path.relative_to(unfinished) for path in drawn]


def export_candidates(result: PredictionResult, path: PathLike) -> None:
    """Write every candidate with its score, before thresholds, as a Parquet file that `read_predictions` reads."""
    write_candidates(result.candidates.load(), path, replace(result.metadata, recipe=result.recipe))


def summarize(result: PredictionResult, *, gsd: float | None = None) -> dict[str, float | None]:
    """The predictions in a few numbers: items, counts, and densities or rates."""
    if _predicts_events(result.recipe):
        return call_summary(result.predictions, result.candidates.size[:, 0])
    table = measure_items(result.counted, result.candidates.size, gsd, result.counting)
    numbers = summary(table, result.counting)
    return {"items": numbers["items"]} if CODERS[result.recipe.task].ranked else numbers


def counting_note(result: PredictionResult) -> str:
    """How the predictions were counted, if not as they are submitted; else ""."""
    counting = result.counting
    if counting is None:
        return ""
    nouns = f"{result.catalog.medium.noun}s"
    held_out = f"{counting.items} held-out {nouns}"
    note = (
        f"counted at score threshold {counting.score_threshold:.3g}, where the total of {held_out} is right (in a "
        f"submission: {result.recipe.score_threshold:.3g}); 95 % intervals, for {nouns} like those"
    )
    own, chosen = (recipe.at("prediction") for recipe in (result.metadata.recipe, result.recipe))
    others = [name for name in own if chosen[name] != own[name]]
    if others:
        calibrated, given = (" ".join(f"{name}={values[name]}" for name in others) for values in (own, chosen))
        note += f", and for {calibrated}: at {given}, counts and intervals may be off"
    return note


@dataclass(frozen=True)
class Exports:
    """The exports of one prediction: files and folders to write, None for those that are not wanted.

    gsd: metres per pixel. clips_per_kind: see `export_clips`. formats: names of formats and paths, see `export`.
    rule_options: by which the report is scored. replaced: see `incomplete_outputs`.
    """

    counts: Path | None = None
    objects: Path | None = None
    days: Path | None = None
    plot: Path | None = None
    raven: Path | None = None
    audacity: Path | None = None
    clips: Path | None = None
    draw: Path | None = None
    gsd: float | None = None
    clips_per_kind: int = 10
    candidates: Path | None = None
    report: Path | None = None
    formats: tuple[tuple[str, Path], ...] = ()
    rule_options: Mapping[str, object] = field(default_factory=dict)
    replaced: Mapping[Path, bool] = field(default_factory=dict)

    @property
    def paths(self) -> dict[str, Path]:
        """The wanted files and folders, by name."""
        wanted = {
            "counts": self.counts,
            "objects": self.objects,
            "days": self.days,
            "plot": self.plot,
            "raven": self.raven,
            "audacity": self.audacity,
            "clips": self.clips,
            "draw": self.draw,
            "candidates": self.candidates,
            "report": self.report,
        }
        return {name: path for name, path in wanted.items() if path is not None}

    @property
    def _exported(self) -> list[tuple[str, Path]]:
        """The formats to write, tables of recordings among them."""
        tables = [("raven", self.raven), ("audacity", self.audacity)]
        return [*((name, path) for name, path in tables if path is not None), *self.formats]

    def check(self, recipe: Recipe) -> None:
        """Raise `BadInput` for exports that do not go with a model or cannot be written, before any work is done."""
        _check_supported(recipe, *self.paths, *(() if self.gsd is None else ("gsd",)))
        chosen = [(format_for(name, recipe), path) for name, path in self.formats]
        files = [path for one, path in chosen if not one.writes_folder(path)]
        folders = [path for one, path in chosen if one.writes_folder(path)]
        refuse_outputs(
            [self.counts, self.objects, self.days, self.plot, self.candidates, self.report, *files],
            filled=[self.raven, self.audacity, self.clips, self.draw, *folders],
            force=True,
        )
        for folder, noun in ((self.clips, "clips"), (self.draw, "drawings")):
            if folder is None or folder in self.replaced:
                continue
            if folder.exists() and (not folder.is_dir() or holds_files(folder)):
                remedy = f"name a new folder: {noun} of two runs would be mixed up"
                raise BadInput(Problem("not_empty", str(folder), "files", "a new or empty folder", remedy))

    def check_items(self, recipe: Recipe, catalog: Catalog) -> None:
        """Raise `BadInput` for exports that would have none of the items, before these are predicted."""
        for name, _ in self.formats:
            format_for(name, recipe).refuse_unlocated(catalog)

    def write(self, result: PredictionResult) -> tuple[str, ...]:
        """Write them all, and return sentences about what was left out."""
        for folder in (self.clips, self.draw):
            if folder is not None and self.replaced.get(folder):  # other clips may be chosen now
                shutil.rmtree(folder, ignore_errors=True)
        if self.counts is not None:
            export_counts(result, self.counts, gsd=self.gsd)
        if self.objects is not None:
            export_objects(result, self.objects, gsd=self.gsd)
        if self.days is not None:
            export_days(result, self.days)
        if self.plot is not None:
            export_plot(result, self.plot)
        if self.clips is not None:
            export_clips(result, self.clips, per_kind=self.clips_per_kind)
        if self.draw is not None:
            export_drawings(result, self.draw)
        if self.candidates is not None:
            export_candidates(result, self.candidates)
        if self.report is not None:
            export_report(result, self.report, rule_options=self.rule_options)
        notes = [note for name, path in self._exported for note in export(result, name, path, gsd=self.gsd)]
        return tuple(dict.fromkeys(notes))


def _check_supported(recipe: Recipe, *names: str) -> None:
    coder = CODERS[recipe.task]
    unsupported = {} if coder.one_dimensional else dict.fromkeys(EVENTS_ONLY, "a model of events in recordings")
    if coder.ranked:
        unsupported["counts"] = "a model that detects objects"
    if coder.ranked or "image_size" not in recipe.names_at("prediction"):  # predictions are not in pixels
        unsupported["gsd"] = "a model that detects objects in images"
    for name in names:
        if name in unsupported:
            raise BadInput(Problem("bad_option", "predict", f"--{name}", unsupported[name], "leave it out"))


def _predicts_events(recipe: Recipe) -> bool:
    return CODERS[recipe.task].one_dimensional


def _hours(result: PredictionResult) -> pl.DataFrame:
    """Events per hour of each recorder."""
    return calls_per_hour(result.predictions, result.candidates.size[:, 0], result.catalog.files, result.catalog.clock)


def _with_positions(table: pl.DataFrame, result: PredictionResult) -> pl.DataFrame:
    """With the GPS positions of photographs, if any has one."""
    if "image_size" not in result.recipe.names_at("prediction"):
        return table
    found = positions(result.catalog)
    if not any(found):
        return table
    return table.with_columns(
        pl.Series("latitude", [one and round(one.latitude, DECIMALS) for one in found], dtype=pl.Float64),
        pl.Series("longitude", [one and round(one.longitude, DECIMALS) for one in found], dtype=pl.Float64),
        pl.Series("altitude_m", [one and one.altitude for one in found], dtype=pl.Float64).round(1),
        pl.Series("time", [one and (one.time or None) for one in found], dtype=pl.String),
    )


def _write(path: PathLike, table: pl.DataFrame) -> pl.DataFrame:
    write_frame(path, table)
    return table
