"""Label errors: images whose label is probably wrong, by models that were not trained on them.

This is confident learning (Northcutt, Jiang and Chuang, "Confident Learning: Estimating Uncertainty in Dataset Labels",
Journal of Artificial Intelligence Research 70, 2021).
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tallymark.data.items import Items

DIGITS = 6
"""Probabilities are rounded to so many digits, so that numerical noise decides nothing."""


def find_label_errors(
    probabilities: np.ndarray, label: np.ndarray, items: Items, classes: tuple[str, ...], most: int = 200
) -> pl.DataFrame:
    """Images whose label is probably wrong, the most probable errors first.

    Models are more confident of some classes than of others, so that each class has a threshold of its own: the mean
    probability of the class over the images labelled with it. A label is reported when another class is the most
    probable one and reaches its threshold. Of equal probabilities, the lower class counts as the most probable. A class
    that no image is labelled with has no threshold and is never reported.

    Parameters
    ----------
    probabilities: (n, classes), from models that were not trained on the image.
    label: (n,) class numbers.
    most: maximum number of rows.

    Returns
    -------
    item, label, label_name, predicted, predicted_name, label_probability, predicted_probability, and margin: the first
    probability less the second, always below 0. Equal margins are ordered by id. Written as CSV, it is an exclusion
    list.
    """
    _check(probabilities, label, len(items))
    if len(label) and probabilities.shape[1] != len(classes):
        raise ValueError(f"{len(classes)} classes, probabilities of {probabilities.shape[1]}")
    predicted = _most_probable(probabilities)
    rows = np.arange(len(label))
    of_label, of_predicted = (
        np.round(probabilities[rows, column].astype(float), DIGITS) for column in (label, predicted)
    )
    margin = np.round(of_label - of_predicted, DIGITS)
    confident = of_predicted >= _thresholds(of_label, label, len(classes))[predicted]
    kept = np.flatnonzero(confident & (margin < 0))
    names = pl.Series(classes, dtype=pl.String)
    errors = pl.DataFrame(
        {
            "item": items.ids[kept],
            "label": label[kept].astype(np.int64),
            "label_name": names[label[kept]],
            "predicted": predicted[kept],
            "predicted_name": names[predicted[kept]],
            "label_probability": of_label[kept],
            "predicted_probability": of_predicted[kept],
            "margin": margin[kept],
        }
    )
    return errors.sort("margin", "item").head(max(most, 0))


def agreement(probabilities: np.ndarray, label: np.ndarray, classes: tuple[str, ...]) -> pl.DataFrame:
    """How many images have each label, and for which share of them it is the most probable class, the lowest first.

    probabilities: from models that were not trained on the image. A class without images has no row.
    """
    _check(probabilities, label, len(label))
    names = pl.Series(classes, dtype=pl.String)
    agreed = _most_probable(probabilities) == label
    rows = pl.DataFrame({"label": label.astype(np.int64), "name": names[label], "agreed": agreed})
    table = rows.group_by("label", "name").agg(images=pl.len(), agreement=pl.col("agreed").mean().round(DIGITS))
    return table.sort("agreement", "label")


def _thresholds(of_label: np.ndarray, label: np.ndarray, classes: int) -> np.ndarray:
    """The mean probability of each class over the images labelled with it; infinite without any."""
    count = np.bincount(label, minlength=classes)
    total = np.bincount(label, of_label, minlength=classes)
    # Rounded like the probabilities: where all are alike, their mean must not come out above them.
    return np.where(count > 0, np.round(total / np.maximum(count, 1), DIGITS), np.inf)


def _most_probable(probabilities: np.ndarray) -> np.ndarray:
    return np.argmax(probabilities, axis=1) if len(probabilities) else np.empty(0, np.int64)


def _check(probabilities: np.ndarray, label: np.ndarray, items: int) -> None:
    if probabilities.ndim != 2 or not len(probabilities) == len(label) == items:
        raise ValueError(f"{items} items, {len(label)} labels, probabilities of shape {probabilities.shape}")
    if not np.isfinite(probabilities).all():
        raise ValueError("probabilities that are not finite")
    if len(label) and (label.min() < 0 or label.max() >= probabilities.shape[1]):
        raise ValueError(f"labels {label.min()} to {label.max()}, probabilities of {probabilities.shape[1]} classes")
