"""Tallymark finds and counts things in photographs, recordings, lidar and satellite images, and keeps score exactly.

The public names are imported when they are first used, so that `import tallymark` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Annotations": "tallymark.data.annotations",
    "BadInput": "tallymark.problems",
    "Boxes": "tallymark.data.geometry",
    "Catalog": "tallymark.data.catalog",
    "Challenge": "tallymark.registry",
    "Cuboids": "tallymark.data.geometry",
    "Instants": "tallymark.data.geometry",
    "Items": "tallymark.data.items",
    "Labels": "tallymark.data.geometry",
    "Masks": "tallymark.data.geometry",
    "Problem": "tallymark.problems",
    "Recipe": "tallymark.recipe",
    "RotatedBoxes": "tallymark.data.geometry",
    "Score": "tallymark.scoring.score",
    "by_distance": "tallymark.verbs",
    "challenge": "tallymark.registry",
    "challenge_names": "tallymark.registry",
    "check": "tallymark.verbs",
    "compare": "tallymark.verbs",
    "convert": "tallymark.verbs",
    "explore": "tallymark.verbs",
    "predict": "tallymark.modelling",
    "read": "tallymark.verbs",
    "read_submission": "tallymark.verbs",
    "read_truth": "tallymark.verbs",
    "repair": "tallymark.verbs",
    "score": "tallymark.verbs",
    "split": "tallymark.verbs",
    "synth": "tallymark.verbs",
    "train": "tallymark.modelling",
    "write": "tallymark.verbs",
}
__all__ = [
    "Annotations",
    "BadInput",
    "Boxes",
    "Catalog",
    "Challenge",
    "Cuboids",
    "Instants",
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
    "predict",
    "read",
    "read_submission",
    "read_truth",
    "repair",
    "score",
    "split",
    "synth",
    "train",
    "write",
]

if TYPE_CHECKING:
    from tallymark.data.annotations import Annotations
    from tallymark.data.catalog import Catalog
    from tallymark.data.geometry import Boxes, Cuboids, Instants, Labels, Masks, RotatedBoxes
    from tallymark.data.items import Items
    from tallymark.modelling import predict, train
    from tallymark.problems import BadInput, Problem
    from tallymark.recipe import Recipe
    from tallymark.registry import Challenge, challenge, challenge_names
    from tallymark.scoring.score import Score
    from tallymark.verbs import (
        by_distance,
        check,
        compare,
        convert,
        explore,
        read,
        read_submission,
        read_truth,
        repair,
        score,
        split,
        synth,
        write,
    )


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tallymark' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
