"""Metadata of a model file: what it predicts, how it was trained, and how its outputs are read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import Recipe, head_groups_of, thresholds_by_class
from tallymark.core.registry import challenge
from tallymark.core.stored import a_list, a_mapping, a_number_or_none, a_text
from tallymark.inference.counting import CountCalibration
from tallymark.inference.onnx_file import REMEDY
from tallymark.inference.recall_curve import RecallCurve
from tallymark.inference.speed import Speeds, check_speeds
from tallymark.io.json_text import parse_json
from tallymark.modalities import make_recipe, modality_of

KEY = "tallymark"
"""The key of the metadata in a model file."""


@dataclass(frozen=True)
class ModelMetadata:
    """challenge: whose submissions it writes. classes: their names. facts: data, score and licence, for people.

    recall_curve: recall and false positives per hour at each threshold, as `RecallCurve.as_dict` gives it.
    event_seconds: the usual length of events, where it is known.
    scale: how the training items were shown, as `Modality.training_scale` gives it.
    counts: how detections are counted, as `CountCalibration.as_dict` gives it.
    speeds: fields of the recipe for each named speed, where they were measured.
    """

    challenge: str
    recipe: Recipe
    classes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    recall_curve: Mapping[str, Any] = field(default_factory=dict)
    event_seconds: float | None = None
    scale: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, Any] = field(default_factory=dict)
    speeds: Speeds = field(default_factory=dict)

    def text(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def read(
        cls,
        text: str,
        path: Path,
        *,
        kind: str = "bad_model",
        expected: str = "a model of this package",
        remedy: str = REMEDY,
    ) -> ModelMetadata:
        """From the text in a model file; a `BadInput` where it is missing, or has a value that it cannot have.

        kind, expected, remedy: of the problem, where another kind of file has such metadata.
        """
        try:
            stated = a_mapping(parse_json(text))
        except ValueError:
            found = "metadata that cannot be read" if text else "no metadata"
        else:
            try:
                return cls._parse(stated)
            except BadInput as bad:
                found = f"metadata with {next(iter(bad.problems)).found}"
            except KeyError as missing:
                found = f"metadata without {missing}"
            except ValueError as error:
                found = f"metadata with {error}"
        raise BadInput(Problem(kind, str(path), found, expected, remedy))

    @classmethod
    def _parse(cls, stated: Mapping[str, Any]) -> ModelMetadata:
        """A KeyError for what is missing, a ValueError for a value of another kind."""
        with _field("challenge"):
            name = a_text(stated["challenge"])
        with _field("recipe"):
            recipe = make_recipe(a_mapping(stated["recipe"]))
        with _field("classes"):
            classes = tuple(map(a_text, a_list(stated["classes"])))
            if len(set(classes)) < len(classes):
                raise ValueError("a class twice")
        with _field("facts"):
            facts = a_mapping(stated.get("facts", {}))
        with _field("recall_curve"):
            recall_curve = a_mapping(stated.get("recall_curve", {}))
            RecallCurve.of(recall_curve)
        with _field("event_seconds"):
            event_seconds = a_number_or_none(stated.get("event_seconds"), 0)
        with _field("scale"):
            scale = a_mapping(stated.get("scale", {}))
            modality_of(recipe).check_scale(scale)
        with _field("counts"):
            counts = a_mapping(stated.get("counts", {}))
            counting = CountCalibration.of(counts)
        with _field("speeds"):
            speeds = a_mapping(stated.get("speeds", {}))
            check_speeds(speeds, recipe)
        _check_recipe(recipe, name, classes)
        if counting is not None:
            _check_recipe(recipe.replace(**counting.thresholds), name, classes)
        return cls(name, recipe, classes, facts, recall_curve, event_seconds, scale, counts, speeds)


@contextmanager
def _field(name: str) -> Iterator[None]:
    """Name the field in the message of a ValueError."""
    try:
        yield
    except BadInput:  # it names the field of the recipe
        raise
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _check_recipe(recipe: Recipe, name: str, classes: tuple[str, ...]) -> None:
    """A `BadInput` or a ValueError for a recipe that cannot be that of the challenge, or of the classes."""
    modality_of(recipe).validate(recipe)
    head_groups_of(recipe, classes)
    thresholds_by_class(recipe, classes)
    what = challenge(name)
    presets = what.module("recipe").PRESETS.values() if what.has("recipe") else ()
    if presets and all(recipe.task != preset.task for preset in presets):
        raise ValueError(f"task={recipe.task}, which is not that of {name}")
