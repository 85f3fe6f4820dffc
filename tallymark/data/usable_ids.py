"""Ids that a table can hold: others, which JSON may have, are named and left out before any work is done."""

from __future__ import annotations

import numpy as np

from tallymark.core.problems import Problem, printable
from tallymark.data.catalog import Catalog

UNUSABLE = r"[\x00-\x1f\x7f-\x9f\x{2028}\x{2029}]|^ | $|^$"
"""Controls, ends of lines, and blanks at an end, without which tables are read."""


def with_usable_ids(catalog: Catalog) -> Catalog:
    """The items with ids that a submission can have; each of the others is noted."""
    odd = catalog.items.ids.str.contains(UNUSABLE).to_numpy()
    if not odd.any():
        return catalog
    expected = "an id that a table can hold"
    remedy = "rename it: it is left out"
    for item in np.flatnonzero(odd).tolist():
        one = printable(catalog.items.ids[item])
        found = f"'{one}': a control character, a line end, or a blank at an end"
        file = printable(str(catalog.tables[item] or catalog.root))
        catalog.notes.add(Problem("bad_name", file, found, expected, remedy, item=one))
    return catalog.select(~odd)
