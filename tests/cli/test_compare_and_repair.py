"""`tallymark compare` and `tallymark repair`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.running import run
from tests.submission.test_fuzzing import GOOD


def test_compare_says_which_is_better(tmp_path: Path) -> None:
    truth, a, b = (tmp_path / f"{name}.csv" for name in ("truth", "a", "b"))
    truth.write_text(GOOD["wheat"][0])
    a.write_text("image_id,PredictionString\na,\nb,\n")
    b.write_text(GOOD["wheat"][1])
    printed = json.loads(run("compare", "wheat", truth, a, b, "--json"))
    assert printed["a"] == 0
    assert printed["difference"] == printed["b"] > 0
    assert printed["verdict"] == "B is better"
    assert printed["changed_items"] == 2
    assert "B is better" in run("compare", "wheat", truth, a, b)


def test_all_files_of_a_comparison_are_checked(tmp_path: Path) -> None:
    truth, a, b = (tmp_path / f"{name}.csv" for name in ("truth", "a", "b"))
    truth.write_text(GOOD["wheat"][0])
    a.write_text("image_id,PredictionString\na,\n")
    b.write_text("image_id,PredictionString\na,\nb,\nzz,\n")
    printed = json.loads(run("compare", "wheat", truth, a, b, "--json", code=2))
    assert printed["counts"] == {"missing_id": 1, "unknown_id": 1}


def test_repair_lists_its_changes(tmp_path: Path) -> None:
    path, out = tmp_path / "s.csv", tmp_path / "out.csv"
    path.write_text("image_id,PredictionString\na,1 2 3\n")
    assert "dropped a row of 3 values" in run("repair", "wheat", path, "--out", out)
    changes = json.loads(run("repair", "wheat", path, "--out", out, "--force", "--json"))["changes"]
    assert [(change["line"], change["item"]) for change in changes] == [(2, "a")]
