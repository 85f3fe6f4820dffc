"""Outputs of every command: whole or not at all, wherever the disk is full."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tallymark.core.outputs import UNFINISHED
from tests.cli.test_cli import good, run  # noqa: F401

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
def words(good: Callable[[str], tuple[Path, Path]], tmp_path: Path) -> Callable[..., list[object]]:  # noqa: F811
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
