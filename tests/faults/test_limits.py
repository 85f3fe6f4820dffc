"""Commands where memory or space is short: a small disk in memory, files that may not grow, and little memory."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.cases import DATA, TABLES
from tests.sets import contents

ENVIRONMENT = {**os.environ, "COLUMNS": "250", "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
MEGABYTE = 1 << 20


def run(words: str, folder: Path, limit: Callable[[], None] | None = None) -> tuple[int, str]:
    """The exit code of a command in a folder, and what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "tallymark", *words.split()],
        cwd=folder,
        env={**ENVIRONMENT, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=limit,
    )
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte, where mounting is allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    place = str(tmp_path).encode()
    if sys.platform != "linux" or libc.mount(b"tmpfs", place, b"tmpfs", 0, b"size=1m") != 0:
        pytest.skip("mounting a file system is not allowed here")
    yield tmp_path
    libc.umount2(place, 2)


def test_a_full_disk_is_said_and_leaves_nothing(small_disk: Path) -> None:
    (small_disk / "mine.txt").write_text("mine\n")
    code, said = run("synth upcalls data --items 20 seconds=60", small_disk)
    assert code == 2, said
    assert "no space left on device" in said
    assert "Traceback" not in said
    assert contents(small_disk) == {"mine.txt": b"mine\n"}


def test_an_output_on_a_full_disk_stays_as_it_was(small_disk: Path) -> None:
    TABLES["repair"].make(small_disk)
    with (small_disk / "rest").open("wb", buffering=0) as rest:
        try:
            while rest.write(b"\0" * 4096):
                pass
        except OSError:
            pass
    before = contents(small_disk)
    code, said = run(TABLES["repair"].words, small_disk)
    assert (code, contents(small_disk) == before) == (2, True), said
    assert "out.csv" in said
    assert "no space left on device" in said


def test_a_file_that_may_not_grow_is_no_output(tmp_path: Path) -> None:
    """What compiled libraries write is stopped too, by the system."""
    DATA["explore"].make(tmp_path)
    before = contents(tmp_path)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    code, said = run(DATA["explore"].words, tmp_path, limit)
    assert (code, contents(tmp_path) == before) == (2, True), said
    assert "file too large" in said
    assert "out.html" in said


@pytest.mark.parametrize("name", ["check", "score", "repair"])
def test_tables_need_little_memory(name: str, tmp_path: Path) -> None:
    """The commands of a submission work where a process may not have more than three gigabytes of addresses."""
    TABLES[name].make(tmp_path)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (3072 * MEGABYTE, 3072 * MEGABYTE))

    code, said = run(TABLES[name].words, tmp_path, limit)
    assert code == 0, said
