"""Temperature scaling: probabilities of classes that mean what they say (Guo et al. 2017: On Calibration).

Label smoothing and mixing leave a network less confident than it is right, wrong labels too. The temperature is the one
number that makes the held-out labels most probable. It changes no ranking.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SMALLEST = 1e-12
"""Probabilities below are taken as this: one wrong answer must not decide."""


def log_losses(probabilities: np.ndarray, labels: np.ndarray, temperatures: Sequence[float]) -> np.ndarray:
    """The mean negative log probability of the true labels at each temperature.

    probabilities: (n, classes). labels: (n,) the true classes; rows whose class is unknown, below 0, do not count.
    """
    known = (labels >= 0) & (labels < probabilities.shape[1])
    logits = np.log(np.maximum(probabilities[known], SMALLEST))
    own = logits[np.arange(len(logits)), labels[known]]
    losses = []
    for temperature in temperatures:
        scaled = logits / temperature
        highest = scaled.max(axis=1, initial=-np.inf)
        totals = np.exp(scaled - highest[:, None]).sum(axis=1)
        losses.append(float(np.mean(highest + np.log(totals) - own / temperature)) if len(own) else np.nan)
    return np.array(losses)
