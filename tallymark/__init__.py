"""Tallymark finds and counts things in photographs, recordings, lidar and satellite images, and keeps score exactly.

The public names are imported when they are first used, so that `import tallymark` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Annotations": "tallymark.data.annotations",
    "BadInput": "tallymark.core.problems",
    "Boxes": "tallymark.geometry",
    "Catalog": "tallymark.data.catalog",
    "Challenge": "tallymark.core.registry",
    "Cuboids": "tallymark.geometry",
    "Events": "tallymark.geometry",
    "Items": "tallymark.data.items",
    "Labels": "tallymark.geometry",
    "Masks": "tallymark.geometry",
    "Problem": "tallymark.core.problems",
    "Recipe": "tallymark.core.recipe",
    "RotatedBoxes": "tallymark.geometry",
    "Score": "tallymark.scoring.score",
    "by_distance": "tallymark.api.data",
    "challenge": "tallymark.core.registry",
    "challenge_names": "tallymark.core.registry",
    "check": "tallymark.api.data",
    "compare": "tallymark.api.data",
    "convert": "tallymark.api.data",
    "explore": "tallymark.api.data",
    "predict": "tallymark.api.models",
    "read": "tallymark.api.data",
    "read_submission": "tallymark.api.data",
    "read_truth": "tallymark.api.data",
    "repair": "tallymark.api.data",
    "score": "tallymark.api.data",
    "folds": "tallymark.api.data",
    "synth": "tallymark.api.data",
    "train": "tallymark.api.models",
    "write": "tallymark.api.data",
}
__all__ = [
    "Annotations",
    "BadInput",
    "Boxes",
    "Catalog",
    "Challenge",
    "Cuboids",
    "Events",
    "Items",
    "Labels",
    "Masks",
    "Problem",
    "Recipe",
    "RotatedBoxes",
    "Score",
    "by_distance",
    "challenge",
    "challenge_names",
    "check",
    "compare",
    "convert",
    "explore",
    "folds",
    "predict",
    "read",
    "read_submission",
    "read_truth",
    "repair",
    "score",
    "synth",
    "train",
    "write",
]

if TYPE_CHECKING:
    from tallymark.api.data import (
        by_distance,
        check,
        compare,
        convert,
        explore,
        folds,
        read,
        read_submission,
        read_truth,
        repair,
        score,
        synth,
        write,
    )
    from tallymark.api.models import predict, train
    from tallymark.core.problems import BadInput, Problem
    from tallymark.core.recipe import Recipe
    from tallymark.core.registry import Challenge, challenge, challenge_names
    from tallymark.data.annotations import Annotations
    from tallymark.data.catalog import Catalog
    from tallymark.data.items import Items
    from tallymark.geometry import Boxes, Cuboids, Events, Labels, Masks, RotatedBoxes
    from tallymark.scoring.score import Score


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tallymark' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
