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


def read_folders(root: Path, *folders: str) -> dict[str, str]:
    """The split of each class of a data set with these folders."""
    for folder in folders:
        put_image(root / folder / f"{folder.replace('/', '_')}.jpg")
    listed = open_folder(root, Problems())
    assert listed is not None
    catalog = read_class_folders(listed, IMAGE, (), Problems())
    assert catalog is not None
    assert catalog.truth is not None
    assert catalog.labelled.all()
    names = [catalog.truth.classes[label] for label in catalog.truth.labels.tolist()]
    return dict(zip([f"{split}/{name}" for split, name in zip(catalog.split, names, strict=True)], names, strict=True))


def test_a_class_may_be_called_like_a_split(tmp_path: Path) -> None:
    assert [*read_folders(tmp_path, "airport", "train_station", "test_site")] == [
        "train/airport", "train/test_site", "train/train_station"
    ]  # fmt: skip


def test_splits_may_have_longer_names(tmp_path: Path) -> None:
    found = read_folders(tmp_path, "set/train_2019/cat", "set/train_2019/train_dog", "set/test_2019/cat")
    assert [*found] == ["train/cat", "train/train_dog", "test/cat"]
