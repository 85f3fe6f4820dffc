"""Copies: items with the same bytes as others, found without reading every file."""

from __future__ import annotations

import zipfile
from pathlib import Path

import cv2
import numpy as np
import pytest

import tallymark
from tallymark.data import copies
from tallymark.data.copies import copies_note, find_copies
from tests.untrained import untrained


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """a and its copies b and z; c is as long and begins alike, d is as long, e is shorter."""
    folder = tmp_path / "images"
    folder.mkdir()
    beginning = bytes(copies.BEGINNING)
    contents = {"a": beginning + b"12", "b": beginning + b"12", "c": beginning + b"21"}
    contents |= {"d": b"1" * (copies.BEGINNING + 2), "e": b"1", "z": beginning + b"12"}
    for name, content in contents.items():
        (folder / f"{name}.jpg").write_bytes(content)
    return folder


def test_copies_have_the_same_bytes_to_their_ends(folder: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "images.zip", "w") as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)
    for source in (folder, tmp_path / "images.zip"):
        catalog = tallymark.read("wheat", source)
        assert find_copies(catalog) == [(0, 1), (0, 5)]
        assert copies_note(catalog) == ["2 images have the bytes of others, and count too: b (as a), z (as a)"]


def test_copies_among_very_many_items_are_not_looked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = tallymark.read("wheat", folder)
    monkeypatch.setattr(copies, "MOST", len(catalog) - 1)
    assert copies_note(catalog) == []


def test_files_of_other_sizes_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    monkeypatch.setattr(copies, "_beginning", lambda path: read.append(path.stem))
    find_copies(tallymark.read("wheat", folder))
    assert read == ["a", "b", "c", "d", "z"]


def test_a_prediction_names_copies_and_sizes(sets: Path, tmp_path: Path) -> None:
    folder = tmp_path / "photographs"
    folder.mkdir()
    photograph = sorted((sets / "wheat" / "train").iterdir())[0]
    for name in "ab":
        (folder / f"{name}.jpg").write_bytes(photograph.read_bytes())
    cv2.imwrite(str(folder / "c.png"), np.zeros((60, 90, 3), np.uint8))
    model = untrained("wheat", tmp_path / "model.onnx")
    notes = tallymark.predict(model, folder, gsd=0.01).notes
    assert "1 image has the same bytes as another, and counts too: b (as a)" in notes
    assert "one ground sampling distance for images of 2 sizes, from 60 x 90 to 192 x 192 px" in notes
    assert not any("sizes" in note for note in tallymark.predict(model, folder).notes)
