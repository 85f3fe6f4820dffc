"""Linear probe: the last layer of a classifier, fitted to pretrained features before fine-tuning.

The gradients of a random last layer would distort such features in the first steps (Kumar et al. 2022: Fine-Tuning can
Distort Pretrained Features).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tallymark.core.problems import EVERY, Problems
from tallymark.core.recipe import Recipe
from tallymark.data.catalog import LabelledCatalog
from tallymark.detector.coders import CODERS
from tallymark.detector.label_coder import TEMPERATURES
from tallymark.detector.network import Classifier, Network
from tallymark.detector.outputs import Outputs
from tallymark.inference.pipeline import Model, infer_outputs
from tallymark.inference.temperature import log_losses
from tallymark.training.devices import choose_precision

PENALTIES = (0.015, 0.05, 0.15)
"""L2 penalties to choose from, for standardised features. Strong ones are better with many images of each class."""
HELD_OUT = 5
"""One in so many images chooses the penalty."""
MIN_STD = 1e-3
"""Added to the standard deviation of each feature."""
MAX_ITERATIONS = 100
MAX_IMAGES = 20_000


def starts_from_probe(network: Network[Any], recipe: Recipe) -> bool:
    """Whether a training begins with a linear probe: that of a classifier of which the backbone alone is pretrained."""
    return recipe.weights != "none" and not network.head_fitted and CODERS[recipe.task].ranked


def init_classifier(network: Classifier, catalog: LabelledCatalog, recipe: Recipe) -> None:
    """Fit the last layer of a network to labelled images, resized as in prediction."""
    chosen = np.sort(np.random.default_rng(recipe.seed).permutation(len(catalog))[:MAX_IMAGES])
    selected = catalog.select(chosen)
    labels = selected.truth
    models = [as_feature_extractor(network, choose_precision(recipe, network.head.linear.weight.device))]
    outputs = infer_outputs(selected, models, recipe.without_tta(), Problems(EVERY), title="linear probe")
    rows = [(number, one["classes"]) for number, one in outputs]
    if not rows:  # no image could be read
        return
    readable = np.array([number for number, _ in rows])
    features = np.array([one for _, one in rows])
    linear = network.head.linear
    targets = np.full((len(selected), linear.out_features), recipe.label_smoothing / linear.out_features)
    targets[labels.item, labels.labels] += 1 - recipe.label_smoothing
    inputs = torch.from_numpy(features).to(linear.weight)
    probabilities = torch.from_numpy(targets[readable]).to(linear.weight)
    weight, bias = fit_linear(inputs, probabilities, choose_penalty(inputs, probabilities, recipe.seed))
    with torch.no_grad():
        linear.weight.copy_(weight)
        linear.bias.copy_(bias)


def as_feature_extractor(network: Classifier, precision: torch.dtype) -> Model:
    """The network up to its last layer, as a model whose `classes` are pooled features."""
    features = pooled_features(network, precision)

    @torch.inference_mode()
    def model(inputs: np.ndarray) -> Outputs:
        return {"classes": features(torch.from_numpy(inputs).permute(0, 3, 1, 2)).numpy(force=True)}

    return model


def pooled_features(network: Classifier, precision: torch.dtype) -> Callable[[Tensor], Tensor]:
    """Images (n, channels, height, width) to features (n, features): a copy of the network up to its last layer."""
    backbone = copy.deepcopy(network.backbone).eval()
    backbone.freeze(len(backbone.stages))  # frozen stages are faster
    pool = network.head.pool
    device = network.head.linear.weight.device

    def features(images: Tensor) -> Tensor:
        with torch.autocast(device.type, precision, enabled=precision != torch.float32):
            levels = backbone(images.to(device).float())
        return pool([level.float() for level in levels])

    return features


def choose_penalty(features: Tensor, probabilities: Tensor, seed: int = 0) -> float:
    """The L2 penalty by which the labels of held-out images are most probable, each at its best temperature.

    A stronger penalty ranks better for longer than it is certain enough, and the temperature is tuned later anyway.
    """
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(features))).to(features.device)
    held_out, rest = order[: len(order) // HELD_OUT], order[len(order) // HELD_OUT :]
    if not len(held_out):
        return PENALTIES[0]
    labels = probabilities[held_out].argmax(1).numpy(force=True)
    losses = []
    for penalty in PENALTIES:
        weight, bias = fit_linear(features[rest], probabilities[rest], penalty)
        predicted = (features[held_out] @ weight.T + bias).softmax(1).numpy(force=True)
        losses.append(log_losses(predicted, labels, TEMPERATURES).min())
    return PENALTIES[int(np.argmin(losses))]


def fit_linear(features: Tensor, probabilities: Tensor, penalty: float) -> tuple[Tensor, Tensor]:
    """Weight (classes, features) and bias of a softmax regression on target probabilities (n, classes)."""
    mean = features.mean(0)
    std = features.std(0, correction=0) + MIN_STD
    standardized = (features - mean) / std
    weight = torch.zeros(probabilities.shape[1], features.shape[1], device=features.device, requires_grad=True)
    bias = torch.zeros(probabilities.shape[1], device=features.device, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=MAX_ITERATIONS, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        log_probabilities = (standardized @ weight.T + bias).log_softmax(1)
        loss = -(probabilities * log_probabilities).sum(1).mean() + penalty * weight.square().sum()
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no type for it
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]  # nor for this
    scaled = weight.detach() / std
    return scaled, bias.detach() - scaled @ mean
