"""What to type instead of an option that there is not: an option, a recipe field, a rule option, or an argument."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from typer.core import TyperGroup

FIELDS = {
    "conf": "score_threshold", "conf_thres": "score_threshold", "confidence": "score_threshold",
    "cut": "score_threshold", "min_score": "score_threshold", "score_thr": "score_threshold",
    "thresh": "score_threshold", "threshold": "score_threshold",
    "iou": "nms_iou", "iou_thres": "nms_iou", "nms": "nms_iou", "nms_threshold": "nms_iou",
    "img": "image_size", "img_size": "image_size", "imgsz": "image_size",
    "size": "image_size", "batch": "batch_size", "bs": "batch_size", "epoch": "epochs", "num_epochs": "epochs",
    "lr": "learning_rate", "lr0": "learning_rate", "wd": "weight_decay", "augment": "tta", "arch": "backbone",
    "encoder": "backbone", "model": "backbone", "pretrained": "weights", "checkpoint": "weights",
    "freeze": "frozen_stages",
}  # fmt: skip
"""Names that other tools have for fields of the recipe."""
OPTIONS = {
    "output": "--out", "outdir": "--out", "output_dir": "--out", "save": "--out", "project": "--out", "name": "--out",
    "workers": "--threads", "num_workers": "--threads", "jobs": "--threads", "cpus": "--threads", "cores": "--threads",
    "part": "--split", "subset": "--split", "partition": "--split", "format": "--form", "also": "--extra-data",
    "ground": "--gsd", "pixel_size": "--gsd", "reading": "--rule", "option": "--rule", "cache": "--journal",
    "continue": "--resume", "time": "--minutes", "budget": "--minutes", "overwrite": "--force", "exist_ok": "--force",
    "yes": "--force", "n": "--items", "count": "--items", "random_state": "--seed", "ignore": "--exclude",
    "config": "--preset", "k": "--folds", "n_splits": "--folds", "backend": "--runtime",
}  # fmt: skip
"""Names that other tools, or earlier versions, have for options."""
ARGUMENTS = {
    "data": "the folder is an argument: {usage}", "dataset": "the folder is an argument: {usage}",
    "source": "the folder is an argument: {usage}", "input": "files and folders are arguments: {usage}",
    "task": "the challenge is an argument: {usage}", "challenge": "the challenge is an argument: {usage}",
    "model": "the model is an argument: {usage}", "weights": "the model is an argument: {usage}",
    "device": "leave it out: training uses a GPU if there is one, prediction runs on the CPU",
    "gpu": "leave it out: training uses a GPU if there is one, prediction runs on the CPU",
}  # fmt: skip
"""What other tools have options for, and is something else here."""


class Commands(TyperGroup):
    """The group of all commands, which says what to type instead of an unknown option."""

    def invoke(self, ctx: Any) -> Any:
        words = [*getattr(ctx, "_protected_args", []), *ctx.args]
        try:
            return super().invoke(ctx)
        except Exception as error:  # typer brings its own copy of click, or not: known by its attributes
            unknown = getattr(error, "option_name", None)
            if unknown is not None and hasattr(error, "possibilities"):
                hint = suggest(unknown, words, getattr(error, "ctx", None))
                if hint:
                    error.possibilities = None
                    error.message = f"No such option: {unknown}; {hint}"  # type: ignore[attr-defined]  # of that exception
            raise


def suggest(unknown: str, words: Sequence[str], ctx: Any) -> str:
    """A sentence about what to type instead; empty if nothing is similar.

    words: the command and its arguments. ctx: of the command that has no such option.
    """
    if ctx is None or not unknown.startswith("--"):
        return ""
    name = unknown.lstrip("-").replace("-", "_").lower()
    own = {flag: param for param in ctx.command.get_params(ctx) for flag in param.opts if flag.startswith("--")}
    known, how = _assignable(words)
    value = _value(unknown, words)
    for key in (name, FIELDS.get(name, "")):
        if key in known:
            return how.format(f"{key}={value}")
    if OPTIONS.get(name) in own:
        return f"give {OPTIONS[name]}"
    if name in ARGUMENTS:
        return ARGUMENTS[name].format(usage=ctx.command.get_usage(ctx).removeprefix("Usage: "))
    close = difflib.get_close_matches(name, [*(flag.lstrip("-").replace("-", "_") for flag in own), *known], n=1)
    if not close:
        return ""
    flag = f"--{close[0].replace('_', '-')}"
    return f"did you mean {flag}?" if flag in own else how.format(f"{close[0]}={value}")


def _value(option: str, words: Sequence[str]) -> str:
    """The value that was given to an option; a placeholder if there is none."""
    for number, word in enumerate(words):
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
        if word == option and number + 1 < len(words) and not words[number + 1].startswith("--"):
            return words[number + 1]
    return "VALUE"


def _assignable(words: Sequence[str]) -> tuple[Mapping[str, object], str]:
    """What the command takes as KEY=VALUE, and how to say that it is given so."""
    from tallymark.core.problems import BadInput
    from tallymark.core.registry import challenge, challenge_names

    command = words[0] if words else ""
    named = next((word for word in words[1:] if word in challenge_names()), None)
    if command in ("train", "predict"):
        return _recipe_fields(named), "give {} as an argument, without dashes: it is a field of the recipe"
    try:
        if named is not None and command == "synth":
            kind = challenge(named).module("synth").SceneOptions
            return dict.fromkeys(field.name for field in fields(kind)), "give {} as an argument, without dashes"
        if named is not None:
            kind = challenge(named).rule_options
            return dict.fromkeys(field.name for field in fields(kind)), "give --rule {}: it is a rule option"
    except BadInput:  # a broken plugin; what is unknown stays unknown
        pass
    return {}, ""


def _recipe_fields(name: str | None) -> dict[str, object]:
    """The fields of a challenge's recipe; of all recipes where no challenge is named."""
    from tallymark.core.problems import BadInput
    from tallymark.core.registry import challenge, challenge_names

    found: dict[str, object] = {}
    for one in challenge_names() if name is None else (name,):
        try:
            presets = challenge(one).module("recipe").PRESETS
        except BadInput:
            continue
        for recipe in presets.values():
            found |= dict.fromkeys(field.name for field in fields(recipe))
    return found
