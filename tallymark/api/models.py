"""Models: presets to train them by, and trained ones to open."""

from __future__ import annotations

from pathlib import Path

from tallymark.api.data import PathLike
from tallymark.api.pretrained import find_pretrained
from tallymark.core.problems import BadInput, Problem, nearest
from tallymark.core.recipe import Recipe
from tallymark.core.registry import challenge, challenge_names
from tallymark.inference.predictor import Predictor
from tallymark.inference.run import Run
from tallymark.inference.session import Runtime
from tallymark.io.regular import found_at


def find_preset(name: str, preset: str) -> Recipe:
    """The recipe of a challenge's preset."""
    presets: dict[str, Recipe] = challenge(name).module("recipe").PRESETS
    if preset not in presets:
        raise BadInput(Problem("bad_option", "preset", f"'{preset}'", "a preset", nearest(preset, list(presets))))
    return presets[preset]


def open_model(model: PathLike, runtime: Runtime = "auto", threads: int | None = None) -> Predictor:
    """Load the models of a run, a model file, or the pretrained model of a challenge, to predict several folders."""
    predictor = Predictor(find_models(model), runtime, threads)
    if Path(model).is_dir() and Run(Path(model)).written:
        Run(Path(model)).refuse_incomplete(predictor.metadata.recipe)
    return predictor


def find_models(model: PathLike) -> list[Path]:
    """The model files of a run, a model file itself, or the pretrained model of a challenge.

    A folder that is named like a challenge, but has no model in it, holds the data of that challenge.
    """
    path = Path(model)
    named = str(model) in challenge_names()
    if path.is_dir() and (not named or Run(path).written):
        return Run(path).models
    if path.is_file():
        return [path]
    if not named:
        expected = "a run, a model.onnx, or a challenge"
        remedy = "list the pretrained models with tallymark models, or train one: tallymark train --help"
        raise BadInput(Problem("no_model", str(model), found_at(model), expected, remedy))
    return [find_pretrained(challenge(str(model)))]
