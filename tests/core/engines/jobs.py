"""Jobs for tests of engines, in a module that workers can import."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tallymark.core.engines.contract import Advance
from tallymark.core.problems import BadInput, Problem

Death = Literal["kill", "exit", "segfault"]


@dataclass(frozen=True)
class Numbers:
    """A shard of numbers."""

    values: Sequence[int]

    def __len__(self) -> int:
        return len(self.values)

    def split(self) -> tuple[Numbers, Numbers]:
        half = len(self) // 2
        return Numbers(self.values[:half]), Numbers(self.values[half:])


@dataclass(frozen=True)
class Square:
    """Squares numbers, and notes in files of `folder` who opened it and what was worked on.

    fatal: numbers that end their worker, in the way of `death`. once: only the first time.
    refused, wrong: numbers that are a `BadInput` or another exception.
    """

    folder: Path
    fatal: tuple[int, ...] = ()
    death: Death = "kill"
    once: bool = False
    refused: tuple[int, ...] = ()
    wrong: tuple[int, ...] = ()
    seconds: float = 0.0

    def open(self) -> Callable[[Numbers, Advance], list[int]]:
        self._note("opened", os.getpid())
        print("a library greets", flush=True)

        def work(shard: Numbers, advance: Advance) -> list[int]:
            return [self._square(value, advance) for value in shard.values]

        return work

    def _square(self, value: int, advance: Advance) -> int:
        before = self.noted("begun")
        self._note("begun", value)
        time.sleep(self.seconds)
        if value in self.fatal and not (self.once and value in before):
            die(self.death)
        if value in self.refused:
            raise BadInput(Problem("odd_number", f"number {value}", "odd", "even", "double it"))
        if value in self.wrong:
            raise ZeroDivisionError(f"number {value}")
        advance()
        return value**2

    def _note(self, name: str, value: int) -> None:
        with (self.folder / name).open("a") as file:
            file.write(f"{value}\n")

    def noted(self, name: str) -> list[int]:
        """What was noted under a name, in order."""
        path = self.folder / name
        return [int(line) for line in path.read_text().split()] if path.exists() else []


@dataclass(frozen=True)
class CannotOpen:
    """A job that ends at its start: with an exception, or with the process."""

    error: Literal["bad_input", "error", "death"]

    def open(self) -> Callable[[Numbers, Advance], list[int]]:
        if self.error == "bad_input":
            raise BadInput(Problem("no_model", "model.onnx", "no file", "a model", "train one"))
        if self.error == "error":
            raise ZeroDivisionError("no model")
        die("exit")
        raise AssertionError


def die(how: Death) -> None:
    """End this process at once."""
    faulthandler.disable()  # pytest's environment may enable it: a report would be printed
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "exit":
        os._exit(3)
    ctypes.string_at(0)


@dataclass(frozen=True)
class Folder:
    """Tells the worker's current folder."""

    def open(self) -> Callable[[Numbers, Advance], str]:
        return lambda shard, advance: str(Path.cwd())


@dataclass(frozen=True)
class Environment:
    """Reads a variable of the worker's environment."""

    name: str

    def open(self) -> Callable[[Numbers, Advance], str | None]:
        return lambda shard, advance: os.environ.get(self.name)
