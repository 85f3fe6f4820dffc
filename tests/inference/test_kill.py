"""`kill -9` of a prediction or of its workers at random moments: in the end, files as if nothing had happened.

A few kills of each kind; `KILLS=20 pytest -m slow tests/inference/test_kill.py` tries more.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tallymark.api import data as api_data
from tests.core.engines.processes import descendants, wait_until
from tests.sets import contents

pytestmark = pytest.mark.slow
KILLS = int(os.environ.get("KILLS", "2"))
WORDS = "predict wheat data --split all --out out.csv --objects objects.csv --workers 2 image_size=128 tta=1"
ENVIRONMENT = {"PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1", "COLUMNS": "250"}
WORKERS = {"local": "tallymark.core.engines.worker", "ray": "ray::_Server"}


class Command:
    """The same prediction again and again, in a folder with sixty photographs."""

    def __init__(self, folder: Path, words: str) -> None:
        self.folder = folder
        self.words = words.split()

    def start(self) -> subprocess.Popen[str]:
        arguments = [sys.executable, "-m", "tallymark", *self.words]
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        environment = {**os.environ, **ENVIRONMENT}  # where Ray notes how its cluster is entered
        return subprocess.Popen(arguments, cwd=self.folder, env=environment, **streams)

    def run(self) -> tuple[int, str]:
        """Its exit code and what it prints."""
        process = self.start()
        printed, _ = process.communicate(timeout=300)
        return process.returncode, printed

    def outputs(self) -> dict[str, bytes]:
        """All files that it has left: those asked for, and a journal if it did not end."""
        return {name: data for name, data in contents(self.folder).items() if not name.startswith("data/")}

    def forget(self) -> None:
        for path in self.folder.iterdir():
            if path.name != "data":
                shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    folder = tmp_path_factory.mktemp("kill")
    api_data.synth("wheat", folder / "data", seed=1, items=60, size=192)
    return Command(folder, WORDS)


@pytest.fixture(scope="module")
def undisturbed(command: Command) -> dict[str, bytes]:
    code, printed = command.run()
    assert code == 0, printed
    assert set(command.outputs()) == {"out.csv", "objects.csv"}
    return command.outputs()


@pytest.fixture(scope="module", params=["local", "ray"])
def engine(request: pytest.FixtureRequest, command: Command) -> Iterator[str]:
    """The name of an engine that the command uses; for Ray, a cluster that outlives the command."""
    command.words = WORDS.split()
    if request.param == "local":
        yield "local"
        return
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'tallymark[ray]'")
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    command.words += ["--engine", "ray", "--address", ray.get_runtime_context().gcs_address]
    yield "ray"
    ray.shutdown()


@pytest.fixture
def seconds(command: Command, engine: str, undisturbed: dict[str, bytes]) -> float:
    """How long the command takes by this engine, which finds the same."""
    command.forget()
    started = time.monotonic()
    code, printed = command.run()
    assert code == 0, printed
    assert command.outputs() == undisturbed
    return time.monotonic() - started


def test_a_killed_command_ends_with_the_same_files(
    command: Command, seconds: float, undisturbed: dict[str, bytes]
) -> None:
    """The same command again; which is refused only if everything was written already."""
    rng = random.Random(1)
    for _ in range(KILLS):
        command.forget()
        process = command.start()
        time.sleep(rng.uniform(0, seconds))
        process.kill()
        process.communicate()
        complete = undisturbed.items() <= command.outputs().items()
        code, printed = command.run()
        assert code == 0 or (complete and code == 2), printed
        assert undisturbed.items() <= command.outputs().items()
        assert code != 0 or command.outputs() == undisturbed


def test_a_killed_worker_costs_nothing_but_time(
    command: Command, engine: str, seconds: float, undisturbed: dict[str, bytes]
) -> None:
    rng = random.Random(2)
    killed = 0
    while killed < KILLS:  # a worker may have ended before its moment comes
        command.forget()
        process = command.start()
        above = process.pid if engine == "local" else os.getpid()
        wait_until(lambda above=above: bool(descendants(above, WORKERS[engine])))  # type: ignore[misc]
        time.sleep(rng.uniform(0, seconds / 8))
        for worker in descendants(above, WORKERS[engine])[:1]:
            os.kill(worker, 9)
            killed += 1
        printed, _ = process.communicate(timeout=300)
        assert process.returncode == 0, printed
        assert command.outputs() == undisturbed
