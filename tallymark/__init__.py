"""Tallymark detects, counts and scores objects in photographs, recordings, lidar sweeps and satellite images.

Everything that the command line does is a function here. Names are imported when they are first used, so that
`import tallymark` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_MODULES = {
    "tallymark.api.bench": ("bench",),
    "tallymark.api.board": ("board",),
    "tallymark.api.check": ("check",),
    "tallymark.api.data": ("explore", "folds", "read", "synth"),
    "tallymark.api.dry_run": ("dry_run",),
    "tallymark.api.export": ("export",),
    "tallymark.api.exports": (
        "export_audacity", "export_candidates", "export_clips", "export_counts", "export_days", "export_drawings",
        "export_objects", "export_plot", "export_raven", "summarize",
    ),
    "tallymark.api.fuse": ("fuse",),
    "tallymark.api.kit": ("kit",),
    "tallymark.api.metrics": ("export_metrics",),
    "tallymark.api.new": ("new",),
    "tallymark.api.models": ("find_models", "find_preset", "open_model"),
    "tallymark.api.predict": ("predict",),
    "tallymark.api.pretrained": ("models",),
    "tallymark.api.quantize": ("quantize",),
    "tallymark.api.train": ("train",),
    "tallymark.api.predictions": ("read_predictions",),
    "tallymark.api.public_split": ("public_private",),
    "tallymark.api.report": ("export_report", "report"),
    "tallymark.api.score": (
        "by_distance", "compare", "convert", "read_submission", "read_truth", "repair", "score", "write",
    ),
    "tallymark.api.tune": ("tune",),
    "tallymark.api.watch": ("watch",),
    "tallymark.core.engines.choice": ("EngineChoice",),
    "tallymark.core.problems": ("BadInput", "Problem"),
    "tallymark.core.recipe": ("Recipe",),
    "tallymark.core.registry": ("Challenge", "challenge", "challenge_names"),
    "tallymark.data.annotations": ("Annotations",),
    "tallymark.data.catalog": ("Catalog",),
    "tallymark.data.items": ("Items",),
    "tallymark.geometry": ("Boxes", "Cuboids", "Events", "Labels", "Masks", "RotatedBoxes"),
    "tallymark.inference.predictor": ("PredictionResult",),
    "tallymark.scoring.score": ("Score",),
}  # fmt: skip
_HOME = {name: module for module, names in _MODULES.items() for name in names}
__all__ = [
    "Annotations",
    "BadInput",
    "Boxes",
    "Catalog",
    "Challenge",
    "Cuboids",
    "EngineChoice",
    "Events",
    "Items",
    "Labels",
    "Masks",
    "PredictionResult",
    "Problem",
    "Recipe",
    "RotatedBoxes",
    "Score",
    "bench",
    "board",
    "by_distance",
    "challenge",
    "challenge_names",
    "check",
    "compare",
    "convert",
    "dry_run",
    "explore",
    "export",
    "export_audacity",
    "export_candidates",
    "export_clips",
    "export_counts",
    "export_days",
    "export_drawings",
    "export_metrics",
    "export_objects",
    "export_plot",
    "export_raven",
    "export_report",
    "find_models",
    "find_preset",
    "folds",
    "fuse",
    "kit",
    "models",
    "new",
    "open_model",
    "predict",
    "public_private",
    "quantize",
    "read",
    "read_predictions",
    "read_submission",
    "read_truth",
    "repair",
    "report",
    "score",
    "summarize",
    "synth",
    "train",
    "tune",
    "watch",
    "write",
]

if TYPE_CHECKING:
    from tallymark.api.bench import bench
    from tallymark.api.board import board
    from tallymark.api.check import check
    from tallymark.api.data import explore, folds, read, synth
    from tallymark.api.dry_run import dry_run
    from tallymark.api.export import export
    from tallymark.api.exports import (
        export_audacity,
        export_candidates,
        export_clips,
        export_counts,
        export_days,
        export_drawings,
        export_objects,
        export_plot,
        export_raven,
        summarize,
    )
    from tallymark.api.fuse import fuse
    from tallymark.api.kit import kit
    from tallymark.api.metrics import export_metrics
    from tallymark.api.models import find_models, find_preset, open_model
    from tallymark.api.new import new
    from tallymark.api.predict import predict
    from tallymark.api.predictions import read_predictions
    from tallymark.api.pretrained import models
    from tallymark.api.public_split import public_private
    from tallymark.api.quantize import quantize
    from tallymark.api.report import export_report, report
    from tallymark.api.score import by_distance, compare, convert, read_submission, read_truth, repair, score, write
    from tallymark.api.train import train
    from tallymark.api.tune import tune
    from tallymark.api.watch import watch
    from tallymark.core.engines.choice import EngineChoice
    from tallymark.core.problems import BadInput, Problem
    from tallymark.core.recipe import Recipe
    from tallymark.core.registry import Challenge, challenge, challenge_names
    from tallymark.data.annotations import Annotations
    from tallymark.data.catalog import Catalog
    from tallymark.data.items import Items
    from tallymark.geometry import Boxes, Cuboids, Events, Labels, Masks, RotatedBoxes
    from tallymark.inference.predictor import PredictionResult
    from tallymark.scoring.score import Score


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'tallymark' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
