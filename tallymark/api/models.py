"""Models: train them, open them, and predict with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tallymark.api.acknowledgements import against_rules, write_acknowledgements
from tallymark.api.corrections import correct_catalog, correct_result, read_files, record_of
from tallymark.api.data import PathLike, read
from tallymark.api.predictions import CLIPS, write_held_out
from tallymark.api.score import write
from tallymark.api.submission_rows import expected_rows
from tallymark.api.training_reports import write_reports
from tallymark.core.humanize import plural
from tallymark.core.options import parse_options
from tallymark.core.outputs import writing
from tallymark.core.planned_outputs import refuse_outputs
from tallymark.core.problems import EVERY, BadInput, Problem, Problems, nearest
from tallymark.core.recipe import Recipe
from tallymark.core.registry import challenge, challenge_names
from tallymark.data.catalog import Catalog
from tallymark.detector.coders import CODERS
from tallymark.inference.clip_probabilities import clip_probabilities
from tallymark.inference.image_sizes import refuse_sizes
from tallymark.inference.outage import stop_training
from tallymark.inference.predictor import PredictionResult, Predictor
from tallymark.inference.read_items import only_read
from tallymark.inference.run import HELD_OUT_SUBMISSION, MODEL, Run
from tallymark.inference.session import Runtime
from tallymark.inference.time_limit import TimeLimit
from tallymark.io.regular import found_at
from tallymark.modalities import modality_of
from tallymark.reporting.measurements import check_gsd

if TYPE_CHECKING:
    from tallymark.training.train import TrainingResult

Options = Mapping[str, Any]


def train(
    name: str,
    folder: PathLike,
    out: PathLike,
    *,
    preset: str = "small",
    minutes: float | None = None,
    threads: int | None = None,
    resume: bool = False,
    exclude: PathLike | None = None,
    corrections: Sequence[PathLike] = (),
    extra_data: Sequence[PathLike] = (),
    pseudo: PathLike | None = None,
    fold_table: PathLike | None = None,
    gsd: float | None = None,
    rule_options: Options | None = None,
    **recipe: object,
) -> TrainingResult | None:
    """Train on a data set, tune by the official rule on held-out items, and write a run.

    Parameters
    ----------
    name: the challenge.
    folder: the data set. extra_data: further data sets to train on, never to evaluate on.
    out: the folder of the run: models, recipe, logs, score and tuning.
    preset: `tiny`, `small` or `full`; `recipe` replaces fields of it, e.g. `epochs=5`.
    minutes: a time budget, to which the number of epochs is fitted.
    threads: CPU threads; by default as many as there are free cores.
    resume: continue from the last checkpoint in `out`.
    exclude: a CSV list of items and objects to ignore.
    corrections: files that a review page saved: objects marked wrong are removed, right and missed ones added. An
        unlabelled item is trained on if its review is complete.
    pseudo: a folder whose unlabelled items are pseudo-labelled by the run that the recipe names as `weights`.
    fold_table: a CSV table of folds, as `folds` makes it; by default new ones are made.
    gsd: (images) ground sampling distance in metres per pixel; by default it is read from the files, where they say.

    Returns
    -------
    The result; None in all processes of a distributed training but the first.

    Examples
    --------
    >>> tallymark.train("wheat", "global-wheat-detection", "run", minutes=40).score.value  # doctest: +SKIP
    """
    from tallymark.data.folds import read_folds

    _require("torch", "onnx")
    from tallymark.training import train as training

    what = challenge(name)
    given = dict(rule_options or {})
    chosen = _with_changes(find_preset(name, preset), recipe)
    check_gsd(gsd)
    if minutes is not None and not minutes > 0:
        remedy = "give e.g. 10, or leave it out"
        raise BadInput(Problem("bad_option", "train", f"minutes={minutes:g}", "a number above 0", remedy))
    reviews = read_files(what, corrections)
    catalog = read(name, folder, exclude=exclude, **given).with_media()
    catalog, annotated = correct_catalog(what, catalog, reviews)
    problems = Problems(EVERY)
    _report_missing_inputs(catalog, chosen, problems)
    also = [read(name, path, **given).with_media() for path in extra_data]
    for one in (catalog, *also):
        problems.merge(one.notes)
    if pseudo is not None:
        also.append(_pseudo_labelled(chosen.weights, name, pseudo, given, problems))
    warnings = against_rules(what, chosen.weights, extra_data, pseudo, folder)
    warnings.merge(annotated)
    problems.merge(warnings)
    classes = () if catalog.truth is None else catalog.truth.classes
    plan = training.TrainingPlan(
        challenge=name,
        rule=what.rule_on(catalog, what.parse_rule_options(given, folder, classes), given),
        catalog=catalog,
        recipe=chosen,
        folder=Path(out),
        extra_data=tuple(one.select(one.labelled) for one in also),
        minutes=minutes,
        threads=threads,
        folds=None if fold_table is None else read_folds(fold_table),
        resume=resume,
        problems=problems,
        baseline=what.baseline,
        gsd=gsd,
        corrections=record_of(reviews),
        against_rules=tuple(f"{one.found} ({one.file})" for one in warnings),
    )
    with writing(remedy="free some space or check the disk, then resume: the same command with --resume"):
        result = training.train(plan)
        if result is not None:
            write_acknowledgements(Path(out), what, chosen, folder, extra_data, pseudo, warnings)
            result.problems.merge(_write_held_out(result, name, given))
            write_reports(name, result, given)
    return result


def _write_held_out(result: TrainingResult, name: str, rule_options: Options) -> Problems:
    """Write the predictions for the held-out items as a submission; returns why there is no valid one, if so."""
    truth = result.evaluated.truth
    form = CLIPS if truth is not None and truth.weak else None
    recipe = result.tuning.recipe
    path = result.run.folder / HELD_OUT_SUBMISSION
    return write_held_out(name, result.candidates, recipe, path, form=form, **rule_options)


def _report_missing_inputs(catalog: Catalog, recipe: Recipe, problems: Problems) -> None:
    """Report items without the map or the images that a recipe asks for; raise `BadInput` if all are."""
    for source, missing in modality_of(recipe).missing_inputs(catalog, recipe).items():
        found = f"none of {missing} of {plural(len(catalog), catalog.medium.noun)}"
        expected = f"a {source} of each, as the recipe asks"
        problem = Problem("missing_input", str(catalog.root), found, expected, "add the files, or change the recipe")
        if missing == len(catalog):
            raise BadInput(problem)
        problems.add(problem)


def _require(*packages: str) -> None:
    """Report missing packages before one of them is imported."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        found, remedy = f"no {' and no '.join(missing)}", "pip install 'tallymark[train]'"
        raise BadInput(Problem("not_installed", "training", found, "the packages that training needs", remedy))


