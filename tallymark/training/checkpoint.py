"""Checkpoints: everything that a training needs to resume."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from tallymark.core.problems import BadInput, Problem, shorten
from tallymark.core.stored import a_mapping, a_number
from tallymark.detector.weights import SAME_TRAINING, difference, not_finite, why_not_tensors, write_state
from tallymark.io.regular import require_regular

CHECKPOINT = "checkpoint.pt"


@dataclass
class TrainingState:
    """What changes in a training, besides network, EMA, optimiser and scaler.

    step: batches so far. evaluations: how many there were after step 0; evaluated_at: the step of the last one.
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
    """Restore the parts and torch's random numbers from a checkpoint; returns the rest of its state.

    A checkpoint of other shapes, without some part, or with weights that are not finite numbers is a `BadInput`.
    """
    try:
        require_regular(path)
        stored = torch.load(path, weights_only=True, map_location=device)
    except Exception as error:  # a damaged file can raise anything
        found = why_not_tensors(error)
        remedy = "delete it: --resume then trains this model from the beginning"
        raise BadInput(Problem("bad_checkpoint", str(path), found, "a checkpoint", remedy)) from None
    try:
        state = _state_of(stored)
        for name, part in parts.items():
            _load(part, name, stored[name])
        _check_best(state, parts["network"].state_dict())
        torch.set_rng_state(stored["random"].cpu())
    except KeyError as missing:
        found = f"no {missing}"
    except (ValueError, TypeError, AttributeError, IndexError, RuntimeError) as error:  # what torch raises
        found = str(error).split("\n")[0] or type(error).__name__
    else:
        return state
    remedy = f"{SAME_TRAINING}, or delete the file: --resume then trains this model from the beginning"
    raise BadInput(Problem("bad_checkpoint", str(path), shorten(found, 200), "a checkpoint of this training", remedy))


def _state_of(stored: Any) -> TrainingState:
    """The numbers of a checkpoint; a ValueError if they are no such numbers."""
    stated = a_mapping(a_mapping(stored)["state"], [one.name for one in fields(TrainingState)])
    for name, low in {"step": 0, "evaluations": 0, "evaluated_at": -1, "seconds": 0}.items():
        a_number(stated[name], low)
    if not isinstance(stated["best"], float | int) or math.isnan(stated["best"]):
        raise ValueError("a best score that is not a number")
    a_mapping(stated["best_weights"])
    return TrainingState(**stated)


def _load(part: Stateful, name: str, stored: Any) -> None:
    """Restore a part; a ValueError if the stored one has other shapes or is not finite."""
    if isinstance(part, torch.optim.Optimizer):
        part.load_state_dict(stored)
        for parameter, moments in part.state.items():
            for value in moments.values():
                if isinstance(value, Tensor) and value.ndim and value.shape != parameter.shape:
                    raise ValueError(f"moments of shape {tuple(value.shape)}, not {tuple(parameter.shape)}")
        return
    _check(name, part.state_dict(), a_mapping(stored))
    part.load_state_dict(stored)


def _check_best(state: TrainingState, own: Mapping[str, Any]) -> None:
    """The best weights so far are those of this network; before the first evaluation, there are none."""
    if state.evaluated_at >= 0:
        _check("best weights", own, state.best_weights)


def _check(name: str, own: Mapping[str, Any], stored: Mapping[str, Any]) -> None:
    if wrong := difference(own, stored):
        raise ValueError(f"{name}: {wrong}")
    if wrong := not_finite(stored):
        raise ValueError(f"{name}: {wrong}, which is not all finite numbers")
