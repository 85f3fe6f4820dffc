"""Windows of recordings are read alone, whatever the rate and the channels."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tallymark.io import audio
from tallymark.io.audio import read_audio, read_window, resample_stream
from tallymark.io.media import BadMedia


@pytest.mark.parametrize("rate", [2000, 8000, 44_100, 96_000])
def test_a_window_is_resampled_in_place(rate: int, tmp_path: Path) -> None:
    time = np.arange(10 * rate) / rate
    tone = 0.4 * np.sin(2 * np.pi * 150 * time)
    soundfile.write(str(tmp_path / "a.wav"), np.column_stack([tone, tone]), rate)
    found = read_window(tmp_path / "a.wav", 3.0, 7.0, 2000)
    assert found.dtype == np.float32
    assert len(found) == 8000
    inside = slice(200, -200)
    expected = 0.4 * np.sin(2 * np.pi * 150 * (3.0 + np.arange(8000) / 2000))
    np.testing.assert_allclose(found[inside], expected[inside], atol=0.01)


def test_a_window_at_its_own_rate_has_the_samples_of_the_file(tmp_path: Path) -> None:
    samples = np.random.default_rng(0).uniform(-1, 1, (3000, 2))
    soundfile.write(str(tmp_path / "a.flac"), samples, 1000)
    np.testing.assert_allclose(
        read_window(tmp_path / "a.flac", 1.0, 2.5, 1000), read_audio(tmp_path / "a.flac", 1.0, 2.5), atol=1e-7
    )
    assert len(read_window(tmp_path / "a.flac", -1.0, 99.0, 1000)) == 3000
    assert len(read_window(tmp_path / "a.flac", 5.0, 6.0, 1000)) == 0


def test_many_channels_take_little_memory(tmp_path: Path) -> None:
    soundfile.write(str(tmp_path / "a.flac"), np.zeros((400_000, 8)), 48_000)
    tracemalloc.start()
    read_window(tmp_path / "a.flac", 0.0, 8.0, 1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 400_000 * 8 * 4


def test_a_text_is_no_recording(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_text("no sound")
    with pytest.raises(BadMedia):
        read_window(tmp_path / "a.wav", 0.0, 1.0, 1000)


@pytest.mark.parametrize("endian", ["FILE", "BIG"])
@pytest.mark.parametrize("channels", [1, 3])
def test_integers_are_read_as_the_library_reads_them(
    endian: str, channels: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audio, "BLOCK", 1000)
    samples = np.random.default_rng(0).integers(-32768, 32767, (4321, channels)).astype(np.int16)
    soundfile.write(tmp_path / "a.wav", samples, 2000, subtype="PCM_16", endian=endian)
    with soundfile.SoundFile(tmp_path / "a.wav") as file:
        assert audio._is_plain(file) == (endian == "FILE")
    found = np.concatenate(list(resample_stream(tmp_path / "a.wav", 2000)))
    np.testing.assert_array_equal(found, np.float32(2.0**-15) * samples.mean(axis=1, dtype=np.float32))


def test_a_cut_file_is_read_up_to_its_end(tmp_path: Path) -> None:
    samples = np.arange(4000).astype(np.int16)
    soundfile.write(tmp_path / "a.wav", samples, 2000, subtype="PCM_16")
    (tmp_path / "a.wav").write_bytes((tmp_path / "a.wav").read_bytes()[:-2001])
    found: list[np.ndarray] = []
    with pytest.raises(BadMedia) as raised:
        found.extend(resample_stream(tmp_path / "a.wav", 2000))
    assert raised.value.kind == "truncated_media"
    read = np.concatenate(found) * 2**15
    assert len(read) in (2999, 3000)
    np.testing.assert_array_equal(read, samples[: len(read)])
