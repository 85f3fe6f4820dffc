"""From a data set to a run: deal folds, train a model for each that is held out, tune, and write the models."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.core.recipe import Recipe, head_groups_of
from tallymark.data.annotations import Annotations, concat_items
from tallymark.data.catalog import Catalog
from tallymark.data.folds import Folds, make_folds
from tallymark.data.items import Items
from tallymark.detector.network import Classifier, Network, make_network
from tallymark.detector.weights import WEIGHTS, read_state, write_state
from tallymark.geometry import Events
from tallymark.inference.candidates import Candidates, concat_candidates
from tallymark.inference.metadata import ModelMetadata
from tallymark.inference.recall_curve import RecallCurve, measure_recall
from tallymark.inference.run import MODEL, Run
from tallymark.inference.tuning import Rule, Tuning, cross_tune, tune
from tallymark.modalities.audio.dataset import AudioDataset
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.image.dataset import ImageDataset
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.lidar.dataset import LidarDataset
from tallymark.modalities.lidar.recipe import LidarRecipe
from tallymark.scoring.score import Score
from tallymark.training.batches import Batches, ConcatDataset, Dataset
from tallymark.training.devices import Rank, join_ranks
from tallymark.training.evaluator import Evaluator
from tallymark.training.export import export
from tallymark.training.extra_data import align_to_classes, refuse_held_out
from tallymark.training.linear_probe import init_classifier
from tallymark.training.loop import CHECKPOINT, Trainer
from tallymark.training.provenance import record_provenance, starting_weights, trained_on


@dataclass(frozen=True)
class Plan:
    """What a training is to do.

    challenge: its name, for the card. rule: its score. catalog: the data. also: more to learn from, never judged by.
    minutes: for all models together. folds: a table of folds, in place of dealing them.
    problems: what was passed over before, to be told with the rest.
    """

    challenge: str
    rule: Rule
    catalog: Catalog
    recipe: Recipe
    folder: Path
    also: tuple[Catalog, ...] = ()
    minutes: float | None = None
    folds: Folds | None = None
    resume: bool = False
    problems: Problems = field(default_factory=lambda: Problems(EVERY))


@dataclass(frozen=True)
class Trained:
    """score: that of items which no model was trained with. problems: items that were passed over.

    told: what the models said of the items that they were judged by, which are `judged`, in the same order.
    curve: of recordings, what each cut finds, and what that costs.
    """

    run: Run
    tuning: Tuning
    score: Score
    problems: Problems
    told: Candidates
    judged: Catalog
    curve: RecallCurve | None = None


@dataclass(frozen=True)
class Held:
    """A model's own part of the data: what it learns from, what it is judged by, where its files are and it starts."""

    learned: Catalog
    judged: Catalog
    folder: Path
    weights: str


def train(plan: Plan) -> Trained | None:
    """Train, tune and write the run. None in all processes of a distributed training but the first."""
    with join_ranks() as place:
        run, classes, problems = Run(plan.folder), class_names(plan.catalog), Problems(EVERY)
        plan = replace(plan, also=tuple(align_to_classes(more, classes) for more in plan.also))
        if place.first:
            run.refuse(plan.recipe, resume=plan.resume)
        held = hold_out(plan)
        _network(plan.recipe, held[0].weights, classes)  # what is refused up to here leaves no folder behind
        if place.first:
            also = [str(more.root) for more in plan.also]
            run.begin(plan.recipe, data=str(plan.catalog.root), also=also, minutes=plan.minutes)
        _tell(plan.problems, problems)
        networks = [_train_one(plan, one, len(held), classes, place, problems) for one in held]
        if not place.first:
            return None
        judges = [Evaluator(one.judged, plan.recipe, plan.rule) for one in held]
        told = [judge.predict(network) for judge, network in zip(judges, networks, strict=True)]
        for judge in judges:
            _tell(judge.problems, problems)
        tuning, score = settle_on(plan, told, held)
        raw, curve = concat_candidates(told), None
        if isinstance(plan.recipe, AudioRecipe):
            curve = measure_recall(raw, concat_items([_truth(one.judged) for one in held]), plan.recipe, plan.rule)
        if curve is not None:
            score = replace(score, details=score.details | curve.quoted())
        facts = {"score": score.value, "judged": sum(len(one.judged) for one in held)}
        prices = {} if curve is None else curve.as_dict()
        card = ModelMetadata(plan.challenge, tuning.recipe, classes, facts, prices, usual_length(plan.catalog))
        for network, one in zip(networks, held, strict=True):
            export(network, card, one.folder / MODEL)
        run.end(tuning, score, problems, curve)
        judged = plan.catalog.select(plan.catalog.items.find(raw.items.ids))
        return Trained(run, tuning, score, problems, raw, judged, curve)


