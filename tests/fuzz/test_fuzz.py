"""A small share of the fuzzers; `make fuzz` runs them for longer."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fuzz.case import run_case
from tests.fuzz.families import FAMILIES
from tests.fuzz.runner import seeded
from tests.sets import make_once

SHARE = {
    "submissions": 40, "truths": 40, "results": 30, "annotations": 40, "drives": 5, "media": 10, "archives": 30,
    "lists": 30, "options": 20, "models": 5, "journals": 5,
}  # fmt: skip
"""Cases of each family."""


@pytest.fixture(scope="session")
def base_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """What the cases of a family share, made once for all workers."""

    def make(folder: Path) -> None:
        folder.mkdir()
        FAMILIES[folder.name.removeprefix("fuzz-")].make_base(folder)

    return lambda name: make_once(tmp_path_factory, f"fuzz-{name}", make)


@pytest.mark.parametrize("name", SHARE)
def test_damaged_files_are_reported(name: str, base_of: Callable[[str], Path], tmp_path: Path) -> None:
    """No traceback, no hang, and nothing lost that is not named."""
    base = base_of(name)
    for seed in range(SHARE[name]):
        folder = tmp_path / "case"
        folder.mkdir()
        outcome = run_case(FAMILIES[name], seeded(name, seed), base, folder)
        assert not outcome.finding, (
            f"{outcome.finding}: {outcome.about}, {outcome.commands[-1]}\n{outcome.text}\n"
            f"again: python -m tests.fuzz {name} --case {seed}"
        )
        shutil.rmtree(folder)
