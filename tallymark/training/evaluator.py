"""Judging a network: predict items that it was not trained with, and score them by the official rule."""

from __future__ import annotations

from tallymark.core.problems import EVERY, Problems
from tallymark.core.recipe import Recipe
from tallymark.data.catalog import Catalog
from tallymark.detector.network import Network
from tallymark.inference.candidates import Candidates
from tallymark.inference.pipeline import infer
from tallymark.inference.tuning import Rule, Tuning, tune
from tallymark.training.adapter import as_model
from tallymark.training.loop import Evaluation


class Evaluator:
    """Judges by the official rule on a set of items with known truth."""

    def __init__(self, catalog: Catalog, recipe: Recipe, rule: Rule) -> None:
        self.catalog, self.recipe, self.rule = catalog, recipe, rule
        self.problems = Problems(EVERY)

    def predict(self, network: Network) -> Candidates:
        """What the network says of every item; `problems` has those that could not be read this time."""
        classes = () if self.catalog.truth is None else self.catalog.truth.classes
        self.problems = Problems(EVERY)
        return infer(self.catalog, [as_model(network)], self.recipe, self.problems, classes=classes, title="evaluating")

    def tuned(self, raw: Candidates, *, thorough: bool) -> Tuning:
        if self.catalog.truth is None:
            raise ValueError("no truth to judge by")
        return tune(raw, self.catalog.truth, self.recipe, self.rule, thorough=thorough)

    def __call__(self, network: Network) -> Evaluation:
        tuning = self.tuned(self.predict(network), thorough=False)
        value = tuning.score.value
        better = value if tuning.score.better == "higher" else -value
        return Evaluation(better, {"score": value, "score_threshold": tuning.recipe.score_threshold})
