"""Small synthetic data sets of all five challenges, made once for all tests; damage them only in a copy."""

from __future__ import annotations

import shutil
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
"""What makes a set quick and still has everything in it: groups, empty items, several objects in one item."""


@pytest.fixture(scope="session")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a data set for each challenge, by its name."""
    root = tmp_path_factory.mktemp("sets")
    for name, options in SMALL.items():
        api_data.synth(name, root / name, seed=0, **options)
    return root


def copy_of(sets: Path, name: str, folder: Path) -> Path:
    """A data set that a test may damage."""
    return Path(shutil.copytree(sets / name, folder / name))


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
