"""What a fuzzer makes, how it is run, and what can be found.

A family of files is a module with `make(rng, base, folder) -> Case`. It writes files into `folder`, which is new and
empty, takes what all its cases share from `base`, and returns commands, each with an oracle for its result.
"""

from __future__ import annotations

import io
import json
import os
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Protocol

import typer

from tallymark.cli.main import app

SECONDS = 60
"""Time limit of a command: small files take milliseconds, and a busy machine is slow."""
MEMORY = 1 << 30
"""Bytes that a command may use more than before."""

COMMAND = typer.main.get_command(app)


@dataclass(frozen=True)
class Result:
    """Exit code and output of a command; problems and counts, where it printed JSON."""

    code: int
    output: str
    printed: dict[str, Any]

    @property
    def accepted(self) -> bool:
        return self.code == 0

    @property
    def problems(self) -> list[dict[str, Any]]:
        return self.printed.get("problems") or []

    def names(self, file: str | Path) -> bool:
        """Whether a problem is about a file, or about the whole folder."""
        name = Path(file).name
        return any(name in f"{problem['file']} {problem['found']} {problem['expected']}" for problem in self.problems)


Oracle = Callable[[Result], str | None]
"""Returns what was lost or wrong; None if everything is as it should be."""


@dataclass(frozen=True)
class Case:
    """Commands to run one after another; each ends with exit code 0 or 2, and satisfies its oracle.

    about: what the file is, for the report.
    """

    about: str
    commands: list[tuple[list[str], Oracle]]


class Family(Protocol):
    """A module that makes cases."""

    def make_base(self, base: Path) -> None:
        """Write what all cases share."""

    def make(self, rng: Random, base: Path, folder: Path) -> Case:
        """One case."""


@dataclass
class Outcome:
    """What happened in a case. finding: `traceback`, `silent drop`, `hang` or `memory`, or empty."""

    verdict: str = "refused"
    finding: str = ""
    text: str = ""
    about: str = ""
    commands: list[list[str]] = field(default_factory=list)
    memory: int = 0

    @property
    def shown(self) -> str:
        """The finding in one line: the exception at the end of a traceback, or the first line of other texts."""
        lines = self.text.strip().splitlines() or [""]
        return lines[-1 if self.finding == "traceback" else 0][:200]


class TimeLimit(BaseException):
    """Not an `Exception`, so that no code under test catches it."""


def run_case(family: Family, rng: Random, base: Path, folder: Path) -> Outcome:
    """Make a case and run it, up to the first finding."""
    outcome = Outcome()
    case = family.make(rng, base, folder)
    outcome.about = case.about
    outcome.verdict = "accepted"
    for argv, oracle in case.commands:
        outcome.commands.append(argv)
        before = reset_peak_memory()
        try:
            with time_limit(SECONDS):
                result = run(argv)
        except TimeLimit:
            outcome.finding, outcome.text = "hang", f"longer than {SECONDS} s"
            return outcome
        outcome.memory = max(outcome.memory, peak_memory())
        if result.code not in (0, 2) or "Traceback (most recent call last)" in result.output:
            outcome.finding, outcome.text = "traceback", result.output
        elif peak_memory() - before > MEMORY:
            outcome.finding, outcome.text = "memory", f"{(peak_memory() - before) >> 20} MB"
        elif lost := _ask(oracle, result):
            outcome.finding, outcome.text = "silent drop", f"{lost}\n{result.output[:2000]}"
        if outcome.finding:
            return outcome
        if not result.accepted:
            outcome.verdict = "refused"
    return outcome


def _ask(oracle: Oracle, result: Result) -> str | None:
    try:
        return oracle(result)
    except Exception:  # a gap of the oracle, which must be seen as well
        return traceback.format_exc()


def run(argv: list[str]) -> Result:
    """Run a command in this process, with the streams of a terminal in UTF-8."""
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", errors) for errors in ("strict", "backslashreplace")]
    code = 0
    with warnings.catch_warnings(), redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        warnings.simplefilter("ignore")
        try:
            COMMAND.main(args=argv, prog_name="tallymark")
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        except Exception:  # what a traceback would be in a terminal
            code = 1
            traceback.print_exc()
    texts = []
    for stream in streams:
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8"))
    printed: Any = {}
    with suppress(ValueError):
        printed = json.loads(texts[0])
    return Result(code, "".join(texts), printed if isinstance(printed, dict) else {})


def no_oracle(result: Result) -> None:
    """Any exit code that is allowed is right."""


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Interrupts Python code, and calls of the system that wait."""

    def stop(*_: object) -> None:
        raise TimeLimit

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def reset_peak_memory() -> int:
    """Forget the peak of this process where the system can, and return its memory in bytes."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return peak_memory()


def peak_memory() -> int:
    """The most memory that this process used, in bytes; 0 where the system does not say."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) << 10
    return 0


def link_tree(source: Path, target: Path) -> None:
    """A copy of a folder whose files are links: replace them, never write into them."""
    for path in sorted(source.rglob("*")):
        place = target / path.relative_to(source)
        if path.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, place)


def replace_file(path: Path, data: bytes) -> None:
    """Write a file anew, so that others that are linked to it stay as they are."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)
