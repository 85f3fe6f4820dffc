"""Pages of a journal: the candidates of some items each, as NumPy arrays behind a mark and a checksum.

Only what was written as it is, for this very journal, is read: a page that is damaged, cut, or of another journal is
as good as none, and its items are inferred anew.
"""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import MISSING, fields
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from tallymark.core.outputs import write_bytes
from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.detector.coders import CODERS
from tallymark.inference.candidates import Candidates
from tallymark.io.regular import read_regular

SUFFIX = ".page"
MARK = b"tallymark page 1\n"
COLUMNS = ("keys", "offsets", "label", "score", "size", "presence")
NOT_ARRAYS = (OSError, EOFError, KeyError, TypeError, ValueError, MemoryError, zipfile.BadZipFile)
"""Exceptions of NumPy for bytes that hold other things than our arrays."""


def write_page(path: Path, candidates: Candidates) -> None:
    """Write the candidates of items that are named by their keys; a `BadInput` if they cannot be written."""
    objects = candidates.objects
    columns: dict[str, Any] = {
        "keys": np.array(candidates.items.ids.to_list(), str),
        "size": candidates.size,
        "presence": candidates.presence,
        "offsets": objects.offsets,
        "label": objects.labels,
        "score": objects.scores,
        **{f"shape_{name}": column for name, column in vars(objects.shapes).items()},
    }
    content = BytesIO()
    np.savez(content, **{name: column for name, column in columns.items() if column is not None})
    write_bytes(path, MARK + _checksum(path, content.getvalue()) + content.getvalue())


def read_page(path: Path, recipe: Recipe, classes: tuple[str, ...]) -> Candidates | None:
    """The candidates of a page; None if it is not as it was written."""
    try:
        data = read_regular(path)
    except OSError:
        return None
    start = len(MARK) + hashlib.sha256().digest_size
    content = data[start:]
    if data[:start] != MARK + _checksum(path, content):
        return None
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > len(content):  # pages are not compressed
                return None
        with np.load(BytesIO(content), allow_pickle=False) as stored:
            return _candidates(dict(stored), recipe, classes)
    except NOT_ARRAYS:
        return None


def _checksum(path: Path, content: bytes) -> bytes:
    """Of a page in its folder, which stands for the models and the recipe."""
    return hashlib.sha256(path.parent.name.encode() + content).digest()


def _candidates(columns: dict[str, np.ndarray], recipe: Recipe, classes: tuple[str, ...]) -> Candidates:
    """A page from its columns; a `ValueError` or `KeyError` if they do not go together."""
    keys, offsets, label, score, size, presence = (columns[name] for name in COLUMNS)
    geometry = CODERS[recipe.task].geometry
    needed = [field.name for field in fields(geometry) if field.default is MISSING]
    shapes = {field.name: columns.get(f"shape_{field.name}") for field in fields(geometry)}
    sound = (
        "".join(columns[name].dtype.kind for name in COLUMNS) == "Uiifff"
        and keys.ndim == score.ndim == 1
        and (offsets.shape, size.shape) == ((len(keys) + 1,), (len(keys), 2))
        and (label.shape, presence.shape) == (score.shape, keys.shape)
        and all(shapes[name] is not None for name in needed)
        and all(_fits(part, score) for part in shapes.values() if part is not None)
        and len(set(keys.tolist())) == len(keys)
        and bool(np.isfinite(size[:, 0]).all() and np.isfinite(presence).all() and np.isfinite(score).all())
        and offsets[0] == 0
        and bool((np.diff(offsets) >= 0).all())
        and bool(((label >= 0) & (label < max(len(classes), 1))).all())
    )
    if not sound:
        raise ValueError("columns that do not go together")
    objects = Annotations[Any](Items.of(keys.tolist()), offsets, geometry(**shapes), label, score, classes)
    return Candidates(objects, size, presence)


def _fits(part: np.ndarray, score: np.ndarray) -> bool:
    """Whether a part of shapes is a number for each object, or a yes or no for all."""
    return part.dtype.kind == "b" if part.ndim == 0 else part.dtype.kind in "fi" and part.shape == score.shape
