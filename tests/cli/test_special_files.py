"""Pipes, sockets, devices and links that lead nowhere, in folders and as arguments: a problem, never a hang."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from tallymark.core.problems import BadInput
from tests.cli.running import run
from tests.untrained import untrained

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
SECONDS = 60
EXAMPLE = Path(__file__).parents[2] / "tallymark" / "challenges" / "wheat" / "example"


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    """An error where a command waits for a pipe."""

    def stop(*_: object) -> NoReturn:
        raise TimeoutError("the command hangs")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def make_special(folder: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Write files that cannot be opened as such into a folder: what is found at each of them."""
    os.mkfifo(folder / f"pipe{suffix}")
    (folder / f"link{suffix}").symlink_to(f"pipe{suffix}")
    (folder / f"zeros{suffix}").symlink_to("/dev/zero")
    (folder / f"nowhere{suffix}").symlink_to("gone")
    (folder / f"loop{suffix}").symlink_to(f"loop{suffix}")
    monkeypatch.chdir(folder)  # the address of a socket is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"socket{suffix}")
    return {
        "pipe": "a pipe", "link": "a pipe", "zeros": "a device", "socket": "a socket",
        "nowhere": "a link to a file that does not exist", "loop": "a link that leads to itself",
    }  # fmt: skip


@pytest.mark.parametrize(("name", "pattern"), [("wheat", "test/*.jpg"), ("upcalls", "test*/**/*.wav")])
def test_special_files_in_a_folder(
    name: str, pattern: str, sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    good = sorted((sets / name).glob(pattern))[0]
    shutil.copy(good, folder)
    found = make_special(folder, good.suffix, monkeypatch)
    checked = json.loads(run("check", name, folder, "--json", code=2))
    reasons = {Path(one["file"]).stem: one["found"] for one in checked["problems"]}
    assert {stem: reasons.get(stem) for stem in found} == found
    run("explore", name, folder, "--out", tmp_path / "page.html")
    model = untrained(name, tmp_path / "model.onnx")
    printed = run("predict", model, folder, "--out", tmp_path / "submission.csv", "--json", code=2)
    predicted = json.loads(printed[printed.index("{") :])
    assert {Path(one["file"]).stem for one in predicted["problems"]} >= found.keys()


@pytest.mark.parametrize("kind", ["pipe", "zeros", "nowhere", "loop"])
def test_special_files_as_arguments(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, submission = EXAMPLE / "truth.csv", EXAMPLE / "submission.csv"
    found = make_special(tmp_path, ".csv", monkeypatch)[kind]
    special = tmp_path / f"{kind}.csv"
    out = tmp_path / "out.csv"
    for command in (
        ["check", "wheat", special],
        ["check", "wheat", submission, "--against", special],
        ["score", "wheat", special, submission],
        ["score", "wheat", truth, special],
        ["score", "wheat", truth, submission, "--images", special],
        ["compare", "wheat", truth, submission, special],
        ["repair", "wheat", special, "--out", out],
        ["convert", "wheat", special, "--out", out],
        ["folds", "wheat", special, "--out", out],
    ):
        printed = " ".join(run(*command, code=2).split())
        assert found.split()[-1] in printed, command
    assert not out.exists()


def test_special_files_in_the_place_of_lists_models_and_archives(
    sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos = sets / "wheat" / "test"
    make_special(tmp_path, ".csv", monkeypatch)
    run("check", "wheat", photos, "--exclude", tmp_path / "pipe.csv", code=2)
    (tmp_path / "run").mkdir()
    os.mkfifo(tmp_path / "run" / "model.onnx")
    assert "a pipe" in run("predict", tmp_path / "run", photos, "--out", tmp_path / "out.csv", code=2)
    assert "no_model" in run("predict", tmp_path / "pipe.csv", photos, "--out", tmp_path / "out.csv", code=2)
    (tmp_path / "photos").mkdir()
    shutil.copy(sorted(photos.iterdir())[0], tmp_path / "photos")
    os.mkfifo(tmp_path / "photos" / "more.zip")
    (tmp_path / "photos" / "others.zip").symlink_to("/dev/zero")
    printed = run("check", "wheat", tmp_path / "photos", code=2)
    assert "a pipe" in printed
    assert "a device" in printed


def test_a_pipe_among_the_pages_of_a_journal_is_passed_over(sets: Path, tmp_path: Path) -> None:
    model = untrained("wheat", tmp_path / "model.onnx")
    command = "predict", model, sets / "wheat" / "test", "--journal", tmp_path / "pages", "--out"
    run(*command, tmp_path / "one.csv")
    os.mkfifo(tmp_path / "pages" / "0.page")
    run(*command, tmp_path / "two.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_a_folder_that_cannot_be_listed_costs_itself_only(
    sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "photos"
    (folder / "closed").mkdir(parents=True)
    for path in sorted((sets / "wheat" / "test").glob("*.jpg"))[:3]:
        shutil.copy(path, folder)
    scan = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    checked = json.loads(run("check", "wheat", folder, "--json", code=2))
    assert (checked["items"], checked["counts"]) == (3, {"unreadable_folder": 1})
    run("explore", "wheat", folder, "--out", tmp_path / "page.html", code=2)
    assert "unreadable_folder" in (tmp_path / "page.html").read_text()
    model = untrained("wheat", tmp_path / "model.onnx")
    command = ("predict", model, folder, "--out", tmp_path / "submission.csv", "--json")
    found = json.loads(run(*command, code=2))
    assert (found["items"], found["counts"]) == (3, {"unreadable_folder": 1})
    assert "to try again what could not be read: " in found["notes"][-1]
    assert "3 items" in run("check", "wheat", tmp_path / "submission.csv")
    printed = run("check", "wheat", tmp_path / "submission.csv", "--against", folder, code=2)
    assert "unreadable_folder" in printed  # ids that are not known cannot be missed
    monkeypatch.setattr(os, "scandir", scan)
    assert json.loads(run(*command))["total"] == 0  # what lacked the folder is replaced


def test_special_files_as_recipes_and_weights(tmp_path: Path) -> None:
    import torch

    from tallymark.detector.weights import read_state
    from tallymark.modalities import read_recipe
    from tallymark.training.checkpoint import load_checkpoint

    os.mkfifo(tmp_path / "pipe")
    for read in (read_recipe, read_state):
        with pytest.raises(BadInput, match="a pipe"):
            read(tmp_path / "pipe")
    with pytest.raises(BadInput, match="a pipe"):
        load_checkpoint(tmp_path / "pipe", {}, torch.device("cpu"))
