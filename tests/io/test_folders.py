"""Folders of data sets: cyclic links, other letter case, nested data sets, empty tables."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import cv2
import numpy as np
import pytest
import soundfile

import tallymark
from tallymark.core.problems import Problems
from tallymark.io import recent_listings
from tallymark.io.folders import media_files, open_folder, split_of_path
from tests.made import NAMES
from tests.sets import copy_of


@pytest.mark.parametrize("name", NAMES)
def test_links_in_a_circle_add_nothing(name: str, sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, name, tmp_path)
    inside = next(path for path in sorted(folder.iterdir()) if path.is_dir())
    (folder / "again").symlink_to(folder)
    (inside / "above").symlink_to(tmp_path)
    found, plain = tallymark.read(name, folder), tallymark.read(name, sets / name)
    assert found.items.ids.equals(plain.items.ids)
    assert found.files.equals(plain.files)
    assert not found.notes


def test_a_listing_is_kept_until_a_file_is_added(tmp_path: Path) -> None:
    inner = tmp_path / "train"
    inner.mkdir()
    (inner / "a.jpg").write_bytes(b"")
    first, again = open_folder(tmp_path, Problems()), open_folder(tmp_path, Problems())
    assert first == again
    assert first is not again  # it was changed a moment ago
    for folder in (inner, tmp_path):
        os.utime(folder, (1e9, 1e9))
    kept = open_folder(tmp_path, Problems())
    assert open_folder(tmp_path, Problems()) is kept
    (inner / "b.jpg").write_bytes(b"")
    listed = open_folder(tmp_path, Problems())
    assert listed is not None
    assert [path.name for path in listed.files] == ["a.jpg", "b.jpg"]


@pytest.mark.parametrize("name", ["lost+found", "$RECYCLE.BIN", "System Volume Information", "__MACOSX", ".hidden"])
def test_folders_of_the_system_at_the_top_of_a_disk_are_not_listed(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "deleted.jpg").write_bytes(b"")
    (tmp_path / "a.jpg").write_bytes(b"")
    listed = open_folder(tmp_path, Problems())
    assert listed is not None
    assert [path.name for path in listed.files] == ["a.jpg"]


def test_a_folder_that_cannot_be_listed_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "a.jpg").write_bytes(b"")
    scan = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    problems = Problems()
    listed = open_folder(tmp_path, problems)
    assert listed is not None
    assert [path.name for path in listed.files] == ["a.jpg"]
    assert [note.kind for note in listed.notes] == ["unreadable_folder"]
    assert not problems
    media_files(tmp_path, {".jpg"}, problems)  # the ids of a submission: none may be missing
    assert problems.counts == {"unreadable_folder": 1}


@pytest.mark.parametrize("name", ["wheat", "upcalls", "food", "ships"])
def test_suffixes_in_capitals_are_the_same_files(name: str, sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, name, tmp_path)
    for path in [*folder.rglob("*.jpg"), *folder.rglob("*.wav")]:
        path.rename(path.with_suffix(path.suffix.upper()))
    found, plain = tallymark.read(name, folder).in_split("train"), tallymark.read(name, sets / name).in_split("train")
    assert set(plain.truth.items.ids.filter(plain.truth.counts > 0)) <= set(found.items.ids)
    assert (len(found), found.files.null_count()) == (len(plain), 0)


def test_an_exact_name_comes_before_one_in_capitals(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "ships", tmp_path)
    path = sorted((folder / "train_v2").iterdir())[0]
    path.with_suffix(".JPG").write_bytes(b"another")
    catalog = tallymark.read("ships", folder)
    assert catalog.path(catalog.items.ids.to_list().index(path.name)) == path
    assert tallymark.check("ships", folder).problems.counts["orphan_media"] == 1


def test_another_set_inside_is_noted(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "wheat", tmp_path)
    copy_of(sets, "wheat", folder / "backup")
    catalog = tallymark.read("wheat", folder)
    assert len(catalog) == len(tallymark.read("wheat", sets / "wheat"))
    assert catalog.notes.counts == {"unused_table": 1}


@pytest.mark.parametrize(("name", "table"), [("wheat", "train.csv"), ("upcalls", "annotations_train.csv")])
def test_a_table_without_rows_is_noted_where_that_means_empty(
    name: str, table: str, sets: Path, tmp_path: Path
) -> None:
    folder = copy_of(sets, name, tmp_path)
    lines = (folder / table).read_text().splitlines()
    (folder / table).write_text(lines[0] + "\n")
    assert tallymark.check(name, folder).problems.counts == {"empty_table": 1}


def test_an_item_in_two_splits_has_the_truth_of_the_first(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "food", tmp_path)
    with (folder / "val_labels.csv").open("a") as file:
        file.write("train_000000.jpg,1\n")
    checked = tallymark.check("food", folder)
    assert checked.problems.counts == {"duplicate_item": 1}
    assert (checked.items, checked.objects) == (50, 40)


def test_a_table_of_calls_in_other_columns_is_noted(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "upcalls", tmp_path)
    path = folder / "annotations_train.csv"
    text = path.read_text()
    path.write_text(text.replace("filename", "sound", 1))
    assert tallymark.read("upcalls", folder).notes.counts == {"unused_table": 1}
    path.write_text(text.replace(",", ";"))
    assert tallymark.check("upcalls", folder).problems.counts == {"bad_header": 1}


def test_recordings_of_one_name_in_different_folders_are_all_kept(tmp_path: Path) -> None:
    for site in ("east", "north", "west"):
        (tmp_path / site).mkdir()
        soundfile.write(tmp_path / site / "a.wav", np.zeros(100), 2000)
    catalog = tallymark.read("upcalls", tmp_path)
    assert sorted(catalog.files) == ["east/a.wav", "north/a.wav", "west/a.wav"]
    assert len(set(catalog.items.ids)) == 3
    (tmp_path / "calls.csv").write_text("filename,timestamp\na.wav,0.02\n")
    catalog = tallymark.read("upcalls", tmp_path)
    assert catalog.files[catalog.items.ids.to_list().index("a.wav")] is None  # nobody knows which
    assert len(catalog) == 4
    assert catalog.notes.counts == {"ambiguous_file": 1}


def test_photographs_of_one_name_in_different_folders_are_all_kept(tmp_path: Path) -> None:
    for file in ("plot1/IMG_0001.JPG", "plot2/IMG_0001.JPG", "plot2/IMG_0002.JPG"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        cv2.imwrite(str(tmp_path / file), np.zeros((8, 8, 3), np.uint8))
    catalog = tallymark.read("wheat", tmp_path)
    assert sorted(catalog.items.ids) == ["IMG_0002", "plot1/IMG_0001", "plot2/IMG_0001"]
    assert not catalog.notes


@pytest.mark.parametrize(
    ("folder", "part"),
    [
        ("train_v2", "train"),
        ("val2017", "val"),
        ("Validation", "val"),
        ("test", "test"),
        ("v1.0-test", "test"),
        ("v1.0-mini", "other"),
        ("valley", "other"),
    ],
)
def test_a_folder_names_a_split_by_a_whole_word(folder: str, part: str, tmp_path: Path) -> None:
    assert split_of_path(tmp_path / folder / "a.jpg", tmp_path, "other") == part


@pytest.mark.parametrize("between", ["\t", "  ", " "])
def test_a_list_of_classes_from_any_editor(between: str, sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "food", tmp_path)
    path = folder / "class_list.txt"
    lines = [line.split(" ", 1) for line in path.read_text().splitlines()]
    text = "".join(f"{number}{between}{name} \r\n" for number, name in lines)
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    catalog = tallymark.read("food", folder)
    assert catalog.truth is not None
    assert list(catalog.truth.classes) == [name for _, name in lines]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_to_deal_into_folds(name: str, sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, name, tmp_path)
    for path in [*folder.rglob("*.csv"), *folder.rglob("*.json")]:
        path.unlink()
    with pytest.raises(tallymark.BadInput, match="no_truth"):
        tallymark.folds(name, folder)


def test_a_leak_is_reported_rather_than_a_duplicate(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "food", tmp_path)
    train = sorted((folder / "train_set").iterdir())
    val, test = sorted((folder / "val_set").iterdir()), sorted((folder / "test_set").iterdir())
    for path in (train[1], train[2], test[0]):
        path.write_bytes(train[0].read_bytes())
    val[0].write_bytes(train[3].read_bytes())
    told = [p for p in tallymark.check("food", folder).problems if p.kind in ("leak", "duplicate_media")]
    assert {(p.kind, p.item) for p in told} == {("leak", path.name) for path in train[:4]}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", ["0", "-5", "nan", "inf", "wide"])
def test_a_stated_size_that_is_none_is_noted(size: str, sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "wheat", tmp_path)
    path = folder / "train.csv"
    path.write_text(path.read_text().replace(",192,192,", f",{size},192,", 1))
    assert tallymark.check("wheat", folder).problems.counts == {"bad_size": 1}


@pytest.mark.filterwarnings("error")
def test_a_box_larger_than_numbers_is_only_out_of_bounds(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "wheat", tmp_path)
    with (folder / "train.csv").open("a") as file:
        file.write('c185ebc46,192,192,"[5, 5, 1e300, 1e300]",arvalis_1\n')
    assert tallymark.check("wheat", folder).problems.counts == {"out_of_bounds": 1, "giant_box": 1}


def test_accents_may_be_written_in_two_ways(tmp_path: Path) -> None:
    """A Mac writes é as e and an accent in the names of files, a table mostly as one letter."""
    one, two = "\u00e9t\u00e9", "e\u0301te\u0301"
    for folder in ("sea", "dishes/train_set"):
        (tmp_path / folder).mkdir(parents=True)
    soundfile.write(tmp_path / "sea" / f"{two}.wav", np.zeros(2000), 2000)
    (tmp_path / "sea" / "calls.csv").write_text(f"filename,timestamp\n{one}.wav,0.5\n", "utf-8")
    cv2.imwrite(str(tmp_path / "dishes" / "train_set" / f"{two}.jpg"), np.zeros((9, 9, 3), np.uint8))
    (tmp_path / "dishes" / "train_labels.csv").write_text(f"image_name,label\n{one}.jpg,0\n", "utf-8")
    for name, folder in (("upcalls", "sea"), ("food", "dishes")):
        catalog = tallymark.read(name, tmp_path / folder)
        assert [Path(file).stem for file in catalog.files] == [two]
        assert [Path(item).stem for item in catalog.items.ids] == [one]


def test_a_folder_that_fails_to_be_listed_for_a_moment_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "a.jpg").write_bytes(b"")
    failing = [OSError(errno.EIO, "Input/output error", str(tmp_path / "train"))]
    scandir = os.scandir

    def flaky(path: str) -> object:
        if str(path).endswith("train") and failing:
            raise failing.pop()
        return scandir(path)

    monkeypatch.setattr(os, "scandir", flaky)
    listed = open_folder(tmp_path, Problems())
    assert listed is not None
    assert [path.name for path in listed.files] == ["a.jpg"]
    assert not listed.notes


def test_a_listing_in_part_is_held_while_a_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a file would be missing, and the reason be lost with the first listing."""
    (tmp_path / "train").mkdir()
    refused = [OSError(errno.EACCES, "Permission denied", str(tmp_path / "train"))]
    scandir = os.scandir

    def closed(path: str) -> object:
        if str(path).endswith("train") and refused:
            raise refused.pop()
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    with recent_listings.hold():
        first, second = (open_folder(tmp_path, Problems()) for _ in range(2))
    assert first is second
    assert first is not None
    assert [note.found for note in first.notes] == ["permission denied"]
    again = open_folder(tmp_path, Problems())
    assert again is not None
    assert not again.notes
