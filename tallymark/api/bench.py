"""Speed against score: a model measured on this machine, at several settings and by each installed runtime."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import numpy as np

from tallymark.api.data import PathLike, read
from tallymark.api.models import find_models, open_model
from tallymark.api.score import write as write_submission
from tallymark.core.console import progress
from tallymark.core.humanize import plural
from tallymark.core.options import parse_options
from tallymark.core.outputs import write_bytes
from tallymark.core.planned_outputs import refuse_outputs
from tallymark.core.problems import BadInput, Problem, nearest
from tallymark.core.registry import Challenge, challenge
from tallymark.core.resources import usable_cores
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.detector.coders import CODERS
from tallymark.geometry import Geometry
from tallymark.inference.benchmark import Benchmark, Measurement
from tallymark.inference.calibration import items_trained_on
from tallymark.inference.metadata import KEY, ModelMetadata
from tallymark.inference.onnx_file import metadata_text, read_model, with_metadata
from tallymark.inference.postprocess import postprocess
from tallymark.inference.predictor import Predictor
from tallymark.inference.session import Runtime
from tallymark.inference.timing import CHUNK, Timing, measure, measure_stages, noise, settings_of
from tallymark.inference.tuning import Rule, cross_tune, tune

ITEMS = 96
"""Items that are measured unless more are asked for."""
MINUTES = 2.0
LEAST_SCORED = 4
"""Items with truth, at least, to tune on one half of them and score the other."""
NOT_TUNED = ("nms_iou", "image_threshold", "mask_scale", "class_thresholds")
"""Fields of post-processing that stay as they are: other settings need another score threshold at most."""


def bench(
    model: PathLike,
    folder: PathLike,
    out: PathLike | None = None,
    *,
    items: int = ITEMS,
    minutes: float = MINUTES,
    runtimes: Sequence[str] | None = None,
    threads: int | None = None,
    write: bool = False,
    rule_options: Mapping[str, Any] | None = None,
    **recipe: object,
) -> Benchmark:
    """Measure speed and score of a model on this machine, at several settings, and find the Pareto front.

    Parameters
    ----------
    model: a run, a model file, or the name of a challenge with a pretrained model.
    folder: a data set, any folder of images or recordings. Where items are annotated, these are measured, and each
        setting is scored by the official rule; items that the model was trained on are left out.
    out: an HTML page with a plot, if any.
    items: how many items at most, from the whole folder. minutes: a budget for the measurement.
    runtimes: by default each that is installed. threads: CPU threads; by default all free cores.
    write: put the settings of `fast`, `balanced` and `best` into the model files, for `predict --speed`.
    recipe: fields that are the same at all settings, and not varied, e.g. `tta=4`.

    Examples
    --------
    >>> print(tallymark.bench("wheat", "global-wheat-detection"))  # doctest: +SKIP
    """
    given = dict(rule_options or {})
    _check_amounts(items, minutes)
    if out is not None:
        refuse_outputs([out], inputs=[model, folder], force=True)
    opened: dict[str, Predictor] = {name: open_model(model, name, threads) for name in _runtimes(runtimes)}
    first = next(iter(opened.values()))
    own = first.metadata.recipe
    own.replace(**recipe)
    what = challenge(first.metadata.challenge)
    parse_options(what.rule_options, given)
    catalog, notes = _items(what, model, folder, items, given)
    settings = settings_of(own, list(opened), recipe)
    timings = measure(opened, catalog, settings, recipe, 60 * minutes)
    measured = catalog.select(np.arange(len(timings[0].candidates.items)))
    if len(measured) < len(catalog):
        share = f"{len(measured)} of {plural(len(catalog), catalog.medium.noun)}"
        notes.append(f"{share} within {minutes:g} min; --minutes gives more")
    if unread := int((~timings[0].candidates.readable).sum()):
        notes.append(f"{unread} of {plural(len(measured), catalog.medium.noun)} could not be read: tallymark check")
    if len(measured) <= CHUNK:
        notes.append("one round only: give more items or minutes for numbers to trust")
    result = Benchmark(
        challenge=what.name,
        model=str(model),
        noun=catalog.medium.noun,
        items=len(measured),
        scored=0,
        cores=usable_cores(),
        threads=threads,
        measurements=[_measurement(one) for one in timings],
        stages={name: _stages(what, one, measured, timings[0], given) for name, one in opened.items()},
        noise=noise(timings[0]),
        notes=tuple(notes),
    )
    if measured.labelled.all() and measured.truth is not None:
        result = _with_scores(result, what, measured, timings, given)
    if write:
        _write_speeds(find_models(model), result)
    if out is not None:
        from tallymark.reporting.benchmark import write_page

        write_page(result, Path(out))
    return result


def _check_amounts(items: int, minutes: float) -> None:
    if items < 1 or not minutes > 0:
        found, remedy = f"items={items}, minutes={minutes:g}", "give e.g. 96 and 2, or leave them out"
        raise BadInput(Problem("bad_option", "bench", found, "numbers above 0", remedy))


def _runtimes(asked: Sequence[str] | None) -> list[Runtime]:
    """The runtimes to measure: those asked for, or each that is installed."""
    known = [name for name in get_args(Runtime) if name != "auto"]
    for name in asked or ():
        if name not in known:
            raise BadInput(Problem("bad_option", "runtime", f"'{name}'", " or ".join(known), nearest(name, known)))
    return [name for name in known if (find_spec(name) is not None if not asked else name in asked)]


def _items(
    what: Challenge, model: PathLike, folder: PathLike, items: int, given: Mapping[str, Any]
) -> tuple[Catalog, list[str]]:
    """The items to measure, from the whole folder; the annotated ones that the model was not trained on, if any."""
    catalog = read(what.name, folder, **given)
    notes = []
    if catalog.truth is not None and catalog.labelled.any():
        catalog = catalog.select(catalog.labelled)
        known = catalog.items.ids.is_in(list(items_trained_on(find_models(model)))).to_numpy()
        if known.any() and not known.all():
            notes.append(f"left out: {plural(int(known.sum()), catalog.medium.noun)} that the model was trained on")
            catalog = catalog.select(~known)
        elif known.all():
            notes.append("the model was trained on all of these items: scores are too good to be true")
    catalog = catalog.with_media()
    if not len(catalog):
        expected, remedy = "items to predict", "name another folder"
        raise BadInput(Problem("no_items", str(folder), "no items", expected, remedy))
    chosen = np.linspace(0, len(catalog) - 1, min(items, len(catalog))).round().astype(int)
    return catalog.select(chosen), notes


def _measurement(timing: Timing) -> Measurement:
    size = timing.candidates.size[:, 0]
    timed = CODERS[timing.recipe.task].one_dimensional
    return Measurement(
        timing.setting.runtime,
        timing.setting.fields,
        timing.median,
        statistics.median(timing.bare),
        hours=float(np.nansum(size)) / 3600 / len(size) if timed else 0.0,
    )


def _stages(
    what: Challenge, predictor: Predictor, catalog: Catalog, timing: Timing, given: Mapping[str, Any]
) -> dict[str, float]:
    """Of some items, at the first setting; predictions that make no valid submission are not written."""
    some = catalog.select(np.arange(min(len(catalog), CHUNK)))
    with tempfile.TemporaryDirectory() as folder:

        def write(predictions: Annotations[Geometry]) -> None:
            try:
                named = replace(predictions, classes=predictor.metadata.classes)
                write_submission(what.name, named, Path(folder) / what.submission_name, **given)
            except BadInput:  # such as masks of images of several sizes
                return

        return measure_stages(predictor, some, timing.found[0], timing.recipe, write)


def _with_scores(
    result: Benchmark, what: Challenge, catalog: Catalog, timings: Sequence[Timing], given: Mapping[str, Any]
) -> Benchmark:
    labelled = catalog.with_truth()
    truth = labelled.truth
    rule = what.rule_on(labelled, what.parse_rule_options(given, catalog.root, truth.classes), given)
    pairs = list(zip(result.measurements, timings, strict=True))
    scored = [_scored(one, timing, truth, rule) for one, timing in progress(pairs, "scoring")]
    example = rule(truth, postprocess(timings[0].candidates, timings[0].recipe))
    baseline = rule(truth, what.baseline.guess(truth, example.rule_options)).value
    return replace(result, scored=len(catalog), measurements=scored, better=example.better, baseline=baseline)


def _scored(one: Measurement, timing: Timing, truth: Annotations[Geometry], rule: Rule) -> Measurement:
    """A measurement with its scores: at the model's thresholds, and at one for all classes, tuned on the other half.

    One for all, since that is what a score threshold among the fields of a speed means to prediction.
    """
    candidates, recipe = timing.candidates, timing.recipe
    score = rule(truth, postprocess(candidates, recipe)).value
    if CODERS[recipe.task].ranked or len(truth.items) < LEAST_SCORED:
        return replace(one, score=score, tuned=score)
    parity = np.arange(len(truth.items)) % 2
    halves = [candidates.select(np.flatnonzero(parity == number)) for number in (0, 1)]
    truths = [truth.reindex(half.items) for half in halves]
    alike = recipe.replace(class_thresholds="")
    tuned = cross_tune(halves, truths, alike, rule, fixed=NOT_TUNED).score.value
    threshold = tune(candidates, truth, alike, rule, fixed=NOT_TUNED).recipe.score_threshold
    return replace(one, score=score, tuned=tuned, threshold=threshold)


def _write_speeds(models: Sequence[Path], result: Benchmark) -> None:
    """Put the named speeds into model files."""
    if not result.speeds:
        found, expected = "no annotated items", "items with truth, to choose speeds by their score"
        raise BadInput(
            Problem("no_truth", "bench", found, expected, "leave out --write, or name a folder that has them")
        )
    for path in models:
        data = read_model(path)
        metadata = replace(ModelMetadata.read(metadata_text(data, KEY), path), speeds=result.speeds)
        write_bytes(path, with_metadata(data, KEY, metadata.text()))
