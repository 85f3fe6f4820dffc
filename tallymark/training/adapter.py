"""A network in training as prediction sees it."""

from __future__ import annotations

import numpy as np
import torch

from tallymark.detector.network import Network
from tallymark.inference.pipeline import Model


def as_model(network: Network) -> Model:
    """A network as prediction sees it: bytes in, maps out."""
    device = next(network.parameters()).device

    @torch.inference_mode()
    def show(pictures: np.ndarray) -> dict[str, np.ndarray]:
        seen = torch.from_numpy(pictures).permute(0, 3, 1, 2).to(device).float()
        return {name: part.float().numpy(force=True) for name, part in network.readout(seen).items()}

    return show
