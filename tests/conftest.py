"""Settings of all tests, and fixtures that several folders use."""

import os

# Before NumPy, torch and ONNX Runtime are imported: on a busy machine, two threads of one training wait for each other.
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
# No test depends on which runtime is the fastest here, or on what was remembered of that; subprocesses too.
os.environ["TALLYMARK_RUNTIME"] = "onnxruntime"

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from rich.console import Console

from tallymark.cli import demo
from tallymark.core.engines import local, mapping
from tallymark.io import retries
from tests.browser import browser, chromium
from tests.sets import make_once, sets

__all__ = ["browser", "chromium", "sets"]

# Shared machines are slow at times. In CI always the same examples, so that a failure is caused by the change.
settings.register_profile(
    "steady", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("steady")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that cannot be read are tried again at once, and not for seconds."""
    monkeypatch.setattr(retries, "DELAYS", (0.0, 0.01))
    monkeypatch.setattr(retries._Failures, "in_a_row", 0)


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands start no worker processes by themselves, where nothing could be replaced for a test."""
    for module in (local, mapping):
        monkeypatch.setattr(module, "START_AFTER", float("inf"))


SHORTER = {"lyft": 6, "ships": 14, "wheat": 30, "upcalls": 8, "food": 6}
"""Epochs of the demo in tests, about half as many: enough to be much better than a trivial prediction."""


@pytest.fixture(scope="session")
def demo_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder that the demo of one challenge writes, with its output in `printed.txt`.

    Each demo trains a tiny model, which takes up to two minutes, so it runs once for all tests and workers, when the
    first test asks for it. Change the files only in a copy.
    """

    def make(folder: Path) -> None:
        folder.mkdir()
        name = folder.name.removeprefix("demo-")
        with (folder / "printed.txt").open("w") as printed:
            demo.run([name], folder / "demo", Console(file=printed, width=100), epochs=SHORTER[name])

    def folder_of(name: str) -> Path:
        return make_once(tmp_path_factory, f"demo-{name}", make) / "demo" / name

    return folder_of


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the trainings of the demo, then the other slow tests, so that no worker waits at the end."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
    items.sort(key=lambda item: ("beats_a_trivial" not in item.name, item.get_closest_marker("slow") is None))
