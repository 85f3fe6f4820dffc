"""Speed of two checkouts side by side: scoring, checking, training and predicting, alternating in one run.

    python -m benchmarks.compare --before CHECKOUT [WORK ...] [--rounds N] [--preset tiny] [--threads 1]

Prints the throughput of this checkout over that of the other one: 1.00 is equal, more is faster; by the clock, and by
CPU time, which counts on a busy machine: how many cores a prediction finds free there is chance. Each checkout runs in
a process of its own, which stays open, so that imports do not count; both do the same work by turns; the best round
counts. The last column shows whether both computed the same: the score, the score of the trained model, the bytes of
the submission. WORK is a part of a row's name, such as `score` or `wheat`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
OLD_NAMES = {"split": "part", "rule": "reading", "evaluations": "judged", "score_threshold": "cut", "tta": "views"}
"""What releases before the modules of `tallymark.api` call arguments and recipe fields."""
SCORED = {
    "wheat": {},
    "ships": {"chips": 4_000},
    "lyft": {"samples": 4_000},
    "upcalls": {"calls": 20_000, "detections": 150_000},
    "food": {"photographs": 100_000},
}
"""Sizes of the files in `benchmarks.files`."""
SETS: dict[str, dict[str, Any]] = {
    "wheat": {"items": 60, "size": 512},
    "ships": {"items": 60},
    "food": {"items": 300, "size": 128, "classes": 10},
    "lyft": {"items": 40, "cameras": "none"},
    "upcalls": {"items": 20, "seconds": 60, "calls": 200},
}
"""Synthetic data to train on."""
PREDICTED: dict[str, dict[str, Any]] = {
    "wheat": {"items": 240, "size": 512},
    "ships": {"items": 120},
    "food": {"items": 1_200, "size": 128, "classes": 10},
    "lyft": {"items": 80, "cameras": "none"},
    "upcalls": {"items": 120, "seconds": 60, "calls": 200},
}
"""Synthetic data to predict: more, so that opening the model is a small part."""
EPOCHS = {"wheat": 24, "ships": 16, "food": 12, "lyft": 10, "upcalls": 12}
"""Enough that the loop takes most of the time, and not the tuning and the pages after it."""
SLOWEST = 0.95
"""Rows below this ratio of CPU time are pointed out."""


class Checkout:
    """A process that runs the calls of one checkout."""

    def __init__(self, root: Path, threads: int, out: Path) -> None:
        self.out = out
        self.errors = out / "errors.txt"
        self.names = OLD_NAMES if (root / "tallymark" / "verbs.py").exists() else {}
        environment = os.environ | {"PYTHONPATH": str(root)}
        if threads:
            environment |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), "--serve"], cwd=out, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors.open("w"),
        )  # fmt: skip
        package = Path(self.call("where")["value"])
        if not package.is_relative_to(root.resolve()):
            raise SystemExit(f"{root}: has no package tallymark; {package} was imported")

    def call(self, verb: str, *given: str, **options: Any) -> dict[str, Any]:
        """Seconds and value of one call of `tallymark.verb`."""
        named = {self.names.get(key, key): value for key, value in options.items()}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([verb, given, named]), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.out.name}: {verb} failed\n{self.errors.read_text()[-3000:]}")
        done: dict[str, Any] = json.loads(line)
        return done

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def serve() -> None:
    """Run calls that come line by line on standard input; answer each with its seconds and its value."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the package prints
    import tallymark

    for line in sys.stdin:
        verb, given, options = json.loads(line)
        begun = np.array([time.perf_counter(), cpu_seconds()])
        value = tallymark.__file__ if verb == "where" else getattr(tallymark, verb)(*given, **options)
        seconds = np.array([time.perf_counter(), cpu_seconds()]) - begun
        answer = {"seconds": seconds.tolist(), "value": plain_value(verb, given, value)}
        print(json.dumps(answer), file=answers, flush=True)


def cpu_seconds() -> float:
    """Of this process and of its workers that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def plain_value(verb: str, given: list[str], value: Any) -> Any:
    """What both checkouts have to agree on."""
    if verb == "score":
        return value.value
    if verb == "train":
        return value.score.value
    if verb == "check":
        return [value.items, value.objects, value.problems.total]
    if verb == "predict":
        return hashlib.sha256(Path(given[2]).read_bytes()).hexdigest()
    return value if verb == "where" else None


Row = tuple[str, str, tuple[str, ...], dict[str, Any]]
"""The name of a row, the verb, what is given to it, and options. `{out}` stands for a path that is new in each round,
`{home}` for the checkout's own folder."""


