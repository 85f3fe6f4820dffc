"""Evaluation of a network by the official rule, on items that it was not trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tallymark.core.problems import EVERY, BadInput, Problems
from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import LabelledCatalog
from tallymark.detector.network import Network
from tallymark.geometry import Geometry
from tallymark.inference.candidates import Candidates
from tallymark.inference.outage import stop_training
from tallymark.inference.pipeline import infer
from tallymark.inference.tuning import Rule, tune
from tallymark.io.media import RESUME
from tallymark.training.adapter import as_model


@dataclass(frozen=True)
class Evaluation:
    """objective: by which checkpoints are compared, higher is better, nan without a score. metrics: for the log."""

    objective: float
    metrics: dict[str, float]


class Evaluator:
    """Evaluates networks on a labelled catalog.

    problems: the items that could not be read at the last prediction.
    """

    def __init__(self, catalog: LabelledCatalog, recipe: Recipe, rule: Rule) -> None:
        self.catalog = catalog
        self.recipe = recipe
        self.rule = rule
        self.problems = Problems(EVERY)

    def predict(self, network: Network[Any]) -> tuple[Candidates, Annotations[Geometry]]:
        """The candidates of a network in every item that can be read, and the truth of these items."""
        self.problems = Problems(EVERY)
        models = [as_model(network)]
        classes = self.catalog.truth.classes
        candidates = infer(
            self.catalog, models, self.recipe, self.problems, classes=classes, title="evaluating", how=RESUME
        )
        stop_training(self.problems)
        read = candidates.readable
        if read.all():
            return candidates, self.catalog.truth
        truth = self.catalog.select(read).truth
        if not len(truth):  # nothing is left to score
            raise BadInput(self.problems)
        return candidates.select(np.flatnonzero(read)), truth

    def __call__(self, network: Network[Any]) -> Evaluation:
        """The score at the best of a few score thresholds."""
        tuning = tune(*self.predict(network), self.recipe, self.rule, thorough=False)
        score = tuning.score
        objective = score.tuned_by if score.better == "higher" else -score.tuned_by
        return Evaluation(objective, {"score": score.value, "score_threshold": tuning.recipe.score_threshold})
