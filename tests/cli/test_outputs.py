"""Outputs of every command: whole or not at all, wherever the disk is full."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from typer.models import OptionInfo

from tallymark.cli import options as cli_options
from tallymark.cli.main import app
from tallymark.core.outputs import UNFINISHED
from tallymark.core.problems import Problem
from tests.cli.running import run

WRITERS = {
    "check": ("check", "wheat", "{submission}", "--out", "{out}"),
    "score --per-item": ("score", "wheat", "{truth}", "{submission}", "--per-item", "{out}"),
    "score --pairs": ("score", "wheat", "{truth}", "{submission}", "--pairs", "{out}"),
    "repair": ("repair", "wheat", "{submission}", "--out", "{out}"),
    "convert": ("convert", "wheat", "{submission}", "--out", "{out}"),
    "export-metrics": ("export-metrics", "upcalls", "--out", "{out}"),
}
"""Commands that write a file, without those that read a data set."""
FOLDERS = {
    "folds": ("folds", "wheat", "{data}", "--out", "{out}"),
    "explore": ("explore", "wheat", "{data}", "--out", "{out}"),
}


@pytest.fixture
def words(good: Callable[[str], tuple[Path, Path]], tmp_path: Path) -> Callable[..., list[object]]:
    truth, submission = good("wheat")

    def fill(template: tuple[str, ...], **paths: Path) -> list[object]:
        return [word.format(truth=truth, submission=submission, **paths) for word in template]

    return fill


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing comes to the disk any more."""

    def fail(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_device_is_a_problem(name: str, words: Callable[..., list[object]], tmp_path: Path) -> None:
    (tmp_path / "full.csv").symlink_to("/dev/full")
    printed = run(*words(WRITERS[name], out=tmp_path / "full.csv"), code=2)
    assert "cannot_write" in printed
    assert "full.csv" in printed
    assert "no space left on device" in printed


@pytest.mark.parametrize("name", [*WRITERS, *FOLDERS])
@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_leaves_the_file_that_was_there(
    name: str, words: Callable[..., list[object]], sets: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out" / "file"
    out.parent.mkdir()
    template = (WRITERS | FOLDERS)[name]
    for before in ([], ["file"]):
        printed = run(*words(template, out=out, data=sets / "wheat"), *(["--force"] if before else []), code=2)
        assert "cannot_write" in printed
        assert str(out) in printed
        assert [path.name for path in out.parent.iterdir()] == before
        out.write_text("old")
    assert out.read_text() == "old"


@pytest.mark.parametrize("name", ["wheat", "upcalls", "food", "lyft", "ships"])
def test_a_synthetic_data_set_is_whole_or_not_there(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    small = {"upcalls": ("seconds=2",), "lyft": ("beams=4", "columns=30")}.get(name, ("size=64",))
    words = ("synth", name, tmp_path / "data", "--items", "3", "--zip", *small)
    replace = Path.replace
    with monkeypatch.context() as patched:

        def fail(path: Path, target: Path) -> Path:
            if target.suffix in (".csv", ".zip"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return replace(path, target)

        patched.setattr(Path, "replace", fail)
        printed = run(*words, code=2)
    assert "no space left on device" in printed
    assert UNFINISHED not in printed
    assert not list(tmp_path.iterdir())
    run(*words)  # the same command, with space


def test_an_invalid_repair_never_gets_its_name(
    words: Callable[..., list[object]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from tallymark.challenges.wheat import dialect

    out = tmp_path / "repaired.csv"
    monkeypatch.setattr(dialect, "repair", lambda rows, rule_options, note: [{"PredictionString": "1 2 3"}])
    assert "repaired.csv" in run(*words(WRITERS["repair"], out=out), code=2)
    assert not out.exists()


def test_the_skeleton_of_a_challenge_is_whole_or_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    written = iter(range(5))
    real = os.fsync

    def fail(number: int) -> None:
        if next(written, None) is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(number)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        assert "no space left on device" in run("new", "wasps", "--out", tmp_path / "wasps", code=2)
    assert not list(tmp_path.iterdir())
    run("new", "wasps", "--out", tmp_path / "wasps")


PLANNED: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "check": (("wheat", "{submission}"), ("--out",), ()),
    "score": (("wheat", "{truth}", "{submission}"), ("--per-item", "--pairs"), ()),
    "board": (("wheat", "{data}", "{truth}"), ("--out", "--csv"), ()),
    "report": (("wheat", "{submission}"), ("--out",), ("--figures",)),
    "repair": (("wheat", "{submission}"), ("--out",), ()),
    "convert": (("wheat", "{submission}"), ("--out",), ()),
    "export-metrics": (("upcalls",), ("--out",), ()),
    "explore": (("wheat", "{data}"), ("--out",), ()),
    "folds": (("wheat", "{data}"), ("--out",), ()),
    "predict": (
        ("upcalls", "{data}"),
        ("--out", "--counts", "--objects", "--days", "--plot", "--candidates", "--report"),
        ("--raven", "--audacity", "--clips", "--draw", "--journal"),
    ),
    "train": (("wheat", "{data}"), (), ("--out",)),
    "watch": (("wheat", "{data}"), (), ("--out",)),
    "bench": (("wheat", "{data}"), ("--out",), ()),
    "quantize": (("wheat", "--calibrate", "{data}"), (), ("--out",)),
    "fuse": (("wheat", "{submission}", "{submission}", "--truth", "{truth}"), ("--out", "--settings"), ()),
    "kit": (("wheat",), (), ("--out",)),
    "new": (("wasps",), (), ("--out",)),
    "demo": (("wheat",), (), ("--out",)),
    "synth": (("wheat",), (), ("",)),
}
"""For each command: its arguments, and the options that name a file or a folder to write."""


def test_every_output_of_every_command_is_planned() -> None:
    """An option that is new in some command has to be in the table, and so be refused first."""
    read = {"--against", "--exclude", "--images", "--sample", "--extra-data", "--pseudo", "--folds"}
    read |= {"--corrections", "--public", "--media", "--truth", "--predictions", "--data", "--calibrate"}
    for command in app.registered_commands:
        assert command.callback is not None
        name = command.name or command.callback.__name__
        hints = get_type_hints(command.callback, include_extras=True).items()
        about = {f"--{key.replace('_', '-')}": get_args(hint) for key, hint in hints if key != "return"}
        options = {key for key, args in about.items() if "Path" in str(args) and isinstance(args[-1], OptionInfo)}
        _, files, folders = PLANNED.get(name, ((), (), ()))
        assert options - read == {*files, *folders} - {""}, name


@pytest.mark.parametrize("command", PLANNED)
def test_outputs_are_refused_before_the_work(
    command: str, words: Callable[..., list[object]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("by hand")
    (tmp_path / "folder").mkdir()
    arguments, files, folders = PLANNED[command]
    given = (command, *words(arguments, data=tmp_path / "nothing here"))  # the work would begin with a problem

    def refused(*options: str) -> list[tuple[str, str]]:
        caught = list[Problem]()
        with monkeypatch.context() as patched:
            patched.setattr(cli_options, "_print_problems", lambda problems, json_: caught.extend(problems))
            run(*given, *filter(None, options), code=2)
        return [(problem.kind, problem.file) for problem in caught]

    for option in files:
        for path, kind in (("no/such", "bad_path"), ("folder", "bad_path"), ("/proc/x", "cannot_write")):
            if (command, path) != ("export-metrics", "folder"):  # which it writes to, under its own name
                assert refused(option, path) == [(kind, path)]
    for option in folders:
        for path, kind in (("file", "bad_path"), ("/proc/x", "cannot_write"), ("file/below", "cannot_write")):
            assert refused(option, path) == [(kind, path)]
    if len(options := (*files, *folders)) > 1:
        same = refused(*(word for option in options for word in (option, "new")))
        assert same == [("same_file", "new")] * (len(options) - 1)
    assert (tmp_path / "file").read_text() == "by hand"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["repair", "convert", "check"])
def test_the_input_is_never_overwritten(name: str, words: Callable[..., list[object]], tmp_path: Path) -> None:
    submission = tmp_path / "submission.csv"
    before = submission.read_text()
    assert "same_file" in run(*words(WRITERS[name], out=submission), "--force", code=2)
    assert submission.read_text() == before


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EMFILE, "Too many open files", "a.jpg"), ("system_error", "a.jpg", "ulimit -n")),
        (OSError(errno.ESTALE, "Stale file handle"), ("system_error", "stale file handle", "same command again")),
        (MemoryError(), ("no_memory", "not enough memory")),
    ],
)
def test_errors_of_the_system_are_not_taken_for_failures_to_write(
    error: Exception, said: tuple[str, ...], words: Callable[..., list[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("tallymark.api.check.check", fail)
    printed = run(*words(("check", "wheat", "{submission}")), code=2)
    assert all(text in printed for text in said)
    assert "cannot_write" not in printed


def test_what_a_kill_has_left_is_neither_read_nor_in_the_way(tmp_path: Path) -> None:
    words = ("synth", "wheat", tmp_path / "data", "--items", "3", "size=64")
    run(*words)
    half = tmp_path / "killed" / f".folder.1-0{UNFINISHED}"
    half.parent.mkdir()
    (tmp_path / "data").rename(half)
    assert "empty_folder" in run("check", "wheat", half.parent, code=2)
    run(*words[:2], half.parent, *words[3:])
    assert "3 items" in run("check", "wheat", half.parent)
