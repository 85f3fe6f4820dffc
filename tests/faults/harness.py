"""Faults of the system, one after the other: the n-th operation of a command on its files fails, for n = 1, 2, 3, …

As SQLite is tested: after each fault, no file that was there before is damaged, no output is half written, the command
says which file and why, and the same command without the fault gives what an undisturbed one gives.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest

from tallymark.core.outputs import UNFINISHED
from tests.sets import contents

ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EINTR)
SOURCE = Path(__file__).with_name("shim.c")
OUT = ("out.csv", "out.html")
"""Outputs that list problems."""
ROOT = Path(__file__).parents[2]


class Mode(IntEnum):
    """What happens at the n-th operation; the numbers are those of the shim."""

    ONCE = 0
    LASTING = 1
    KILL = 2


@dataclass(frozen=True)
class Fault:
    """The n-th operation, from 1 on, fails with an error of the system.

    only_writes: count only those that write: opening to write, writing, renaming, syncing, making folders.
    """

    at: int
    error: int = errno.EIO
    mode: Mode = Mode.ONCE
    only_writes: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a command ended.

    failed: the operation, the error and the path of the fault; empty if there was none. One that lasts has a line for
        each operation that failed.
    """

    code: int
    printed: str
    operations: int
    writes: int
    failed: str

    @property
    def fault(self) -> tuple[str, int, str]:
        """The operation that failed, or was the first to fail."""
        operation, error, path = self.failed.split("\n")[0].split(" ", 2)
        return operation, int(error), path

    @property
    def paths(self) -> set[str]:
        """What failed to be written or read: of a disk that is full, a command names one."""
        return {line.split(" ", 2)[2] for line in self.failed.split("\n")}

    @property
    def said(self) -> str:
        """What was printed, whatever the width of the terminal."""
        return " ".join(self.printed.split())


@dataclass(frozen=True)
class Case:
    """A command line in a folder, and the files that are there before.

    lists: outputs that list what is wrong: after a fault in reading they differ.
    media: suffixes of files that cost only their item if they cannot be read: the command names them and goes on.
    grows: a folder with files that are written in several stages, each of them whole.
    journal: a folder with pages of which only the content counts, not which item is on which page.
    rows: outputs, or folders of them, whose lines or files about the other items stay as they are then.
    again: what to run after a fault, if it is not the same command.
    tries: how many operations fail in the short test.
    steady: what of an output must be the same in each run; leaves out times. None if there may be another one or none.
    """

    words: str
    make: Callable[[Path], None]
    code: int = 0
    lists: tuple[str, ...] = ()
    media: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    grows: str = "\0"
    journal: str = "\0"
    again: str = ""
    tries: int = 4
    steady: Callable[[str, bytes], object] = lambda name, data: data
    without: tuple[str, ...] = ()
    seconds: float = 120


