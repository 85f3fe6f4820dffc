"""Image sizes, read from headers before any inference: masks need images of one size."""

from __future__ import annotations

from collections import Counter

from tallymark.core.parallel import in_threads
from tallymark.core.problems import Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.io.images import image_size
from tallymark.io.media import BadMedia


def refuse_sizes(catalog: Catalog, shape: tuple[int, int] | None) -> None:
    """Refuse images that differ from most, or, where masks are written, from their `shape` (height, width)."""
    sizes = in_threads(lambda item: _shape(catalog, item), range(len(catalog)), "measuring")
    known = Counter(size for size in sizes if size is not None)
    if not known:
        return
    problems = Problems()
    usual = known.most_common(1)[0][0]
    for item, size in enumerate(sizes):
        if size is not None and size != usual:
            found, expected = f"an image of {_text(size)}", f"{_text(usual)}, as most others are"
            remedy = "predict chips of one size at a time"
            name = catalog.items.ids[item]
            problems.add(Problem("other_size", catalog.place(item), found, expected, remedy, item=name))
    if shape is not None and usual != shape:
        found, remedy = f"images of {_text(usual)}", f"give --rule shape={usual[0]}x{usual[1]}"
        problems.add(Problem("other_size", str(catalog.root), found, f"{_text(shape)}, to write their masks", remedy))
    problems.raise_if_any()


def _shape(catalog: Catalog, item: int) -> tuple[int, int] | None:
    """Height and width; None where the image is missing or damaged, which inference will report."""
    path = catalog.path(item)
    try:
        width, height = (0, 0) if path is None else image_size(path)
    except BadMedia:
        return None
    return (height, width) if height else None


def _text(shape: tuple[int, int]) -> str:
    return f"{shape[1]} x {shape[0]} px"