def rows(files: Path, preset: str, work: list[str]) -> Iterator[Row]:
    """The rows that are asked for, in the order in which they are done: what is trained is used to predict."""

    def wanted(*names: str) -> bool:
        return not work or any(word in name for word in work for name in names)

    for name, size in SCORED.items():
        if wanted(f"score {name}"):
            yield f"score {name}", "score", (name, *make_files(name, files / name, size)), {}
    for name, options in SETS.items():
        check, train, predict = (f"{verb} {name}" for verb in ("check", "train", "predict"))
        if wanted(check, train, predict):
            data = make_set(name, files / f"{name}-set", options)
        if wanted(check):
            yield check, "check", (name, data), {}
        if wanted(train, predict):
            changes = {"preset": preset, "epochs": EPOCHS[name], "evaluations": 1}
            yield train, "train", (name, data, "{out}"), changes
            more = make_set(name, files / f"{name}-predicted", PREDICTED[name])
            yield predict, "predict", (f"{{home}}/{name}-run", more, "{out}"), {"split": "all"}


def make_files(name: str, folder: Path, size: dict[str, int]) -> list[str]:
    """A truth and a submission of realistic size."""
    from benchmarks import files

    folder.mkdir()
    return [str(path) for path in getattr(files, name)(folder, **size)]


def make_set(name: str, folder: Path, options: dict[str, Any]) -> str:
    import tallymark

    tallymark.synth(name, folder, seed=0, **options)
    return str(folder)


def compare(row: Row, checkouts: list[Checkout], rounds: int) -> float:
    """Do the work of a row by turns, print it, and return the ratio of the throughputs by CPU time."""
    what, verb, given, options = row
    best, values = np.full((2, 2), np.inf), [None, None]
    if verb != "train":  # quick: the first call imports, and more calls count
        for checkout in checkouts:
            checkout.call(verb, *fill(given, checkout, what, "warm-up"), **options)
        rounds *= 2
    for turn in range(rounds):
        for at in (0, 1) if turn % 2 == 0 else (1, 0):
            words = fill(given, checkouts[at], what, str(turn))
            done = checkouts[at].call(verb, *words, **options)
            best[at], values[at] = np.minimum(best[at], done["seconds"]), done["value"]
            if verb == "train" and turn == 0:
                Path(words[2]).rename(checkouts[at].out / f"{what.split()[1]}-run")
    ratio, cpu_ratio = best[0] / best[1]
    same = "yes" if values[0] == values[1] else f"{values[0]} and {values[1]}"[:60]
    flag = " **slower**" if cpu_ratio < SLOWEST else ""
    seconds = f"{best[0, 0]:.3f} | {best[1, 0]:.3f} | {ratio:.2f} | {best[0, 1]:.3f} | {best[1, 1]:.3f}"
    print(f"| {what} | {seconds} | {cpu_ratio:.2f}{flag} | {same} |", flush=True)
    return float(cpu_ratio)


def fill(given: tuple[str, ...], checkout: Checkout, what: str, turn: str) -> list[str]:
    out = checkout.out / f"{what.replace(' ', '-')}-{turn}"
    return [word.format(out=out, home=checkout.out) if "{" in word else word for word in given]


def main() -> int:
    if sys.argv[1:] == ["--serve"]:
        serve()
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", nargs="*", metavar="WORK")
    parser.add_argument("--before", type=Path, required=True, help="the other checkout")
    parser.add_argument("--rounds", type=int, default=3, help="trainings of each; twice as many of the rest")
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--threads", type=int, default=1, help="OpenMP threads of both; 0: as each chooses")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folders = [Path(temporary) / name for name in ("files", "before", "after")]
        for folder in folders:
            folder.mkdir()
        checkouts = [
            Checkout(root.resolve(), given.threads, folder)
            for root, folder in zip((given.before, ROOT), folders[1:], strict=True)
        ]
        print("| work | before, s | after, s | throughput | before, CPU s | after, CPU s | throughput | same result |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        ratios = [compare(row, checkouts, given.rounds) for row in rows(folders[0], given.preset, given.work)]
        for checkout in checkouts:
            checkout.close()
    print(f"slowest row: {min(ratios):.2f}")
    return int(min(ratios) < SLOWEST)


if __name__ == "__main__":
    sys.exit(main())
