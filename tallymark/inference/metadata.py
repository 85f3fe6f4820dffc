"""Metadata of a model file: what it predicts, how it was trained, and how its outputs are read."""

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
"""The key of the metadata in a model file."""


@dataclass(frozen=True)
class ModelMetadata:
    """challenge: whose submissions it writes. classes: their names. facts: data, score and licence, for people.

    recall_curve: recall and false positives per hour at each threshold, as `RecallCurve.as_dict` gives it.
    event_seconds: the usual length of events, where it is known.
    scale: how the training items were shown, as `Modality.training_scale` gives it.
    counts: how detections are counted, as `CountCalibration.as_dict` gives it.
    """

    challenge: str
    recipe: Recipe
    classes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    recall_curve: Mapping[str, Any] = field(default_factory=dict)
    event_seconds: float | None = None
    scale: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def read(cls, text: str, path: Path) -> ModelMetadata:
        """From the text in a model file; a `BadInput` where it is missing or of another kind."""
        try:
            stated = json.loads(text)
            return cls(
                stated["challenge"],
                make_recipe(stated["recipe"]),
                tuple(stated["classes"]),
                stated.get("facts", {}),
                stated.get("recall_curve", {}),
                stated.get("event_seconds"),
                stated.get("scale", {}),
                stated.get("counts", {}),
            )
        except BadInput as bad:
            found = f"metadata with {next(iter(bad.problems)).found}"
        except KeyError as missing:
            found = f"metadata without {missing}"
        except (ValueError, TypeError, AttributeError):
            found = "metadata that cannot be read" if text else "no metadata"
        remedy = "use a model.onnx that training wrote"
        raise BadInput(Problem("bad_model", str(path), found, "a model of this package", remedy))
