"""Fixtures of the command line: a truth and a submission that are in order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.made import NAMES
from tests.submission.test_fuzzing import GOOD


@pytest.fixture
def good(tmp_path: Path) -> Callable[[str], tuple[Path, Path]]:
    """Writes a truth and a submission of a challenge that are in order."""

    def write(name: str) -> tuple[Path, Path]:
        paths = tmp_path / "truth.csv", tmp_path / "submission.csv"
        for path, text in zip(paths, GOOD[name], strict=True):
            path.write_text(text)
        return paths

    return write


@pytest.fixture(params=NAMES)
def files(request: pytest.FixtureRequest, good: Callable[[str], tuple[Path, Path]]) -> tuple[str, Path, Path]:
    """Each challenge with a truth and a submission."""
    return request.param, *good(request.param)
