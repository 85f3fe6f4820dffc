"""Gallery items as tiles: a thumbnail with annotations, the name of the item, and facts about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tallymark.core.humanize import clock, plural
from tallymark.core.parallel import in_threads
from tallymark.data.catalog import NO_GROUP, Catalog
from tallymark.drawing.text import placeholder
from tallymark.io.media import BadMedia
from tallymark.modalities.gallery import GalleryItem
from tallymark.modalities.render import renderer_of
from tallymark.reporting.blocks import Tile
from tallymark.reporting.summary_tables import countable, object_nouns


def make_tiles(catalog: Catalog, items: Sequence[GalleryItem], title: str) -> list[Tile]:
    """A tile for each item; `title` names the progress bar."""
    return in_threads(lambda item: make_tile(catalog, item), items, title)


def make_tile(catalog: Catalog, item: GalleryItem) -> Tile:
    """The tile of an item; a placeholder, and a fact, say why its file cannot be read."""
    group = catalog.group[item.item]
    facts = ["" if group == NO_GROUP else group, catalog.split[item.item]]
    if item.window is not None:
        facts.append(f"{clock(item.window[0])} to {clock(item.window[1])}")
    elif not catalog.labelled[item.item]:
        facts.append("unlabelled")
    elif countable(catalog) and catalog.truth is not None:
        facts.append(plural(int(catalog.truth.counts[item.item]), *object_nouns(catalog)))
    image, unread = _draw(catalog, item)
    return Tile.make(image, catalog.items.ids[item.item], [*facts, unread], item.reason)


def draw_item(catalog: Catalog, item: GalleryItem) -> np.ndarray:
    """An item with its annotations as an RGB image, or a placeholder if its file cannot be read."""
    return _draw(catalog, item)[0]


def _draw(catalog: Catalog, item: GalleryItem) -> tuple[np.ndarray, str]:
    """The image, and why it is a placeholder if it is."""
    renderer = renderer_of(catalog)
    try:
        return renderer.draw(catalog, item), ""
    except BadMedia as bad:
        unread = f"cannot be read: {bad.found}"
        return placeholder(unread, renderer.thumbnail_size), unread
