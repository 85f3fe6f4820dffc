"""`tallymark synth`, `folds` and `explore`."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.running import run
from tests.made import NAMES
from tests.sets import SMALL


@pytest.mark.parametrize("name", NAMES)
def test_data_from_synth_to_folds(name: str, sets: Path, tmp_path: Path) -> None:
    listed = json.loads(run("check", name, sets / name, "--json", code=2 if name == "ships" else 0))
    assert listed["items"] == SMALL[name]["items"]
    assert set(listed["counts"]) <= {"shared_scene"}
    assert "written to" in run("folds", name, sets / name, "--folds", 2, "--out", tmp_path / "folds.csv")
    assert pl.read_csv(tmp_path / "folds.csv")["fold"].n_unique() == 2
    assert "written to" in run("explore", name, sets / name, "--out", tmp_path / "page.html")
    assert "<html" in (tmp_path / "page.html").read_text()[:500]


def test_folds_as_json(sets: Path, tmp_path: Path) -> None:
    made = json.loads(run("folds", "food", sets / "food", "--folds", 4, "--out", tmp_path / "f.csv", "--json"))
    assert [row["fold"] for row in made["folds"]] == [0, 1, 2, 3]
    assert "too_few_groups" in run("folds", "lyft", sets / "lyft", "--folds", 50, "--out", tmp_path / "g.csv", code=2)


def test_synth_writes_all_items_or_nothing(tmp_path: Path) -> None:
    text = run("synth", "food", tmp_path / "set", "--items", 6, "--seed", 4, "size=32", "classes=2")
    assert "tallymark check food" in text
    assert len(list((tmp_path / "set").rglob("*.jpg"))) == 6
    assert "did you mean 'size'?" in run("synth", "food", tmp_path / "other", "sise=32", code=2)
    assert "a whole number above 0" in run("synth", "food", tmp_path / "other", "size=0", code=2)
    assert not (tmp_path / "other").exists()
    assert "not_empty" in run("synth", "food", tmp_path / "set", code=2)
    assert "a table of columns img_name, label" in run("check", "wheat", tmp_path / "set", code=2)


def test_an_option_given_as_an_assignment_is_explained(tmp_path: Path) -> None:
    assert "give --items 3" in run("synth", "ships", tmp_path / "sea", "items=3", code=2)
