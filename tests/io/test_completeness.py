"""Recordings that are cut are noticed; those whose recorder did not know the length are not taken for cut ones."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tallymark.io.audio import inspect_recording, resample_stream
from tallymark.io.completeness import check_complete
from tallymark.io.media import BadMedia

RATE = 8000
SOUND = np.sin(np.arange(24_000) / 5) * 0.3
PCM = (SOUND * 32767).astype("<i2").tobytes()
UNKNOWN = 0xFFFFFFFF
FORMAT = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, RATE, 2 * RATE, 2, 16)


def wav(whole: int, samples: int) -> bytes:
    return b"RIFF" + struct.pack("<I", whole) + b"WAVE" + FORMAT + b"data" + struct.pack("<I", samples) + PCM


def rf64(samples: int) -> bytes:
    """A file for more than 4 GiB, whose sizes are in 64 bits."""
    sizes = b"ds64" + struct.pack("<IQQQI", 28, samples + 72, samples, samples // 2, 0)
    return b"RF64" + struct.pack("<I", UNKNOWN) + b"WAVE" + sizes + FORMAT + b"data" + struct.pack("<I", UNKNOWN) + PCM


@pytest.mark.parametrize("kind", ["WAV", "RF64", "W64", "OGG", "FLAC", "MP3", "AIFF"])
@pytest.mark.parametrize("left", [0.3, 0.9])
def test_a_cut_recording_is_noticed(kind: str, left: float, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.wav", tmp_path / "cut.wav"  # the content decides, not the name
    soundfile.write(whole, SOUND, RATE, format=kind)
    data = whole.read_bytes()
    cut.write_bytes(data[: int(len(data) * left)])
    assert inspect_recording(whole).extent == (3.0, RATE)
    assert sum(map(len, resample_stream(whole, 2000))) == 6000
    for read in (inspect_recording, lambda path: list(resample_stream(path, 2000))):
        with pytest.raises(BadMedia) as caught:
            read(cut)
        assert caught.value.kind in ("truncated_media", "corrupt_media")


def test_an_ogg_file_that_is_cut_between_two_pages_is_noticed(tmp_path: Path) -> None:
    """All that is there is whole: only the flag of the last page is missing."""
    soundfile.write(tmp_path / "whole.ogg", SOUND, RATE)
    data = (tmp_path / "whole.ogg").read_bytes()
    last = data.rfind(b"OggS")
    assert last > 0
    (tmp_path / "cut.ogg").write_bytes(data[:last])
    check_complete(tmp_path / "whole.ogg")
    with pytest.raises(BadMedia, match="no end of the stream"):
        check_complete(tmp_path / "cut.ogg")


@pytest.mark.parametrize("tags", [b"", b"ID3\4\0\0\0\0\1\2" + bytes(130)], ids=["plain", "with tags"])
def test_a_cut_mp3_file_is_noticed_by_its_first_frame(tags: bytes, tmp_path: Path) -> None:
    """Before it is decoded, which takes long and does not fail for each of them."""
    soundfile.write(tmp_path / "whole.mp3", SOUND, RATE)
    data = tags + (tmp_path / "whole.mp3").read_bytes()
    for name, part in (("whole.mp3", data), ("cut.mp3", data[: len(data) * 9 // 10])):
        (tmp_path / name).write_bytes(part)
    check_complete(tmp_path / "whole.mp3")
    with pytest.raises(BadMedia, match="according to its header"):
        check_complete(tmp_path / "cut.mp3")


@pytest.mark.parametrize(
    "data",
    [wav(UNKNOWN, UNKNOWN), wav(UNKNOWN, len(PCM)), wav(0, UNKNOWN), wav(0x7FFFF024, 0x7FFFF000), rf64(len(PCM))],
    ids=["unknown", "only the samples known", "zero", "SoX", "RF64"],
)
def test_a_streamed_recording_is_read(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(data)
    assert inspect_recording(tmp_path / "a.wav").extent == (3.0, RATE)


@pytest.mark.parametrize("data", [wav(UNKNOWN, 2 * len(PCM)), wav(36 + len(PCM), 2 * len(PCM)), rf64(2 * len(PCM))])
def test_the_size_of_the_samples_counts_where_that_of_the_file_says_nothing(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(data)
    with pytest.raises(BadMedia, match="according to its header"):
        inspect_recording(tmp_path / "a.wav")


def test_a_header_without_a_length_says_what_to_do(tmp_path: Path) -> None:
    """As a recorder leaves it whose battery ran out; the library would read no sample."""
    (tmp_path / "a.wav").write_bytes(wav(0, 0))
    with pytest.raises(BadMedia, match="without the length") as caught:
        inspect_recording(tmp_path / "a.wav")
    assert "ffmpeg" in caught.value.remedy


def test_a_sample_rate_of_no_recorder_is_refused(tmp_path: Path) -> None:
    data = wav(36 + len(PCM), len(PCM))
    for rate in (1, 2**31 - 1):
        (tmp_path / "a.wav").write_bytes(data.replace(struct.pack("<II", RATE, 2 * RATE), struct.pack("<II", rate, 0)))
        with pytest.raises(BadMedia, match="samples per second"):
            inspect_recording(tmp_path / "a.wav")


@pytest.mark.parametrize("read", [inspect_recording, lambda path: list(resample_stream(path, 2000))])
def test_an_mp3_file_that_ends_in_its_first_bytes_is_a_problem(read: Callable[[Path], object], tmp_path: Path) -> None:
    (tmp_path / "cut.mp3").write_bytes(b"ID3\x04\x00")
    with pytest.raises(BadMedia) as caught:
        read(tmp_path / "cut.mp3")
    assert caught.value.kind == "corrupt_media"
