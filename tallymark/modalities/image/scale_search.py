"""The scale that images of unknown resolution are shown at: the one at which their objects look as in training.

A few crops are predicted at several scales. Objects that are shown too small or too large are detected with less
confidence, and their boxes are smaller or larger than those in training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tallymark.core.recipe import Recipe
from tallymark.modalities.base import Probe
from tallymark.modalities.image.resize import resize
from tallymark.modalities.image.scale import TrainingObjects, TrainingScale

PROBE_SHARE = 0.6
"""Detections are considered from this share of the score threshold on: at a wrong scale most are below it."""
STEP = 2**0.5
"""Factor between neighbouring scales."""
MARGIN = 2.0
"""Scales are tried up to this factor beyond the two likely ones: of the training's pixels, and of its whole images."""
MAX_ENLARGED = 4.0
MIN_SIDE = 64
"""Shorter crops, in pixels of the network, are not probed."""
CROPS = ((0.5, 0.5), (0.25, 0.25), (0.75, 0.75), (0.25, 0.75))
"""Centres of the crops, as shares of width and height."""
SIZE_WEIGHT = 0.2
"""How much a deviation of object sizes by one standard deviation lowers the fit, squared."""
TOLERANCE = 0.15
"""A likely scale is kept unless another one fits better by this much."""
MIN_DETECTIONS = 8
"""Detections at the best scale, at least: fewer say nothing."""
MIN_GROWTH = 0.25
"""Exponent by which detections must grow with the scale: those that do not are textures, and say nothing about it."""
PRIOR_DETECTIONS = 3
"""Detections at the lowest confidence that are added to those found, so that one lucky detection decides nothing."""


class ScaleEstimate(NamedTuple):
    """scale: pixels of the network per pixel of the file. certain: False if the detections do not tell."""

    scale: float
    certain: bool


def probe_threshold(recipe: Recipe) -> float:
    """The confidence from which on detections are considered."""
    return PROBE_SHARE * recipe.score_threshold


def mean_confidence(scores: np.ndarray, recipe: Recipe) -> float:
    """The mean confidence of the considered detections; nan without any."""
    considered = scores[scores >= probe_threshold(recipe)]
    return float(considered.mean()) if len(considered) else np.nan


def estimate_scale(
    images: Sequence[np.ndarray], probe: Probe, trained: TrainingScale, recipe: Recipe, input_size: int
) -> ScaleEstimate:
    """The scale for images (height, width, 3) of about one size. input_size: longer side of training images."""
    longer = max(max(image.shape[:2]) for image in images)
    whole = input_size / longer
    likely = [whole] if trained.pixel_scale is None else [trained.pixel_scale, whole]
    if trained.objects is None:
        return ScaleEstimate(likely[0], False)
    fits = dict[float, float]()
    sizes = dict[float, np.ndarray]()
    for scale in _scales(likely):
        seen = [probe(crop) for crop in _crops(images, scale, input_size)]
        size = np.concatenate([np.empty(0), *(objects.size for objects in seen)])
        score = np.concatenate([np.empty(0), *(objects.score for objects in seen)])
        considered = score >= probe_threshold(recipe)
        sizes[scale] = size[considered]
        fits[scale] = _fit(size[considered], score[considered], trained.objects, probe_threshold(recipe))
    best = max(fits, key=lambda scale: fits[scale])
    if len(sizes[best]) < MIN_DETECTIONS or _growth(sizes, best) < MIN_GROWTH:
        return ScaleEstimate(likely[0], False)
    kept = [scale for scale in likely if fits[scale] >= fits[best] - TOLERANCE]
    return ScaleEstimate([*kept, best][0], True)


def _growth(sizes: Mapping[float, np.ndarray], best: float) -> float:
    """The exponent by which the median size of detections grows with the scale, around the best one."""
    near = [scale for scale in sizes if abs(np.log(scale / best)) < 1.1 * np.log(2)]
    known = [scale for scale in near if len(sizes[scale]) >= MIN_DETECTIONS]
    if len(known) < 2:
        return 0.0
    medians = [np.median(sizes[scale]) for scale in known]
    return float(np.polyfit(np.log(known), np.log(medians), 1)[0])


def _fit(size: np.ndarray, score: np.ndarray, usual: TrainingObjects, threshold: float) -> float:
    """How much detections are like those in training: about 1 if they are, less if they are not."""
    if not len(size):
        return -np.inf
    confidence = (score.sum() + PRIOR_DETECTIONS * threshold) / (len(score) + PRIOR_DETECTIONS)
    margin = max(usual.confidence - threshold, 1e-3)
    deviation = np.log(np.median(size) / usual.size) / max(usual.spread, 0.1)
    return float((confidence - threshold) / margin - SIZE_WEIGHT * deviation**2)


def _scales(likely: Sequence[float]) -> list[float]:
    """The likely scales, and a grid around and between them."""
    lowest, highest = min(likely) / MARGIN, min(max(likely) * MARGIN, max(MAX_ENLARGED, *likely))
    steps = range(int(np.floor(np.log(highest / lowest) / np.log(STEP))) + 1)
    grid = [lowest * STEP**step for step in steps]
    apart = [scale for scale in grid if all(abs(np.log(scale / one)) > np.log(STEP) / 2 for one in likely)]
    return sorted({*likely, *apart})


def _crops(images: Sequence[np.ndarray], scale: float, side: int) -> list[np.ndarray]:
    """Crops of at most `side` pixels of the network: one of each image, or several of a single one."""
    crops = []
    for number in range(len(CROPS)):
        image = images[number % len(images)]
        height, width = image.shape[:2]
        across, down = (min(length, max(round(side / scale), 1)) for length in (width, height))
        if number >= len(images) and (across, down) == (width, height):
            continue  # all of this image was shown
        x, y = CROPS[number if len(images) == 1 else number // len(images)]
        left, top = (round(share * (length - cut)) for share, length, cut in ((x, width, across), (y, height, down)))
        shown = (max(round(across * scale), 1), max(round(down * scale), 1))
        if max(shown) >= MIN_SIDE:
            crops.append(resize(image[top : top + down, left : left + across], *shown))
    return crops
