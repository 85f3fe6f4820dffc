"""A share that vanishes during `predict`: nothing is lost, and the same command completes what could not be read."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from tallymark.inference import journal
from tallymark.inference.session import Session
from tallymark.io import archives, retries
from tests.cli.test_cli import run
from tests.untrained import untrained

PHOTOGRAPHS = 400
TRIES = (0.2, 0.8, 2.0)


class Share:
    """A folder with photographs, as on a server; it may be away."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.away = folder.with_name("away")
        folder.mkdir()
        rng = np.random.default_rng(0)
        for number in range(PHOTOGRAPHS):
            pixels = rng.integers(0, 255, (32, 32, 3), np.uint8)
            cv2.imwrite(str(folder / f"{number:03}.png"), pixels)

    def vanish(self) -> None:
        self.folder.rename(self.away)

    def come_back(self) -> None:
        self.away.rename(self.folder)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained("wheat", tmp_path_factory.mktemp("model") / "model.onnx")


@pytest.fixture
def share(tmp_path: Path) -> Share:
    return Share(tmp_path / "photographs")


@pytest.fixture
def predict(model: Path, share: Share, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The command, always the same up to its outputs; pages of the journal are small."""
    monkeypatch.setattr(journal, "PAGE_SECONDS", 0.1)

    def command(*more: object, out: str = "submission.csv", code: int = 0) -> str:
        words = (model, share.folder, "score_threshold=0.01", "--out", tmp_path / out, *more)
        return run("predict", *words, code=code)

    return command


@pytest.fixture
def expected(predict: Callable[..., str], tmp_path: Path) -> bytes:
    """The submission of an undisturbed run."""
    predict(out="undisturbed.csv")
    written = (tmp_path / "undisturbed.csv").read_bytes()
    assert len(set(written.split(b"\n"))) > PHOTOGRAPHS
    assert b",," not in written
    return written


def after(calls: int, happens: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let something happen after so many images were predicted."""
    work = Session.__call__
    count = 0

    def counted(session: Session, inputs: np.ndarray) -> Any:
        nonlocal count
        count += 1
        if count == calls:
            happens()
        return work(session, inputs)

    monkeypatch.setattr(Session, "__call__", counted)


@pytest.mark.parametrize("options", [(), ("--journal", "JOURNAL")])
def test_a_share_that_is_away_for_a_second_costs_nothing(
    options: tuple[str, ...],
    share: Share,
    predict: Callable[..., str],
    expected: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retries, "DELAYS", TRIES)

    def vanish() -> None:
        share.vanish()
        threading.Timer(0.6, share.come_back).start()

    after(35, vanish, monkeypatch)
    text = predict(*[str(tmp_path / word) if word == "JOURNAL" else word for word in options])
    assert "read_failed" not in text
    assert (tmp_path / "submission.csv").read_bytes() == expected


def test_a_share_that_stays_away_stops_the_work_and_the_same_command_completes_it(
    share: Share, predict: Callable[..., str], expected: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    after(35, share.vanish, monkeypatch)
    command = ("--journal", tmp_path / "journal", "--json")
    stopped = json.loads(predict(*command, code=2))
    (problem,) = stopped["problems"]
    assert (problem["kind"], problem["file"]) == ("folder_lost", str(share.folder))
    assert problem["found"].startswith("no such file or directory, for 20 images in a row")
    assert "run the same command again: " in problem["remedy"]
    assert not (tmp_path / "submission.csv").exists()
    share.come_back()
    again = json.loads(predict(*command))
    assert (again["items"], again["total"]) == (PHOTOGRAPHS, 0)
    assert (tmp_path / "submission.csv").read_bytes() == expected
    kept = int(problem["remedy"].split("again: ")[1].split(" of")[0])
    assert 20 <= kept < 60


def test_files_that_fail_are_counted_and_completed_by_the_same_command(
    share: Share, predict: Callable[..., str], expected: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = archives.read_bytes

    def failing(path: Path) -> bytes:
        if int(path.stem) >= 35:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return read(path)

    command = ("--journal", tmp_path / "journal", "--json", "--force")
    with monkeypatch.context() as disturbed:
        disturbed.setattr(archives, "read_bytes", failing)
        first = json.loads(predict(*command, code=2))
    assert (first["items"], first["counts"]) == (35, {"read_failed": 365})
    assert "365 of 400 images could not be read" in " ".join(first["notes"])
    rows = (tmp_path / "submission.csv").read_text().splitlines()
    assert len(rows) == 1 + PHOTOGRAPHS  # a row for each id, as the rules ask
    second = json.loads(predict(*command))
    assert (second["items"], second["total"]) == (PHOTOGRAPHS, 0)
    assert (tmp_path / "submission.csv").read_bytes() == expected


def test_nothing_is_written_if_no_file_can_be_read(
    share: Share, predict: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in sorted(share.folder.iterdir())[3:]:
        path.unlink()

    def failing(path: Path) -> bytes:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(path))

    monkeypatch.setattr(archives, "read_bytes", failing)
    assert json.loads(predict("--json", code=2))["counts"] == {"read_failed": 3}
    assert not (tmp_path / "submission.csv").exists()
