"""Label errors: images whose label is probably wrong, by models that were not trained on them, and the kind of error.

There are three kinds. `cross_domain`: the image is unlike all others, as a package among dishes. `cross_category`:
its halves look different, as two dishes in one image. `wrong_label`: any other image of which another class
is predicted with confidence; this is confident learning (Northcutt, Jiang and Chuang, "Confident Learning: Estimating
Uncertainty in Dataset Labels", Journal of Artificial Intelligence Research 70, 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from tallymark.data.items import Items

DIGITS = 6
"""Probabilities are rounded to so many digits, so that numerical noise decides nothing."""
UNLIKE = 1.5
"""Robust standard deviations beyond the median from which an image is out of the domain."""
DIVIDED = 0.4
"""Share of other images from which an image shows several dishes, see `NoiseScores.parts`."""


class NoiseScores(NamedTuple):
    """Scores of noise in images, by the features of a network; nan where an image could not be read.

    unlike: how far an image is from its nearest neighbours, as a robust z-score.
    parts: the share of other images that one half of an image is more like than its own other half.
    """

    unlike: np.ndarray
    parts: np.ndarray

    def select(self, index: np.ndarray) -> NoiseScores:
        return NoiseScores(self.unlike[index], self.parts[index])


def concat_noise_scores(several: Sequence[NoiseScores]) -> NoiseScores:
    """The scores of different images as one."""
    return NoiseScores(*(np.concatenate(column) for column in zip(*several, strict=True)))


def robust_z(values: np.ndarray) -> np.ndarray:
    """How far values are above their median, in standard deviations that the median absolute deviation implies."""
    known = values[np.isfinite(values)]
    if not len(known):
        return np.full(len(values), np.nan)
    median = np.median(known)
    deviation = 1.4826 * np.median(np.abs(known - median))
    return np.asarray((values - median) / deviation if deviation > 0 else np.where(np.isfinite(values), 0.0, np.nan))


def find_label_errors(
    probabilities: np.ndarray,
    label: np.ndarray,
    items: Items,
    classes: tuple[str, ...],
    most: int = 200,
    noise: NoiseScores | None = None,
) -> pl.DataFrame:
    """Images whose label is probably wrong, the most probable errors first.

    Models are more confident of some classes than of others, so that each class has a threshold of its own: the mean
    probability of the class over the images labelled with it. A label is reported when another class is the most
    probable one and reaches its threshold. Of equal probabilities, the lower class counts as the most probable. A class
    that no image is labelled with has no threshold and is never reported. With `noise`, images are also reported that
    are unlike all others, unless their label is predicted with its usual probability, and images whose halves differ.

    Parameters
    ----------
    probabilities: (n, classes), from models that were not trained on the image.
    label: (n,) class numbers.
    most: maximum number of rows. noise: scores of the images, which decide the kinds of errors.

    Returns
    -------
    item, kind, label, label_name, predicted, predicted_name, label_probability, predicted_probability, and margin: the
    first probability less the second, below 0 unless the label itself is the most probable class. Equal margins are
    ordered by id. Written as CSV, it is an exclusion list.
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
    thresholds = _thresholds(of_label, label, len(classes))
    wrong = (of_predicted >= thresholds[predicted]) & (margin < 0)
    kind = np.where(wrong, "wrong_label", "").astype(object)
    if noise is not None:
        kind[noise.parts > DIVIDED] = "cross_category"
        kind[(noise.unlike > UNLIKE) & (of_label < thresholds[label])] = "cross_domain"
    kept = np.flatnonzero(kind != "")
    names = pl.Series(classes, dtype=pl.String)
    errors = pl.DataFrame(
        {
            "item": items.ids[kept],
            "kind": pl.Series(kind[kept].tolist(), dtype=pl.String),
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
