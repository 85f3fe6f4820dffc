"""Made-up upcalls in real recordings of places where none is heard: true noise with calls that are known."""

from __future__ import annotations

import numpy as np

from tallymark.io.resampling import resample
from tallymark.synthetic.ocean.calls import BAND, upcalls

LOW, HIGH = 50.0, 350.0
"""Hertz between which the strength of a call is compared with the noise."""
AROUND = 2.0
"""Seconds before and after the start of a call that tell how loud the noise is."""
FAINTEST = 1e-5
"""The least that noise is taken to be, so that calls in silence are heard."""


def add_upcalls(
    rng: np.random.Generator, heard: np.ndarray, rate: int, per_hour: float, clear: float
) -> tuple[np.ndarray, np.ndarray]:
    """A recording (-1 to 1) with upcalls as 16-bit samples, and the start and end of each, in seconds, as (n, 2).

    per_hour: upcalls to expect, `clear`: the share of them that stand out.
    """
    heard = np.nan_to_num(heard, posinf=0, neginf=0)  # samples of a recorder that failed for a moment
    calls = upcalls(rng, len(heard) / rate, per_hour, clear)
    mixed = heard.copy()
    for call in calls:
        wave, first = resample(call.sound.wave.astype(np.float32), BAND, rate), round(call.start * rate)
        around = heard[max(first - round(AROUND * rate), 0) : first + round(AROUND * rate)]
        room = mixed[first : first + len(wave)]
        room += _in_band(around, rate) * np.float32(10 ** (call.sound.strength / 20)) * wave[: len(room)]
    samples = np.clip(np.rint(mixed * 32768), -32768, 32767).astype(np.int16)
    return samples, np.array([call[:2] for call in calls], float).reshape(-1, 2)


def _in_band(samples: np.ndarray, rate: int) -> np.float32:
    """RMS of what lies in the band of the calls."""
    hertz = np.fft.rfftfreq(len(samples), 1 / rate)
    parts = np.fft.rfft(samples)[(hertz >= LOW) & (hertz < HIGH)]
    return np.float32(max(np.sqrt(2 * (np.abs(parts) ** 2).sum()) / len(samples), FAINTEST))
