"""Named speeds of prediction: fields of the recipe that trade score for time.

A challenge names its own in its `recipe.py`; those of a model were measured by `bench`, and stand in its metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tallymark.core.problems import BadInput, Problem, nearest
from tallymark.core.recipe import Recipe
from tallymark.core.registry import challenge
from tallymark.core.stored import a_mapping

NAMES = ("fast", "balanced", "best")
"""The names of speeds, the fastest first."""
SPEEDS: Mapping[str, Mapping[str, object]] = {name: {"tta": 1} for name in NAMES}
"""Those of challenges that name none: without test-time augmentation, for media that have none."""
Speeds = Mapping[str, Mapping[str, Any]]
"""Fields of the recipe by the name of a speed."""


def speeds_of(name: str) -> Speeds:
    """The speeds of a challenge."""
    what = challenge(name)
    return getattr(what.module("recipe"), "SPEEDS", SPEEDS) if what.has("recipe") else SPEEDS


def speed_fields(speed: str, name: str, measured: Speeds, given: Mapping[str, object]) -> dict[str, object]:
    """The fields of a speed, without those that the user gives; a `BadInput` for an unknown one.

    name: of the challenge. measured: the speeds in the metadata of the model, which come first.
    """
    known = {**SPEEDS, **speeds_of(name), **measured}
    if speed not in known:
        raise BadInput(Problem("bad_option", "speed", f"'{speed}'", " or ".join(NAMES), nearest(speed, list(NAMES))))
    won = {"resolution"} if "image_size" in given else set()  # who gives pixels means these
    return {field: value for field, value in known[speed].items() if field not in {*given, *won}}


def check_speeds(stated: Speeds, recipe: Recipe) -> None:
    """Raise ValueError or `BadInput` where the metadata of a model state speeds that cannot be."""
    known = recipe.names_at("prediction", "postprocessing")
    for name, fields in stated.items():
        if name not in NAMES:
            raise ValueError(f"'{name}', which is no speed")
        if unknown := sorted(a_mapping(fields).keys() - set(known)):
            raise ValueError(f"{unknown[0]}, which prediction does not change")
        recipe.replace(**fields)
