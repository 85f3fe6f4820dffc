"""Image sizes, read from headers before any inference: the masks of a submission need images of one size."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tallymark.core.problems import Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.modalities.image.sizes import read_sizes

Size = tuple[float, float]
"""Width and height."""


def refuse_sizes(catalog: Catalog, shape: tuple[int, int] | None) -> None:
    """Refuse images that differ from most, or from the `shape` (height, width) that the submission has."""
    sizes: list[Size] = list(map(tuple, read_sizes(catalog).tolist()))
    known = Counter(size for size in sizes if np.isfinite(size[0]))
    if not known:
        return
    problems = Problems()
    usual = known.most_common(1)[0][0]
    for item, size in enumerate(sizes):
        if size in known and size != usual:
            found, expected = f"an image of {_text(size)}", f"{_text(usual)}, as most others are, in one submission"
            remedy = "leave out --out, or predict images of one size at a time"
            name = catalog.items.ids[item]
            problems.add(Problem("other_size", catalog.place(item), found, expected, remedy, item=name))
    if shape is not None and usual != shape[::-1]:
        found, remedy = f"images of {_text(usual)}", f"give --rule shape={usual[1]:.0f}x{usual[0]:.0f}"
        expected = f"{_text(shape[::-1])}, to write their masks"
        problems.add(Problem("other_size", str(catalog.root), found, expected, remedy))
    problems.raise_if_any()


def _text(size: Size) -> str:
    return f"{size[0]:.0f} x {size[1]:.0f} px"
