"""Challenges of other packages: broken ones are named, and `new` writes one that works."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tallymark.api.new import new
from tests.cli.running import run
from tests.formats.files import put
from tests.made import NAMES

ROOT = Path(__file__).parent.parent.parent
BROKEN = {
    "absent": ("absent:CHALLENGE", "ModuleNotFoundError: No module named 'absent'"),
    "faulty": ("faulty_plugin:CHALLENGE", "ZeroDivisionError"),
    "other": ("other_plugin:CHALLENGE", "int at other_plugin:CHALLENGE"),
    "renamed": ("tallymark.challenges.wheat:CHALLENGE", "a challenge named 'wheat'"),
    "wheat": ("tallymark.challenges.wheat:CHALLENGE", "a second challenge 'wheat'"),
}


def install(folder: Path, package: str, points: dict[str, str]) -> None:
    """What pip leaves behind of a package: its entry points."""
    listed = "".join(f"{name} = {value}\n" for name, value in points.items())
    put(folder / f"{package}-1.dist-info" / "entry_points.txt", f"[tallymark.challenges]\n{listed}")
    put(folder / f"{package}-1.dist-info" / "METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], None]) -> None:
    put(tmp_path / "faulty_plugin.py", "CHALLENGE = 1 / 0\n")
    put(tmp_path / "other_plugin.py", "CHALLENGE = 6\n")
    install(tmp_path, "bad", {name: value for name, (value, _) in BROKEN.items()})
    monkeypatch.syspath_prepend(tmp_path)
    fresh()


@pytest.mark.usefixtures("broken")
def test_list_names_broken_plugins_beside_the_challenges_that_work() -> None:
    text = run("list")
    assert all(name in text for name in NAMES)
    printed = json.loads(run("list", "--json"))
    assert [row["name"] for row in printed["challenges"]] == sorted(NAMES)
    found = {problem["file"]: problem for problem in printed["problems"]}
    assert len(found) == len(BROKEN)
    for name, (_, message) in BROKEN.items():
        assert message in found[f"{name} of bad"]["found"]
        assert "pip uninstall bad" in found[f"{name} of bad"]["remedy"]


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("command", ["check", "list", "synth"])
def test_a_broken_plugin_is_a_problem_where_it_is_named(command: str) -> None:
    assert "bad_plugin" in run(command, "faulty", *([] if command == "list" else ["x"]), code=2)
    assert "--hours" in run("score", "--help")


@pytest.mark.parametrize("name", ["Bees", "wheat", "json", "class", "2bees", "tests", "frame"])
def test_names_that_are_taken_or_no_names_are_refused(name: str, tmp_path: Path) -> None:
    assert "bad_name" in run("new", name, "--out", tmp_path / "folder", code=2)
    assert not (tmp_path / "folder").exists()


@pytest.mark.slow
def test_a_new_challenge_passes_its_own_tests_and_is_listed(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    assert f"pip install -e {folder}" in run("new", "pond_life", "--out", folder).replace("\n", " ")
    assert "not_empty" in run("new", "pond_life", "--out", folder, code=2)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    install(folder, project["name"], project["entry-points"]["tallymark.challenges"])
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}

    def python(*words: str) -> str:
        command = [sys.executable, "-m", *words]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "5 passed" in python("pytest", "-q", "-p", "no:cacheprovider", "tests")
    assert "pond_life" in python("tallymark", "list")


def test_the_guide_shows_what_new_writes(tmp_path: Path) -> None:
    folder = new("bees", tmp_path / "bees")
    guide = (ROOT / "docs" / "extender.md").read_text()
    shown = re.findall(r"`bees/(\w+\.py)`:\n\n```\w+\n(.*?)^```$", guide, re.M | re.S)
    assert len(shown) == 5
    for file, text in shown:
        written = (folder / "bees" / file).read_text().replace('"Bees"', '"Bees at the hive entrance"')
        assert written == text, file
