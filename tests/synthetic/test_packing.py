"""Archives of a data set hold all of its files, or there are none."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tallymark.core.problems import BadInput
from tallymark.io.regular import files_below
from tallymark.synthetic.packing import pack


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("train/b/1.txt", "train/a.txt", "test/2.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def test_folders_become_archives(folder: Path) -> None:
    (folder / "sample_submission.csv").write_text("id")
    pack(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["sample_submission.csv", "test.zip", "train.zip"]
    with zipfile.ZipFile(folder / "train.zip") as archive:
        assert archive.namelist() == ["train/a.txt", "train/b/1.txt"]


def test_a_folder_that_cannot_be_listed_is_not_packed_without_its_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Path.rglob` passes over it, and the folder was removed after that: its files were lost."""
    listed = os.scandir

    def scandir(path: Any = ".") -> Iterator[Any]:
        if str(path).endswith("b"):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(PermissionError):
        files_below(folder)
    with pytest.raises(BadInput, match="permission denied"):
        pack(folder)
    assert (folder / "train" / "b" / "1.txt").exists()
    assert not (folder / "train.zip").exists()
