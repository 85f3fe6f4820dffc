"""Stored candidates: those of a whole catalog on the pages of a journal, read part by part in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import Recipe
from tallymark.data.items import Items
from tallymark.inference.candidates import Candidates, concat_candidates
from tallymark.inference.journal_folder import JournalFolder
from tallymark.inference.journal_pages import read_page
from tallymark.inference.pipeline import unread_candidates

PART = 512
"""Items that are read at a time."""
OPEN_PAGES = 4
"""Pages that are kept in memory: neighbouring items are mostly on the same page, or on one of the last."""


@dataclass(frozen=True, eq=False)
class StoredCandidates:
    """The candidates of items, on pages in a folder.

    pages: names of the pages. page, row: (n,) where each item is, page -1 of those that could not be read.
    size, presence: of the items, as in `Candidates`; nan and 0 of those that could not be read.
    journal: the folder that the pages are in or below, which stays as long as this.
    """

    journal: JournalFolder
    folder: Path
    pages: Sequence[str]
    items: Items
    page: np.ndarray
    row: np.ndarray
    size: np.ndarray
    presence: np.ndarray
    recipe: Recipe
    classes: tuple[str, ...]

    @property
    def readable(self) -> np.ndarray:
        """Which items could be read."""
        return np.isfinite(self.size[:, 0])

    def select(self, index: np.ndarray) -> StoredCandidates:
        """Those of the items with these numbers, in this order."""
        group = self.items.group
        return replace(
            self,
            items=Items(self.items.ids[index], None if group is None else group[index]),
            page=self.page[index],
            row=self.row[index],
            size=self.size[index],
            presence=self.presence[index],
        )

    def parts(self) -> Iterator[Candidates]:
        """The candidates of some items at a time, in order; of no items, one part."""
        open_page = lru_cache(OPEN_PAGES)(self._open)
        for start in range(0, max(len(self.items), 1), PART):
            yield self.select(np.arange(start, min(start + PART, len(self.items))))._gather(open_page)

    def load(self) -> Candidates:
        """All of them, in memory."""
        return concat_candidates(list(self.parts()))

    def _gather(self, open_page: Callable[[int], Candidates]) -> Candidates:
        """All of them, page by page, then in their order."""
        found = []
        order = []
        for page in np.unique(self.page).tolist():
            index = np.flatnonzero(self.page == page)
            items = Items(self.items.ids[index])
            if page < 0:
                found.append(unread_candidates(items, self.recipe, self.classes))
            else:
                found.append(open_page(page).select(self.row[index]).rename(items))
            order.append(index)
        if not found:
            return unread_candidates(self.items, self.recipe, self.classes)
        together = concat_candidates(found)
        return together.select(np.argsort(np.concatenate(order))).rename(self.items)

    def _open(self, page: int) -> Candidates:
        path = self.folder / self.pages[page]
        found = "a damaged page"
        try:
            candidates = read_page(path, self.recipe, self.classes)
        except OSError as error:
            candidates, found = None, (error.strerror or type(error).__name__).lower()
        if candidates is None:
            remedy = "run the same command again: what was on it will be inferred again"
            expected = "the page as it was written a short time ago"
            raise BadInput(Problem("damaged_page", str(path), found, expected, remedy))
        return candidates
