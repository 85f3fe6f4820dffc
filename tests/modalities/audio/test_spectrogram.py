"""Spectrograms: where a tone lies, background normalisation, and streaming."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from tallymark.io import audio
from tallymark.io.media import BadMedia
from tallymark.io.resampling import resample
from tallymark.modalities.audio.spectrogram import SpectrogramConfig, _median_and_mad, power_blocks, spectrogram


def whole(path: Path, config: SpectrogramConfig) -> np.ndarray:
    return np.concatenate(list(spectrogram(path, config)), axis=1)


def write(path: Path, seconds: float, rate: int = 2000, *, tone: tuple[float, float, float] | None = None) -> Path:
    """Noise, with a tone of `hertz` between two times."""
    time = np.arange(round(seconds * rate)) / rate
    samples = 0.05 * np.random.default_rng(0).standard_normal(len(time))
    if tone is not None:
        hertz, start, stop = tone
        samples += 0.2 * np.sin(2 * np.pi * hertz * time) * ((time >= start) & (time < stop))
    soundfile.write(path, samples, rate)
    return path


@pytest.mark.parametrize("rate", [1000, 2000, 8000, 44100])
def test_a_tone_lies_at_its_time_and_frequency(tmp_path: Path, rate: int) -> None:
    config = SpectrogramConfig()
    level = whole(write(tmp_path / "a.wav", 40, rate, tone=(150, 20, 21)), config)
    assert level.shape == (config.n_bins, config.frames(40))
    band, frame = np.unravel_index(np.argmax(level), level.shape)
    assert abs(config.fmin + band / config.window_seconds - 150) < 6
    assert 20 < (frame + 0.5) * config.hop_seconds < 21
    loud = np.flatnonzero(level[band] > 4) * config.hop_seconds
    assert abs(loud.min() - 20) < 0.15
    assert abs(loud.max() - 21) < 0.15


def test_the_background_is_removed(tmp_path: Path) -> None:
    hum = write(tmp_path / "hum.wav", 180, tone=(120, 0, 180))
    quiet, loud = whole(write(tmp_path / "quiet.wav", 180), SpectrogramConfig()), whole(hum, SpectrogramConfig())
    assert abs(np.median(quiet)) < 0.05
    assert np.abs(np.median(loud, axis=1)).max() < 0.1
    assert whole(hum, SpectrogramConfig(background_norm=False)).mean(axis=1).std() > 0.3


def test_the_size_of_blocks_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.wav", 95.3, 3000, tone=(200, 50, 51))
    once = whole(path, SpectrogramConfig())
    monkeypatch.setattr(audio, "BLOCK", 1 << 9)
    assert np.abs(whole(path, SpectrogramConfig()) - once).max() < 1e-3
    assert [block.shape[1] for block in spectrogram(path, SpectrogramConfig())][:-1] == [320] * 9


@pytest.mark.parametrize(("rate", "n_bins", "refused"), [(800, 96, True), (829, 96, False), (800, 64, False)])
def test_a_recording_that_does_not_reach_the_band_is_refused(
    tmp_path: Path, rate: int, n_bins: int, refused: bool
) -> None:
    path, config = write(tmp_path / "a.wav", 40, rate), SpectrogramConfig(n_bins=n_bins)
    if not refused:
        assert whole(path, config).shape == (n_bins, 1250)
        return
    with pytest.raises(BadMedia) as bad:
        spectrogram(path, config)
    assert (bad.value.kind, bad.value.found) == ("low_sample_rate", "800 samples per second: frequencies up to 400 Hz")
    assert bad.value.expected == "frequencies up to 415 Hz, as the model needs"
    assert bad.value.remedy == "record at 829 samples per second or more, or train with fewer n_bins"


@pytest.mark.parametrize("rate", [2000, 32_000])
def test_decimation_does_not_change_the_levels(tmp_path: Path, rate: int) -> None:
    """They are those of the same recording resampled by soxr, though only the frequencies in use are kept."""
    path = write(tmp_path / "a.wav", 60, rate, tone=(200, 30, 31))
    samples = resample(audio.read_audio(path), rate, SpectrogramConfig().sample_rate)
    soundfile.write(tmp_path / "b.wav", samples, SpectrogramConfig().sample_rate, subtype="FLOAT")
    difference = np.abs(whole(path, SpectrogramConfig()) - whole(tmp_path / "b.wav", SpectrogramConfig()))
    inner = difference[:, 20:-20]  # silence beyond the ends is filtered by one of them only
    assert np.quantile(inner, 0.999) < 0.01
    assert inner.mean() < 1e-3


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.1, 5.0, 10.24, 10.25])
def test_any_length_is_accepted(tmp_path: Path, seconds: float) -> None:
    level = list(spectrogram(write(tmp_path / "a.wav", seconds), SpectrogramConfig()))
    assert sum(block.shape[1] for block in level) == SpectrogramConfig().frames(seconds)
    assert all(np.isfinite(block).all() for block in level)


def test_silence_is_at_level_0(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.zeros(40_000), 2000)
    level = whole(tmp_path / "a.wav", SpectrogramConfig())
    assert np.abs(level).max() < 1e-3


def test_a_short_clip_has_nearly_the_levels_of_a_long_recording(tmp_path: Path) -> None:
    long = write(tmp_path / "long.wav", 90, tone=(150, 41, 41.3))
    samples = audio.read_audio(long)
    soundfile.write(tmp_path / "short.wav", samples[40 * 2000 : 42 * 2000], 2000)
    config = SpectrogramConfig()
    inner = slice(5, -5)  # silence beyond the ends of the clip
    short = whole(tmp_path / "short.wav", config)[:, inner]
    same = whole(long, config)[:, 40 * 1000 // 32 :][:, :63][:, inner]
    difference = short - same
    assert np.sqrt(np.square(difference).mean()) < 0.45
    assert abs(difference.mean()) < 0.1
    noise = np.delete(short, range(20, 40), axis=0)
    assert 0.8 < noise.std() < 1.3


@pytest.mark.parametrize("frames", [1, 2, 3, 8, 319, 320])
def test_the_background_is_the_median(frames: int) -> None:
    block = np.random.default_rng(frames).standard_normal((5, frames)).astype(np.float32)
    block[0] = 2
    middle, spread = _median_and_mad(block)
    assert np.allclose(middle, np.median(block, axis=1), atol=1e-6)
    assert np.allclose(spread, np.median(np.abs(block - np.median(block, axis=1)[:, None]), axis=1), atol=1e-6)


@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24", "FLOAT"])
@pytest.mark.parametrize("channels", [1, 2])
def test_sample_formats_and_channels_do_not_matter(tmp_path: Path, subtype: str, channels: int) -> None:
    whole_numbers = np.random.default_rng(0).integers(-9000, 9000, (60_000, channels)) / 2**15
    soundfile.write(tmp_path / "a.wav", whole_numbers, 3000, subtype=subtype)
    soundfile.write(tmp_path / "b.wav", whole_numbers.mean(axis=1), 3000, subtype="DOUBLE")
    assert (
        np.abs(whole(tmp_path / "a.wav", SpectrogramConfig()) - whole(tmp_path / "b.wav", SpectrogramConfig())).max()
        < 2e-3
    )
    samples = np.concatenate(list(audio.resample_stream(tmp_path / "a.wav", 3000)))
    assert np.abs(samples - whole_numbers.mean(axis=1)).max() < 1e-6


@pytest.mark.parametrize("low", [0.0, 40.0, 100.0])
def test_power_is_that_of_the_fourier_transform(low: float) -> None:
    config = SpectrogramConfig(fmin=low, n_bins=20)
    samples = np.random.default_rng(0).standard_normal(config.n_fft + 9 * config.hop_length).astype(np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(samples, config.n_fft)[:: config.hop_length]
    first = round(low * config.window_seconds)
    hann = np.hanning(config.n_fft + 1)[:-1]
    wanted = np.log(np.abs(np.fft.rfft(frames * hann, axis=1)) ** 2 + 1e-12).T[first : first + 20]
    [block] = power_blocks(iter([samples[(config.n_fft - config.hop_length) // 2 :]]), config)
    assert np.abs(block[:, 4:9] - wanted[:, 4:9]).max() < 1e-3


@pytest.mark.parametrize("rate", [1000, 2000, 1500, 44100])
def test_a_damaged_recording_is_read_up_to_the_damage(tmp_path: Path, rate: int) -> None:
    """Whatever is buffered for resampling, framing or normalisation is given out before the error is raised."""
    whole_path = write(tmp_path / "a.flac", 150, rate)
    data = whole_path.read_bytes()
    (tmp_path / "b.flac").write_bytes(data[: len(data) * 6 // 10])
    blocks: list[np.ndarray] = []
    with pytest.raises(BadMedia, match="samples"):
        blocks.extend(spectrogram(tmp_path / "b.flac", SpectrogramConfig()))
    level, wanted = np.concatenate(blocks, axis=1), whole(whole_path, SpectrogramConfig())
    assert 0.6 * 150 - 5 < level.shape[1] * SpectrogramConfig().hop_seconds < 0.6 * 150 + 1
    same = level.shape[1] // 320 * 320 - 4 * 320  # further on, the background is estimated from fewer blocks
    assert np.abs(level[:, :same] - wanted[:, :same]).max() < 1e-3
