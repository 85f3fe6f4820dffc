"""Predictor: open models, infer the candidates of a catalog, and post-process them to predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tallymark.core.engines.choice import BY_DEFAULT, EngineChoice
from tallymark.core.engines.local import LocalEngine
from tallymark.core.humanize import plural
from tallymark.core.problems import EVERY, BadInput, Problem, Problems, shorten
from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.detector.coders import CODERS
from tallymark.inference.candidates import CandidateSource
from tallymark.inference.counting import CountCalibration
from tallymark.inference.infer_catalog import infer_catalog
from tallymark.inference.job import InferenceJob
from tallymark.inference.journal import Journal
from tallymark.inference.journal_folder import JournalFolder
from tallymark.inference.metadata import ModelMetadata
from tallymark.inference.outage import failed_items
from tallymark.inference.postprocess import postprocess_parts
from tallymark.inference.probe import probe_with
from tallymark.inference.recall_curve import OperatingPoint, RecallCurve
from tallymark.inference.session import Runtime, Session
from tallymark.inference.stored_candidates import StoredCandidates
from tallymark.inference.time_limit import LATE, TimeLimit
from tallymark.io.folders import UNLISTED
from tallymark.io.media import READ_FAILED
from tallymark.modalities import modality_of
from tallymark.modalities.base import InputPlan

CHOSEN_THRESHOLDS = {"score_threshold", "class_thresholds"}
"""Fields of the recipe: where the user chooses one of them, it is meant for counts too."""


@dataclass(frozen=True, eq=False)
class PredictionResult:
    """predictions: what is submitted. candidates: everything above the minimum confidence, before thresholds, on disk:
        `load` has them in memory.

    problems: items that could not be read; of kind `read_failed` where the same command may succeed later.
    catalog: the items. metadata: of the models. notes: what the user should know about the result.
    counting: how predictions are counted; None if as they are submitted, because the user chose the threshold or the
        model knows no other.
    unread: ids of the items that were not read, or only in part.
    file_note: what the user should know about the submission that was written; empty if nothing.
    corrected: whether a reviewer's corrections are in the predictions, which the candidates do not have.
    """

    predictions: Annotations[Any]
    candidates: CandidateSource
    recipe: Recipe
    problems: Problems
    catalog: Catalog
    metadata: ModelMetadata
    notes: tuple[str, ...] = ()
    counting: CountCalibration | None = None
    unread: tuple[str, ...] = ()
    file_note: str = ""
    corrected: bool = False

    @property
    def incomplete(self) -> bool:
        """Whether the system failed to read a file or a folder, so that the same command may find more later."""
        return not {READ_FAILED, UNLISTED}.isdisjoint(self.problems.counts)

    @cached_property
    def counted(self) -> Annotations[Any]:
        """The predictions to count: those at the threshold that makes counts right, where the model knows it."""
        if self.counting is None:
            return self.predictions
        recipe = self.recipe.replace(**self.counting.thresholds)
        return postprocess_parts(self.candidates, recipe, self.predictions.classes)


class Predictor:
    """One model, or several of one challenge as an ensemble, on so many threads (by default on all free cores)."""

    def __init__(self, models: Sequence[Path], runtime: Runtime = "auto", threads: int | None = None) -> None:
        opened = Session(models[0], runtime, threads)
        self.sessions = [opened, *(Session(path, opened.runtime, threads) for path in models[1:])]
        self.threads = threads
        self.metadata: ModelMetadata = opened.metadata
        first = _identity(self.metadata)
        for path, session in zip(models, self.sessions, strict=True):
            own = _identity(session.metadata)
            other = next((name for name in first | own if own.get(name) != first.get(name)), None)
            if other is not None:
                found, expected = (f"{other} {shorten(str(stated.get(other)))}" for stated in (own, first))
                remedy = f"use models of one run, as {models[0]}"
                raise BadInput(Problem("other_model", str(path), found, expected, remedy))

    def predict(
        self,
        catalog: Catalog,
        journal: Path | JournalFolder | None = None,
        limit: TimeLimit | None = None,
        gsd: float | None = None,
        engine: EngineChoice = BY_DEFAULT,
        speed: Mapping[str, object] = MappingProxyType({}),
        **changes: object,
    ) -> PredictionResult:
        """Predict every item of a catalog.

        Parameters
        ----------
        journal: a folder that keeps candidates, so that runs resume and thresholds can be changed instantly; by default
            a temporary one.
        limit: of the time: test-time augmentation is reduced to keep it; then items are left out, as problems.
        gsd: (images) metres of ground per pixel, where the user knows it.
        engine: where shards of the items are worked on.
        speed: fields of the recipe that a named speed has. A score threshold among them is not meant for counts.
        changes: fields of the recipe, such as `tta` or `score_threshold`.
        """
        recipe = changed_recipe(self.metadata.recipe, {**speed, **changes})
        modality_of(recipe).validate(recipe)
        problems = Problems(EVERY)
        classes = self.metadata.classes
        plan = InputPlan() if "image_size" in {*speed, *changes} else self.plan_inputs(catalog, gsd, recipe)
        limit = limit or TimeLimit()
        limit.start(len(catalog), recipe)
        place = journal or JournalFolder.temporary()
        place = place if isinstance(place, JournalFolder) else JournalFolder(place)
        candidates = self._infer(catalog, recipe, plan, place, limit, engine, problems)
        failed = len(failed_items(catalog, problems))
        if failed and failed == len(catalog):
            raise BadInput(problems)
        predictions = postprocess_parts(candidates, recipe, classes)
        counting = None if CHOSEN_THRESHOLDS & changes.keys() else CountCalibration.of(self.metadata.counts)
        notes = (*filter(None, [self.sessions[0].note]), *plan.notes, *limit.notes(catalog.medium.noun, problems))
        if failed:
            share = f"{failed} of {plural(len(catalog), catalog.medium.noun)}"
            notes += (f"{share} could not be read, and have no predictions",)
        unread = tuple(dict.fromkeys(problem.item for problem in problems if problem.item and problem.kind != LATE))
        return PredictionResult(
            predictions, candidates, recipe, problems, catalog, self.metadata, notes, counting, unread
        )

    def _infer(
        self,
        catalog: Catalog,
        recipe: Recipe,
        plan: InputPlan,
        place: JournalFolder,
        limit: TimeLimit,
        engine: EngineChoice,
        problems: Problems,
    ) -> StoredCandidates:
        """The candidates of a catalog, on the pages of a journal."""
        journal = Journal(place, self.sessions, recipe)
        first = self.sessions[0]
        job = InferenceJob(
            models=[session.path for session in self.sessions],
            runtime=first.runtime,
            recipe=recipe,
            classes=self.metadata.classes,
            folder=journal.folder,
            sessions=self.sessions,
            execution=replace(first.execution, limit=limit),
        )
        # A time limit is kept by this process alone, on all cores: no time is lost to the start of others.
        chosen = LocalEngine(1) if limit.limited else engine.make(first.cores, at_once=journal.interrupted)
        try:
            return infer_catalog(journal, catalog, job, chosen, plan, problems)
        finally:
            journal.close()

    def plan_inputs(self, catalog: Catalog, gsd: float | None, recipe: Recipe | None = None) -> InputPlan:
        """How each item is shown; by the model's own thresholds, so that others need no new inference."""
        own = self.metadata.recipe
        probe = probe_with(self.sessions, own, self.metadata.classes)
        recipe = own if recipe is None else recipe.replace(**own.at("postprocessing"))
        return modality_of(recipe).plan_inputs(catalog, recipe, self.metadata.scale, probe, gsd)

    def operating_point(self, fp_per_hour: float) -> OperatingPoint:
        """The threshold with at most so many false positives per hour in the recordings held out from training."""
        if not CODERS[self.metadata.recipe.task].one_dimensional:
            found, expected = f"a model of {self.metadata.challenge}", "a model of events in recordings"
            raise BadInput(Problem("bad_option", "fp_per_hour", found, expected, "leave it out"))
        curve = RecallCurve.of(self.metadata.recall_curve)
        if curve is None:
            found, expected = "a model without a recall curve", "a model of events that has one"
            remedy = "train it again, or give score_threshold=NUMBER"
            raise BadInput(Problem("no_curve", "fp_per_hour", found, expected, remedy))
        return curve.at(fp_per_hour)


def changed_recipe(own: Recipe, changes: Mapping[str, object]) -> Recipe:
    """The recipe of a model with some fields replaced; a score threshold that is given is meant for all classes."""
    one_for_all = {"class_thresholds": ""} if "score_threshold" in changes else {}
    recipe = own.replace(**{**one_for_all, **changes})
    refuse_changes(changes, recipe)
    return recipe


def refuse_changes(changes: Mapping[str, object], recipe: Recipe) -> None:
    """Refuse fields that are a part of the model by now: they can only be changed by training again."""
    problems = Problems()
    known = recipe.names_at("prediction", "postprocessing")
    for name, value in changes.items():
        if name not in known:
            given, expected = f"{name}={value}", f"one of {', '.join(known)}"
            problems.add(Problem("bad_option", "recipe", given, expected, f"leave it out, or train with {given}"))
    problems.raise_if_any()


def _identity(metadata: ModelMetadata) -> dict[str, object]:
    """What models must have in common for the mean of their outputs to make sense."""
    return {"challenge": metadata.challenge, "classes": metadata.classes, **metadata.recipe.at("model")}
