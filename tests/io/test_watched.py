"""Recordings on a disk that fails at any of the library's reads: never other samples, never another length."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tallymark.io.audio import Header, inspect_recording, read_audio, read_header, resample_stream
from tallymark.io.media import BadMedia
from tallymark.io.watched import WatchedFile

FORMATS = ["wav", "flac", "ogg", "aiff"]


class Disk:
    """Opens files whose n-th read fails, once or from then on; reads are counted over all files."""

    def __init__(self, at: int, *, lasting: bool = False) -> None:
        self.at, self.lasting = at, lasting
        self.reads = 0

    def open(self, path: Path) -> io.BytesIO:
        disk = self

        class File(io.BytesIO):
            def readinto(self, buffer: memoryview) -> int:
                disk.reads += 1
                if disk.reads == disk.at or (disk.lasting and disk.reads > disk.at):
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                return super().readinto(buffer)

        return File(path.read_bytes())


def everything(path: Path) -> tuple[Header, bytes, bytes]:
    """The header, a window, and all samples of a recording at half its rate."""
    stream = np.concatenate(list(resample_stream(path, 1000)))
    return read_header(path), read_audio(path, 0.5, 2.5).tobytes(), stream.tobytes()


@pytest.fixture(params=FORMATS)
def recording(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"a.{request.param}"
    soundfile.write(path, np.random.default_rng(0).normal(size=(8000, 2)) * 0.1, 2000)
    return path


def test_a_read_that_fails_once_changes_nothing(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Libsndfile alone finds no sample, twice as many or another channel where a field of a header is not read."""
    undisturbed = Disk(0)
    monkeypatch.setattr("tallymark.io.audio.open_file", undisturbed.open)
    expected = everything(recording)
    assert undisturbed.reads > 5
    for at in range(1, undisturbed.reads + 1):
        monkeypatch.setattr("tallymark.io.audio.open_file", Disk(at).open)
        try:
            assert everything(recording) == expected
        except BadMedia as bad:  # a stream is not begun again: what was yielded may be used already
            assert bad.transient


def test_a_disk_that_fails_from_some_read_on_is_named(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    undisturbed = Disk(0)
    monkeypatch.setattr("tallymark.io.audio.open_file", undisturbed.open)
    inspect_recording(recording)
    for at in range(1, undisturbed.reads + 1):
        monkeypatch.setattr("tallymark.io.audio.open_file", Disk(at, lasting=True).open)
        with pytest.raises(BadMedia, match="input/output error") as caught:
            inspect_recording(recording)
        assert caught.value.transient


def test_nothing_is_read_after_a_failure(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abcdefgh")
    watched = WatchedFile(Disk(2).open(tmp_path / "a"))
    two = bytearray(2)
    assert (watched.readinto(memoryview(two)), bytes(two), watched.failure) == (2, b"ab", None)
    assert watched.readinto(memoryview(two)) == 0
    assert (watched.readinto(memoryview(two)), watched.read(2), watched.seek(0), watched.tell()) == (0, b"", -1, -1)
    assert watched.failure is not None
