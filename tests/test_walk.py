"""The reader's walk in CONTRIBUTING names what is there, and stays short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STEP = re.compile(r"^\d+\. `([^`]+)`, `([^`]+)`: ", re.MULTILINE)


def steps_of(command: str) -> list[tuple[str, str]]:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return STEP.findall(text.split(f"\n### {command}\n")[1].split("\n#")[0])


@pytest.mark.parametrize(("command", "most"), [("score", 11), ("train", 15), ("predict", 12)])
def test_a_walk_is_short_and_opens_no_file_twice(command: str, most: int) -> None:
    files = [file for file, _ in steps_of(command)]
    assert 5 < len(files) <= most
    assert len(set(files)) == len(files)


@pytest.mark.parametrize("command", ["score", "train", "predict"])
def test_a_walk_names_what_is_there(command: str) -> None:
    for file, name in steps_of(command):
        assert re.search(rf"^(def|class) {name}\b", (ROOT / "tallymark" / file).read_text(), re.MULTILINE), (file, name)
