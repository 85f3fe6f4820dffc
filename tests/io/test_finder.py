"""Files are found by the names that tables give them."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from tallymark.io.finder import Finder

ROOT = Path("/data")


def finder(*names: str) -> Finder:
    return Finder([ROOT / name for name in names], ROOT)


def found(files: Finder, name: str, *place: object, whole: bool = False) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in files.candidates(name, *place, whole=whole)]


def test_by_the_bare_name() -> None:
    files = finder("deep/er/a.wav", "b.wav")
    assert found(files, "a.wav") == ["deep/er/a.wav"]
    assert found(files, "c.wav") == []


def test_an_empty_folder_has_nothing() -> None:
    assert found(finder(), "a.wav") == []


@pytest.mark.parametrize("name", ["images/a.jpg", "images\\a.jpg", "./images/a.jpg"])
def test_folders_in_the_name_decide_between_equal_names(name: str) -> None:
    files = finder("images/a.jpg", "masks/a.jpg")
    assert found(files, name) == ["images/a.jpg"]


def test_rivals_are_all_returned() -> None:
    files = finder("one/a.jpg", "two/a.jpg")
    assert found(files, "a.jpg") == ["one/a.jpg", "two/a.jpg"]
    assert found(files, "three/a.jpg") == ["one/a.jpg", "two/a.jpg"]


def test_folders_that_do_not_fit_are_ignored_unless_the_whole_path_is_asked_for() -> None:
    files = finder("here/a.jpg")
    assert found(files, "/home/someone/a.jpg") == ["here/a.jpg"]
    assert found(files, "/home/someone/a.jpg", whole=True) == []
    assert found(files, "here/a.jpg", whole=True) == ["here/a.jpg"]


def test_case_of_letters_matters_only_between_rivals() -> None:
    assert found(finder("A.WAV"), "a.wav") == ["A.WAV"]
    assert found(finder("A.WAV", "a.wav"), "a.wav") == ["a.wav"]
    assert found(finder("A.WAV", "a.wav"), "A.WAV") == ["A.WAV"]
    assert found(finder("A.WAV", "a.WAV"), "a.wav") == ["A.WAV", "a.WAV"]
    assert found(finder("Train/a.jpg", "test/a.jpg"), "train/a.jpg") == ["Train/a.jpg"]


def test_accents_in_either_unicode_form() -> None:
    composed, decomposed = (unicodedata.normalize(form, "été.jpg") for form in ("NFC", "NFD"))
    assert composed != decomposed
    assert finder(composed).candidates(decomposed) == [ROOT / composed]
    assert finder(decomposed).candidates(composed) == [ROOT / decomposed]


def test_the_split_decides_between_rivals() -> None:
    files = finder("train/a.jpg", "test/a.jpg", "val_set/a.jpg")
    assert found(files, "a.jpg", None, "test") == ["test/a.jpg"]
    assert found(files, "a.jpg", None, "val") == ["val_set/a.jpg"]
    assert len(found(files, "a.jpg")) == 3


def test_a_single_file_is_found_in_any_split() -> None:
    assert found(finder("train/a.jpg"), "a.jpg", None, "test") == ["train/a.jpg"]


def test_the_folder_of_the_table_decides_last() -> None:
    files = finder("train/one/a.jpg", "train/two/a.jpg", "test/a.jpg")
    assert found(files, "a.jpg", ROOT / "train" / "two") == ["train/two/a.jpg"]
    assert found(files, "a.jpg", ROOT / "train" / "two", "test") == ["test/a.jpg"]
    assert found(files, "a.jpg", ROOT / "train" / "three", "train") == ["train/one/a.jpg", "train/two/a.jpg"]


def test_many_files_of_one_name_are_looked_up_by_their_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    normalized = []
    monkeypatch.setattr("tallymark.io.finder.normalize_name", lambda name: normalized.append(name) or name)
    names = [f"scene_{number}/image.png" for number in range(200)]
    files = finder(*names)
    assert [found(files, name) for name in names] == [[name] for name in names]
    assert len(normalized) < 10 * len(names)  # not once for each pair of a name and a file
