"""Outputs appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tallymark.core.outputs import (
    UNFINISHED,
    filling,
    make_folder,
    remove_leftovers,
    replacing,
    write_bytes,
    write_json,
    write_text,
    writing_to,
)
from tallymark.core.problems import BadInput, Problem


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write_half(path: Path, error: Exception) -> None:
    with replacing(path) as unfinished:
        unfinished.write_text("half of the n")
        raise error


def fill_half(folder: Path) -> None:
    with filling(folder) as unfinished, writing_to(unfinished):
        write_text(unfinished / "a.txt", "text")
        raise OSError(errno.ENOSPC, "No space left on device", str(unfinished / "b.txt"))


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")
    with replacing(path) as unfinished:
        unfinished.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["a.csv"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), ValueError("bug")])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: Exception) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises((BadInput, ValueError)):
        write_half(path, error)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.csv"]


def test_a_failure_names_the_file_the_reason_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as bad, replacing(tmp_path / "a.csv"):
        raise OSError(errno.ENOSPC, "No space left on device")
    (problem,) = bad.value.problems
    assert (problem.kind, problem.file) == ("cannot_write", str(tmp_path / "a.csv"))
    assert problem.found == "no space left on device"
    assert "another disk" in problem.remedy


def test_a_reader_that_has_stopped_is_not_a_failure_to_write(tmp_path: Path) -> None:
    with pytest.raises(BrokenPipeError), replacing(tmp_path / "a.csv"):
        raise BrokenPipeError


@pytest.mark.parametrize("path", ["no/such/folder.csv", "file/below.csv", "folder", "n" * 300])
def test_places_where_nothing_can_be_written(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadInput) as bad:
        write_text(tmp_path / path, "text")
    assert [problem.kind for problem in bad.value.problems] == ["cannot_write"]
    assert names(tmp_path) == ["file", "folder"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_bytes(tmp_path / "link.csv", b"new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"


def test_permissions_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")
    path.chmod(0o640)
    write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_long_name_has_room_for_its_unfinished_file(tmp_path: Path) -> None:
    name = "n" * 255
    write_text(tmp_path / name, "text")
    assert (tmp_path / name).read_text() == "text"


def test_files_whose_names_begin_alike_are_written_at_once(tmp_path: Path) -> None:
    paths = [tmp_path / ("é" * 100 + ending) for ending in "ab"]
    with replacing(paths[0]) as first, replacing(paths[1]) as second:
        first.write_text("first")
        second.write_text("second")
    assert [path.read_text() for path in paths] == ["first", "second"]


def test_a_writer_of_an_unfinished_file_leaves_the_renaming_to_whoever_made_it(tmp_path: Path) -> None:
    with replacing(tmp_path / "a.csv") as unfinished:
        write_text(unfinished, "text")
        assert names(tmp_path) == [unfinished.name]
    assert (tmp_path / "a.csv").read_text() == "text"


def test_problems_are_about_the_file_and_not_its_unfinished_version(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as bad, replacing(tmp_path / "a.csv") as unfinished:
        raise BadInput(Problem("bad_number", str(unfinished), "x", "a number", line=3))
    assert [(problem.file, problem.line) for problem in bad.value.problems] == [(str(tmp_path / "a.csv"), 3)]


def test_standard_output_is_no_file_to_be_replaced(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "from tallymark.core.outputs import *; write_text('/dev/stdout', 'text')"]
    with (tmp_path / "shell.txt").open("w") as file:
        assert subprocess.run(words, check=False, stdout=file).returncode == 0
    assert names(tmp_path) == ["shell.txt"]
    assert (tmp_path / "shell.txt").read_text() == "text"
    assert subprocess.run(words, check=False, capture_output=True, text=True).stdout == "text"


def test_a_folder_is_filled_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    with filling(folder) as unfinished:
        make_folder(unfinished / "train")
        write_text(unfinished / "train" / "a.txt", "text")
        write_text(unfinished / "b.txt", "text")
        assert not folder.exists()
    assert names(folder) == ["b.txt", "train"]
    assert names(folder / "train") == ["a.txt"]


def test_an_error_leaves_nothing_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "new" / "folder"):
        with pytest.raises(BadInput) as bad:
            fill_half(folder)
        assert [problem.file for problem in bad.value.problems] == [str(folder / "b.txt")]
    assert names(tmp_path) == ["empty"]
    assert names(tmp_path / "empty") == []


def test_a_device_is_written_to_in_place() -> None:
    write_text("/dev/null", "text")
    assert not stat.S_ISREG(Path("/dev/null").stat().st_mode)


def test_a_full_device_is_said() -> None:
    with pytest.raises(BadInput, match=r"/dev/full.*no space left on device"):
        write_text("/dev/full", "text")


def test_json_is_text_that_people_can_read(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"name": "crème"})
    assert (tmp_path / "a.json").read_text("utf-8") == '{\n  "name": "crème"\n}\n'


def test_a_folder_below_a_file_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="a new folder"):
        make_folder(tmp_path / "file" / "below")
    assert make_folder(tmp_path / "a" / "b").is_dir()
    assert not list(tmp_path.rglob(f"*{UNFINISHED}"))


def leave(path: Path, hours: float, *, folder: bool = False) -> Path:
    """An unfinished file or folder, as a kill leaves it, last written so many hours ago."""
    if folder:
        (path / "inside").mkdir(parents=True)
    content = path / "inside" / "a.txt" if folder else path
    content.write_text("half")
    for one in (content, content.parent, path):
        if one != path.parent:
            os.utime(one, (time.time() - 3600 * hours,) * 2)
    return path


def test_what_a_killed_command_left_is_removed_after_a_day(tmp_path: Path) -> None:
    gone = 2**22 + 7  # above every number of a process
    old = leave(tmp_path / f".a.csv.{gone}-0{UNFINISHED}", 25)
    whole_folder = leave(tmp_path / f".data.{gone}-1{UNFINISHED}", 25, folder=True)
    young = leave(tmp_path / f".b.csv.{gone}-2{UNFINISHED}", 23)
    running = leave(tmp_path / f".c.csv.{os.getpid()}-99999{UNFINISHED}", 25)
    foreign = leave(tmp_path / f"mine{UNFINISHED}", 25)
    growing = leave(tmp_path / f".d.{gone}-3{UNFINISHED}", 25, folder=True)
    (growing / "inside" / "a.txt").write_text("more")
    link = tmp_path / f".e.{gone}-4{UNFINISHED}"
    link.symlink_to(foreign)
    write_text(tmp_path / "a.csv", "whole")
    assert not old.exists()
    assert not whole_folder.exists()
    for kept in (young, running, foreign, growing, link):
        assert kept.exists(), kept


def test_leftovers_are_looked_for_once_in_a_folder(tmp_path: Path) -> None:
    remove_leftovers(tmp_path)
    later = leave(tmp_path / f".a.csv.{2**22 + 7}-0{UNFINISHED}", 25)
    write_text(tmp_path / "a.csv", "whole")
    assert later.exists()


def test_a_new_folder_removes_what_is_left_of_an_earlier_try(tmp_path: Path) -> None:
    left = leave(tmp_path / f".data.{2**22 + 7}-0{UNFINISHED}", 25, folder=True)
    with filling(tmp_path / "data") as unfinished:
        write_text(unfinished / "a.txt", "text")
    assert not left.exists()
    assert names(tmp_path) == ["data"]
