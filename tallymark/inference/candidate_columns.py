"""Candidates as named columns of numbers, and back: what the pages of a journal and candidate files store.

A column of the shapes has the name of its field in the geometry, behind `SHAPE`.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.detector.coders import CODERS
from tallymark.geometry import Geometry
from tallymark.inference.candidates import Candidates

SHAPE = "shape_"
COLUMNS = ("keys", "offsets", "label", "score", "size", "presence")
KINDS = "Uiifff"
"""The kind of number of each of the columns."""


def candidate_columns(candidates: Candidates) -> dict[str, Any]:
    """The columns of candidates: ids as `keys`, objects of item i as the rows offsets[i]:offsets[i + 1]."""
    objects = candidates.objects
    columns = {
        "keys": np.array(candidates.items.ids.to_list(), str),
        "size": candidates.size,
        "presence": candidates.presence,
        "offsets": objects.offsets,
        "label": objects.labels,
        "score": objects.scores,
        **{f"{SHAPE}{name}": column for name, column in vars(objects.shapes).items()},
    }
    return {name: column for name, column in columns.items() if column is not None}


def shape_fields(recipe: Recipe) -> list[str]:
    """The fields of the geometry of a recipe's candidates that each of them has; others, as a length, are optional."""
    return [field.name for field in fields(CODERS[recipe.task].geometry) if field.default is MISSING]


def candidates_of_columns(columns: dict[str, np.ndarray], recipe: Recipe, classes: tuple[str, ...]) -> Candidates:
    """Candidates from their columns; a `ValueError` or `KeyError` if these do not go together."""
    keys, offsets, label, score, size, presence = (columns[name] for name in COLUMNS)
    geometry = CODERS[recipe.task].geometry
    given = {field.name: columns.get(f"{SHAPE}{field.name}") for field in fields(geometry)}
    shapes = {name: part for name, part in given.items() if part is not None}
    sound = (
        "".join(columns[name].dtype.kind for name in COLUMNS) == KINDS
        and keys.ndim == score.ndim == 1
        and (offsets.shape, size.shape) == ((len(keys) + 1,), (len(keys), 2))
        and (label.shape, presence.shape) == (score.shape, keys.shape)
        and shapes.keys() >= set(shape_fields(recipe))
        and all(_fits(part, score) for part in shapes.values())
        and len(set(keys.tolist())) == len(keys)
        and bool(np.isfinite(size[:, 0]).all() and np.isfinite(presence).all() and np.isfinite(score).all())
        and offsets[0] == 0
        and bool((np.diff(offsets) >= 0).all())
        and bool(((label >= 0) & (label < max(len(classes), 1))).all())
    )
    if not sound:
        raise ValueError("columns that do not go together")
    objects = Annotations[Geometry](Items.of(keys.tolist()), offsets, geometry(**shapes), label, score, classes)
    return Candidates(objects, size, presence)


def _fits(part: np.ndarray, score: np.ndarray) -> bool:
    """Whether a part of shapes is a number for each object, or a yes or no for all."""
    return part.dtype.kind == "b" if part.ndim == 0 else part.dtype.kind in "fi" and part.shape == score.shape