def _with_changes(preset: Recipe, changes: Options) -> Recipe:
    """A preset with some fields replaced; the task is fixed by the truth of the challenge."""
    recipe = preset.replace(**changes)
    if recipe.task != preset.task:
        found, expected = f"task={recipe.task}", f"{preset.task}, as in the truth of the challenge"
        raise BadInput(Problem("bad_option", "recipe", found, expected, "leave it out"))
    return recipe


def _pseudo_labelled(run: str, name: str, folder: PathLike, rule_options: Options, problems: Problems) -> Catalog:
    """The unlabelled items of a folder, with the predictions of a run as their truth."""
    if not Path(run).is_dir():
        expected, remedy = "the folder of a first run", "train once without pseudo, then again with weights=RUN"
        raise BadInput(Problem("no_run", "pseudo", f"weights={run}", expected, remedy))
    predictor = open_model(run)
    catalog = read(name, folder, **rule_options)
    if predictor.metadata.challenge != name:
        found = f"a model for {predictor.metadata.challenge}"
        remedy = f"train one: tallymark train {name} FOLDER --out RUN"
        raise BadInput(Problem("other_model", run, found, f"a model for {name}", remedy))
    if catalog.labelled.all():
        found, remedy = f"truth for all of {len(catalog)} items", "give it by --extra-data, or name another folder"
        raise BadInput(Problem("no_unlabelled", str(folder), found, "items without truth", remedy))
    unlabelled = catalog.select(~catalog.labelled).with_media()
    result = only_read(predictor.predict(unlabelled))
    stop_training(result.problems)
    problems.merge(unlabelled.notes)
    problems.merge(result.problems)
    truth = result.predictions
    if CODERS[result.recipe.task].ranked:  # of a ranking, the most probable class only
        truth = truth.filter(np.arange(len(truth)) == truth.offsets[truth.item])
    split = pl.repeat("train", len(truth.items), eager=True)
    return replace(result.catalog, truth=truth, labelled=result.candidates.readable, split=split)


