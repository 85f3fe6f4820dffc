"""Drawings of predictions: an image file of each item, of each of its cameras, or of windows of a recording."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

from tallymark.core.outputs import make_folder, write_bytes
from tallymark.core.parallel import in_threads
from tallymark.core.problems import Problems
from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.geometry import Geometry
from tallymark.io.media import BadMedia
from tallymark.io.names import output_paths, safe_name
from tallymark.modalities.render import renderer_of

QUALITY = 90
"""Of the JPEG files."""
FORMATS = {".jpg": "JPEG", ".png": "PNG"}
LONGEST_VIEW = 64
"""Bytes that the name of a camera and the suffix add to the name of an item."""


def write_drawings(
    catalog: Catalog,
    predictions: Annotations[Geometry],
    items: np.ndarray,
    folder: Path,
    problems: Problems,
    recipe: Recipe | None = None,
) -> list[Path]:
    """Draw the items at these indices with their predictions, and with the truth where it is known.

    problems: gets the items that the system fails to read by now. recipe: of the model.

    Returns
    -------
    The files, named after the item, and after the camera or the start of the window where there is one; none of an item
    that cannot be read.
    """
    renderer = renderer_of(catalog)
    suffix = renderer.drawing_suffix
    stems = output_paths(folder, [catalog.items.ids[item] for item in items.tolist()], "", reserved=LONGEST_VIEW)
    for place in dict.fromkeys(stem.parent for stem in stems):
        make_folder(place)

    failed = dict[int, BadMedia]()

    def write(at: int) -> list[Path]:
        try:
            drawn = renderer.drawings(catalog, predictions, int(items[at]), recipe)
        except BadMedia as bad:
            if bad.transient:  # what is damaged was reported when it was predicted
                failed[int(items[at])] = bad
            return []
        views = [f"_{safe_name(view, LONGEST_VIEW - 5)}" if view else "" for view in drawn]
        paths = [stems[at].with_name(f"{stems[at].name}{view}{suffix}") for view in views]
        for path, image in zip(paths, drawn.values(), strict=True):
            encoded = io.BytesIO()
            Image.fromarray(image).save(encoded, FORMATS[suffix], quality=QUALITY)
            write_bytes(path, encoded.getbuffer(), sync=False)
        return paths

    paths = [path for paths in in_threads(write, range(len(items)), "drawing predictions") for path in paths]
    for item, bad in sorted(failed.items()):
        problems.add(catalog.unread(item, bad))
    return paths
