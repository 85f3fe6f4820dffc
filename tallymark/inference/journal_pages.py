"""Pages of a journal: the candidates of some items each, as NumPy arrays behind a mark and a checksum.

Only what was written as it is, for this very journal, is read: a page that is damaged, cut, or of another journal is
as good as none, and its items are inferred anew.
"""

from __future__ import annotations

import hashlib
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np

from tallymark.core.outputs import write_bytes
from tallymark.core.recipe import Recipe
from tallymark.inference.candidate_columns import candidate_columns, candidates_of_columns
from tallymark.inference.candidates import Candidates
from tallymark.io.regular import read_regular
from tallymark.io.retries import retry

PAGE = ".page"
"""Suffix of pages that are kept."""
PARTIAL = ".partial"
"""Suffix of pages that only the run that writes them reads: of items that were read in part."""
MARK = b"tallymark page 1\n"
NOT_ARRAYS = (OSError, EOFError, KeyError, TypeError, ValueError, MemoryError, zipfile.BadZipFile)
"""Exceptions of NumPy for bytes that hold other things than our arrays."""


def write_page(path: Path, candidates: Candidates) -> None:
    """Write the candidates of items that are named by their keys; a `BadInput` if they cannot be written."""
    content = BytesIO()
    np.savez(content, **candidate_columns(candidates))
    # One that a failing machine loses is as good as none: waiting for the disk would cost more than it saves.
    write_bytes(path, MARK + _checksum(path, content.getvalue()) + content.getvalue(), sync=False)


def read_page(path: Path, recipe: Recipe, classes: tuple[str, ...]) -> Candidates | None:
    """The candidates of a page; None if it is not as it was written, an `OSError` if it cannot be read."""
    data = retry(lambda: read_regular(path))
    start = len(MARK) + hashlib.sha256().digest_size
    content = data[start:]
    if data[:start] != MARK + _checksum(path, content):
        return None
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > len(content):  # pages are not compressed
                return None
        with np.load(BytesIO(content), allow_pickle=False) as stored:
            return candidates_of_columns(dict(stored), recipe, classes)
    except NOT_ARRAYS:
        return None


def _checksum(path: Path, content: bytes) -> bytes:
    """Of a page in its folder, which stands for the models and the recipe."""
    return hashlib.sha256(path.parent.name.encode() + content).digest()
