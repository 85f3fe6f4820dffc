"""Train a model on a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tallymark.api.acknowledgements import against_rules, write_acknowledgements
from tallymark.api.corrections import correct_catalog, read_files, record_of
from tallymark.api.data import PathLike, read
from tallymark.api.leave_one_out import choose_folds
from tallymark.api.models import find_preset, open_model
from tallymark.api.predictions import CLIPS, write_held_out
from tallymark.api.pretrained import find_pretrained
from tallymark.api.training_reports import write_reports
from tallymark.core.engines.choice import BY_DEFAULT, EngineChoice
from tallymark.core.humanize import plural
from tallymark.core.outputs import writing
from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.core.recipe import Recipe
from tallymark.core.registry import challenge
from tallymark.data.catalog import Catalog, unlabelled_remark
from tallymark.detector.coders import CODERS
from tallymark.inference.onnx_file import MODEL_SUFFIX
from tallymark.inference.outage import stop_training
from tallymark.inference.read_items import only_read
from tallymark.inference.run import HELD_OUT_SUBMISSION
from tallymark.modalities import modality_of
from tallymark.reporting.measurements import check_gsd

if TYPE_CHECKING:
    from tallymark.training.train import TrainingResult

Options = Mapping[str, Any]
PRETRAINED = "pretrained"
"""As `weights`: those of the challenge's pretrained model."""


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
    engine: EngineChoice | None = None,
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
    preset: `tiny`, `small` or `full`; `recipe` replaces fields of it, e.g. `epochs=5`. With `leave_one_out=True`, a
        model is trained without each source, day or drive, and scored on that one.
    minutes: a time budget, to which the number of epochs is fitted.
    threads: CPU threads; by default as many as there are free cores.
    resume: continue from the last checkpoint in `out`.
    exclude: a CSV list of items and objects to ignore.
    corrections: files that a review page saved: objects marked wrong are removed, right and missed ones added. An
        unlabelled item is trained on if its review is complete.
    pseudo: a folder whose unlabelled items are pseudo-labelled by the run that the recipe names as `weights`.
    engine: where pseudo-labels are predicted: by default on all free cores of this machine.
    fold_table: a CSV table of folds, as `folds` makes it; by default new ones are made.
    gsd: (images) ground sampling distance in metres per pixel; by default it is read from the files, where they say.

    Returns
    -------
    The result; None in all processes of a distributed training but the first.

    Examples
    --------
    >>> tallymark.train("wheat", "global-wheat-detection", "run", minutes=40).score.value  # doctest: +SKIP
    """
    require_packages("torch", "onnx")
    from tallymark.training import train as training

    what = challenge(name)
    given = dict(rule_options or {})
    chosen = changed_preset(name, preset, recipe)
    check_gsd(gsd)
    check_minutes(minutes)
    reviews = read_files(what, corrections)
    catalog = read(name, folder, exclude=exclude, **given).with_media()
    catalog, annotated = correct_catalog(what, catalog, reviews)
    catalog = replace(catalog, remarks=(*catalog.remarks, *unlabelled_remark(catalog)))
    folds, chosen = choose_folds(catalog, chosen, recipe, fold_table)
    problems = Problems(EVERY)
    _report_missing_inputs(catalog, chosen, problems)
    also = [read(name, path, **given).with_media() for path in extra_data]
    for one in (catalog, *also):
        problems.merge(one.notes)
    if pseudo is not None:
        also.append(_pseudo_labelled(chosen.weights, name, pseudo, engine or BY_DEFAULT, given, problems))
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
        folds=folds,
        resume=resume,
        problems=problems,
        baseline=what.baseline,
        gsd=gsd,
        corrections=record_of(reviews),
        exclude="" if exclude is None else str(exclude),
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


def require_packages(*packages: str) -> None:
    """Report missing packages before one of them is imported."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        found, remedy = f"no {' and no '.join(missing)}", "pip install 'tallymark[train]'"
        raise BadInput(Problem("not_installed", "training", found, "the packages that training needs", remedy))


def check_minutes(minutes: float | None) -> None:
    """Refuse a time budget that is not above 0."""
    if minutes is not None and not minutes > 0:
        remedy = "give e.g. 10, or leave it out"
        raise BadInput(Problem("bad_option", "train", f"minutes={minutes:g}", "a number above 0", remedy))


def changed_preset(name: str, preset: str, changes: Options) -> Recipe:
    """A preset of a challenge with some fields replaced; the task is fixed by the truth of the challenge."""
    own = find_preset(name, preset)
    recipe = own.replace(**changes)
    if recipe.weights == PRETRAINED:
        remedy = f"leave out weights={PRETRAINED}, or give the run or model file of an earlier training"
        recipe = recipe.replace(weights=str(find_pretrained(challenge(name), remedy)))
    if recipe.task != own.task:
        found, expected = f"task={recipe.task}", f"{own.task}, as in the truth of the challenge"
        raise BadInput(Problem("bad_option", "recipe", found, expected, "leave it out"))
    return recipe


def _pseudo_labelled(
    run: str, name: str, folder: PathLike, engine: EngineChoice, rule_options: Options, problems: Problems
) -> Catalog:
    """The unlabelled items of a folder, with the predictions of a run as their truth."""
    if not Path(run).is_dir() and Path(run).suffix != MODEL_SUFFIX:
        remedy = "train once without pseudo, then again with weights=RUN; or give weights=pretrained"
        expected = "the folder of a first run, or a model file"
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
    result = only_read(predictor.predict(unlabelled, engine=engine))
    stop_training(result.problems)
    problems.merge(unlabelled.notes)
    problems.merge(result.problems)
    truth = result.predictions
    if CODERS[result.recipe.task].ranked:  # of a ranking, the most probable class only
        truth = truth.filter(np.arange(len(truth)) == truth.offsets[truth.item])
    split = pl.repeat("train", len(truth.items), eager=True)
    return replace(result.catalog, truth=truth, labelled=result.candidates.readable, split=split)
