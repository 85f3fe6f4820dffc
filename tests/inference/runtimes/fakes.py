"""Runtimes whose outputs and speed a test decides, by a clock of their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tallymark.inference.execution import Execution
from tallymark.inference.runtimes.base import ModelFile, OpenModel, Plan

MODEL = ModelFile(b"", None, ("heat", "values"), (4, 4, 1))


INPUTS = [np.full((1, 4, 4, 1), level, np.float32) for level in (0.0, 0.3, 0.6)]
Change = Callable[[np.ndarray], np.ndarray]


class Clock:
    """Time that passes by calls of fake runtimes only, in place of the module `time`."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    monotonic = perf_counter


CLOCK = Clock()


def one_thread() -> Execution:
    return Execution(tile_threads=1, concurrent_tiles=1)


class FakeRuntime:
    """seconds: of a call. change: what it does to its outputs. opens: how often it was opened so far."""

    package = "numpy"

    def __init__(self, name: str, seconds: float = 0.0, change: Change = np.array, fails: str = "") -> None:
        self.name, self.seconds, self.change, self.fails = name, seconds, change, fails
        self.opens = 0

    def open(self, model: ModelFile, plan: Plan) -> OpenModel:
        self.opens += 1
        if self.fails:
            raise RuntimeError(self.fails)

        def run(inputs: np.ndarray) -> dict[str, np.ndarray]:
            CLOCK.now += self.seconds
            return {name: self.change(inputs + 0.1) for name in model.outputs}

        return OpenModel(run, f"{self.name} 1.0")