def hold_out(plan: Plan) -> list[Held]:
    """The official validation set if there is one and a single model is wanted; else a fold for each model."""
    recipe, catalog = plan.recipe, plan.catalog
    known = catalog.select(catalog.labelled)
    parts = ("train", "val") if recipe.train_on_val else ("train",)
    own, val = known.in_split(*parts), known.in_split("val")
    if recipe.train_folds == 1 and plan.folds is None and len(val) and not recipe.train_on_val:
        return [_held(plan, own, val)]
    folds = plan.folds or _deal(own, recipe)
    if recipe.train_folds > folds.count:
        found, remedy = f"train_folds={recipe.train_folds}", "ask for fewer models, or deal more folds"
        raise BadInput(Problem("bad_option", "recipe", found, f"at most {folds.count}, one for each fold", remedy))
    held, root = [], str(catalog.root)
    for fold in range(recipe.train_folds):
        learned, judged = folds.split(own, fold)
        if not len(judged):
            found, expected = f"no labelled item in fold {fold}", "some in each fold that is held out"
            remedy = "count folds from 0 on, and give the split of this data set"
            raise BadInput(Problem("empty_fold", root, found, expected, remedy))
        if not len(learned):
            found, expected = f"all labelled items in fold {fold}", "others to learn from"
            raise BadInput(Problem("empty_fold", root, found, expected, "deal at least 2 folds"))
        held.append(_held(plan, learned, judged, "" if recipe.train_folds == 1 else f"fold-{fold}"))
    return held


def _held(plan: Plan, learned: Catalog, judged: Catalog, fold: str = "") -> Held:
    """fold: the name of the model's own folder, where there are several. What is judged must be unknown to it."""
    for more in plan.also:
        refuse_held_out(more, judged)
    return Held(learned, judged, plan.folder / fold, starting_weights(plan.recipe.weights, fold, judged))


def _deal(catalog: Catalog, recipe: Recipe) -> Folds:
    if recipe.fold_by == "items":
        catalog = replace(catalog, items=Items(catalog.items.ids), cells=1)
        if catalog.truth is not None:
            catalog = replace(catalog, truth=catalog.truth.reindex(catalog.items))
    return make_folds(catalog, recipe.folds, recipe.seed, or_fewer=True)


def class_names(catalog: Catalog) -> tuple[str, ...]:
    return () if catalog.truth is None else catalog.truth.classes


def usual_length(catalog: Catalog) -> float | None:
    """The median length of the calls, in seconds; None if no length is known."""
    shapes = None if catalog.truth is None else catalog.truth.shapes
    if not isinstance(shapes, Events) or shapes.length is None or not np.isfinite(shapes.length).any():
        return None
    return round(float(np.nanmedian(shapes.length)), 3)


def _network(recipe: Recipe, weights: str, classes: tuple[str, ...]) -> Network:
    return make_network(recipe.replace(weights=weights), max(len(classes), 1), head_groups_of(recipe, classes))


def _tell(some: Problems, problems: Problems) -> None:
    """Add some problems, but none of an item that another model has met before."""
    known = {(problem.file, problem.item) for problem in problems}
    problems.merge(some.without(lambda problem: (problem.file, problem.item) in known))


def _train_one(
    plan: Plan, held: Held, models: int, classes: tuple[str, ...], place: Rank, problems: Problems
) -> Network:
    """One model; if it was trained before the interruption that is resumed from, only its weights are read."""
    recipe, folder, learned = plan.recipe, held.folder, (held.learned, *plan.also)
    if place.first:
        folder.mkdir(parents=True, exist_ok=True)
        items = trained_on(held.weights).union(*(one.items.ids for one in learned))
        record_provenance(folder, items, resume=plan.resume)
    network = _network(recipe, held.weights, classes)
    finished, going_on = folder / WEIGHTS, plan.resume and (folder / CHECKPOINT).exists()
    if plan.resume and finished.exists():
        network.load_state_dict(read_state(finished))
        return network.eval()
    sources = [make_dataset(catalog, recipe) for catalog in learned]
    source: Dataset = sources[0] if len(sources) == 1 else ConcatDataset(sources)
    batches = Batches(source, recipe, max(len(classes), 1), place.rank, place.world)
    minutes = None if plan.minutes is None else plan.minutes / models
    judge = Evaluator(held.judged, recipe.replace(tta=1), plan.rule)  # one view tells epochs apart as well as eight
    fit, begun = Trainer(network, batches, recipe, folder, place), time.monotonic()
    if place.first and isinstance(network, Classifier) and recipe.weights != "none" and not (network.begun or going_on):
        init_classifier(network, held.learned, recipe)
    left = None if minutes is None else max(minutes - (time.monotonic() - begun) / 60, minutes / 10)
    weights = fit.run(judge, left, resume=plan.resume)
    for one in sources:
        _tell(one.problems, problems)
    if place.first:
        network.load_state_dict(weights)
        write_state(network.state_dict(), finished)
    return network.eval()


def make_dataset(catalog: Catalog, recipe: Recipe) -> ImageDataset | AudioDataset | LidarDataset:
    """The items of a catalog as windows to learn from, by the kind of the recipe."""
    if isinstance(recipe, AudioRecipe):
        return AudioDataset(catalog, recipe)
    if isinstance(recipe, LidarRecipe):
        return LidarDataset(catalog, recipe)
    if isinstance(recipe, ImageRecipe):
        return ImageDataset(catalog, recipe)
    raise ValueError(f"nothing is known of learning {recipe.task}")


def settle_on(plan: Plan, told: Sequence[Candidates], held: Sequence[Held]) -> tuple[Tuning, Score]:
    """The settings that are best on all items held out, and the score of items under settings tuned without them.

    With one model there is nothing else to tune on, and the score is that of the tuned items themselves.
    """
    truths = [_truth(one.judged) for one in held]
    tuning = tune(concat_candidates(told), concat_items(truths), plan.recipe, plan.rule)
    if len(told) == 1:
        return tuning, tuning.score
    return tuning, cross_tune(told, truths, plan.recipe, plan.rule)


def _truth(catalog: Catalog) -> Annotations[Any]:
    if catalog.truth is None:
        raise ValueError("no truth to judge by")
    return catalog.truth
