"""The page of suspected label errors: each image with its label and the class that is predicted instead."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tallymark.core.humanize import count, noun, percentage
from tallymark.core.parallel import in_threads
from tallymark.data.catalog import Catalog
from tallymark.drawing.text import placeholder
from tallymark.io.archives import is_file
from tallymark.modalities.gallery import GalleryItem
from tallymark.modalities.render import renderer_of
from tallymark.reporting.blocks import Paragraph, Section, Tile, gallery, table
from tallymark.reporting.gallery import draw_item
from tallymark.reporting.page import write_html

LEAD = (
    "Models that were not trained on an image predict another class with more confidence than its label. Check each "
    "image before you change its label."
)
USAGE = (
    "The most likely errors first. To train without them, delete the rows of images whose label is correct from the "
    "list of suspects (a CSV file), and give the rest to --exclude."
)
MOST = 60
"""Rows of a table, at most."""
BY_CLASS = f"Held-out images of each class, the {MOST} classes with the highest error first; score.json has all."
CONFUSED = f"Labels of held-out images, and the class predicted first in their place: the {MOST} largest counts."
KINDS = {
    "wrong_label": "Wrong label: another class is predicted with confidence.",
    "cross_domain": "Cross-domain: unlike all other images, as a package or raw ingredients among dishes.",
    "cross_category": "Cross-category: the halves look different, as two dishes in one image.",
}
"""What each kind of label error means."""
PAIRS = "If a pair is confused in both directions, the classes may be hard to distinguish, and few labels be wrong."


def write_label_errors(
    catalog: Catalog,
    suspects: pl.DataFrame,
    out: Path,
    *,
    title: str,
    shown: int = 100,
    classes: pl.DataFrame | None = None,
    confused_labels: pl.DataFrame | None = None,
) -> None:
    """Write one self-contained page about suspected label errors.

    Parameters
    ----------
    catalog: the data set that the images are in.
    suspects: as `find_label_errors` returns them, the most likely errors first.
    shown: how many images are drawn at most.
    classes, confused_labels: errors by class, and pairs of label and prediction, of all held-out images.
    """
    drawn = suspects.head(max(shown, 0))
    confused = confusions(suspects)
    facts = [
        (count(suspects.height), noun(suspects.height, "suspected label error")),
        *((count(number), kind.replace("_", " ")) for kind, number in _by_kind(suspects)),
        (count(drawn.height), "shown here"),
        (count(confused.height), noun(confused.height, "pair of classes", "pairs of classes")),
        (count(len(catalog)), noun(len(catalog), catalog.medium.noun)),
    ]
    if suspects.is_empty():
        sections = [Section("Suspects", [Paragraph("No label is suspected to be wrong.")])]
    else:
        heading = f"The {count(drawn.height)} most likely of {count(suspects.height)}"
        pairs = table(["label", "predicted instead", f"{catalog.medium.noun}s", "reverse"], confused.iter_rows())
        sections = [
            Section("Confused most often", pairs, PAIRS),
            Section("Suspects", gallery(heading, _tiles(catalog, drawn)), f"{USAGE} {' '.join(KINDS.values())}"),
        ]
    for heading, numbers, note in (("Errors by class", classes, BY_CLASS), ("Confusions", confused_labels, CONFUSED)):
        if numbers is not None and not numbers.is_empty():
            rows = numbers.head(MOST).with_columns(pl.col(pl.Float64).round(3)).iter_rows()
            sections.append(Section(heading, table(numbers.columns, rows), note))
    write_html(out, title, LEAD, facts, sections)


def _by_kind(suspects: pl.DataFrame) -> list[tuple[str, int]]:
    """The number of suspects of each kind, where there are any."""
    return [(kind, found) for kind in KINDS if (found := suspects.filter(kind=kind).height)]


def confusions(suspects: pl.DataFrame) -> pl.DataFrame:
    """Pairs of a label and the class predicted instead, the most frequent first.

    Columns: label_name, predicted_name, images, and reverse, the number of images with label and prediction swapped.
    """
    suspects = suspects.filter(pl.col("label") != pl.col("predicted"))
    pairs = suspects.group_by("label", "predicted").agg(pl.first("label_name", "predicted_name"), images=pl.len())
    swapped = pairs.select(label="predicted", predicted="label", reverse="images")
    both = pairs.join(swapped, ["label", "predicted"], "left").with_columns(pl.col("reverse").fill_null(0))
    ranked = both.sort("images", "label", "predicted", descending=[True, False, False])
    return ranked.select("label_name", "predicted_name", "images", "reverse")


def _tiles(catalog: Catalog, suspects: pl.DataFrame) -> list[Tile]:
    items = catalog.items.find(suspects["item"]).tolist()
    pairs = list(zip(items, suspects.iter_rows(named=True), strict=True))
    return in_threads(lambda pair: _tile(catalog, *pair), pairs, "drawing suspects")


def _tile(catalog: Catalog, item: int, suspect: Mapping[str, Any]) -> Tile:
    """The image with its label, and the probabilities of the label and of the predicted class."""
    predicted = f"{suspect['predicted_name']}? {percentage(suspect['predicted_probability'], 1)}"
    label = f"labelled {suspect['label_name']}: {percentage(suspect['label_probability'], 1)}"
    lines = [label, suspect["kind"].replace("_", " ")]
    return Tile.make(_image(catalog, item), suspect["item"], lines, predicted)


def _image(catalog: Catalog, item: int) -> np.ndarray:
    size = renderer_of(catalog).thumbnail_size
    if item < 0:
        return placeholder("not in this data set", size)
    path = catalog.path(item)
    if path is None or not is_file(path):
        return placeholder("its file is missing", size)
    return draw_item(catalog, GalleryItem(item))