def find_preset(name: str, preset: str) -> Recipe:
    """The recipe of a challenge's preset."""
    presets: dict[str, Recipe] = challenge(name).module("recipe").PRESETS
    if preset not in presets:
        raise BadInput(Problem("bad_option", "preset", f"'{preset}'", "a preset", nearest(preset, list(presets))))
    return presets[preset]


def predict(
    model: PathLike | Predictor,
    folder: PathLike,
    out: PathLike | None = None,
    *,
    split: str = "auto",
    runtime: Runtime = "onnxruntime",
    threads: int | None = None,
    form: str | None = None,
    sample: PathLike | None = None,
    fp_per_hour: float | None = None,
    gsd: float | None = None,
    journal: PathLike | None = None,
    minutes: float | TimeLimit | None = None,
    corrections: Sequence[PathLike] = (),
    rule_options: Options | None = None,
    **recipe: object,
) -> PredictionResult:
    """Predict the items of a folder, and write them as a submission.

    Parameters
    ----------
    model: a run, a model file, the name of a challenge with a pretrained model, or the result of `open_model`.
    folder: a data set, any folder of images or recordings, or a single one of them.
    out: the submission to write, if any; form: which of its published forms.
    split: `train`, `val`, `test` or `all`; `auto` is the test split if there is one, else all.
    sample: a sample submission: exactly its ids are predicted, and get a row each in its order. By default that of the
        folder is used, if it has one.
    runtime: `onnxruntime`, or `openvino`, which is faster on most CPUs.
    threads: CPU threads; by default as many as there are free cores.
    fp_per_hour: (recordings) use the score threshold that had at most so many false positives per hour in training.
    gsd: (images) ground sampling distance in metres per pixel: a model that knows its own is shown them at its scale.
    journal: a folder that caches raw predictions, so that runs resume and thresholds can be changed instantly.
    minutes: a time limit for all of it, from the call on, or a `TimeLimit` that began earlier. To keep it, test-time
        augmentation is reduced; if that is not enough, the items that are left are empty in the submission. The result
        says which.
    corrections: files that a review page saved: predictions marked wrong are removed, those marked right are kept even
        below the threshold, and missed objects are added with score 1.
    recipe: fields to change, e.g. `tta=8` or `score_threshold=0.4`.

    Examples
    --------
    >>> tallymark.predict("wheat", "photographs").counted.counts  # doctest: +SKIP
    """
    limit = _time_limit(minutes, journal)
    predictor = model if isinstance(model, Predictor) else open_model(model, runtime, threads)
    name = predictor.metadata.challenge
    given = dict(rule_options or {})
    check_gsd(gsd)
    _check_form(name, form)
    reviews = read_files(challenge(name), corrections)
    refuse_outputs([out], filled=[journal], force=True)
    notes: list[str] = []
    changes = dict(recipe)
    if fp_per_hour is not None:
        _check_one_threshold(changes, fp_per_hour)
        point = predictor.operating_point(fp_per_hour)
        changes["score_threshold"] = point.score_threshold
        notes += [point.note] if point.note else []
    what = challenge(name)
    parsed = parse_options(what.rule_options, given)
    every = read(name, folder, **given)
    catalog = choose_split(every, split)
    rows = None
    if out is not None or sample is not None:
        listed = None if sample is None else Path(sample)
        chosen = what.parse_rule_options(given, folder)
        rows = expected_rows(what, every, catalog, Path(folder), listed, chosen, by_default=split == "auto")
        catalog = catalog if rows is None else rows.catalog
    if len(catalog) < len(every):
        share = f"{len(catalog)} of {len(every)} {every.medium.noun}s"
        notes.append(f"predicted split {', '.join(catalog.split.unique().sort())}: {share}; --split all predicts all")
    elif out is not None and split == "auto" and catalog.labelled.any() and "test" not in set(catalog.split):
        labelled = plural(int(catalog.labelled.sum()), catalog.medium.noun)
        notes.append(f"there is no test split: the submission is about {labelled} of the annotated data")
    catalog = catalog.with_media()
    own = predictor.metadata.recipe
    for source, missing in modality_of(own).missing_inputs(catalog, own).items():
        share = f"{missing} of {plural(len(catalog), catalog.medium.noun)}"
        notes.append(f"the model was trained with a {source}, which {share} lack: expect a lower score")
    if out is not None and CODERS[predictor.metadata.recipe.task].common_size:
        refuse_sizes(catalog, what.mask_shape(parsed))
    cache = None if journal is None else Path(journal)
    result = correct_result(only_read(predictor.predict(catalog, cache, limit, gsd, **changes)), reviews)
    result.problems.merge(catalog.notes if rows is None else every.notes)
    if rows is not None:
        rows.report_missing(result.problems)
    if out is not None:
        predictions, about_rows = (result.predictions, []) if rows is None else rows.complete(result)
        notes += about_rows
        if form == CLIPS or (form is None and catalog.truth is not None and catalog.truth.weak):
            form, predictions = CLIPS, clip_probabilities(result.candidates)
        write(name, predictions, out, form=form, **given)
    named = "" if out is None else what.name_note(out)
    return replace(result, notes=(*notes, *result.notes, *every.remarks, *filter(None, [named])))


