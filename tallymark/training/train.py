"""Training, from a dataset to a run: folds, networks, tuning, export, and the files of the run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from tallymark.core.outputs import make_folder
from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.core.recipe import Recipe, head_groups_of
from tallymark.core.registry import NOTHING_FOUND, Baseline
from tallymark.data.catalog import Catalog, LabelledCatalog
from tallymark.data.folds import Folds, make_folds
from tallymark.data.items import Items
from tallymark.detector.coders import CODERS
from tallymark.detector.network import Classifier, Network
from tallymark.detector.weights import WEIGHTS, read_finished, write_state
from tallymark.geometry import Events
from tallymark.inference.candidate_files import write_candidates
from tallymark.inference.candidates import Candidates
from tallymark.inference.held_out import evaluate_held_out
from tallymark.inference.held_out_groups import HELD_OUT_GROUPS, TITLE
from tallymark.inference.label_errors import NoiseScores, concat_noise_scores
from tallymark.inference.metadata import ModelMetadata
from tallymark.inference.postprocess import fuse
from tallymark.inference.recall_curve import RecallCurve
from tallymark.inference.run import HELD_OUT, MODEL, Run
from tallymark.inference.tuning import Rule, Tuning
from tallymark.modalities import modality_of
from tallymark.modalities.base import Dataset
from tallymark.scoring.score import Score
from tallymark.training.batches import Batches, ConcatDataset
from tallymark.training.checkpoint import CHECKPOINT
from tallymark.training.devices import Rank, join_ranks
from tallymark.training.evaluator import Evaluator
from tallymark.training.export import export
from tallymark.training.extra_data import align_to_classes, refuse_held_out
from tallymark.training.label_noise import noise_scores
from tallymark.training.linear_probe import init_classifier, starts_from_probe
from tallymark.training.loop import Trainer
from tallymark.training.network import make_network
from tallymark.training.provenance import InitialWeights, initial_weights, record_provenance


@dataclass(frozen=True)
class TrainingPlan:
    """What a training is to do.

    challenge: its name, for the metadata. rule: its score. catalog: the dataset.
    extra_data: more to train on, never evaluated on. minutes: a time budget for all models together.
    folds: in place of new ones. resume: from the last checkpoint in `folder`. threads: of torch; else chosen.
    problems: items that were skipped before, to be reported with the rest.
    against_rules: what the rules of the challenge forbid, for the record of the run.
    baseline: the trivial submission, whose score is shown beside that of the model.
    gsd: (images) ground sampling distance in metres per pixel, where the user knows it.
    corrections: the files that corrected the truth, and exclude: that of what is ignored, for the record of the run.
    """

    challenge: str
    rule: Rule
    catalog: Catalog
    recipe: Recipe
    folder: Path
    extra_data: tuple[Catalog, ...] = ()
    minutes: float | None = None
    threads: int | None = None
    folds: Folds | None = None
    resume: bool = False
    problems: Problems = field(default_factory=lambda: Problems(EVERY))
    against_rules: tuple[str, ...] = ()
    baseline: Baseline = NOTHING_FOUND
    gsd: float | None = None
    corrections: tuple[Mapping[str, object], ...] = ()
    exclude: str = ""


@dataclass(frozen=True)
class TrainingResult:
    """score: of items that no model was trained on. problems: items that were skipped.

    groups: the score of each group that was left out, in a table with a last row for all; None if none was.

    candidates: of the held-out items, which are `evaluated`, in the same order.
    curve: recall against false positives per hour, for event detection. noise: scores of it, for classification.
    """

    run: Run
    tuning: Tuning
    score: Score
    problems: Problems
    candidates: Candidates
    evaluated: Catalog
    curve: RecallCurve | None = None
    noise: NoiseScores | None = None

    @property
    def groups(self) -> pl.DataFrame | None:
        analysis = self.score.analyses.get(HELD_OUT_GROUPS)
        return None if analysis is None else analysis.tables[TITLE]


@dataclass(frozen=True)
class HeldOutFold:
    """The data of one model: what it is trained on and evaluated on, its folder, and its initial weights.

    number: of the fold, counted from 0; 0 for an official validation split.
    """

    train: LabelledCatalog
    val: LabelledCatalog
    folder: Path
    weights: InitialWeights
    number: int = 0


def train(plan: TrainingPlan) -> TrainingResult | None:
    """Train, tune and write the run. None in all processes of a distributed training but the first."""
    with join_ranks() as rank:
        run = Run(plan.folder)
        recipe = plan.recipe
        modality_of(recipe).validate(recipe)
        classes = plan.catalog.with_truth().truth.classes
        plan = replace(plan, extra_data=tuple(align_to_classes(extra, classes) for extra in plan.extra_data))
        if rank.first:
            run.refuse(recipe, resume=plan.resume, challenge=plan.challenge, classes=list(classes))
        folds = hold_out(plan)
        problems = Problems(EVERY)
        _report(plan.problems, problems)
        networks = [_train_fold(plan, fold, len(folds), classes, rank, problems) for fold in folds]
        if not rank.first:
            return None
        evaluators = [Evaluator(fold.val, recipe, plan.rule) for fold in folds]
        predicted = [evaluator.predict(network) for evaluator, network in zip(evaluators, networks, strict=True)]
        for evaluator in evaluators:
            _report(evaluator.problems, problems)
        parts, truths = [candidates for candidates, _ in predicted], [truth for _, truth in predicted]
        by_group = plan.folds if recipe.leave_one_out else None
        held_out = evaluate_held_out(parts, truths, recipe, plan.rule, plan.baseline, folds=by_group)
        candidates, tuning, score, curve = held_out.candidates, held_out.tuning, held_out.score, held_out.curve
        metadata = ModelMetadata(
            plan.challenge,
            tuning.recipe,
            classes,
            {"score": score.value, "evaluated": len(candidates.items)},
            {} if curve is None else curve.as_dict(),
            median_seconds(plan.catalog.with_truth().truth.shapes) if CODERS[recipe.task].one_dimensional else None,
            _training_scale(plan, folds, candidates, tuning.recipe),
            {} if held_out.counting is None else held_out.counting.as_dict(),
        )
        for network, fold in zip(networks, folds, strict=True):
            export(network, metadata, fold.folder / MODEL)
        in_fold = np.repeat([fold.number for fold in folds], [len(part.items) for part in parts])
        write_candidates(candidates, run.folder / HELD_OUT, metadata, in_fold)
        run.end(tuning, score, problems, curve, by_group)
        evaluated = plan.catalog.select(plan.catalog.items.find(candidates.items.ids))
        noise = _noise_scores(networks, folds, recipe) if CODERS[recipe.task].ranked else None
        return TrainingResult(run, tuning, score, problems, candidates, evaluated, curve, noise)


def _noise_scores(networks: list[Network[Any]], folds: list[HeldOutFold], recipe: Recipe) -> NoiseScores:
    """Scores of label noise in the held-out items, by the network that was not trained on them."""
    pairs = zip(networks, folds, strict=True)
    return concat_noise_scores([noise_scores(cast(Classifier, network), fold.val, recipe) for network, fold in pairs])


def _training_scale(
    plan: TrainingPlan, folds: list[HeldOutFold], candidates: Candidates, recipe: Recipe
) -> Mapping[str, object]:
    """How the models saw their training items, for the metadata."""
    fused = fuse(candidates, recipe).objects
    scores = np.empty(0) if fused.score is None else fused.scores
    return modality_of(recipe).training_scale(folds[0].train, recipe, scores, plan.gsd)


def hold_out(plan: TrainingPlan) -> list[HeldOutFold]:
    """The official validation split, if there is one and a single model is trained; else a fold for each model."""
    recipe, catalog = plan.recipe, plan.catalog
    labelled = catalog.with_truth()
    own = labelled.in_split("train", "val") if recipe.train_on_val else labelled.in_split("train")
    val = labelled.in_split("val")
    if recipe.train_folds == 1 and plan.folds is None and len(val) and not recipe.train_on_val:
        return [_held_out(plan, own, val)]
    folds = plan.folds or _make_folds(own, recipe)
    if recipe.train_folds > folds.count:
        found = f"train_folds={recipe.train_folds}"
        remedy = "ask for fewer models, or make more folds"
        raise BadInput(Problem("bad_option", "recipe", found, f"at most {folds.count}, one for each fold", remedy))
    held_out = []
    root = str(catalog.root)
    for number in _with_objects_first(folds, own)[: recipe.train_folds]:
        train_items, val_items = folds.split(own, number)
        if not len(val_items):
            found = f"no labelled item in fold {number}"
            remedy = "count folds from 0 on, and give the folds of this dataset"
            raise BadInput(Problem("empty_fold", root, found, "some in each fold that is held out", remedy))
        if not len(train_items):
            found = f"all labelled items in fold {number}"
            raise BadInput(Problem("empty_fold", root, found, "others to train on", "make at least 2 folds"))
        name = "" if recipe.train_folds == 1 else f"fold-{number}"
        held_out.append(replace(_held_out(plan, train_items, val_items, name), number=number))
    return held_out


def _held_out(
    plan: TrainingPlan, train_items: LabelledCatalog, val_items: LabelledCatalog, name: str = ""
) -> HeldOutFold:
    """name: of the model's own folder, where there are several. Leaks between training and evaluation are refused."""
    for extra in plan.extra_data:
        refuse_held_out(extra, val_items)
    _refuse_empty(plan, train_items, val_items)
    weights = initial_weights(plan.recipe.weights, name, val_items)
    return HeldOutFold(train_items, val_items, plan.folder / name, weights)


