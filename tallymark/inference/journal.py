"""Journal: candidates on disk, so that an interrupted run resumes and thresholds can be changed instantly.

It has a folder for each set of models and each recipe, apart from the fields of post-processing. In it are pages with
the candidates of some items each, under keys that stand for the items and their files: only items that are new, or
whose files have changed, are inferred. Workers write the pages; the process that has the journal open notes where each
item is.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from tallymark.core.locks import FolderLock
from tallymark.core.outputs import make_folder, writing_to
from tallymark.core.planned_outputs import refuse_outputs
from tallymark.core.recipe import Recipe
from tallymark.core.versions import version_of
from tallymark.data.items import Items
from tallymark.inference.item_keys import digest
from tallymark.inference.journal_folder import JournalFolder
from tallymark.inference.journal_pages import PAGE, PARTIAL, read_page
from tallymark.inference.session import Session
from tallymark.inference.stored_candidates import StoredCandidates

PACKAGE = Path(__file__).parent.parent
DECISIVE = ("io", "detector", "modalities", "inference")
"""Folders of this package whose code decides what candidates there are."""


class Journal:
    """The pages of one set of models and one recipe; a `BadInput` if nothing can be written, or another uses it.

    interrupted: whether the last run was killed.
    """

    def __init__(self, place: JournalFolder, sessions: Sequence[Session], recipe: Recipe) -> None:
        self.place = place
        self.recipe = recipe
        self.classes = sessions[0].metadata.classes
        settings = recipe.at("training", "model", "prediction")
        models = [[session.runtime_id, session.digest] for session in sessions]
        self.folder = place.path / digest([version_of("tallymark"), _code(), *models, settings])
        refuse_outputs(filled=[self.folder])
        make_folder(self.folder)
        with writing_to(self.folder):
            self._lock = FolderLock(self.folder)
        self.interrupted = self._lock.interrupted
        self._pages: list[str] = []
        self._position: dict[str, int] = {}  # of a key in the columns below
        self._page, self._row = array("i"), array("i")
        self._size, self._presence = array("d"), array("d")
        for path in self.folder.glob(f"*{PARTIAL}"):  # of an earlier run
            path.unlink(missing_ok=True)
        for path in sorted(self.folder.glob(f"*{PAGE}")):
            page = None
            with suppress(OSError):
                page = read_page(path, recipe, self.classes)
            if page is not None:  # what is damaged, or cannot be read, is inferred anew
                self.note(path.name, page.items.ids.to_list(), page.size, page.presence)

    def __contains__(self, key: str) -> bool:
        return key in self._position

    def note(self, page: str, keys: Sequence[str], size: np.ndarray, presence: np.ndarray) -> None:
        """Note what is on a page: items by their keys, with their sizes and presence as in `Candidates`."""
        for row, key in enumerate(keys):
            at = self._position.get(key)
            # An item may be on two pages: it is read from the first, unless it was read only in part then.
            if at is None or self._pages[self._page[at]].endswith(PARTIAL):
                self._position[key] = len(self._page)
                self._page.append(len(self._pages))
                self._row.append(row)
                self._size.extend(size[row].tolist())
                self._presence.append(float(presence[row]))
        self._pages.append(page)

    def candidates(self, items: Items, keys: Sequence[str]) -> StoredCandidates:
        """The candidates of items that have these keys; those without a page were not read."""
        at = np.array([self._position.get(key, -1) for key in keys], np.int64)
        unread = (-1, 0, (np.nan, np.nan), 0.0)  # what position -1 stands for
        columns = (self._page, self._row, np.array(self._size, float).reshape(-1, 2), self._presence)
        page, row, size, presence = (
            np.concatenate([np.asarray(column), np.array([none], np.asarray(column).dtype)])[at]
            for column, none in zip(columns, unread, strict=True)
        )
        pages = list(self._pages)
        where = (self.place, self.folder, pages, items, page, row)
        return StoredCandidates(*where, size, presence, self.recipe, self.classes)

    def close(self) -> None:
        """Let others use it."""
        self._lock.release()


@cache
def _code() -> str:
    """The code that decides what candidates there are, as a checksum: another one may find others."""
    checksum = hashlib.sha256()
    for folder in DECISIVE:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            checksum.update(path.read_bytes())
    return checksum.hexdigest()
