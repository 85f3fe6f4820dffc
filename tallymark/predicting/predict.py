"""Predicting: open the models, show them the pictures of a catalog, settle on findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.predicting.card import Card
from tallymark.predicting.raw import Raw, look
from tallymark.predicting.runtime import Runtime, Session
from tallymark.predicting.settle import settle
from tallymark.problems import EVERY, BadInput, Problem, Problems
from tallymark.recipe import Recipe


@dataclass(frozen=True, eq=False)
class Predicted:
    """found: what is handed in. raw: what the models said. problems: pictures that could not be read."""

    found: Annotations[Any]
    raw: Raw
    recipe: Recipe
    problems: Problems


class Predictor:
    """One or several models of the same challenge, used as one."""

    def __init__(self, models: Sequence[Path], runtime: Runtime = "onnxruntime") -> None:
        self.sessions = [Session(path, runtime) for path in models]
        self.card: Card = self.sessions[0].card
        for path, session in zip(models, self.sessions, strict=True):
            if _told(session.card) != _told(self.card):
                found, expected = (f"a model for {', '.join(_told(card))}" for card in (session.card, self.card))
                raise BadInput(Problem("other_model", str(path), found, expected, "use models of one challenge"))

    def predict(self, catalog: Catalog, **changes: object) -> Predicted:
        """What is found in every item; `changes` are fields of the recipe, such as `views` or `cut`."""
        recipe, problems = self.card.recipe.but(**changes), Problems(EVERY)
        raw = look(catalog, self.sessions, recipe, problems)
        found = replace(settle(raw, recipe), classes=self.card.classes)
        return Predicted(found, raw, recipe, problems)


def _told(card: Card) -> tuple[str, ...]:
    """What models must have in common for the mean of their maps to mean anything."""
    classes = len(card.classes)
    return card.challenge, card.recipe.finds, f"stride {card.recipe.stride}", f"{classes} classes"
