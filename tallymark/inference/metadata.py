"""The card of a model file: what it finds, how it was trained, and how its maps are to be read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import Recipe
from tallymark.modalities import make_recipe

KEY = "tallymark"
"""Where a model file has its card."""


@dataclass(frozen=True)
class Metadata:
    """challenge: whose files it writes. classes: their names. facts: data, score and time, for people.

    Of calls, curve: what each cut finds and costs, as `Curve.as_dict` tells it. seconds: how long they mostly are.
    """

    challenge: str
    recipe: Recipe
    classes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    curve: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None

    def text(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def read(cls, text: str, path: Path) -> Metadata:
        try:
            told = json.loads(text)
            recipe = make_recipe(told["recipe"])
            more = told.get("facts", {}), told.get("curve", {}), told.get("seconds")
            return cls(told["challenge"], recipe, tuple(told["classes"]), *more)
        except BadInput as bad:
            found = f"a card with {next(iter(bad.problems)).found}"
        except KeyError as missing:
            found = f"a card without {missing}"
        except (ValueError, TypeError):
            found = "a card that cannot be read" if text else "no card"
        remedy = "use a model.onnx that training wrote"
        raise BadInput(Problem("bad_model", str(path), found, "a model of this package", remedy))
