"""Predicting: open the models, show them the pictures of a catalog, settle on findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tallymark.core.problems import EVERY, BadInput, Problem, Problems, shorten
from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.inference.journal import infer_with_journal
from tallymark.inference.metadata import Metadata
from tallymark.inference.pipeline import Candidates, infer
from tallymark.inference.postprocess import postprocess
from tallymark.inference.recall_curve import OperatingPoint, RecallCurve
from tallymark.inference.session import Runtime, Session
from tallymark.inference.sizes import refuse_sizes
from tallymark.modalities.image.recipe import ImageRecipe

SEEN = (
    "task", "stride", "head_groups", "bev_encoder", "bev_range", "z_min", "z_max", "voxel_size", "height_bins",
    "sample_rate", "window_seconds", "hop_seconds", "fmin", "n_bins", "background_norm", "norm_block", "norm_context",
)  # fmt: skip
"""Fields of recipes, where they have them, that change what is seen, or what maps mean."""
LATER = (
    "tta", "fusion", "nms_iou", "score_threshold", "class_thresholds", "image_threshold", "quality_weight",
    "mask_scale", "image_size", "min_event_gap", "fov_degrees", "max_points", "sweeps",
)  # fmt: skip
"""Fields that can be other than they were in training. The rest has become a part of the model."""
LARGEST = 1 << 15
"""Pixels of the longer side of a picture as it is shown, at most."""


@dataclass(frozen=True, eq=False)
class Predicted:
    """found: what is handed in. raw: what the models said. problems: items that could not be read.

    catalog: what was looked at. card: that of the models. notes: what a person should know about it, if anything.
    """

    found: Annotations[Any]
    raw: Candidates
    recipe: Recipe
    problems: Problems
    catalog: Catalog
    card: Metadata
    notes: tuple[str, ...] = ()


class Predictor:
    """One or several models of the same challenge, used as one; by all cores, or so many threads."""

    def __init__(self, models: Sequence[Path], runtime: Runtime = "onnxruntime", threads: int | None = None) -> None:
        self.sessions = [Session(path, runtime, threads) for path in models]
        self.card: Metadata = self.sessions[0].card
        for path, session in zip(models, self.sessions, strict=True):
            own, first = _told(session.card), _told(self.card)
            other = next((name for name in first | own if own.get(name) != first.get(name)), None)
            if other is not None:
                found, expected = (f"{other} {shorten(str(told.get(other)))}" for told in (own, first))
                remedy = f"use models of one run, as {models[0]}"
                raise BadInput(Problem("other_model", str(path), found, expected, remedy))

    def predict(
        self,
        catalog: Catalog,
        shape: tuple[int, int] | None = None,
        journal: Path | None = None,
        **changes: object,
    ) -> Predicted:
        """What is found in every item; `changes` are fields of the recipe, such as `views` or `cut`.

        shape: (masks) height and width that the pictures must have; without it they must only be alike.
        journal: a folder to go on from, and to keep what was said in.
        """
        if "score_threshold" in changes:  # one threshold is meant for all classes
            changes = {"class_thresholds": ""} | changes
        recipe, problems = self.card.recipe.replace(**changes), Problems(EVERY)
        _refuse(changes, recipe)
        if recipe.task == "masks":
            refuse_sizes(catalog, shape)
        if journal is None:
            raw = infer(catalog, self.sessions, recipe, problems, classes=self.card.classes)
        else:
            raw = infer_with_journal(journal, catalog, self.sessions, recipe, problems, self.card.classes)
        found = replace(postprocess(raw, recipe), classes=self.card.classes)
        return Predicted(found, raw, recipe, problems, catalog, self.card)

    def cut_for(self, fp_per_hour: float) -> OperatingPoint:
        """The cut that cost at most so many false positives an hour in the recordings held out from training."""
        curve = RecallCurve.of(self.card.curve)
        if self.card.recipe.task != "events":
            found, expected = f"a model of {self.card.challenge}", "a model of calls in recordings"
            raise BadInput(Problem("bad_option", "fp_per_hour", found, expected, "leave it out"))
        if curve is None:
            found, expected = "a model without a curve of recall", "a model of calls that has one"
            raise BadInput(
                Problem("no_curve", "fp_per_hour", found, expected, "train it again, or give score_threshold=NUMBER")
            )
        return curve.at(fp_per_hour)


def _refuse(changes: Mapping[str, object], recipe: Recipe) -> None:
    """Fields that can only be changed by training again are problems."""
    problems, known = Problems(), [name for name in LATER if hasattr(recipe, name)]
    for name, value in changes.items():
        if name not in known:
            given, expected = f"{name}={value}", f"one of {', '.join(known)}"
            problems.add(Problem("bad_option", "recipe", given, expected, f"leave it out, or train with {given}"))
    if recipe.task == "events" and recipe.tta > 1:
        expected, remedy = "tta=1: time has one direction only", "leave it out"
        problems.add(Problem("bad_option", "recipe", f"tta={recipe.tta}", expected, remedy))
    if isinstance(recipe, ImageRecipe) and not 0 < recipe.image_size <= LARGEST:
        expected, remedy = f"pixels, from 1 to {LARGEST}", "give e.g. image_size=1024"
        problems.add(Problem("bad_option", "recipe", f"image_size={recipe.image_size}", expected, remedy))
    problems.raise_if_any()


def _told(card: Metadata) -> dict[str, Any]:
    """What models must have in common for the mean of their maps to mean anything."""
    seen = {name: getattr(card.recipe, name) for name in SEEN if hasattr(card.recipe, name)}
    return {"challenge": card.challenge, "classes": card.classes, **seen}