class Verbs:
    """Runs commands in forks of one process, so that each costs little."""

    def __init__(self, shim: Path) -> None:
        environment = {**os.environ, "LD_PRELOAD": str(shim), "COLUMNS": "250", "PYTHONPATH": str(ROOT)}
        self._printed = shim.with_suffix(".txt")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=ROOT,
        )

    def run(
        self,
        words: str,
        folder: Path,
        fault: Fault | None = None,
        *,
        limits: Mapping[str, int] | None = None,
        without: Sequence[str] = (),
        seconds: float = 120,
    ) -> Outcome:
        """Run a command in a folder. Faults concern the files below it only.

        limits: RLIMIT_… and their values. without: functions that do nothing, by their full names.
        """
        request = {
            "words": words.split(),
            "folder": str(folder),
            "fault": None if fault is None else asdict(fault),
            "limits": dict(limits or {}),
            "without": list(without),
            "printed": str(self._printed),
            "seconds": seconds,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return Outcome(**json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.communicate()


@contextmanager
def running(folder: Path) -> Iterator[Verbs]:
    """The process that runs commands; skips the test where a shim cannot be made."""
    compiler = shutil.which("cc")
    if sys.platform != "linux" or compiler is None:
        pytest.skip("faults need Linux and a C compiler")
    shim = folder / "shim.so"
    built = subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", shim, SOURCE, "-ldl"], capture_output=True)
    if built.returncode:
        pytest.skip(f"the shim cannot be compiled: {built.stderr.decode(errors='replace')[:200]}")
    verbs = Verbs(shim)
    try:
        yield verbs
    finally:
        verbs.close()


class Sweep:
    """A case with its undisturbed result, to be disturbed at one operation after the other."""

    def __init__(self, case: Case, verbs: Verbs, root: Path) -> None:
        self.case, self.verbs = case, verbs
        self.template, self.folder = root / "template", root / "work"
        self.template.mkdir(parents=True)
        case.make(self.template)
        self.before = self._contents(self.template)
        self._begin()
        self.undisturbed = self._run(Fault(1 << 40))
        assert self.undisturbed.code == case.code, self.undisturbed.printed
        self.after = self._contents(self.folder)

    @property
    def operations(self) -> int:
        """How many operations there are to fail."""
        return self.undisturbed.operations

    @property
    def writes(self) -> int:
        """How many of them write."""
        return self.undisturbed.writes

    def disturb(self, fault: Fault) -> list[str]:
        """What is wrong after a fault, in words; nothing if all promises hold."""
        self._begin()
        outcome = self._run(fault)
        killed = outcome.code == -signal.SIGKILL
        wrong = self._damage(outcome) if killed else self._judge(outcome) if outcome.failed else []
        if outcome.code == self.case.code and self._contents(self.folder) == self.after:
            return self._named(fault, outcome, wrong)  # there was no fault, or the operation was tried again
        again = self._run(None, self.case.again)
        if again.code != self.case.code:
            wrong.append(f"the same command afterwards ends with {again.code}: {again.said[-300:]}")
        elif other := _differences(self._contents(self.folder), self.after):
            wrong.append(f"the same command afterwards gives other files: {other}")
        return self._named(fault, outcome, wrong)

    def _named(self, fault: Fault, outcome: Outcome, wrong: list[str]) -> list[str]:
        what = outcome.failed.split("\n")[0] or fault.mode.name.lower()
        return [f"operation {fault.at} ({what}): {text}" for text in wrong]

    def _judge(self, outcome: Outcome) -> list[str]:
        wrong = self._damage(outcome)
        path = outcome.fault[2]
        if left := [name for name in self._contents(self.folder) if UNFINISHED in name]:
            wrong.append(f"{left} is left")
        if "Traceback" in outcome.printed:
            wrong.append(f"a traceback: {outcome.said[-400:]}")
        elif outcome.code not in (2, self.case.code):
            wrong.append(f"exit code {outcome.code}: {outcome.said[-300:]}")
        elif outcome.code != 2 and self._lists(outcome):
            wrong.append(f"exit code {outcome.code}, although {path} could not be read")
        elif self._tells(outcome) and (missing := self._unsaid(outcome)):
            wrong.append(f"the message lacks {missing}: {outcome.said[-400:]}")
        return wrong

    def _tells(self, outcome: Outcome) -> bool:
        """Whether something has to say what failed: a message, or a page that shows the item without its medium."""
        operation, _, path = outcome.fault
        return outcome.code == 2 or self._skips(operation, path)

    def _lists(self, outcome: Outcome) -> bool:
        """Whether an output differs for a file or folder, but no medium, that could not be read."""
        operation, _, path = outcome.fault
        if operation not in ("open", "read", "list") or self._skips(operation, path):
            return False
        found = self._contents(self.folder)
        return any(found.get(name) != self.after.get(name) for name in self.case.lists)

    def _damage(self, outcome: Outcome) -> list[str]:
        """Files that are lost, or neither as before nor as after a whole run."""
        found = {name: data for name, data in self._contents(self.folder).items() if UNFINISHED not in name}
        wrong = [f"{name} is lost" for name in self.before if name not in found]
        operation, _, path = outcome.fault if outcome.failed else ("", 0, "")
        if self._skips(operation, path) and outcome.code != self.case.code:
            return wrong + self._other_rows(Path(path))  # whole, but without the item that could not be read
        good = (self.after,) if outcome.code == self.case.code else (self.before, self.after)
        lists = self.case.lists if operation in ("open", "read", "list") else ()
        known = [name for name in found if name not in lists and not name.startswith(self.case.grows)]
        half = [name for name in known if found[name] not in [one.get(name) for one in good]]
        return wrong + ([f"{half[:5]} neither as before nor whole"] if half else [])

    def _other_rows(self, path: Path) -> list[str]:
        """Outputs in which a row, or a file, about an item other than those of a path has changed or is missing."""
        items = {path.stem, *(inner.stem for inner in path.rglob("*"))}

        def others(name: str, data: object) -> object:
            if any(item in name for item in items):
                return None
            assert isinstance(data, bytes)
            return [line for line in data.splitlines() if not any(item.encode() in line for item in items)]

        found = self._contents(self.folder)
        known = [name for name in self.after if name.startswith(self.case.rows)] if self.case.rows else []
        if all(found.get(name) == self.before.get(name) for name in known):
            return []  # it has stopped
        wrong = [name for name in known if others(name, found.get(name, b"")) != others(name, self.after[name])]
        return [f"{wrong[:5]} have lost what is about other items"] if wrong else []

    def _skips(self, operation: str, path: str) -> bool:
        """Whether what failed costs its item only, or the items of its folder."""
        if operation == "list":
            return bool(self.case.rows)
        return operation in ("open", "read") and bool(self.case.media) and path.endswith(self.case.media)

    def _unsaid(self, outcome: Outcome) -> str:
        """What a message, or a list or page of problems, should name: the file and the reason."""
        operation, error, path = outcome.fault
        found = contents(self.folder)
        if outcome.said == self.undisturbed.said and self._contents(self.folder) == self.after:
            return ""  # tried again, with success
        listed = [data.decode(errors="replace") for name, data in found.items() if name in OUT]
        said = outcome.said + "".join(listed)
        names = [name for one in outcome.paths for name in self._names_of(Path(one))]
        names += [Path(path).stem] if self._skips(operation, path) else []  # pages call items by their ids
        if not any(name in said for name in names):
            return f"the file {path}"
        return "" if os.strerror(error).lower() in said.lower() else f"the reason {os.strerror(error)!r}"

    def _names_of(self, path: Path) -> list[str]:
        """What a path may be called in a message: by its name, or the output that it is a part of until that is whole.

        A hidden file that is ours is called by its folder.
        """
        whole = [part.removeprefix(".").rsplit(".", 2)[0] for part in path.parts if part.endswith(UNFINISHED)]
        if path.name.endswith(UNFINISHED):
            return whole[-1:]
        return [*whole, path.parent.name if path.name.startswith(".") else path.name]

    def _begin(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.template, self.folder)

    def _run(self, fault: Fault | None, words: str = "") -> Outcome:
        case = self.case
        return self.verbs.run(words or case.words, self.folder, fault, without=case.without, seconds=case.seconds)

    def _contents(self, folder: Path) -> dict[str, Any]:
        steady = {
            name: self.case.steady(name, data)
            for name, data in contents(folder).items()
            if not name.startswith(self.case.journal) or UNFINISHED in name
        }
        return {name: data for name, data in steady.items() if data is not None}


def _differences(found: Mapping[str, object], expected: Mapping[str, object]) -> list[str]:
    names = sorted(name for name in found.keys() | expected.keys() if UNFINISHED not in name)
    return [name for name in names if found.get(name) != expected.get(name)][:5]
