"""The first guess of classes: what a linear layer can tell from features that were learned elsewhere.

What a random layer asks of such features in the first steps would spoil them (Kumar et al. 2022).
"""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor

from tallymark.core.problems import EVERY, Problems
from tallymark.core.recipe import Recipe
from tallymark.data.catalog import Catalog
from tallymark.detector.network import Classifier
from tallymark.inference.pipeline import Model, infer_outputs

PENALTY = 0.05
"""On the squares of the weights, of features that spread by 1: with a thousand features and few pictures, much."""
LEAST = 1e-3
"""The least that a feature is taken to spread by."""
STEPS = 100
ENOUGH = 20_000
"""Pictures that it is made from, at most."""


def init_classifier(network: Classifier, catalog: Catalog, recipe: Recipe) -> None:
    """Fit the last layer of a network to a labelled catalog, whose pictures are shown as they are in prediction."""
    chosen = np.random.default_rng(recipe.seed).permutation(len(catalog))[:ENOUGH]
    catalog = catalog.select(np.sort(chosen))
    truth = catalog.truth
    if truth is None:
        return
    problems = Problems(EVERY)
    found = infer_outputs(catalog, [as_features(network)], recipe.replace(tta=1), problems, title="linear probe")
    number, features = zip(*((item, outputs["classes"]) for item, outputs in found), strict=True)
    last = network.head.linear
    wanted = np.full((len(catalog), last.out_features), recipe.label_smoothing / last.out_features)
    wanted[truth.item, truth.labels] += 1 - recipe.label_smoothing
    rows = (np.array(features), wanted[np.array(number)])
    weight, bias = fit_linear(*(torch.from_numpy(part).to(last.weight) for part in rows))
    with torch.no_grad():
        last.weight.copy_(weight)
        last.bias.copy_(bias)


def as_features(network: Classifier) -> Model:
    """The network up to its last layer, which is shown pictures as bytes."""
    backbone, pool = copy.deepcopy(network.backbone).eval(), network.head.pool
    backbone.freeze(len(backbone.stages))  # which makes it quicker
    device = network.head.linear.weight.device

    @torch.inference_mode()
    def show(pictures: np.ndarray) -> dict[str, np.ndarray]:
        seen = torch.from_numpy(pictures).permute(0, 3, 1, 2).to(device).float()
        return {"classes": pool(backbone(seen)[-1]).numpy(force=True)}

    return show


def fit_linear(features: Tensor, chances: Tensor) -> tuple[Tensor, Tensor]:
    """Weight (classes, features) and bias of the layer whose softmax comes nearest to (n, classes) chances."""
    middle, spread = features.mean(0), features.std(0, correction=0) + LEAST
    seen = (features - middle) / spread
    weight = torch.zeros(chances.shape[1], features.shape[1], device=features.device, requires_grad=True)
    bias = torch.zeros(chances.shape[1], device=features.device, requires_grad=True)
    search = torch.optim.LBFGS([weight, bias], max_iter=STEPS, line_search_fn="strong_wolfe")

    def wrong() -> Tensor:
        search.zero_grad()
        likely = (seen @ weight.T + bias).log_softmax(1)
        loss = -(chances * likely).sum(1).mean() + PENALTY * weight.square().sum()
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no type for it
        return loss

    search.step(wrong)  # type: ignore[no-untyped-call]  # nor for this
    scaled = weight.detach() / spread
    return scaled, bias.detach() - scaled @ middle
