"""Sizes of pictures, which masks need to be alike, from their headers: before any of them is looked at."""

from __future__ import annotations

from collections import Counter

from tallymark.core.parallel import in_threads
from tallymark.core.problems import Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.io.images import image_size
from tallymark.io.media import BadMedia


def refuse_sizes(catalog: Catalog, shape: tuple[int, int] | None) -> None:
    """Pictures that differ from the others, and, where masks are written, from the `shape` (height, width) of those."""
    sizes = in_threads(lambda item: _shape(catalog, item), range(len(catalog)), "measuring")
    known, problems = Counter(size for size in sizes if size is not None), Problems()
    if not known:
        return
    usual = known.most_common(1)[0][0]
    for item, size in enumerate(sizes):
        if size is not None and size != usual:
            found, expected = f"a picture of {_text(size)}", f"{_text(usual)}, as most others are"
            place, name, remedy = catalog.place(item), catalog.items.ids[item], "predict chips of one size at a time"
            problems.add(Problem("other_size", place, found, expected, remedy, item=name))
    if shape is not None and usual != shape:
        found, remedy = f"pictures of {_text(usual)}", f"give -r shape={usual[0]}x{usual[1]}"
        problems.add(Problem("other_size", str(catalog.root), found, f"{_text(shape)}, to write their masks", remedy))
    problems.raise_if_any()


def _shape(catalog: Catalog, item: int) -> tuple[int, int] | None:
    """Height and width; None if there is no picture that can be read, which looking at it will say."""
    path = catalog.path(item)
    try:
        width, height = (0, 0) if path is None else image_size(path)
    except BadMedia:
        return None
    return (height, width) if height else None


def _text(shape: tuple[int, int]) -> str:
    return f"{shape[1]} x {shape[0]} px"
