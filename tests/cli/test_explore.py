"""`tallymark explore` of a data set, a part of which cannot be read."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

import tallymark
from tallymark.io import tables
from tests.cli.running import run


def test_a_table_that_cannot_be_read_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is written, but a page without annotations is no success."""
    folder, page = tmp_path / "field", tmp_path / "page.html"
    tallymark.synth("wheat", folder, items=5, size=64)
    read_bytes = tables.read_bytes

    def fail(path: Path) -> bytes:
        if Path(path).name == "train.csv":
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return read_bytes(path)

    monkeypatch.setattr(tables, "read_bytes", fail)
    said = run("explore", "wheat", folder, "--out", page, code=2)
    assert "train.csv" in said.replace("\n", "")
    assert "input/output error" in said
    assert "input/output error" in page.read_text()
    monkeypatch.undo()
    run("explore", "wheat", folder, "--out", page, "--force")
