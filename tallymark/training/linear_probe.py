"""Linear probe: the last layer of a classifier, fitted to pretrained features before fine-tuning.

The gradients of a random last layer would distort such features in the first steps (Kumar et al. 2022: Fine-Tuning can
Distort Pretrained Features).
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tallymark.core.problems import EVERY, Problems
from tallymark.core.recipe import Recipe
from tallymark.data.catalog import LabelledCatalog
from tallymark.detector.coders import CODERS
from tallymark.detector.network import Classifier, Network
from tallymark.detector.outputs import Outputs
from tallymark.inference.pipeline import Model, infer_outputs

WEIGHT_DECAY = 0.05
"""L2 penalty for standardised features: strong, since there are a thousand features and few images."""
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
    models = [as_feature_extractor(network)]
    outputs = infer_outputs(selected, models, recipe.without_tta(), Problems(EVERY), title="linear probe")
    rows = [(number, one["classes"]) for number, one in outputs]
    if not rows:  # no image could be read
        return
    readable = np.array([number for number, _ in rows])
    features = np.array([one for _, one in rows])
    linear = network.head.linear
    targets = np.full((len(selected), linear.out_features), recipe.label_smoothing / linear.out_features)
    targets[labels.item, labels.labels] += 1 - recipe.label_smoothing
    weight, bias = fit_linear(
        torch.from_numpy(features).to(linear.weight), torch.from_numpy(targets[readable]).to(linear.weight)
    )
    with torch.no_grad():
        linear.weight.copy_(weight)
        linear.bias.copy_(bias)


def as_feature_extractor(network: Classifier) -> Model:
    """The network up to its last layer, as a model whose `classes` are pooled features."""
    backbone = copy.deepcopy(network.backbone).eval()
    backbone.freeze(len(backbone.stages))  # frozen stages are faster
    pool = network.head.pool
    device = network.head.linear.weight.device

    @torch.inference_mode()
    def model(inputs: np.ndarray) -> Outputs:
        tensor = torch.from_numpy(inputs).permute(0, 3, 1, 2).to(device).float()
        return {"classes": pool(backbone(tensor)[-1]).numpy(force=True)}

    return model


def fit_linear(features: Tensor, probabilities: Tensor) -> tuple[Tensor, Tensor]:
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
        loss = -(probabilities * log_probabilities).sum(1).mean() + WEIGHT_DECAY * weight.square().sum()
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no type for it
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]  # nor for this
    scaled = weight.detach() / std
    return scaled, bias.detach() - scaled @ mean
