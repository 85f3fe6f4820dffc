"""The options --engine, --workers and --address: the same outputs, and files that end their worker."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tallymark.core.engines.choice import EngineChoice
from tallymark.synthetic import streams
from tests.api.test_board import emptied, example
from tests.cli.running import run
from tests.cli.test_plugins import install
from tests.formats.files import put
from tests.made import NAMES
from tests.sets import SMALL, contents, copy_of

FRAGILE = """
import os
import signal
from dataclasses import replace
from pathlib import Path

from tallymark.challenges.wheat import CHALLENGE as WHEAT
from tallymark.io.images import IMAGE
from tallymark.io.media import Inspection

CHALLENGE = replace(WHEAT, name="fragile", package="fragile")


def inspect(path: Path) -> Inspection:
    if path.read_bytes() == b"fatal":
        os.kill(os.getpid(), signal.SIGKILL)
    return IMAGE.inspect(path)
"""
FRAGILE_READ = """
from dataclasses import replace

from fragile import inspect
from tallymark.challenges.wheat import read as wheat
from tallymark.io.images import IMAGE


def read(folder, rule_options, problems):
    catalog = wheat.read(folder, rule_options, problems)
    return catalog and replace(catalog, medium=replace(IMAGE, inspect=inspect))
"""


@pytest.fixture
def fragile(
    sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], None]
) -> tuple[Path, Path, Path]:
    """The photographs of wheat in a challenge whose decoder ends its process at one of them: that, and a bad one."""
    package = tmp_path / "plugin"
    put(package / "fragile" / "__init__.py", FRAGILE)
    put(package / "fragile" / "read.py", FRAGILE_READ)
    install(package, "fragile", {"fragile": "fragile:CHALLENGE"})
    monkeypatch.syspath_prepend(package)
    fresh()
    data = copy_of(sets, "wheat", tmp_path)
    photographs = sorted((data / "train").glob("*.jpg"))
    photographs[3].write_bytes(b"fatal")
    photographs[7].write_bytes(b"no photograph")
    return data, photographs[3], photographs[7]


def test_a_file_that_ends_its_worker_is_a_row_of_check(fragile: tuple[Path, Path, Path]) -> None:
    data, fatal, broken = fragile
    printed = json.loads(run("check", "fragile", data, "--workers", 2, "--json", code=2))
    assert printed["items"] == SMALL["wheat"]["items"]
    found = {problem["file"]: problem for problem in printed["problems"]}
    assert {file: problem["kind"] for file, problem in found.items()} == {
        str(fatal): "worker_died",
        str(broken): "corrupt_media",
    }
    assert found[str(fatal)]["item"] == fatal.stem
    assert "exclude the item" in found[str(fatal)]["remedy"]


@pytest.mark.slow
def test_a_file_that_ends_its_worker_is_named_on_the_page_of_explore(
    fragile: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    data, fatal, _ = fragile
    run("explore", "fragile", data, "--workers", 2, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "worker_died" in page
    assert fatal.name in page


def test_check_has_the_same_problems_in_the_same_order(sets: Path, tmp_path: Path) -> None:
    data = copy_of(sets, "ships", tmp_path)
    for path in sorted(data.rglob("*.jpg"))[::3]:
        path.write_bytes(path.read_bytes()[:500])
    one = run("check", "ships", data, "--json", code=2)
    assert "corrupt_media" in one
    assert run("check", "ships", data, "--workers", 2, "--json", code=2) == one


def test_explore_writes_the_same_page(sets: Path, tmp_path: Path) -> None:
    for workers in (1, 2):
        run("explore", "upcalls", sets / "upcalls", "--workers", workers, "--out", tmp_path / f"{workers}.html")
    assert (tmp_path / "1.html").read_bytes() == (tmp_path / "2.html").read_bytes()


def synth(name: str, folder: Path, *options: object) -> dict[str, bytes]:
    words = [f"{key}={value}" for key, value in SMALL[name].items() if key != "items"]
    run("synth", name, folder, "--items", SMALL[name]["items"], *options, *words)
    return contents(folder)


@pytest.mark.parametrize("name", ["food", *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES)])
def test_synth_writes_the_same_bytes(name: str, sets: Path, tmp_path: Path) -> None:
    assert synth(name, tmp_path / name, "--workers", 2) == contents(sets / name)


@pytest.mark.parametrize("name", NAMES)
def test_synthetic_items_can_be_made_elsewhere(
    name: str, sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What workers are sent is complete: the same bytes are written by a copy of it."""

    def copied(make: Callable[[int], Any], items: range, title: str, died: Any, engine: EngineChoice) -> list[Any]:
        again = pickle.loads(pickle.dumps(make))  # noqa: S301  # our own
        return [again(number) for number in reversed(items)][::-1]

    monkeypatch.setattr(streams, "map_items", copied)
    assert synth(name, tmp_path / name) == contents(sets / name)


@pytest.mark.parametrize("name", ["upcalls", "wheat"])
def test_board_writes_the_same_page(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "submissions"
    for number in range(3):
        emptied(name, folder / f"{number}.csv")
        shutil.copy(example(name, "submission.csv"), folder / f"good {number}.csv")
    (folder / "bad.csv").write_text("nothing\n")
    written = []
    for workers in (1, 2):
        page, table = tmp_path / "page.html", tmp_path / "table.csv"
        words = ("--out", page, "--csv", table, "--force", "--workers", workers, "--resamples", 50, "--json")
        printed = run("board", name, folder, example(name, "truth.csv"), *words)
        written.append((printed, page.read_bytes(), table.read_bytes()))
    assert written[0] == written[1]


@pytest.mark.parametrize("command", ["check", "explore", "synth", "predict", "train"])
def test_an_unknown_engine_is_refused(command: str, tmp_path: Path) -> None:
    words = ("wheat", tmp_path / "folder", "--engine", "rey")
    assert "did you mean 'ray'?" in run(command, *words, code=2)
    assert not (tmp_path / "folder").exists()
    assert "choose the engine ray" in run("check", "wheat", tmp_path, "--address", "auto", code=2)
