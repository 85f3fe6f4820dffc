"""What an export is made of: the objects of items, under the real names and sizes of their media files.

Predictions and truth are exported alike. An item whose file cannot be read is left out and counted, since nothing is
known of it: in every format, an item without objects says that there are none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Generic, TypeVar

import numpy as np
import polars as pl

from tallymark.core.parallel import in_threads
from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import SHOWN, Catalog
from tallymark.data.items import Items
from tallymark.geometry import Geometry, Masks
from tallymark.io.folders import relative_path
from tallymark.io.images import image_size
from tallymark.io.media import BadMedia

G = TypeVar("G", bound=Geometry)
DEFAULT_CLASSES = ("object",)
"""The class of objects without one."""
FREQUENCIES = (0.0, 1000.0)
"""Hz: the range of events whose frequencies nobody knows."""


@dataclass(frozen=True, eq=False)
class ExportSource(Generic[G]):
    """Objects with everything that a format may want to know of their items.

    annotations, catalog: of the same items in the same order; of overlapping objects, the highest score comes first.
    size: (n, 2) width and height of images in pixels; of a recording, its seconds; nan where it is not known.
    counted: the objects to count, where these are not the same. gsd: metres per pixel, if known.
    band: (recordings) lowest and highest frequency of events in Hz. event_seconds: their length, where unknown.
    notes: sentences about what was left out.
    """

    annotations: Annotations[G]
    catalog: Catalog
    size: np.ndarray
    counted: Annotations[Geometry] | None = None
    gsd: float | None = None
    band: tuple[float, float] = FREQUENCIES
    event_seconds: float = 1.0
    notes: tuple[str, ...] = ()
    problems: Problems = field(default_factory=lambda: Problems(EVERY))

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes; one for objects without."""
        return self.annotations.classes or DEFAULT_CLASSES

    @property
    def names(self) -> list[str]:
        """For each item the path of its file below the media folder, unpacked; its id where there is no file."""
        return media_names(self.catalog)

    @property
    def named(self) -> Annotations[G]:
        """The objects under the names of the files in place of ids."""
        return replace(self.annotations, items=Items.of(self.names))

    def select(self, items: np.ndarray) -> ExportSource[G]:
        """That of the items at these indices."""
        catalog = self.catalog.select(items)
        counted = None if self.counted is None else self.counted.reindex(catalog.items)
        annotations = self.annotations.reindex(catalog.items)
        return replace(self, annotations=annotations, catalog=catalog, size=self.size[items], counted=counted)

    def keep(self, known: np.ndarray, reason: str, expected: str = "", remedy: str = "") -> ExportSource[G]:
        """Without the items where `known` is false, which a note counts; a `BadInput` if there is no other.

        reason: what is wrong with the others. expected, remedy: what a problem says.
        """
        if known.all():
            return self
        if not known.any():
            self.problems.add(nothing_to_write(self.catalog, reason, expected, remedy))
            raise BadInput(self.problems)
        note = f"{_left_out(self.catalog, ~known, reason)}; not written, not even as empty"
        return replace(self.select(np.flatnonzero(known)), notes=(*self.notes, note))


def nothing_to_write(catalog: Catalog, reason: str, expected: str = "", remedy: str = "") -> Problem:
    """That none of the items can be written, as a problem; see `ExportSource.keep`."""
    found = _left_out(catalog, np.ones(len(catalog), bool), reason)
    expected = expected or f"{catalog.medium.noun}s that can be read"
    remedy = remedy or "nothing is left to write: name the folder that has their files"
    return Problem("nothing_to_write", str(catalog.root), found, expected, remedy)


def _left_out(catalog: Catalog, left: np.ndarray, reason: str) -> str:
    ids = catalog.items.ids.filter(pl.Series(left))
    listed = ", ".join(ids.head(SHOWN)) + (", …" if len(ids) > SHOWN else "")
    return f"{len(ids)} of {len(catalog)} {catalog.medium.noun}s {reason}: {listed}"


def media_names(catalog: Catalog) -> list[str]:
    """For each item the path of its file below the media folder, as after unpacking; its id where there is no file."""
    files = catalog.files.to_list()
    names = [
        one if file is None else relative_path(catalog.root / file, catalog.root).as_posix()
        for one, file in zip(catalog.items.ids, files, strict=True)
    ]
    if len(set(names)) == len(names):
        return names
    return [one if file is None else file for one, file in zip(catalog.items.ids, files, strict=True)]


def recording_names(catalog: Catalog) -> list[str]:
    """For each recording its id, or the path of its file where recordings in several folders share a name."""
    paths = media_names(catalog)
    shared = Counter(PurePosixPath(path).name for path in paths)
    pairs = zip(catalog.items.ids, paths, strict=True)
    return [path if shared[PurePosixPath(path).name] > 1 else one for one, path in pairs]


def best_first(annotations: Annotations[G]) -> Annotations[G]:
    """The objects of each item from the highest score down: formats without scores keep their order."""
    if annotations.score is None or not annotations.shapes.overlaps:
        return annotations
    order = np.lexsort((-annotations.scores, annotations.item))
    if (order == np.arange(len(order))).all():
        return annotations
    columns = (annotations.label, annotations.score, annotations.line, annotations.number)
    label, score, line, number = (None if column is None else column[order] for column in columns)
    shapes = annotations.shapes.take(order)
    return replace(annotations, shapes=shapes, label=label, score=score, line=line, number=number)


def image_sizes(catalog: Catalog, problems: Problems, stated: np.ndarray | None = None) -> np.ndarray:
    """Width and height of each image (n, 2) as its file says; nan, with a problem, where it cannot be read.

    stated: sizes that are known already, which are not read. A `BadInput` if a disk or a share fails.
    """
    sizes = np.full((len(catalog), 2), np.nan) if stated is None else stated.copy()
    unknown = np.flatnonzero(np.isnan(sizes).any(axis=1) & catalog.files.is_not_null().to_numpy())

    def read(item: int) -> tuple[int, int] | BadMedia:
        try:
            return image_size(catalog.root / str(catalog.files[item]))
        except BadMedia as bad:
            return bad

    for item, found in zip(unknown.tolist(), in_threads(read, unknown.tolist(), "reading sizes"), strict=True):
        if not isinstance(found, BadMedia):
            sizes[item] = found
        elif found.transient:
            raise BadInput(catalog.unread(item, found))
        else:
            problems.add(catalog.unread(item, found))
    return sizes


def masks_by_shape(source: ExportSource[Masks]) -> Iterator[tuple[np.ndarray, Masks]]:
    """Indices of masks, and the masks over images of their own size: predictions have one canvas for all sizes.

    A `BadInput` if a mask reaches beyond its image.
    """
    masks, size = source.annotations.shapes, source.size[source.annotations.item].astype(np.int64)
    outside = (masks.bounds.last >= size[:, 0]) | (masks.bounds.lower > size[:, 1])
    if outside.any():
        worst = int(np.flatnonzero(outside)[0])
        item = int(source.annotations.item[worst])
        width, height = size[worst].tolist()
        found, expected = (
            f"a mask over {masks.shape[1]} x {masks.shape[0]} px",
            f"one in an image of {width} x {height} px",
        )
        remedy = f"give --rule shape={height}x{width}, or the images that the masks are about"
        place, name = source.catalog.place(item), source.catalog.items.ids[item]
        raise BadInput(Problem("wrong_size", place, found, expected, remedy, item=name))
    for width, height in np.unique(size, axis=0).tolist():
        own = np.flatnonzero((size == (width, height)).all(axis=1))
        yield own, masks.take(own).on_canvas((height, width))
