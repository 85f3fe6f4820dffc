"""Files that the system fails to read: which items they are, and whether the whole folder is out of reach."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np

from tallymark.core.humanize import plural
from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.io.archives import open_file
from tallymark.io.media import READ_FAILED, RESUME_REMEDY, BadMedia

IN_A_ROW = 20
"""Items that fail one after the other, before others are tried to see whether the folder is gone."""
TRIED = 5
"""Items that are tried then, from the whole catalog."""


class Outage:
    """Notices that the folder of a catalog is out of reach, as a share is after its connection is lost.

    lost: whether it is; from then on, no item is opened.
    """

    def __init__(self) -> None:
        self.lost = False
        self._in_a_row = 0
        self._last = ""
        self._lock = threading.Lock()

    def count(self, bad: BadMedia | None, catalog: Catalog) -> None:
        """Note that an item of a catalog was opened, or why it could not be."""
        if bad is None or not bad.transient:
            self._in_a_row = 0
            return
        with self._lock:
            if self.lost:
                return
            self._in_a_row += 1
            self._last = bad.found
            self.lost = self._in_a_row % IN_A_ROW == 0 and not _within_reach(catalog)

    def problem(self, catalog: Catalog) -> Problem | None:
        """That the folder of a catalog is out of reach, if it is."""
        if not self.lost:
            return None
        found = f"{self._last}, for {plural(self._in_a_row, catalog.medium.noun)} in a row"
        expected = f"a folder whose {catalog.medium.noun}s can be read"
        remedy = "check the disk or the connection to it"
        return Problem("folder_lost", str(catalog.root), found, expected, remedy)

    def stop_if_lost(self, catalog: Catalog, how: str) -> None:
        """A `BadInput` if the folder is out of reach. how: to go on when it is back."""
        problem = self.problem(catalog)
        if problem is not None:
            raise BadInput(replace(problem, remedy=f"{problem.remedy}, then {how}"))


def _within_reach(catalog: Catalog) -> bool:
    """Whether any of some items can be read: then single files are at fault, and not their folder."""
    for item in np.unique(np.linspace(0, len(catalog) - 1, TRIED).astype(int)).tolist():
        path = catalog.path(item)
        try:
            if path is not None:
                with open_file(path) as file:
                    file.read(1)
                return True
        except OSError:
            continue
    return False


def failed_items(catalog: Catalog, problems: Problems) -> np.ndarray:
    """The numbers of the items that the system failed to read."""
    failed = {problem.item for problem in problems if problem.kind == READ_FAILED}
    return np.flatnonzero(catalog.items.ids.is_in(list(failed)).to_numpy()) if failed else np.empty(0, np.int64)


def stop_training(problems: Problems) -> None:
    """A `BadInput` if the system failed to read any item: a training without it would be another one."""
    failed = Problems(EVERY)
    for problem in problems:
        if problem.kind == READ_FAILED:
            failed.add(replace(problem, remedy=RESUME_REMEDY))
    failed.raise_if_any()
