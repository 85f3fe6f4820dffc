"""Settings of all tests, and what is made once for several of them."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from rich.console import Console

from tallymark.cli import demo
from tests.sets import sets

__all__ = ["sets"]

# Shared machines have slow moments. In CI always the same examples, so that a red run is about the change.
SLOW = [HealthCheck.too_slow]
settings.register_profile("steady", deadline=None, suppress_health_check=SLOW, derandomize="CI" in os.environ)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make demo` makes: tiny models of all challenges are trained, which takes minutes, so it is done once."""
    folder = tmp_path_factory.mktemp("made") / "demo"
    with (folder.parent / "printed.txt").open("w") as printed:
        demo.run([], folder, Console(file=printed, width=100))
    return folder
