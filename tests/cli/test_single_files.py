"""A single image, recording or sweep is accepted wherever a data folder is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.made import NAMES
from tests.untrained import untrained

FILES = {"upcalls": "test*/**/*.wav", "lyft": "test*/**/*.bin"}


@pytest.mark.parametrize("name", NAMES)
def test_a_single_file_is_a_data_set(name: str, sets: Path, tmp_path: Path) -> None:
    source = sorted((sets / name).glob(FILES.get(name, "test*/*.jpg")))[0]
    folder = tmp_path / "test"
    folder.mkdir()
    file = Path(shutil.copy(source, folder))
    (folder / f"another{file.suffix}").write_bytes(b"is not looked at")
    (folder / "sample_submission.csv").write_text("is not looked at either")
    checked = json.loads(run("check", name, file, "--json"))
    assert (checked["valid"], checked["items"], checked["objects"]) == (True, 1, None)
    model = untrained(name, tmp_path / "model.onnx")
    out = tmp_path / "submission.csv"
    printed = run("predict", model, file, "--out", out, "--json")
    assert json.loads(printed[printed.index("{") :])["items"] == 1
    assert "valid" in run("check", name, out)


def test_a_page_of_a_single_file(sets: Path, tmp_path: Path) -> None:
    file = sorted((sets / "wheat" / "test").iterdir())[0]
    run("explore", "wheat", file, "--out", tmp_path / "page.html")
    assert file.stem in (tmp_path / "page.html").read_text()


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    assert "no_folder" in run("explore", "wheat", tmp_path / "notes.txt", "--out", tmp_path / "page.html", code=2)
    (tmp_path / "call.wav").write_bytes(b"RIFF")
    assert "corrupt_media" in run("check", "upcalls", tmp_path / "call.wav", code=2)
    assert "empty_folder" in run("check", "wheat", tmp_path / "call.wav", code=2)
