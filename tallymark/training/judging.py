"""Judging a network: predict items that it was not trained with, and score them by the official rule."""

from __future__ import annotations

import numpy as np
import torch

from tallymark.data.catalog import Catalog
from tallymark.model.network import Network
from tallymark.predicting.raw import Maps, Model, Raw, look
from tallymark.predicting.tune import Rule, Tuning, tune
from tallymark.problems import EVERY, Problems
from tallymark.recipe import Recipe
from tallymark.training.fit import Judgement


def as_model(network: Network) -> Model:
    """A network as prediction sees it: bytes in, maps out."""
    device = next(network.parameters()).device

    @torch.inference_mode()
    def show(pictures: np.ndarray) -> Maps:
        seen = torch.from_numpy(pictures).permute(0, 3, 1, 2).to(device).float()
        return {name: part.float().numpy(force=True) for name, part in network.readout(seen).items()}

    return show


class Official:
    """Judges by the official rule on a set of items with known truth."""

    def __init__(self, catalog: Catalog, recipe: Recipe, rule: Rule) -> None:
        self.catalog, self.recipe, self.rule = catalog, recipe, rule

    def predict(self, network: Network) -> Raw:
        return look(self.catalog, [as_model(network)], self.recipe, Problems(EVERY), "judging")

    def tuned(self, raw: Raw, *, thorough: bool) -> Tuning:
        if self.catalog.truth is None:
            raise ValueError("no truth to judge by")
        return tune(raw, self.catalog.truth, self.recipe, self.rule, thorough=thorough)

    def __call__(self, network: Network) -> Judgement:
        tuning = self.tuned(self.predict(network), thorough=False)
        value = tuning.score.value
        better = value if tuning.score.better == "higher" else -value
        return Judgement(better, {"score": value, "cut": tuning.recipe.cut})
