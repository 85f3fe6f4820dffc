"""Synthetic upcalls in real recordings without any: real noise with known calls."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tallymark.core.problems import BadInput, Problem, Problems
from tallymark.io.audio import read_audio, total_hours
from tallymark.io.folders import media_files
from tallymark.io.media import BadMedia
from tallymark.io.resampling import resample
from tallymark.io.suffixes import AUDIO_SUFFIXES
from tallymark.synthetic.ocean.calls import SAMPLE_RATE, upcalls

LOW, HIGH = 50.0, 350.0
"""Frequency band in Hz in which the signal-to-noise ratio of a call is defined."""
CONTEXT = 2.0
"""Seconds before and after the start of a call in which the noise level is measured."""
MIN_NOISE = 1e-5
"""Lower bound of the noise level (RMS), so that calls in silence are audible."""


class Background:
    """Real recordings, from which excerpts are drawn."""

    def __init__(self, folder: Path) -> None:
        problems = Problems()
        self.paths = media_files(folder, AUDIO_SUFFIXES, problems)
        self.lengths = np.array([total_hours([path], problems) * 3600 for path in self.paths])
        if self.paths and not self.lengths.sum():
            found, remedy = "recordings without a sample", "name a folder of recordings without calls"
            problems.add(Problem("empty_recording", str(folder), found, "sound", remedy))
        problems.raise_if_any()

    def excerpt(self, rng: np.random.Generator, seconds: float, rate: int) -> np.ndarray:
        """A random excerpt of a random recording; a shorter recording as a whole."""
        number = rng.choice(len(self.paths), p=self.lengths / self.lengths.sum())
        start = rng.uniform(0, max(self.lengths[number] - seconds, 0))
        try:
            return read_audio(self.paths[number], start, start + seconds, rate)
        except BadMedia as bad:
            remedy = "replace the file, or remove it from the folder"
            raise BadInput(Problem(bad.kind, str(self.paths[number]), bad.found, "a recording", remedy)) from None


def add_upcalls(
    rng: np.random.Generator, recording: np.ndarray, rate: int, per_hour: float, clear: float
) -> tuple[np.ndarray, np.ndarray]:
    """A recording (-1 to 1) with added upcalls as int16 samples, and (n, 2) start and end of each in seconds.

    per_hour: expected number of upcalls per hour. clear: fraction of bouts above the noise.
    """
    recording = np.nan_to_num(recording, posinf=0, neginf=0)  # invalid samples of a faulty recorder
    calls = upcalls(rng, len(recording) / rate, per_hour, clear)
    mixed = recording.copy()
    for call in calls:
        wave = resample(call.sound.wave.astype(np.float32), SAMPLE_RATE, rate)
        first = round(call.start * rate)
        context = recording[max(first - round(CONTEXT * rate), 0) : first + round(CONTEXT * rate)]
        window = mixed[first : first + len(wave)]
        window += _in_band(context, rate) * np.float32(10 ** (call.sound.strength / 20)) * wave[: len(window)]
    samples = np.clip(np.rint(mixed * 32768), -32768, 32767).astype(np.int16)
    return samples, np.array([call[:2] for call in calls], float).reshape(-1, 2)


def _in_band(samples: np.ndarray, rate: int) -> np.float32:
    """RMS of the samples within the band of the calls."""
    hertz = np.fft.rfftfreq(len(samples), 1 / rate)
    parts = np.fft.rfft(samples)[(hertz >= LOW) & (hertz < HIGH)]
    return np.float32(max(np.sqrt(2 * (np.abs(parts) ** 2).sum()) / len(samples), MIN_NOISE))
