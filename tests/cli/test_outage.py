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
import polars as pl
import pytest
import soundfile

from tallymark.inference import infer_catalog
from tallymark.inference.session import Session
from tallymark.io import archives, audio, retries
from tallymark.io.media import unreadable
from tests.cli.running import run
from tests.sets import contents
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
    monkeypatch.setattr(infer_catalog, "SHARD_SECONDS", 0.1)

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

    command = ("--journal", tmp_path / "journal", "--json", "--counts", tmp_path / "counts.csv")
    with monkeypatch.context() as disturbed:
        disturbed.setattr(archives, "read_bytes", failing)
        first = json.loads(predict(*command, code=2))
    assert (first["items"], first["counts"]) == (35, {"read_failed": 365})
    assert "365 of 400 images could not be read" in " ".join(first["notes"])
    rows = (tmp_path / "submission.csv").read_text().splitlines()
    assert len(rows) == 1 + PHOTOGRAPHS  # a row for each id, as the rules ask
    assert "to try again what could not be read: tallymark" in first["notes"][-1]
    second = json.loads(predict(*command))  # without --force: what lacks items is replaced
    assert (second["items"], second["total"]) == (PHOTOGRAPHS, 0)
    assert (tmp_path / "submission.csv").read_bytes() == expected
    assert len((tmp_path / "counts.csv").read_text().splitlines()) == 1 + PHOTOGRAPHS
    refused = json.loads(predict(*command, code=2))
    assert refused["counts"] == {"exists": 2}  # a complete file is not


def test_a_file_that_must_not_be_read_is_completed_by_the_same_command(
    share: Share, predict: Callable[..., str], expected: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawings too, which are made anew in a folder that holds those of the first run."""
    read = archives.read_bytes

    def refusing(path: Path) -> bytes:
        if path.stem == "007":
            raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return read(path)

    command = ("--draw", tmp_path / "drawn", "--json")
    with monkeypatch.context() as disturbed:
        disturbed.setattr(archives, "read_bytes", refusing)
        first = json.loads(predict(*command, code=2))
    (problem,) = first["problems"]
    assert (problem["item"], problem["found"]) == ("007", "permission denied")
    assert len(list((tmp_path / "drawn").iterdir())) == PHOTOGRAPHS - 1
    second = json.loads(predict(*command))
    assert (second["items"], second["total"]) == (PHOTOGRAPHS, 0)
    assert (tmp_path / "submission.csv").read_bytes() == expected
    assert len(list((tmp_path / "drawn").iterdir())) == PHOTOGRAPHS
    refused = json.loads(predict(*command, "--force", code=2))
    assert refused["counts"] == {"not_empty": 1}  # complete drawings are not


def test_drawings_of_a_command_that_was_killed_are_replaced(
    share: Share, predict: Callable[..., str], expected: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    command = ("--draw", tmp_path / "drawn", "--candidates", tmp_path / "candidates.parquet")
    with monkeypatch.context() as disturbed:
        disturbed.setattr("tallymark.api.exports.export_candidates", interrupt)
        predict(*command, code=130)
    (tmp_path / "drawn" / "mine.txt").write_text("mine")
    predict(*command)
    assert (tmp_path / "submission.csv").read_bytes() == expected
    assert (tmp_path / "drawn" / "mine.txt").read_text() == "mine"  # what is not known is never removed


def test_clips_of_an_incomplete_run_are_chosen_anew(
    calls_model: Path, recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def predict(folder: Path, code: int = 0) -> dict[str, bytes]:
        words = ("--clips", folder, "--clips-each", "1", "--out", folder.with_suffix(".csv"))
        run("predict", calls_model, recordings, "score_threshold=0.01", *words, code=code)
        return contents(folder)

    expected = predict(tmp_path / "undisturbed")
    chosen = pl.read_csv(next((tmp_path / "undisturbed").glob("*.csv")))["recording"].to_list()
    opened = audio.open_file

    def refusing(path: Path) -> Any:
        if path.name in chosen:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(path)

    with monkeypatch.context() as disturbed:
        disturbed.setattr(audio, "open_file", refusing)
        other = predict(tmp_path / "clips", code=2)
    assert other.keys() - expected.keys()
    assert predict(tmp_path / "clips").keys() == expected.keys()


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
def test_a_photograph_that_fails_while_it_is_drawn_is_named(
    number: int, share: Share, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in sorted(share.folder.iterdir())[2:]:
        path.unlink()

    def failing(*given: Any) -> Any:
        raise unreadable(OSError(number, os.strerror(number)))

    monkeypatch.setattr("tallymark.modalities.image.render.read_image", failing)
    words = ("--draw", tmp_path / "drawn", "--out", tmp_path / "out.csv", "--json")
    found = json.loads(run("predict", model, share.folder, *words, code=2))
    assert [(problem["item"], problem["found"]) for problem in found["problems"]] == [
        (name, os.strerror(number).lower()) for name in ("000", "001")
    ]


def test_a_file_that_was_changed_is_not_replaced(
    share: Share, predict: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in sorted(share.folder.iterdir())[2:]:
        path.unlink()
    read = archives.read_bytes

    def failing(path: Path) -> bytes:
        if path.stem == "000":
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return read(path)

    monkeypatch.setattr(archives, "read_bytes", failing)
    text = predict(code=2)
    assert "to try again what could not be read: " in text
    assert "--force" not in text
    predict(code=2)
    (tmp_path / "submission.csv").unlink()
    command = ("--journal", tmp_path / "journal", "--json")
    predict(*command, code=2)
    predict(*command, code=2)
    (tmp_path / "submission.csv").write_text("mine")
    assert json.loads(predict(*command, code=2))["counts"] == {"exists": 1}
    assert (tmp_path / "submission.csv").read_text() == "mine"


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


@pytest.fixture(scope="module")
def calls_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained("upcalls", tmp_path_factory.mktemp("model") / "model.onnx")


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """Three recordings, each of several blocks, which the library decodes."""
    folder = tmp_path / "recordings"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name in "abc":
        soundfile.write(folder / f"{name}.wav", rng.normal(0, 0.1, 300_000), 2000, subtype="PCM_24")
    return folder


@pytest.mark.parametrize("times", [1, 99])
def test_a_recording_that_vanishes_in_the_middle_costs_itself_only(
    times: int, calls_model: Path, recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def predict(out: str, code: int = 0) -> dict[str, Any]:
        words = ("score_threshold=0.01", "--out", tmp_path / out, "--journal", tmp_path / "journal", "--json")
        return json.loads(run("predict", calls_model, recordings, *words, code=code))

    read = soundfile.SoundFile.read
    failures = 0

    def failing(file: Any, *given: Any, **named: Any) -> Any:
        nonlocal failures
        if file.name.name.endswith("b.wav") and file.tell() > 0 and failures < times:
            failures += 1
            raise soundfile.LibsndfileError(2)
        return read(file, *given, **named)

    with monkeypatch.context() as broken:
        broken.setattr(soundfile.SoundFile, "read", failing)
        first = predict("first.csv", code=0 if times == 1 else 2)
    again = predict("again.csv")
    (tmp_path / "journal").rename(tmp_path / "old")
    predict("undisturbed.csv")
    expected = (tmp_path / "undisturbed.csv").read_bytes()
    assert (tmp_path / "again.csv").read_bytes() == expected
    assert again["total"] == 0
    if times == 1:  # tried again after the others
        assert (tmp_path / "first.csv").read_bytes() == expected
        return
    (problem,) = first["problems"]
    assert (problem["kind"], problem["item"]) == ("read_failed", "b.wav")
    assert "system error after 262144 of 300000 samples" in problem["found"]
    rows, whole = ((tmp_path / name).read_text().splitlines() for name in ("first.csv", "undisturbed.csv"))
    assert [row for row in rows if "b.wav" not in row] == [row for row in whole if "b.wav" not in row]


def test_a_recording_that_is_gone_when_it_is_opened_costs_itself_only(
    calls_model: Path, recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = soundfile.info

    def vanish(source: Any) -> Any:
        found = info(source)
        if str(source.name).endswith("b.wav"):
            Path(source.name).unlink()  # after its header was read
        return found

    monkeypatch.setattr(soundfile, "info", vanish)
    words = ("predict", calls_model, recordings, "--out", tmp_path / "out.csv", "--json")
    found = json.loads(run(*words, code=2))
    (problem,) = found["problems"]
    assert (problem["kind"], problem["item"], problem["found"]) == (
        "read_failed",
        "b.wav",
        "no such file or directory",
    )
    assert found["hours"] == pytest.approx(300 / 3600, abs=0.01)


def test_a_drawing_that_cannot_be_made_any_more_is_named(
    share: Share, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in sorted(share.folder.iterdir())[2:]:
        path.unlink()
    monkeypatch.setattr("tallymark.api.predict.write", lambda *given, **named: share.vanish())
    words = ("--draw", tmp_path / "drawn", "--out", tmp_path / "out.csv", "--json")
    found = json.loads(run("predict", model, share.folder, *words, code=2))
    assert found["counts"] == {"read_failed": 2}


def test_images_that_fail_while_they_are_measured_are_not_shown_at_another_scale(
    share: Share, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in sorted(share.folder.iterdir())[2:]:
        path.unlink()

    def failing(path: Path) -> Any:
        if path.stem == "000":
            raise OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT), str(path))
        return archives.open_file(path)

    monkeypatch.setattr("tallymark.io.images.open_file", failing)
    found = json.loads(run("predict", "wheat", share.folder, "--json", code=2))
    assert [(problem["kind"], problem["item"]) for problem in found["problems"]] == [("read_failed", "000")]
    assert "1 of 2 images could not be read" in " ".join(found["notes"])


def test_check_and_explore_tell_a_disk_that_fails_from_files_that_are_damaged(
    share: Share, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in sorted(share.folder.iterdir())[3:]:
        path.unlink()
    (share.folder / "001.png").write_bytes(b"not an image")
    read = archives.read_bytes

    def failing(path: Path) -> bytes:
        if path.stem == "000":
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return read(path)

    monkeypatch.setattr(archives, "read_bytes", failing)
    checked = json.loads(run("check", "wheat", share.folder, "--json", code=2))
    assert checked["counts"] == {"read_failed": 1, "corrupt_media": 1}
    run("explore", "wheat", share.folder, "--out", tmp_path / "page.html")
    assert "input/output error" in (tmp_path / "page.html").read_text()
