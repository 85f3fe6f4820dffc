"""Which runtime runs a model: the one that is asked for, or the fastest on this machine, which is remembered."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from tallymark.core.problems import BadInput, Problem, nearest
from tallymark.inference.runtimes.base import ModelFile, ModelRuntime, OpenModel, Plan
from tallymark.inference.runtimes.comparison import compare
from tallymark.inference.runtimes.memory import Remembered, path_for, recall, remember
from tallymark.inference.runtimes.onnxruntime import OnnxRuntime
from tallymark.inference.runtimes.openvino import OpenVino

AUTO = "auto"
REFERENCE: ModelRuntime = OnnxRuntime()
AUTOMATIC: tuple[ModelRuntime, ...] = (REFERENCE, OpenVino("openvino", "bf16"))
"""Those that `auto` chooses from; the first is always installed."""
RUNTIMES: dict[str, ModelRuntime] = {one.name: one for one in (*AUTOMATIC, OpenVino("openvino-f32", "f32"))}
VARIABLE = "TALLYMARK_RUNTIME"
"""The environment variable that stands in for `auto`."""


class Choice(NamedTuple):
    """name: of the runtime. model: opened by it. note: what the user should know about the choice; empty if nothing."""

    name: str
    model: OpenModel
    note: str = ""


def choose(name: str, model: ModelFile, plan: Plan, inputs: Callable[[], Sequence[np.ndarray]]) -> Choice:
    """Open a model with the runtime of that name. inputs: makes those that `auto` compares runtimes on."""
    if name == AUTO:
        name = os.environ.get(VARIABLE) or AUTO
    if name != AUTO:
        return Choice(name, find_runtime(name).open(model, plan))
    installed = [one for one in AUTOMATIC if find_spec(one.package) is not None]
    if len(installed) == 1:
        return Choice(REFERENCE.name, REFERENCE.open(model, plan))
    memory = path_for(model.data, [one.package for one in installed])
    known = recall(memory, [one.name for one in installed])
    if known is not None:
        # An installation that has become unusable is compared again, and left out.
        with suppress(Exception):
            return _choice(known, RUNTIMES[known.runtime].open(model, plan))
    verdict = compare(model, plan, installed, inputs())
    chosen = Remembered(verdict.name, verdict.reason)
    remember(memory, chosen)
    return _choice(chosen, verdict.model)


def find_runtime(name: str) -> ModelRuntime:
    """The runtime of that name."""
    if name not in RUNTIMES:
        names = [AUTO, *RUNTIMES]
        raise BadInput(Problem("bad_option", "runtime", f"'{name}'", " or ".join(names), nearest(name, names)))
    return RUNTIMES[name]


def _choice(known: Remembered, model: OpenModel) -> Choice:
    return Choice(known.runtime, model, f"run by {model.runtime_id}: {known.reason}")
