"""Files that arrive in a folder: which are listed, and when they are complete."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tallymark.io.arrivals import Arrivals, Fingerprint, fingerprint, list_arrivals

JPG = frozenset({".jpg"})


def names(root: Path, skipped: Path | None = None) -> list[str]:
    return [path for path, _ in list_arrivals(root, JPG, [], skipped)]


def test_media_at_any_depth_are_listed_without_hidden_files_and_partial_downloads(tmp_path: Path) -> None:
    for name in ("b.jpg", "a.JPG", "day/c.jpg", "day/2/ä, b.jpg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"1")
    for name in (".b.jpg.Xy7", ".hidden.jpg", "d.jpg.part", "d.jpg.tmp", "d.jpg.crdownload", "notes.txt"):
        (tmp_path / name).write_bytes(b"1")
    (tmp_path / ".trash").mkdir()
    (tmp_path / ".trash" / "e.jpg").write_bytes(b"1")
    assert sorted(names(tmp_path)) == ["a.JPG", "b.jpg", "day/2/ä, b.jpg", "day/c.jpg"]


def test_links_are_followed_but_not_in_circles_and_only_to_regular_files(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "card"
    inside.mkdir()
    outside.mkdir()
    (outside / "a.jpg").write_bytes(b"123")
    (inside / "card").symlink_to(outside)
    (inside / "round").symlink_to(inside)
    (inside / "one.jpg").symlink_to(outside / "a.jpg")
    (inside / "none.jpg").symlink_to(outside / "nothing.jpg")
    os.mkfifo(inside / "pipe.jpg")
    listed = dict(list_arrivals(inside, JPG, []))
    assert sorted(listed) == ["card/a.jpg", "one.jpg"]
    assert listed["one.jpg"] == fingerprint(outside / "a.jpg") == fingerprint(inside / "one.jpg")
    assert fingerprint(inside / "none.jpg") is fingerprint(inside / "pipe.jpg") is None


def test_the_output_folder_is_not_watched(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "drawn.jpg").write_bytes(b"1")
    assert names(tmp_path, tmp_path / "." / "out") == []


def test_a_folder_that_cannot_be_listed_costs_its_own_files_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "locked").mkdir()
    (tmp_path / "z.jpg").write_bytes(b"1")
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    errors: list[OSError] = []
    assert [path for path, _ in list_arrivals(tmp_path, JPG, errors)] == ["z.jpg"]
    assert [error.filename for error in errors] == [str(tmp_path / "locked")]
    with pytest.raises(FileNotFoundError):
        list(list_arrivals(tmp_path / "away", JPG, errors))


def test_a_file_is_complete_when_it_has_not_changed_for_a_while() -> None:
    arrivals = Arrivals(settle=10)
    growing, still = Fingerprint(5, 100), Fingerprint(7, 999_999_999_999)  # by a clock that is far ahead
    assert arrivals.observe([("a", growing), ("b", still)], now=0) == []
    assert arrivals.observe([("a", Fingerprint(6, 100)), ("b", still)], now=9) == []
    assert arrivals.observe([("a", Fingerprint(6, 100)), ("b", still)], now=10) == [("b", still)]
    arrivals.done("b")
    assert len(arrivals) == 1
    assert arrivals.observe([("a", Fingerprint(6, 90))], now=19) == []  # its time of change went back
    assert arrivals.observe([("a", Fingerprint(6, 90))], now=28.9) == []
    assert arrivals.observe([("a", Fingerprint(6, 90))], now=29) == [("a", Fingerprint(6, 90))]


def test_a_file_that_vanished_or_could_not_be_read_is_waited_for_anew() -> None:
    arrivals = Arrivals(settle=10)
    file = [("a", Fingerprint(1, 1))]
    arrivals.observe(file, now=0)
    arrivals.observe([], now=5)
    assert arrivals.observe(file, now=10) == []
    assert arrivals.observe(file, now=20) == file
    arrivals.again("a", now=21)
    assert arrivals.observe(file, now=30) == []
    assert arrivals.observe(file, now=31) == file


def test_complete_files_come_in_the_order_of_their_folders_and_names() -> None:
    one = Fingerprint(1, 1)
    found = Arrivals(settle=0).observe([("a b/z", one), ("b", one), ("a/c", one), ("a/b", one)], now=0)
    assert [path for path, _ in found] == ["a/b", "a/c", "a b/z", "b"]
