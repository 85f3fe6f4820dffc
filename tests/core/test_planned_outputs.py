"""Outputs that cannot be written are refused before any work is done."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from tallymark.core.planned_outputs import refuse_outputs
from tallymark.core.problems import BadInput


def refused(*files: Path | str | None, **more: Any) -> list[tuple[str, str]]:
    """The kinds of the problems, and what was found."""
    try:
        refuse_outputs(files, **more)
    except BadInput as bad:
        return [(problem.kind, problem.found) for problem in bad.problems]
    return []


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the file `file` and the folders `empty` and `full`."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("by hand")
    Path("empty").mkdir()
    Path("full").mkdir()
    Path("full", "inside").write_text("")
    return tmp_path


@pytest.mark.usefixtures("here")
def test_new_files_and_folders_are_fine() -> None:
    before = sorted(Path().rglob("*"))
    assert not refused("new.csv", None, "empty/new.csv", folders=["new/folder", "empty", None], filled=["full"])
    assert not refused("file", folders=["full"], force=True)
    assert not refused("/dev/null", "/dev/stdout")
    assert not refused("new.csv", filled=["run/fold"], inputs=["full", "file", "missing", None])
    assert sorted(Path().rglob("*")) == before
    assert Path("file").read_text() == "by hand"


@pytest.mark.usefixtures("here")
def test_what_exists_is_refused_without_force() -> None:
    assert refused("file", folders=["full"]) == [("exists", "a file"), ("exists", "a folder with files")]
    Path("empty", ".left.1-0.unfinished").touch()  # by a kill
    assert not refused(folders=["empty"])


@pytest.mark.usefixtures("here")
def test_folders_and_files_are_not_mistaken_for_each_other() -> None:
    found = [("bad_path", "a folder"), ("bad_path", "a file file"), ("bad_path", "no folder no/such")]
    assert refused("empty", "no/such/x.csv", "file/x.csv", force=True) == found
    assert refused(folders=["file"], force=True) == [("bad_path", "a file")]
    assert [kind for kind, _ in refused(folders=["file/below", "file/far/below"], force=True)] == ["cannot_write"] * 2
    Path("link.csv").symlink_to("elsewhere/x.csv")
    assert [kind for kind, _ in refused("link.csv")] == ["bad_path"]


@pytest.mark.usefixtures("here")
def test_two_outputs_have_paths_of_their_own() -> None:
    Path("link").symlink_to("empty")
    for outputs in (("a.csv", "./a.csv"), ("empty/a.csv", "link/a.csv")):
        assert refused(*outputs) == [("same_file", "the path of another output, or below it")]
    assert [kind for kind, _ in refused("new", folders=["new/below"])] == ["same_file"]
    assert [kind for kind, _ in refused("new", folders=["new"])] == ["same_file"]


@pytest.mark.usefixtures("here")
def test_an_input_is_never_an_output() -> None:
    Path("link.csv").symlink_to("file")
    for path in ("file", "./file", "link.csv"):
        assert refused(path, inputs=["file"], force=True) == [("same_file", "an input of this command")]
    assert [kind for kind, _ in refused(filled=["full"], inputs=["full"])] == ["same_file"]


@pytest.mark.usefixtures("here")
def test_all_problems_are_named_at_once() -> None:
    kinds = sorted(kind for kind, _ in refused("file", "empty", "no/x.csv", "n" * 300))
    assert kinds == ["bad_path", "bad_path", "cannot_write", "exists"]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC])
def test_places_where_nothing_can_be_written_are_found_by_trying(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path, mode: str = "r") -> None:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(Path, "open", fail)
    reason = os.strerror(number).lower()
    for options in ({"folders": ["empty"]}, {"folders": ["new/folder"]}, {"filled": ["full"]}):
        assert refused(**options) == [("cannot_write", reason)]
    assert refused("new.csv") == [("cannot_write", reason)]
    assert refused("file", force=True) == [("cannot_write", reason)]


def test_a_place_where_even_root_cannot_write() -> None:
    if not Path("/proc/self").exists():
        pytest.skip("there is no /proc here")
    assert [kind for kind, _ in refused("/proc/out.csv", folders=["/proc/new/folder"])] == ["cannot_write"] * 2


@pytest.mark.usefixtures("here")
def test_a_write_protected_file_stays() -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    Path("file").chmod(0o444)
    assert refused("file", force=True) == [("cannot_write", "permission denied")]
    Path("empty").chmod(0o555)
    assert refused("empty/new.csv", folders=["empty/new"]) == [("cannot_write", "permission denied")] * 2