def _with_objects_first(folds: Folds, catalog: LabelledCatalog) -> list[int]:
    """The numbers of all folds; those without a score come last: of empty items, or of clips that all have a call."""
    in_fold, counts, weak = folds.of(catalog), catalog.truth.counts, catalog.truth.weak

    def without_score(fold: int) -> bool:
        own = counts[in_fold == fold]
        return len(own) > 0 and (not own.any() or (weak and own.all()))

    return sorted(range(folds.count), key=without_score)


def _refuse_empty(plan: TrainingPlan, train_items: LabelledCatalog, val_items: LabelledCatalog) -> None:
    """Refuse to train without a single object, or to evaluate where there is none to find."""
    root = str(plan.catalog.root)
    nouns = train_items.truth.shapes.noun[1]
    noun = plan.catalog.medium.noun
    remedy = f"add {noun}s with {nouns}, or give other folds (fold_by=items, or --folds FILE)"
    if not len(train_items.truth) and not any(len(extra.truth or ()) for extra in plan.extra_data):
        found = f"no {nouns} in the {len(train_items)} {noun}s to train on"
        raise BadInput(Problem("no_positives", root, found, f"{noun}s with {nouns}", remedy))
    if not len(val_items.truth):
        found = f"no {nouns} in the {len(val_items)} held-out {noun}s, so that nothing can be scored"
        raise BadInput(Problem("no_positives", root, found, f"held-out {noun}s with {nouns}", remedy))
    if not val_items.truth.weak:
        return
    remedy = f"add clips without {nouns}, or give other folds (fold_by=items, or --folds FILE)"
    if all(one.truth is not None and one.truth.counts.all() for one in (train_items, *plan.extra_data)):
        found = f"{nouns} in all {len(train_items)} clips to train on"
        raise BadInput(Problem("no_negatives", root, found, f"clips without {nouns} too", remedy))
    if val_items.truth.counts.all():
        found = f"{nouns} in all {len(val_items)} held-out clips, so that nothing can be scored"
        raise BadInput(Problem("no_negatives", root, found, f"held-out clips without {nouns} too", remedy))


