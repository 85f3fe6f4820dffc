"""The network of a recipe, with its initial weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from tallymark.core.recipe import Recipe
from tallymark.detector.coders import CODERS
from tallymark.detector.network import Network
from tallymark.detector.weights import load_weights
from tallymark.inference.onnx_file import MODEL_SUFFIX
from tallymark.modalities import modality_of
from tallymark.training.model_weights import load_model_weights


def make_network(recipe: Recipe, classes: int, groups: Sequence[int] = ()) -> Network[Any]:
    """The network of a recipe: random weights by its seed, but for those that the recipe names, and frozen stages.

    classes: how many there are. groups: the head group of each class; one for all unless given.
    """
    modality = modality_of(recipe)
    modality.validate(recipe)
    torch.manual_seed(recipe.seed)
    network = CODERS[recipe.task].network(recipe, modality.encoder(recipe), classes, groups)
    if Path(recipe.weights).suffix == MODEL_SUFFIX:
        network.head_fitted = load_model_weights(network, Path(recipe.weights))
    else:
        network.head_fitted = load_weights(network, network.backbone, recipe.weights)
    network.backbone.freeze(recipe.frozen_stages)
    return network
