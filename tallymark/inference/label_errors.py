"""Suspects: pictures whose label is probably wrong, told by models that did not learn from them."""

from __future__ import annotations

import numpy as np
import polars as pl

from tallymark.data.items import Items

DIGITS = 6
"""Chances are told to so many digits, so that noise of the arithmetic decides nothing."""


def find_label_errors(
    chances: np.ndarray, label: np.ndarray, items: Items, classes: tuple[str, ...], most: int = 200
) -> pl.DataFrame:
    """Pictures whose label is probably wrong, the likeliest first.

    This is confident learning (Northcutt, Jiang and Chuang, "Confident Learning: Estimating Uncertainty in Dataset
    Labels", Journal of Artificial Intelligence Research 70, 2021): how sure models are of a class differs from class to
    class, so each has a threshold of its own. A picture is suspected when its likeliest class is another than its label
    and at least as likely as that class is, in the mean, in the pictures labelled with it. Of equal chances, the lower
    class counts as the likeliest. A class that no picture is labelled with has no threshold and is never told.

    Parameters
    ----------
    chances: (n, classes), from models that did not learn from the picture. label: (n,) class ids.
    most: how many are told at most.

    Returns
    -------
    item, label, label_name, told, told_name, chance_of_label, chance_of_told and margin, the first chance less the
    second: always below 0. Equal margins are in the order of their ids. Written as CSV, it is a list to exclude.
    """
    _check(chances, label, len(items))
    if len(label) and chances.shape[1] != len(classes):
        raise ValueError(f"{len(classes)} classes, chances of {chances.shape[1]}")
    told = _likeliest(chances)
    rows = np.arange(len(label))
    of_label, of_told = (np.round(chances[rows, kind].astype(float), DIGITS) for kind in (label, told))
    margin = np.round(of_label - of_told, DIGITS)
    sure = of_told >= _thresholds(of_label, label, len(classes))[told]
    kept = np.flatnonzero(sure & (margin < 0))
    names = pl.Series(classes, dtype=pl.String)
    suspects = pl.DataFrame(
        {
            "item": items.ids[kept],
            "label": label[kept].astype(np.int64),
            "label_name": names[label[kept]],
            "told": told[kept],
            "told_name": names[told[kept]],
            "chance_of_label": of_label[kept],
            "chance_of_told": of_told[kept],
            "margin": margin[kept],
        }
    )
    return suspects.sort("margin", "item").head(max(most, 0))


def agreement(chances: np.ndarray, label: np.ndarray, classes: tuple[str, ...]) -> pl.DataFrame:
    """How many pictures have each label, and the share of them whose likeliest class it is, the least first.

    chances: from models that did not learn from the picture. A class without pictures has no row.
    """
    _check(chances, label, len(label))
    names = pl.Series(classes, dtype=pl.String)
    rows = pl.DataFrame({"label": label.astype(np.int64), "name": names[label], "agreed": _likeliest(chances) == label})
    table = rows.group_by("label", "name").agg(pictures=pl.len(), agreement=pl.col("agreed").mean().round(DIGITS))
    return table.sort("agreement", "label")


def _thresholds(of_label: np.ndarray, label: np.ndarray, classes: int) -> np.ndarray:
    """The mean chance that each class has in the pictures labelled with it; infinite without any."""
    count = np.bincount(label, minlength=classes)
    total = np.bincount(label, of_label, minlength=classes)
    # Rounded like the chances: where models are equally sure of all, the mean must not come out above them.
    return np.where(count > 0, np.round(total / np.maximum(count, 1), DIGITS), np.inf)


def _likeliest(chances: np.ndarray) -> np.ndarray:
    return np.argmax(chances, axis=1) if len(chances) else np.empty(0, np.int64)


def _check(chances: np.ndarray, label: np.ndarray, items: int) -> None:
    if chances.ndim != 2 or not len(chances) == len(label) == items:
        raise ValueError(f"{items} items, {len(label)} labels, chances of shape {chances.shape}")
    if not np.isfinite(chances).all():
        raise ValueError("chances that are no numbers")
    if len(label) and (label.min() < 0 or label.max() >= chances.shape[1]):
        raise ValueError(f"labels {label.min()} to {label.max()}, chances of {chances.shape[1]} classes")
