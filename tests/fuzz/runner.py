"""Run fuzzers for some time in processes of their own, which are killed when they hang, and count what they find."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import shutil
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.case import SECONDS, Family, Outcome, run_case

FINDINGS = ("traceback", "silent drop", "hang", "memory")
GRACE = 30
"""Seconds after the time limit of a command until its process is killed."""
ADDRESSES = 6 << 30
"""Bytes of address space of a process: a runaway allocation is a `MemoryError` and not the end of the machine."""


@dataclass
class Statistics:
    """Figures of one family."""

    verdicts: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    memory: int = 0
    seconds: float = 0.0

    def add(self, outcome: Outcome, seconds: float) -> None:
        self.verdicts[outcome.verdict] += 1
        if outcome.finding:
            self.findings[outcome.finding] += 1
        self.memory = max(self.memory, outcome.memory)
        self.seconds += seconds


def seeded(name: str, seed: int) -> Random:
    """The random numbers of a case."""
    return Random(f"{name} {seed}")


def _work(base: Path, scratch: Path, pipe: Any) -> None:
    """The loop of a process: names and seeds come in, outcomes go out."""
    from tests.fuzz.families import FAMILIES  # here, since a module cannot be sent to a process

    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libraries for images and sound print what they think of a file
    while (job := pipe.recv()) is not None:
        name, seed = job
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        pipe.send(run_case(FAMILIES[name], seeded(name, seed), base / name, scratch))


class Worker:
    """A process that runs cases; it is replaced when it hangs or dies."""

    def __init__(self, base: Path, scratch: Path) -> None:
        self.base = base
        self.scratch = scratch
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_work, args=(self.base, self.scratch, other), daemon=True)
        self.process.start()
        other.close()

    def run(self, name: str, seed: int) -> Outcome:
        self.pipe.send((name, seed))
        try:
            if self.pipe.poll(4 * SECONDS + GRACE):
                return self.pipe.recv()
            outcome = self.lost(name, seed, "hang", "the process had to be killed")
        except (EOFError, OSError):
            self.process.join()
            outcome = self.lost(name, seed, "traceback", f"the process died with exit code {self.process.exitcode}")
        self.process.kill()
        self.process.join()
        self.start()
        return outcome

    def lost(self, name: str, seed: int, finding: str, text: str) -> Outcome:
        """The outcome of a case that the process did not survive, made again to tell what it was."""
        from tests.fuzz.families import FAMILIES

        with tempfile.TemporaryDirectory() as folder:
            case = FAMILIES[name].make(seeded(name, seed), self.base / name, Path(folder))
        return Outcome("refused", finding, text, case.about, [argv for argv, _ in case.commands])

    def stop(self) -> None:
        with suppress(OSError):
            self.pipe.send(None)
        self.process.join(10)
        self.process.kill()


def make_bases(families: dict[str, Family], base: Path) -> None:
    for name, family in families.items():
        folder = base / name
        folder.mkdir(parents=True)
        family.make_base(folder)


def fuzz(families: dict[str, Family], *, minutes: float, seed: int, workers: int, keep: Path) -> dict[str, Statistics]:
    """Run the families in turn until the time is over. Cases with a finding are copied to `keep`."""
    figures = {name: Statistics() for name in families}
    turn = iter(range(seed, 1 << 62))
    lock = threading.Lock()
    with tempfile.TemporaryDirectory(prefix="tallymark-fuzz-") as root:
        make_bases(families, Path(root) / "base")
        end = time.monotonic() + 60 * minutes

        def loop(number: int) -> None:
            worker = Worker(Path(root) / "base", Path(root) / f"worker-{number}")
            while time.monotonic() < end:
                with lock:  # the family that has had the least time
                    name = min(figures, key=lambda name: (figures[name].seconds, name))
                    case = next(turn)
                    figures[name].seconds += 0.01
                begun = time.monotonic()
                outcome = worker.run(name, case)
                with lock:
                    figures[name].add(outcome, time.monotonic() - begun)
                    if outcome.finding:
                        save(outcome, name, case, worker.scratch, keep)
            worker.stop()

        with ThreadPoolExecutor(workers) as pool:
            for job in [pool.submit(loop, number) for number in range(workers)]:
                job.result()  # raises what went wrong in the fuzzer itself
    return figures


def save(outcome: Outcome, name: str, seed: int, files: Path, keep: Path) -> None:
    """Copy the files of a finding, with its commands and what they printed."""
    folder = keep / f"{name}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(files, folder, symlinks=True)
    lines = f"{outcome.finding}: {outcome.about}", json.dumps(outcome.commands), "", outcome.text, ""
    (folder / "finding.txt").write_text("\n".join(lines), "utf-8", "backslashreplace")
    print(f"{name} {seed}: {outcome.finding}: {outcome.shown}", flush=True)


def table(figures: dict[str, Statistics]) -> str:
    """The figures of all families, and their sum."""
    rows = [("family", "tried", "accepted", "refused", *FINDINGS, "largest MB")]
    for name, own in [*figures.items(), ("all", _sum(figures))]:
        counts = [own.verdicts.total(), own.verdicts["accepted"], own.verdicts["refused"]]
        counts += [own.findings[kind] for kind in FINDINGS]
        rows.append((name, *(f"{count:,}" for count in counts), f"{own.memory >> 20:,}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    )


def _sum(figures: dict[str, Statistics]) -> Statistics:
    total = Statistics()
    for own in figures.values():
        total.verdicts += own.verdicts
        total.findings += own.findings
        total.memory = max(total.memory, own.memory)
    return total
