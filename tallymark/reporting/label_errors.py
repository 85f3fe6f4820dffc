"""The page of pictures whose label is probably wrong: each with its label and what the models tell instead."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tallymark.core.parallel import in_threads
from tallymark.data.catalog import Catalog
from tallymark.io.media import BadMedia
from tallymark.reporting.counts import quiet
from tallymark.reporting.drawings import blank
from tallymark.reporting.humanize import count, share
from tallymark.reporting.page import Section, gallery, page, table, tile
from tallymark.reporting.picks import Pick
from tallymark.reporting.tiles import draw

LEAD = "Models that did not learn from a picture are surer of another class than of its label. Look before you judge."
USE = (
    "The likeliest first. To train without them, delete from the list of suspects (a CSV file) the rows of pictures "
    "whose label is right, and give the rest to --exclude."
)
PAIRS = "Where a pair is confused both ways, the two classes may just look alike, and few of the labels be wrong."


def write_label_errors(catalog: Catalog, suspects: pl.DataFrame, out: Path, *, title: str, shown: int = 100) -> None:
    """Write one self-contained page about suspected labels.

    Parameters
    ----------
    catalog: the data set that the pictures are in. suspects: as `find_suspects` gives them, the likeliest first.
    shown: how many pictures are drawn at most.
    """
    drawn = suspects.head(max(shown, 0))
    confused = confusions(suspects)
    facts = [
        (count(suspects.height), "suspected label" if suspects.height == 1 else "suspected labels"),
        (count(drawn.height), "shown here"),
        (count(confused.height), "pair of classes" if confused.height == 1 else "pairs of classes"),
        (count(len(catalog)), catalog.medium.noun + ("" if len(catalog) == 1 else "s")),
    ]
    if suspects.is_empty():
        sections = [Section("Suspects", quiet("No label is suspected to be wrong."))]
    else:
        heading = f"The {count(drawn.height)} likeliest of {count(suspects.height)}"
        pairs = table(["label", "told instead", "pictures", "the other way round"], confused.iter_rows())
        sections = [
            Section("Confused most often", pairs, PAIRS),
            Section("Suspects", gallery(heading, _tiles(catalog, drawn)), USE),
        ]
    out.write_text(page(title, LEAD, facts, sections), encoding="utf-8")


def confusions(suspects: pl.DataFrame) -> pl.DataFrame:
    """Pairs of a label and the class told instead, the most frequent first: names, how often, how often reversed."""
    pairs = suspects.group_by("label", "predicted").agg(pl.first("label_name", "predicted_name"), pictures=pl.len())
    back = pairs.select(label="predicted", predicted="label", reverse="pictures")
    both = pairs.join(back, ["label", "predicted"], "left").with_columns(pl.col("reverse").fill_null(0))
    ranked = both.sort("pictures", "label", "predicted", descending=[True, False, False])
    return ranked.select("label_name", "predicted_name", "pictures", "reverse")


def _tiles(catalog: Catalog, suspects: pl.DataFrame) -> list[str]:
    places = catalog.items.find(suspects["item"]).tolist()
    pairs = list(zip(places, suspects.iter_rows(named=True), strict=True))
    return in_threads(lambda pair: _tile(catalog, *pair), pairs, "drawing suspects")


def _tile(catalog: Catalog, item: int, suspect: Mapping[str, Any]) -> str:
    """What the models tell above the name, the label below it; the label also stands in the picture."""
    told = f"{suspect['predicted_name']}? {share(suspect['predicted_probability'], 1)}"
    label = f"labelled {suspect['label_name']}: {share(suspect['label_probability'], 1)}"
    return tile(_picture(catalog, item), suspect["item"], [label], told)


def _picture(catalog: Catalog, item: int) -> np.ndarray:
    if item < 0:
        return blank("not in this data set")
    path = catalog.path(item)
    if path is None or not path.is_file():
        return blank("its file is missing")
    try:
        return draw(catalog, Pick(item))
    except BadMedia as bad:
        return blank(f"cannot be read: {bad.found}")
