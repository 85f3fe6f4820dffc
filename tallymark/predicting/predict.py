"""Predicting: open the models, show them the pictures of a catalog, settle on findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.predicting.card import Card
from tallymark.predicting.curve import Choice, Curve
from tallymark.predicting.raw import Raw, look
from tallymark.predicting.runtime import Runtime, Session
from tallymark.predicting.settle import settle
from tallymark.problems import EVERY, BadInput, Problem, Problems
from tallymark.recipe import Recipe

SEEN = ("groups", "reader", "reach", "low", "high", "cell", "slices")
"""Fields of recipes, where they have them, that change what maps mean."""
LATER = (
    "views", "merge", "overlap", "cut", "cuts", "gate", "quality", "grow", "side", "gap", "front", "points", "sweeps",
)  # fmt: skip
"""Fields that can be other than they were in training. The rest has become a part of the model."""


@dataclass(frozen=True, eq=False)
class Predicted:
    """found: what is handed in. raw: what the models said. problems: items that could not be read.

    catalog: what was looked at. card: that of the models. note: what to know about the cut, if anything.
    """

    found: Annotations[Any]
    raw: Raw
    recipe: Recipe
    problems: Problems
    catalog: Catalog
    card: Card
    note: str = ""


class Predictor:
    """One or several models of the same challenge, used as one; by all cores, or so many threads."""

    def __init__(self, models: Sequence[Path], runtime: Runtime = "onnxruntime", threads: int | None = None) -> None:
        self.sessions = [Session(path, runtime, threads) for path in models]
        self.card: Card = self.sessions[0].card
        for path, session in zip(models, self.sessions, strict=True):
            if _told(session.card) != _told(self.card):
                found, expected = (f"a model for {', '.join(_told(card))}" for card in (session.card, self.card))
                raise BadInput(Problem("other_model", str(path), found, expected, "use models of one challenge"))

    def predict(self, catalog: Catalog, **changes: object) -> Predicted:
        """What is found in every item; `changes` are fields of the recipe, such as `views` or `cut`."""
        if "cut" in changes:  # one cut is meant for all classes
            changes = {"cuts": ""} | changes
        recipe, problems = self.card.recipe.but(**changes), Problems(EVERY)
        _refuse(changes, recipe)
        raw = look(catalog, self.sessions, recipe, problems, classes=self.card.classes)
        found = replace(settle(raw, recipe), classes=self.card.classes)
        return Predicted(found, raw, recipe, problems, catalog, self.card)

    def cut_for(self, fp_per_hour: float) -> Choice:
        """The cut that cost at most so many false positives an hour in the recordings held out from training."""
        curve = Curve.of(self.card.curve)
        if curve is None:
            found, expected = "a model without a curve of recall", "a model of calls that has one"
            raise BadInput(Problem("no_curve", "fp_per_hour", found, expected, "train it again, or give cut=NUMBER"))
        return curve.at(fp_per_hour)


def _refuse(changes: Mapping[str, object], recipe: Recipe) -> None:
    """Fields that can only be changed by training again are problems."""
    problems, known = Problems(), [name for name in LATER if hasattr(recipe, name)]
    for name, value in changes.items():
        if name not in known:
            given, expected = f"{name}={value}", f"one of {', '.join(known)}"
            problems.add(Problem("bad_option", "recipe", given, expected, f"leave it out, or train with {given}"))
    problems.raise_if_any()


def _told(card: Card) -> tuple[str, ...]:
    """What models must have in common for the mean of their maps to mean anything."""
    recipe, classes = card.recipe, len(card.classes)
    seen = [f"{name} {getattr(recipe, name)}" for name in SEEN if getattr(recipe, name, None)]
    return card.challenge, recipe.finds, f"stride {recipe.stride}", f"{classes} classes", *seen
