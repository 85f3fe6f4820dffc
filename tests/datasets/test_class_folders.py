"""Class subfolders: which folders are classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallymark.core.problems import Problems
from tallymark.datasets.class_folders import read_class_folders
from tallymark.io.folders import open_folder
from tallymark.io.images import IMAGE
from tests.formats.files import put_image


@pytest.mark.parametrize("other", [".ipynb_checkpoints", "__MACOSX", "lost+found"])
def test_a_hidden_folder_is_no_class_of_a_split(tmp_path: Path, other: str) -> None:
    """The classes of one split are those of all, with the same numbers as when all are read."""
    for folder in ("train/cat", "train/dog", f"train/{other}", "val/cat", "val/emu"):
        put_image(tmp_path / folder / f"{folder.replace('/', '_')}.jpg")
    for root in (tmp_path, tmp_path / "train"):
        problems = Problems()
        listed = open_folder(root, problems)
        assert listed is not None
        catalog = read_class_folders(listed, IMAGE, (), problems)
        assert catalog is not None
        assert catalog.truth is not None
        assert catalog.truth.classes == ("cat", "dog", "emu")
        assert not problems
