"""Fixtures of the command line: a truth and a submission that are in order, and a fresh registry of challenges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tallymark.core import registry
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


def forget() -> None:
    for function in (registry._built_in, registry.challenge_names, registry.challenge):
        function.cache_clear()


@pytest.fixture
def fresh() -> Iterator[Callable[[], None]]:
    """Forgets the challenges that are known, before and after a test and when it is called."""
    forget()
    yield forget
    forget()
