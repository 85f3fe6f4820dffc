"""Runtime: opens a model file, and runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from tallymark.core.problems import BadInput, shorten
from tallymark.inference.execution import Execution

Plan = Callable[[], Execution]
"""Gives the execution plan when it is needed: to count the cores that are free takes 50 ms."""
Run = Callable[[np.ndarray], dict[str, np.ndarray]]
"""Inputs (n, height, width, channels) to outputs by name, safe to call from several threads.

The outputs depend neither on the number of threads nor on what else is in a batch.
"""


class ModelFile(NamedTuple):
    """A model as runtimes are given it.

    data: the bytes of the file. session: the same, opened by ONNX Runtime, which has accepted it; None
        where another process did that, and another runtime runs it.
    outputs: their names. tile_shape: (height, width, channels) of most inputs.
    """

    data: bytes
    session: Any
    outputs: tuple[str, ...]
    tile_shape: tuple[int, ...]


def ignore_shape(shape: tuple[int, ...]) -> None:
    """Do nothing: most runtimes run inputs of all shapes alike."""


class OpenModel(NamedTuple):
    """A model that a runtime has opened. runtime_id: what its outputs depend on, e.g. `openvino 2026.4.1 bf16`.

    expect: tells it the shape (height, width, channels) of most inputs from now on.
    """

    run: Run
    runtime_id: str
    expect: Callable[[tuple[int, ...]], None] = ignore_shape


class ModelRuntime(Protocol):
    """Something that runs model files."""

    @property
    def name(self) -> str:
        """As users give it."""

    @property
    def package(self) -> str:
        """The package that it needs."""

    def open(self, model: ModelFile, plan: Plan) -> OpenModel:
        """Open a model for the threads and the concurrent calls of an execution plan."""


def first_line(error: Exception) -> str:
    """What a runtime complains of, in short."""
    found = next(iter(error.problems)).found if isinstance(error, BadInput) else str(error)
    return shorten(found.split("\n")[0], 200)
