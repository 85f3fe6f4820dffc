"""`tallymark kit` writes a folder with script, notebook, model and packages; `test_wheel.py` uses it offline."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tallymark.api import kit as kit_module
from tallymark.api import kit_predict
from tallymark.core.registry import challenge
from tests.cli.running import run
from tests.sets import copy_of


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kit without the packages of others, which take long to fetch and are installed here anyway."""
    monkeypatch.setattr(kit_module, "download", lambda wheels, folder, python: None)
    assert "1 packages" in run("kit", "wheat", "--out", tmp_path / "kit", "--minutes", 5)
    return tmp_path / "kit"


def test_a_kit_has_everything(kit: Path) -> None:
    names = {path.relative_to(kit).as_posix() for path in kit.rglob("*") if path.is_file()}
    [wheel] = [name for name in names if name.endswith(".whl")]
    files = {"README.md", "kit.json", "notebook.ipynb", "predict.py", "model/model.onnx", "model/model.md", wheel}
    assert names == files
    assert json.loads((kit / "kit.json").read_text())["submission"] == "submission.csv"
    assert "without internet access" in (kit / "README.md").read_text()
    pretrained = challenge("wheat").folder / "model.onnx"
    assert (kit / "model" / "model.onnx").read_bytes() == pretrained.read_bytes()
    with zipfile.ZipFile(kit / wheel) as packed:
        assert packed.testzip() is None
        assert {"tallymark/cli/main.py", "tallymark/challenges/wheat/card.md"} <= set(packed.namelist())
        [entry] = [name for name in packed.namelist() if name.endswith("entry_points.txt")]
        assert b"tallymark.cli.main:main" in packed.read(entry)


def test_the_notebook_writes_a_submission(
    kit: Path, sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cells as they are, beside the data; tallymark is installed, so that nothing is fetched."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.chdir(tmp_path)
    copy_of(sets, "wheat", tmp_path)
    cells = json.loads((kit / "notebook.ipynb").read_text())["cells"]
    shared: dict[str, Any] = {}
    for cell in cells:
        exec("".join(cell["source"]), shared)  # noqa: S102  # our own cells
    expected = pl.read_csv(tmp_path / "wheat" / "sample_submission.csv")["image_id"].to_list()
    assert sorted(pl.read_csv(tmp_path / "submission.csv")["image_id"]) == sorted(expected)


def test_the_notebook_goes_on_where_an_image_cannot_be_read(
    kit: Path, sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A notebook that ends with an error has no submission, though all rows are in the file."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.chdir(tmp_path)
    copy_of(sets, "wheat", tmp_path)
    expected = pl.read_csv(tmp_path / "wheat" / "sample_submission.csv")["image_id"].to_list()
    (tmp_path / "wheat" / "test" / f"{expected[0]}.jpg").write_bytes(b"not an image")
    first, second = ("".join(cell["source"]) for cell in json.loads((kit / "notebook.ipynb").read_text())["cells"])
    shared: dict[str, Any] = {}
    exec(first, shared)  # noqa: S102  # our own cells
    exec(second, shared)  # noqa: S102
    assert sorted(pl.read_csv(tmp_path / "submission.csv")["image_id"]) == sorted(expected)
    assert "1 problem in" in capsys.readouterr().out
    exec(second, shared)  # noqa: S102  # once more, as one does in a notebook
    shared["DATA"] = tmp_path / "nothing"
    with pytest.raises(RuntimeError, match="no submission"):
        exec(second, shared)  # noqa: S102
    assert "nothing" in capsys.readouterr().out


def test_packages_that_do_not_fit_are_said(kit: Path, tmp_path: Path) -> None:
    facts = json.loads((kit / "kit.json").read_text())
    (kit / "kit.json").write_text(json.dumps({**facts, "requirements": ["tallymark==0.0.0"]}))
    command = [sys.executable, str(kit / "predict.py"), str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert "do not fit this Python" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_kit_that_cannot_be_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}.items():
        monkeypatch.setenv(name, value)
    text = run("kit", "wheat", "--out", tmp_path / "kit", code=2)
    assert "no_packages" in text
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine.txt").touch()
    assert "a new or empty folder" in run("kit", "wheat", "--out", tmp_path, code=2)
    assert "no pretrained model" in run("kit", "food", "--out", tmp_path / "kit", code=2)


@pytest.mark.parametrize("text", [None, "", "[]", '{"submission": "a.csv"', "{}", "[" * 100_000])
def test_a_damaged_kit_is_said(text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if text is not None:
        (tmp_path / "kit.json").write_text(text)
    monkeypatch.setattr(kit_predict, "KIT", tmp_path)
    with pytest.raises(SystemExit, match="missing or damaged: copy the kit again"):
        kit_predict.main()