def _make_folds(catalog: LabelledCatalog, recipe: Recipe) -> Folds:
    if recipe.fold_by == "folders":
        return make_folds(catalog, recipe.folds, recipe.seed, or_fewer=True, by="folders")
    if recipe.fold_by == "items":
        items = Items(catalog.items.ids)  # without their groups
        catalog = replace(catalog, items=items, cells=1, truth=catalog.truth.reindex(items))
    return make_folds(catalog, recipe.folds, recipe.seed, or_fewer=True)


def _train_fold(
    plan: TrainingPlan, fold: HeldOutFold, models: int, classes: tuple[str, ...], rank: Rank, problems: Problems
) -> Network[Any]:
    """Train one model. If it was finished before an interruption, only its weights are read."""
    recipe = plan.recipe
    finished = fold.folder / WEIGHTS
    done = plan.resume and finished.exists()
    initial = recipe.replace(weights="none" if done else fold.weights.source)
    network = make_network(initial, max(len(classes), 1), head_groups_of(recipe, classes))
    probed = starts_from_probe(network, recipe)
    if not (recipe.epochs or done or probed or network.head_fitted):
        found, remedy = f"epochs=0 with weights={recipe.weights}", "give weights=RUN, or train for some epochs"
        raise BadInput(Problem("bad_option", "recipe", found, "initial weights of the whole network", remedy))
    catalogs = (fold.train, *plan.extra_data)
    datasets = [] if done else [modality_of(recipe).dataset(catalog, recipe) for catalog in catalogs]
    if rank.first:  # whatever is refused up to here leaves no folder behind
        _begin(plan, fold, catalogs)
    if done:
        read_finished(network, finished)
        return network.eval()
    dataset: Dataset = datasets[0] if len(datasets) == 1 else ConcatDataset(datasets)
    batches = Batches(dataset, recipe, max(len(classes), 1), rank.rank, rank.world)
    # Without test-time augmentation, checkpoints are compared as well.
    evaluator = Evaluator(fold.val, recipe.without_tta(), plan.rule)
    trainer = Trainer(network, batches, recipe, fold.folder, rank, plan.threads)
    minutes = None if plan.minutes is None else plan.minutes / models
    resumes = plan.resume and (fold.folder / CHECKPOINT).exists()
    if probed and not resumes:
        if rank.first:
            minutes = _probe(cast(Classifier, network), fold.train, recipe, minutes)
        network.head_fitted = True
    weights = trainer.train(evaluator, minutes, resume=plan.resume)
    for one in datasets:
        _report(one.problems, problems)
    if rank.first:
        network.load_state_dict(weights)
        write_state(network.state_dict(), finished)
    return network.eval()


