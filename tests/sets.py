"""Small synthetic data sets of all five challenges, written once per test session; tests modify copies only."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tallymark.api import data as api_data

SMALL: dict[str, dict[str, object]] = {
    "wheat": {"items": 15, "size": 192},
    "upcalls": {"items": 12, "seconds": 25, "test_rate": 4000, "calls": 400},
    "food": {"items": 50, "size": 64, "classes": 4},
    "lyft": {"items": 8, "samples_per_scene": 3, "beams": 24, "columns": 360, "cameras": "front"},
    "ships": {"items": 15, "empty": 0.4},
}
"""Options of `synth` for quick sets that still have groups, empty items and items with several objects."""


@pytest.fixture(scope="session")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one data set per challenge, in a folder of its name."""
    root = tmp_path_factory.mktemp("sets")
    for name, options in SMALL.items():
        api_data.synth(name, root / name, seed=0, **options)
    return root


def copy_of(sets: Path, name: str, folder: Path) -> Path:
    """A copy of a challenge's data set, which a test may modify."""
    return Path(shutil.copytree(sets / name, folder / name))


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of every file in a folder, by relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