def _time_limit(minutes: float | TimeLimit | None, journal: PathLike | None) -> TimeLimit | None:
    limit = minutes if minutes is None or isinstance(minutes, TimeLimit) else TimeLimit(60 * minutes)
    if limit is not None and not limit.seconds > 0:
        remedy = "give e.g. 10, or leave it out"
        raise BadInput(Problem("bad_option", "predict", f"minutes={limit.seconds / 60:g}", "a number above 0", remedy))
    if limit is not None and journal is not None:
        found, remedy = "a time limit and a journal", "leave out the time limit: a journal resumes what was interrupted"
        raise BadInput(Problem("bad_option", "predict", found, "one of the two", remedy))
    return limit


def _check_one_threshold(changes: Options, fp_per_hour: float) -> None:
    if "score_threshold" in changes:
        found = f"score_threshold={changes['score_threshold']} and fp_per_hour={fp_per_hour:g}"
        expected, remedy = "one way to choose the score threshold", "leave out one of the two"
        raise BadInput(Problem("bad_option", "predict", found, expected, remedy))


def open_model(model: PathLike, runtime: Runtime = "onnxruntime", threads: int | None = None) -> Predictor:
    """Load the models of a run, a model file, or the pretrained model of a challenge, to predict several folders."""
    predictor = Predictor(find_models(model), runtime, threads)
    if Path(model).is_dir() and Run(Path(model)).written:
        Run(Path(model)).refuse_incomplete(predictor.metadata.recipe)
    return predictor


def _check_form(name: str, form: str | None) -> None:
    forms = challenge(name).dialect.FORMS
    if form is not None and form not in forms:
        raise BadInput(Problem("bad_option", "form", f"'{form}'", " or ".join(forms), nearest(form, list(forms))))


def find_models(model: PathLike) -> list[Path]:
    """The model files of a run, a model file itself, or the pretrained model of a challenge.

    A folder that is named like a challenge, but has no model in it, holds the data of that challenge.
    """
    path = Path(model)
    named = str(model) in challenge_names()
    if path.is_dir() and (not named or Run(path).written):
        return Run(path).models
    if path.is_file():
        return [path]
    if not named:
        expected, remedy = "a run, a model.onnx, or a challenge", "train one: tallymark train --help"
        raise BadInput(Problem("no_model", str(model), found_at(model), expected, remedy))
    pretrained = challenge(str(model)).folder / MODEL
    if not pretrained.exists():
        remedy = f"train one: tallymark train {model} FOLDER --out RUN"
        raise BadInput(Problem("no_model", str(model), "no pretrained model", "a run", remedy))
    return [pretrained]


def choose_split(catalog: Catalog, split: str) -> Catalog:
    """The items of a split; `auto` is the test split if there is one, else all items."""
    splits = set(catalog.split.to_list())
    if split == "all" or (split == "auto" and "test" not in splits):
        return catalog
    wanted = "test" if split == "auto" else split
    if wanted not in splits:
        remedy = nearest(split, [*sorted(splits), "all", "auto"])
        expected = " or ".join(sorted(splits))
        raise BadInput(Problem("no_split", str(catalog.root), f"no split '{split}'", expected, remedy))
    return catalog.in_split(wanted)