def _begin(plan: TrainingPlan, fold: HeldOutFold, catalogs: tuple[Catalog, ...]) -> None:
    """Write what is known before a model is trained."""
    extra_data = [str(extra.root) for extra in plan.extra_data]
    rules: dict[str, object] = {"against_rules": plan.against_rules} if plan.against_rules else {}
    rules |= {"corrections": list(plan.corrections)} if plan.corrections else {}
    rules |= {"exclude": plan.exclude} if plan.exclude else {}
    data = str(plan.catalog.root)
    facts = {"challenge": plan.challenge, "classes": list(plan.catalog.with_truth().truth.classes)}
    Run(plan.folder).begin(plan.recipe, data=data, extra_data=extra_data, minutes=plan.minutes, **facts, **rules)
    make_folder(fold.folder)
    items = fold.weights.trained_on.union(*(catalog.items.ids for catalog in catalogs))
    record_provenance(fold.folder, items, resume=plan.resume)


def _probe(network: Classifier, catalog: LabelledCatalog, recipe: Recipe, minutes: float | None) -> float | None:
    """Fit the last layer of a classifier with pretrained features; returns the minutes that are left."""
    started = time.monotonic()
    init_classifier(network, catalog, recipe)
    if minutes is None:
        return None
    return max(minutes - (time.monotonic() - started) / 60, minutes / 10)


def median_seconds(events: Events) -> float | None:
    """The median length of events; None if no length is known."""
    if events.length is None or not np.isfinite(events.length).any():
        return None
    return round(float(np.nanmedian(events.length)), 3)


def _report(some: Problems, problems: Problems) -> None:
    """Add problems, but none of an item that another model has met before."""
    known = {(problem.file, problem.item) for problem in problems}
    problems.merge(some.without(lambda problem: (problem.file, problem.item) in known))
