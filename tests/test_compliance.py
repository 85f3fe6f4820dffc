"""Every command of docs/compliance.md runs in the folder of the demo, and prints what the page says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tallymark.api import kit
from tallymark.cli.main import app
from tallymark.core.registry import challenge_names

PAGE = Path(__file__).parent.parent / "docs" / "compliance.md"
TEXTS = {".csv", ".ipynb", ".md", ".py"}
CODE = re.compile(r"`([^`]+)`")


def rows(name: str) -> list[tuple[str, str]]:
    """The command and the last column of each row in the table of a challenge."""
    section = PAGE.read_text().split(f"\n## {name}\n")[1].split("\n## ")[0]
    cells = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in section.splitlines() if line[:2] == "| "
    ]
    return [(cell[1].strip("`"), cell[2].strip(" |")) for cell in cells[2:]]


@pytest.fixture
def in_demo(name: str, demo_of: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder in which the page's commands are typed."""
    shutil.copytree(demo_of(name), tmp_path / "demo" / name)
    shutil.copytree(PAGE.parent.parent / "tests" / "compliance", tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(kit, "download", lambda wheels, folder, python: None)  # they are installed here
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("in_demo")
@pytest.mark.parametrize("name", challenge_names())
def test_the_commands_show_what_the_texts_ask_for(name: str) -> None:
    assert len(rows(name)) > 2
    for command, shows in rows(name):
        code, output = run(command)
        assert code == (2 if "refused" in shows else 0), f"{command}\n{output}"
        shown = CODE.findall(shows)
        files = [file for text in shown for file in Path().rglob(text)]
        seen = "\n".join([output, *(file.read_text() for file in files if file.suffix in TEXTS)])
        for text in shown:
            assert text in seen or [*Path().rglob(text)], f"{command}: {text}\n{output}"


def run(command: str) -> tuple[int, str]:
    """The exit code of a command and what it prints."""
    program, *words = shlex.split(command)
    if program == "tallymark":
        result = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
        return result.exit_code, result.output
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr
