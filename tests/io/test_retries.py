"""Disks and shares that fail for a moment: files are tried again, damaged ones are not."""

from __future__ import annotations

import errno
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from tallymark.io import archives, audio, retries
from tallymark.io.archives import BadArchive
from tallymark.io.audio import inspect_recording, read_header, resample_stream
from tallymark.io.images import image_size, inspect_image, read_image
from tallymark.io.lidar import read_sweep
from tallymark.io.media import BadMedia
from tallymark.io.watched import WatchedFile
from tests.formats.files import put_image

READERS = {"a.jpg": (read_image, image_size, inspect_image), "a.wav": (read_header, inspect_recording)}
CASES = [(name, reader) for name, readers in READERS.items() for reader in readers]


class Failing:
    """A function that fails some times, by an error of the system, before it does its work."""

    def __init__(self, work: Any, times: int, error: OSError) -> None:
        self.work, self.times, self.error = work, times, error
        self.calls = 0

    def __call__(self, *given: Any) -> Any:
        self.calls += 1
        if self.calls <= self.times:
            raise self.error
        return self.work(*given)


def system_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    put_image(tmp_path / "a.jpg")
    soundfile.write(tmp_path / "a.wav", np.sin(np.arange(8000) / 20) * 0.5, 2000)
    return tmp_path


def length(blocks: Iterator[np.ndarray]) -> tuple[int, BadMedia]:
    """How many samples there are before the failure, and that."""
    samples = 0
    try:
        for block in blocks:
            samples += len(block)
    except BadMedia as bad:
        return samples, bad
    raise AssertionError("no failure")


def fail(monkeypatch: pytest.MonkeyPatch, times: int, number: int = errno.EIO) -> None:
    """Let files fail to be opened."""
    for place in ("archives.read_bytes", "images.open_file", "audio.open_file", "audio.read_blocks"):
        failing = Failing(getattr(archives, place.split(".")[1]), times, system_error(number))
        monkeypatch.setattr(f"tallymark.io.{place}", failing)


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOENT])
def test_an_error_that_may_pass_is_tried_again(number: int) -> None:
    failing = Failing(lambda: "read", 2, system_error(number))
    assert retries.retry(failing) == "read"
    assert failing.calls == 3
    for_ever = Failing(lambda: "read", 99, system_error(number))
    with pytest.raises(OSError, match=os.strerror(number)):
        retries.retry(for_ever)
    assert for_ever.calls == 3


@pytest.mark.parametrize("error", [system_error(errno.EACCES), BadArchive("damaged", "a.zip"), OSError("truncated")])
def test_what_is_wrong_with_the_file_is_not_tried_again(error: OSError) -> None:
    failing = Failing(lambda: "read", 1, error)
    with pytest.raises(OSError, match=r"."):
        retries.retry(failing)
    assert failing.calls == 1


def test_a_link_to_nothing_may_lead_to_a_share_that_is_away(tmp_path: Path) -> None:
    (tmp_path / "a.png").symlink_to(tmp_path / "share" / "a.png")
    with pytest.raises(BadMedia) as caught:
        read_image(tmp_path / "a.png")
    assert caught.value.transient
    (tmp_path / "share").mkdir()
    with pytest.raises(BadMedia, match="a link to a file that does not exist") as caught:
        read_image(tmp_path / "a.png")
    assert not caught.value.transient


def test_an_archive_that_comes_back_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_image(tmp_path / "a.jpg")
    expected = read_image(tmp_path / "a.jpg")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(tmp_path / "a.jpg", "a.jpg")
    (tmp_path / "all.zip").rename(tmp_path / "away")
    monkeypatch.setattr("time.sleep", lambda seconds: (tmp_path / "away").rename(tmp_path / "all.zip"))
    np.testing.assert_array_equal(read_image(tmp_path / "all.zip" / "a.jpg"), expected)


def test_after_many_files_in_a_row_none_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = list[float]()
    gone = Failing(None, 999, system_error(errno.EIO))
    monkeypatch.setattr("time.sleep", waited.append)
    for _ in range(retries.LOST + 10):
        with pytest.raises(OSError, match=r"."):
            retries.retry(gone)
    assert len(waited) == retries.LOST * len(retries.DELAYS)
    assert retries.retry(lambda: 1) == 1
    with pytest.raises(OSError, match="Input"):
        retries.retry(gone)
    assert len(waited) == (retries.LOST + 1) * len(retries.DELAYS)


@pytest.mark.parametrize(("name", "reader"), CASES)
def test_media_are_read_when_the_disk_is_back(
    name: str, reader: Any, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = reader(files / name)
    fail(monkeypatch, 2)
    found = reader(files / name)
    if isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(found, expected)
    else:
        assert getattr(found, "extent", found) == getattr(expected, "extent", expected)


@pytest.mark.parametrize(("name", "reader"), CASES)
@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_media_that_must_not_be_read_are_not_called_damaged(
    number: int, name: str, reader: Any, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are tried once, and the same command reads them after a change of permissions."""
    fail(monkeypatch, 99, number)
    with pytest.raises(BadMedia, match=os.strerror(number).lower()) as caught:
        reader(files / name)
    assert caught.value.transient
    assert caught.value.remedy == "change its permissions, then run the same command again"


@pytest.mark.parametrize(("name", "reader"), CASES)
def test_media_that_the_disk_fails_to_read_are_not_called_damaged(
    name: str, reader: Any, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(monkeypatch, 99)
    with pytest.raises(BadMedia, match="input/output error") as caught:
        reader(files / name)
    assert (caught.value.kind, caught.value.transient) == ("read_failed", True)
    assert "same command again" in caught.value.remedy


@pytest.mark.parametrize("reader", [read_image, image_size, read_sweep, read_header, inspect_recording])
def test_a_file_that_is_gone_is_one_that_may_come_back(reader: Any, tmp_path: Path) -> None:
    with pytest.raises(BadMedia, match="no such file") as caught:
        reader(tmp_path / "a.wav")
    assert caught.value.transient


def test_a_recording_that_vanishes_while_it_is_read_is_read_to_its_end(files: Path) -> None:
    blocks = resample_stream(files / "a.wav", 1000)
    first = next(blocks)
    (files / "a.wav").unlink()
    assert sum(map(len, [first, *blocks])) == 4000


def test_a_disk_that_fails_in_the_middle_of_plain_samples_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    soundfile.write(tmp_path / "a.wav", np.sin(np.arange(400_000) / 20) * 0.5, 2000, subtype="PCM_16")
    monkeypatch.setattr(audio, "BLOCK", 1 << 17)
    readinto = WatchedFile.readinto

    def failing(file: WatchedFile, buffer: memoryview) -> int:
        if file.tell() > 1 << 18:
            file.failure = OSError(errno.EIO, "Input/output error")
            return 0
        return readinto(file, buffer)

    monkeypatch.setattr(WatchedFile, "readinto", failing)
    samples, bad = length(resample_stream(tmp_path / "a.wav", 1000))
    assert (bad.found, bad.transient) == ("input/output error", True)
    assert samples > 60_000


def test_a_disk_that_fails_in_the_middle_of_a_recording_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    soundfile.write(tmp_path / "a.wav", np.sin(np.arange(400_000) / 20) * 0.5, 2000, subtype="PCM_24")
    monkeypatch.setattr(audio, "BLOCK", 1 << 17)
    read = soundfile.SoundFile.read
    calls = 0

    def failing(file: Any, *given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise soundfile.LibsndfileError(2)
        return read(file, *given, **named)

    monkeypatch.setattr(soundfile.SoundFile, "read", failing)
    samples, bad = length(resample_stream(tmp_path / "a.wav", 1000))
    assert (bad.found, bad.transient) == ("system error after 131072 of 400000 samples", True)
    assert samples > 60_000


def test_a_recording_that_is_cut_while_it_is_read_is_not_filled_with_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    soundfile.write(tmp_path / "a.wav", np.sin(np.arange(400_000) / 20) * 0.5, 2000)
    monkeypatch.setattr(audio, "BLOCK", 1 << 17)
    blocks = resample_stream(tmp_path / "a.wav", 2000)
    first = len(next(blocks))
    os.truncate(tmp_path / "a.wav", 400_000)
    samples, bad = length(blocks)
    assert "of 400000 samples" in bad.found
    assert first + samples <= 200_000
