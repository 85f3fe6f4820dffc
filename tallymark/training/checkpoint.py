"""Checkpoints: everything that a training needs to resume."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from tallymark.core.problems import BadInput, Problem
from tallymark.detector.weights import why_not_tensors, write_state

CHECKPOINT = "checkpoint.pt"


@dataclass
class TrainingState:
    """What changes in a training, besides network, EMA, optimiser and scaler.

    step: batches so far. evaluations: how many there were; evaluated_at: the step of the last one.
    best: the highest objective so far; best_weights: the EMA weights that it belongs to.
    seconds: spent before the last checkpoint. dataset: state of the training dataset.
    """

    step: int = 0
    evaluations: int = 0
    evaluated_at: int = -1
    best: float = -float("inf")
    best_weights: dict[str, Tensor] = field(default_factory=dict)
    seconds: float = 0.0
    dataset: Any = None


class Stateful(Protocol):
    """Network, EMA, optimiser and scaler."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> object: ...


def save_checkpoint(path: Path, state: TrainingState, parts: Mapping[str, Stateful]) -> None:
    """Write a checkpoint; an interruption while writing leaves the one before."""
    modules = {name: part.state_dict() for name, part in parts.items()}
    write_state({"state": vars(state), "random": torch.get_rng_state(), **modules}, path)


def load_checkpoint(path: Path, parts: Mapping[str, Stateful], device: torch.device) -> TrainingState:
    """Restore the parts and torch's random numbers from a checkpoint; returns the rest of its state."""
    try:
        stored: dict[str, Any] = torch.load(path, weights_only=True, map_location=device)
    except Exception as error:  # a damaged file can raise anything
        found = why_not_tensors(error)
        remedy = "delete it: --resume then trains this model from the beginning"
        raise BadInput(Problem("bad_checkpoint", str(path), found, "a checkpoint", remedy)) from None
    for name, part in parts.items():
        part.load_state_dict(stored[name])
    torch.set_rng_state(stored["random"].cpu())
    return TrainingState(**stored["state"])
