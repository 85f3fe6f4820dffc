"""Small synthetic data sets of all five challenges, written once for all tests; change them only in a copy."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tallymark.api import data as api_data

SMALL: dict[str, dict[str, Any]] = {
    "wheat": {"items": 15, "size": 192},
    "upcalls": {"items": 12, "seconds": 25, "test_rate": 4000, "calls": 400},
    "food": {"items": 50, "size": 64, "classes": 4},
    "lyft": {"items": 8, "samples_per_scene": 3, "beams": 24, "columns": 360, "cameras": "front"},
    "ships": {"items": 15, "empty": 0.4},
}
"""Options that keep a set small and still have everything in it: groups, empty items, several objects in one item."""


def make_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that `make` fills once, whichever of the workers of a parallel run needs it first."""
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / name
    done = shared / f"{name}.done"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file is closed, even by a crash
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # left by an attempt that failed
            make(folder)
            done.touch()
    return folder


@pytest.fixture(scope="session")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a data set for each challenge, by its name."""

    def make(root: Path) -> None:
        for name, options in SMALL.items():
            api_data.synth(name, root / name, seed=0, **options)

    return make_once(tmp_path_factory, "sets", make)


def copy_of(sets: Path, name: str, folder: Path) -> Path:
    """A copy of a data set that a test may change."""
    return Path(shutil.copytree(sets / name, folder / name))


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
