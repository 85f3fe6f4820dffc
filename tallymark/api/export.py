"""Exports to the formats of other tools: of predictions, of submissions, and of the truth of data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from tallymark.api.data import PathLike, read
from tallymark.api.predictions import read_predictions
from tallymark.core.planned_outputs import refuse_outputs
from tallymark.core.problems import BadInput, Problem, nearest
from tallymark.core.recipe import Recipe
from tallymark.core.registry import Challenge, challenge
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import SHOWN, Catalog
from tallymark.data.items import Items
from tallymark.detector.coders import CODERS
from tallymark.formats.export_formats import FORMATS, ExportFormat
from tallymark.formats.export_source import FREQUENCIES, ExportSource, best_first, image_sizes
from tallymark.geometry import Events, Geometry
from tallymark.inference.predictor import PredictionResult
from tallymark.io.archives import is_folder, packed_table
from tallymark.io.finder import Finder
from tallymark.io.media import BadMedia, Medium
from tallymark.io.tables import write_frame
from tallymark.modalities.audio.config import spectrogram_config
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.reporting.calls import list_calls
from tallymark.reporting.measurements import MEASUREMENTS, check_gsd, measure_objects

EVENT_SECONDS = 1.0
"""Length of an event where the model does not know it."""


def export(result: PredictionResult, to: str, path: PathLike, *, gsd: float | None = None) -> tuple[str, ...]:
    """Write predictions in a format of other tools: `coco`, `yolo`, `voc`, `kitti`, `raven`, `geojson` and others.

    Items that could not be read are not written, not even as empty.

    Parameters
    ----------
    result: of `predict`. to: the format. path: the file or folder to write.
    gsd: (images) ground sampling distance in metres per pixel, for tables with sizes in metres.

    Returns
    -------
    Sentences about what was left out.

    Examples
    --------
    >>> tallymark.export(tallymark.predict("wheat", "photographs"), "coco", "heads.json")  # doctest: +SKIP
    """
    check_gsd(gsd)
    chosen = format_of(to, type(result.predictions.shapes))
    _refuse(chosen, Path(path))
    return chosen.write(source_of(result, gsd), Path(path)).notes


def convert_to(
    name: str, path: PathLike, out: PathLike, to: str, media: PathLike | None, gsd: float | None, **options: Any
) -> tuple[str, ...]:
    """Write a submission, or the truth of a data folder, in a format of other tools; see `tallymark.convert`."""
    check_gsd(gsd)
    what = challenge(name)
    if is_folder(path) and packed_table(path) is None:
        source = _source_of_truth(what, path, media, to, options)
    else:
        source = _source_of_submission(what, path, media, to, options)
    chosen = format_of(to, type(source.annotations.shapes))
    _refuse(chosen, Path(out))
    band = _band(what.module("recipe").PRESETS["small"]) if what.has("recipe") else FREQUENCIES
    source = replace(source, gsd=gsd, band=band, annotations=best_first(source.annotations))
    return chosen.write(source, Path(out)).notes


def source_of(result: PredictionResult, gsd: float | None = None) -> ExportSource[Any]:
    """The predictions of a model as what is exported."""
    return ExportSource(
        best_first(result.predictions),
        result.catalog,
        result.candidates.size,
        counted=result.counted,
        gsd=gsd,
        band=_band(result.recipe),
        event_seconds=result.metadata.event_seconds or EVENT_SECONDS,
    )


def format_of(name: str, geometry: type[Any]) -> ExportFormat:
    """The format of that name; a `BadInput` that lists those for a geometry, if it is none of them."""
    fitting = [one.name for one in ALL_FORMATS if one.fits(geometry)]
    if name in fitting:
        chosen = next(one for one in ALL_FORMATS if one.name == name)
        if chosen.requires is not None and find_spec(chosen.requires[0]) is None:
            package, extra = chosen.requires
            found, remedy = f"no {package}", f"pip install 'tallymark[{extra}]'"
            raise BadInput(Problem("not_installed", name, found, "the package that this format needs", remedy))
        return chosen
    known = name in [one.name for one in ALL_FORMATS]
    found = f"{name}, which holds no {geometry.noun[1]}" if known else f"'{name}'"
    remedy = nearest(name, fitting) if not known else f"choose from: {', '.join(fitting)}"
    raise BadInput(Problem("bad_option", "export", found, f"a format of {geometry.noun[1]}", remedy))


def format_for(name: str, recipe: Recipe) -> ExportFormat:
    """The format of that name, for the predictions of a model."""
    return format_of(name, CODERS[recipe.task].truth_geometry)


def parse_exports(texts: Sequence[str]) -> list[tuple[str, Path]]:
    """`FORMAT=PATH` as pairs."""
    pairs = [text.partition("=")[::2] for text in texts]
    for text, (name, path) in zip(texts, pairs, strict=True):
        if not name or not path:
            remedy = "give e.g. coco=predictions.json"
            raise BadInput(Problem("bad_option", "command line", f"--export {text}", "FORMAT=PATH", remedy))
    return [(name, Path(path)) for name, path in pairs]


def writes_folder(name: str, path: Path) -> bool:
    """Whether a format writes a folder to a path; False for an unknown one, which is refused later."""
    return any(one.writes_folder(path) for one in ALL_FORMATS if one.name == name)


def _refuse(chosen: ExportFormat, path: Path) -> None:
    folder = chosen.writes_folder(path)
    refuse_outputs([] if folder else [path], [path] if folder else [], force=True)


def _band(recipe: Recipe) -> tuple[float, float]:
    """Lowest and highest frequency in Hz that a model of events sees."""
    if not CODERS[recipe.task].one_dimensional:
        return FREQUENCIES
    config = spectrogram_config(cast(AudioRecipe, recipe))
    return config.fmin, config.fmin + config.n_bins / config.window_seconds


def _source_of_truth(
    what: Challenge, path: PathLike, media: PathLike | None, to: str, options: dict[str, Any]
) -> ExportSource[Any]:
    """The labelled items of a data folder. Of images without a readable file, the size is that of the tables."""
    if media is not None:
        remedy = "leave it out: a data folder has its own media"
        raise BadInput(Problem("bad_option", "convert", f"--media {media}", "a submission", remedy))
    catalog = read(what.name, path, **options).with_truth()
    chosen = format_of(to, type(catalog.truth.shapes))
    source: ExportSource[Any] = ExportSource(catalog.truth, catalog, np.full((len(catalog), 2), np.nan))
    if catalog.truth.weak:
        remedy = "there is nothing to write: give recordings with annotated times"
        raise BadInput(Problem("no_times", str(path), "clips with a yes or no", "times of events", remedy))
    if not chosen.needs_size:
        return source
    size = image_sizes(catalog, source.problems)
    return replace(source, size=size if catalog.size is None else np.where(np.isnan(size), catalog.size, size))


def _source_of_submission(
    what: Challenge, path: PathLike, media: PathLike | None, to: str, options: dict[str, Any]
) -> ExportSource[Any]:
    """The predictions of a submission with the media that they are about, where these are given."""
    predicted = read_predictions(what.name, path, thresholded=True, **options)
    chosen = format_of(to, type(predicted.shapes))
    if predicted.weak:
        remedy = "predict times, without --form clips"
        raise BadInput(Problem("no_times", str(path), "probabilities of clips", "times of events", remedy))
    if media is None:
        if chosen.needs_media:
            found, remedy = f"--to {to} without --media", "name the folder that has the media: --media FOLDER"
            raise BadInput(Problem("bad_option", "convert", found, "the media of the submission", remedy))
        return ExportSource(predicted, _without_media(predicted), np.full((len(predicted.items), 2), np.nan))
    catalog = read(what.name, media, **options)
    at, notes = _match(what, predicted.items, catalog, path)
    renamed = predicted.items.ids.to_numpy().astype(object)
    renamed[at >= 0] = catalog.items.ids.to_numpy().astype(object)[at[at >= 0]]
    kept = catalog.select(at[at >= 0])
    own = replace(predicted, items=Items.of(renamed.tolist())).reindex(kept.items)
    source: ExportSource[Any] = ExportSource(own, kept, np.full((len(kept), 2), np.nan), notes=notes)
    source = source.keep(kept.files.is_not_null().to_numpy() & ~_unread(own, kept, source), "could not be read")
    return replace(source, size=image_sizes(source.catalog, source.problems)) if chosen.needs_size else source


def _match(what: Challenge, items: Items, catalog: Catalog, path: PathLike) -> tuple[np.ndarray, tuple[str, ...]]:
    """For each item of a submission the index of the medium that it is about, or -1; and a note on the latter."""
    spelled = items.spelled_like(catalog.items) if what.suffix_optional else items
    at = catalog.items.find(spelled.ids).copy()
    files = {catalog.root / file: item for item, file in enumerate(catalog.files) if file is not None}
    finder = Finder(list(files), catalog.root)
    taken = set(at.tolist())
    for row in np.flatnonzero(at < 0).tolist():
        found = finder.candidates(items.ids[row])
        if len(found) == 1 and files[found[0]] not in taken:
            at[row] = files[found[0]]
            taken.add(int(at[row]))
    missing = items.ids.filter(pl.Series(at < 0))
    noun = catalog.medium.noun
    if len(missing) and len(missing) == len(items):
        found_names, expected = f"no {noun} for {', '.join(missing.head(SHOWN))}", f"the {noun}s that {path} is about"
        raise BadInput(
            Problem("missing_media", str(catalog.root), found_names, expected, "name the folder that has them")
        )
    if not len(missing):
        return at, ()
    listed = ", ".join(missing.head(SHOWN)) + (", …" if len(missing) > SHOWN else "")
    return at, (
        f"{len(missing)} of {len(items)} {noun}s of {path} have no file in {catalog.root}: {listed}; not written",
    )


def _unread(predicted: Annotations[Geometry], catalog: Catalog, source: ExportSource[Any]) -> np.ndarray:
    """Which items without predictions cannot be read: a submission has a row for these too."""
    unread = np.zeros(len(catalog), bool)
    for item in np.flatnonzero(predicted.counts == 0).tolist():
        if (path := catalog.path(item)) is not None:
            try:
                catalog.medium.inspect(path)
            except BadMedia as bad:
                if bad.transient:
                    raise BadInput(catalog.unread(item, bad)) from None
                source.problems.add(catalog.unread(item, bad))
                unread[item] = True
    return unread


def _without_media(predicted: Annotations[Geometry]) -> Catalog:
    """The items of a submission without files."""
    items, count = predicted.items, len(predicted.items)
    return Catalog(
        root=Path(),
        medium=Medium("", "item", frozenset(), _no_file),
        items=items,
        files=pl.repeat(None, count, dtype=pl.String, eager=True),
        split=pl.repeat("test", count, eager=True),
        labelled=np.zeros(count, bool),
        tables=pl.repeat(None, count, dtype=pl.String, eager=True),
    )


def _no_file(path: Path) -> Any:
    raise BadMedia("missing_media", "no file")


def _write_objects(source: ExportSource[Any], path: Path) -> None:
    write_frame(path, measure_objects(source.counted or source.annotations, source.gsd))


def _write_calls(source: ExportSource[Events], path: Path) -> None:
    write_frame(path, list_calls(source.annotations, source.catalog.clock))


_TABLES = dict.fromkeys(MEASUREMENTS, _write_objects) | dict.fromkeys([Events], _write_calls)
ALL_FORMATS = (*FORMATS, ExportFormat("csv", _TABLES))
"""Every format that can be written."""
