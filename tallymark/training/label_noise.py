"""Scores of label noise in held-out images: how unlike the others an image is, and how much its halves differ."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tallymark.core.problems import EVERY, Problems
from tallymark.core.recipe import Recipe
from tallymark.data.catalog import Catalog
from tallymark.detector.network import Classifier
from tallymark.detector.outputs import Outputs
from tallymark.inference.label_errors import NoiseScores, robust_z
from tallymark.inference.pipeline import Model, infer_outputs
from tallymark.training.devices import choose_precision
from tallymark.training.linear_probe import MIN_STD, pooled_features

NEIGHBOURS = 10
SMALLEST = 64
"""Halves of images are enlarged to so many pixels at least."""
STRIDE = 32
"""Their sides are made multiples of it, since backbones halve their input up to five times."""
COMPARED = 1_000
"""Images that the halves of each image are compared with."""
BLOCK = 1024
"""Images whose similarities to all others are computed at once."""


def noise_scores(network: Classifier, catalog: Catalog, recipe: Recipe) -> NoiseScores:
    """The scores of images that the network was not trained on, compared with each other."""
    models = [_probe(network, choose_precision(recipe, network.head.linear.weight.device))]
    outputs = infer_outputs(catalog, models, recipe.without_tta(), Problems(EVERY), title="label noise")
    rows = dict(outputs)
    unlike, parts = np.full(len(catalog), np.nan), np.full(len(catalog), np.nan)
    if rows:
        read = np.array(sorted(rows))
        features, halves = (
            np.stack([rows[number][name] for number in read.tolist()]) for name in ("features", "halves")
        )
        unlike[read] = -similarity(features)
        parts[read] = divided(halves, features)
    return NoiseScores(robust_z(unlike), parts)


def divided(halves: np.ndarray, features: np.ndarray) -> np.ndarray:
    """(n,) how many of the other images have a half that is more like one half of an image than its own other half is.

    Of two dishes in one image, the halves are as unlike as those of two images: about one half of the others. The share
    is the larger of that of left and right, and of upper and lower halves. halves: (n, 2, 2, d) features. features:
    (n, d) of whole images, by which those of the halves are standardized. Similarity is that of the cosine.
    """
    if len(halves) < 2:
        return np.zeros(len(halves))
    standard = (halves - features.mean(axis=0)) / (features.std(axis=0) + MIN_STD)
    unit = standard / np.maximum(np.linalg.norm(standard, axis=-1, keepdims=True), 1e-9)
    own = (unit[:, :, 0] * unit[:, :, 1]).sum(axis=-1)
    others = np.random.default_rng(0).permutation(len(unit))[:COMPARED]
    nearer = np.stack([unit[:, pair, 0] @ unit[others, pair, 1].T > own[:, pair, None] for pair in (0, 1)])
    nearer[:, others, np.arange(len(others))] = False  # an image itself
    return np.asarray((nearer.sum(axis=2) / (len(others) - np.isin(np.arange(len(unit)), others))).max(axis=0))


def similarity(features: np.ndarray) -> np.ndarray:
    """(n,) the mean cosine similarity of each image to its nearest others, from (n, d) features."""
    unit = features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-9)
    nearest = min(NEIGHBOURS, len(unit) - 1)
    if nearest < 1:
        return np.zeros(len(unit))
    means = []
    for start in range(0, len(unit), BLOCK):
        block = unit[start : start + BLOCK] @ unit.T
        block[np.arange(len(block)), start + np.arange(len(block))] = -np.inf
        means.append(np.partition(block, -nearest, axis=1)[:, -nearest:].mean(axis=1))
    return np.concatenate(means)


def _probe(network: Classifier, precision: torch.dtype) -> Model:
    """A model that outputs features of an image, and of its halves: (2, 2, d), left and right, upper and lower."""
    features = pooled_features(network, precision)

    def enlarged(image: Tensor) -> Tensor:
        factor = max(1, SMALLEST / min(image.shape[2:]))
        sides = [math.ceil(side * factor / STRIDE) * STRIDE for side in image.shape[2:]]
        return functional.interpolate(image, sides, mode="bilinear") if sides != [*image.shape[2:]] else image

    def pooled(image: Tensor) -> Tensor:
        return features(enlarged(image))

    @torch.inference_mode()
    def model(inputs: np.ndarray) -> Outputs:
        image = torch.from_numpy(inputs).permute(0, 3, 1, 2).float()
        height, width = image.shape[2] // 2, image.shape[3] // 2
        pairs = ((image[..., :width], image[..., -width:]), (image[..., :height, :], image[..., -height:, :]))
        halves = torch.stack([pooled(torch.cat(pair)).view(2, len(image), -1).transpose(0, 1) for pair in pairs], 1)
        return {
            "features": pooled(image).numpy(force=True),
            "halves": halves.numpy(force=True).astype(np.float16),
        }

    return model
