"""A network in training as inference uses models: arrays in, arrays out."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.detector.network import Network
from tallymark.detector.outputs import Outputs
from tallymark.geometry import Geometry
from tallymark.inference.outage import stop_training
from tallymark.inference.pipeline import Model, infer
from tallymark.io.media import RESUME
from tallymark.modalities.base import Detect


def diverged(found: str) -> BadInput:
    """What a training that has gone wrong for good is to the user."""
    remedy = "train in a new folder with a lower learning_rate; if precision=fp16, with precision=fp32"
    return BadInput(Problem("diverged", "training", found, "a loss that falls", remedy))


def as_model(network: Network[Any]) -> Model:
    """A network that takes inputs (n, height, width, channels) and gives outputs by name, as a model file does."""
    device = next(network.parameters()).device

    @torch.inference_mode()
    def model(inputs: np.ndarray) -> Outputs:
        tensor = torch.from_numpy(inputs).permute(0, 3, 1, 2).to(device).float()
        outputs = {name: part.float().numpy(force=True) for name, part in network.predict(tensor).items()}
        if not all(np.isfinite(part).all() for part in outputs.values()):
            raise diverged("outputs that are not numbers")
        return outputs

    return model


def as_detector(network: Network[Any], recipe: Recipe) -> Detect:
    """A function that gives the candidates of a network in a catalog."""

    def detect(catalog: Catalog) -> Annotations[Geometry]:
        problems = Problems(EVERY)
        model = as_model(network)
        candidates = infer(catalog, [model], recipe, problems, title="mining hard negatives", how=RESUME)
        stop_training(problems)
        return candidates.objects

    return detect
