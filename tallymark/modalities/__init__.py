"""The media that Tallymark knows, and how their recipes are found. A modality is imported when it is first used."""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import Recipe
from tallymark.io.regular import read_regular

if TYPE_CHECKING:
    from tallymark.modalities.base import Modality

TASKS = {"boxes": "image", "masks": "image", "labels": "image", "events": "audio", "cuboids": "lidar"}
"""The modality of each task."""


def modality(name: str) -> Modality:
    """The modality of that name."""
    return cast("Modality", importlib.import_module(f"tallymark.modalities.{name}.modality").MODALITY)


def modality_of(recipe: Recipe) -> Modality:
    """The modality that a recipe belongs to."""
    return modality(recipe.modality)


def make_recipe(given: Mapping[str, object]) -> Recipe:
    """A recipe from the values of some fields; its task says of which modality it is."""
    task = str(given.get("task", "boxes"))
    return modality(TASKS.get(task, "image")).recipe_type().replace(**given)


def read_recipe(path: Path) -> Recipe:
    """A recipe as `Recipe.save` wrote it; fields that are not in it have their default."""
    try:
        return make_recipe(tomllib.loads(read_regular(path).decode()))
    except BadInput:
        raise
    except (OSError, ValueError, RecursionError) as error:  # TOML errors, and those of numbers of thousands of digits
        found = "lists nested too deep" if isinstance(error, RecursionError) else str(error)
        remedy = "name a recipe.toml that training wrote"
        raise BadInput(Problem("bad_recipe", str(path), found, "a recipe", remedy)) from None
