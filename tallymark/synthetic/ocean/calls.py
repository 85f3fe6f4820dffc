"""Underwater sounds: upcalls, other animals, and noise sources, each with its time.

Waveforms are sampled at `SAMPLE_RATE` and have an RMS of 1. The strength in dB is relative to the noise of quiet
water between 50 and 350 Hz, the band of upcalls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

SAMPLE_RATE = 2000
"""Samples per second of all waveforms."""
MAX_PER_HOUR = 1200.0
"""Highest rate of upcalls per hour: one every three seconds."""


class Sound(NamedTuple):
    """A waveform that starts at `start` seconds with a level of `strength` dB."""

    start: float
    wave: np.ndarray
    strength: float


def sweep(hertz: Sequence[float] | np.ndarray, seconds: float, peak: float, overtones: Sequence[float]) -> np.ndarray:
    """A frequency-modulated tone through these frequencies, evenly spaced in time; loudest at `peak` (0 to 1).

    overtones: amplitude of the first, second, … multiple of the frequency.
    """
    count = max(2, round(seconds * SAMPLE_RATE))
    at = np.linspace(0, 1, count)
    contour = np.interp(at, np.linspace(0, 1, len(hertz)), np.log(hertz))
    width = count // (2 * len(hertz)) * 2 + 1
    contour = np.convolve(np.pad(contour, width // 2, "edge"), np.full(width, 1 / width), "valid")
    phase = np.cumsum(np.exp(contour)) * (2 * np.pi / SAMPLE_RATE)
    swell = np.sin(np.pi * at ** (np.log(0.5) / np.log(peak)))
    tones = [strength * np.sin((number + 1) * phase) for number, strength in enumerate(overtones)]
    wave = np.sum(tones, axis=0) * np.maximum(swell, 0) ** 0.8
    return wave / wave.std()


def burst(rng: np.random.Generator, hertz: float, octaves: float, seconds: float) -> np.ndarray:
    """A pulse of band-pass noise around a frequency, with an exponential decay within `seconds`."""
    count = max(16, round(seconds * SAMPLE_RATE))
    frequency = np.fft.rfftfreq(count, 1 / SAMPLE_RATE)
    shape = np.exp(-0.5 * (np.log2(np.maximum(frequency, 1) / hertz) / octaves) ** 2)
    decay = np.exp(-np.linspace(0, 7, count)) * np.minimum(1, np.arange(count) / (0.004 * SAMPLE_RATE))
    wave = np.fft.irfft(np.fft.rfft(rng.standard_normal(count)) * shape, count) * decay
    return wave / wave[: count // 4].std()


def echoed(rng: np.random.Generator, wave: np.ndarray) -> np.ndarray:
    """The waveform with echoes (multipath by surface and sea floor), later and weaker than the direct sound."""
    late = round(0.35 * SAMPLE_RATE)
    echoes = np.pad(wave, (0, late))
    for _ in range(rng.integers(0, 6)):
        after = int(late * rng.random() ** 3)  # short delays blur a tone, long ones repeat it
        echoes[after : after + len(wave)] += rng.uniform(-0.6, 0.6) * np.exp(-2 * after / late) * wave
    return echoes


class Call(NamedTuple):
    """One upcall: start and end in seconds, and its sound."""

    start: float
    end: float
    sound: Sound


def upcalls(rng: np.random.Generator, seconds: float, per_hour: float, clear: float) -> list[Call]:
    """Upcalls in order of time, in bouts of one whale each; their strength is relative to the noise at that time.

    clear: fraction of bouts above the noise. Starts are at least 0.8 s apart.
    """
    wanted = rng.poisson(min(per_hour, MAX_PER_HOUR) * seconds / 3600 * rng.gamma(1.5, 1 / 1.5))
    calls: list[Call] = []
    for _ in range(wanted):
        if len(calls) >= wanted:
            break
        at = rng.uniform(0, seconds)
        strength = rng.uniform(-2, 10) if rng.random() < clear else rng.uniform(-11, -2)
        low = rng.uniform(65, 115)
        high = rng.uniform(160, 250)
        duration = rng.uniform(0.8, 1.3)
        for _ in range(rng.geometric(0.22)):
            wave, length = _upcall(rng, low, high, duration)
            start = round(at, 3)
            if start + length + 0.5 < seconds and all(abs(start - call.start) > 0.8 for call in calls):
                sound = Sound(start, echoed(rng, wave), strength + rng.uniform(-2, 2))
                calls.append(Call(start, round(start + length, 3), sound))
            at += 1 + rng.exponential(9)
    return sorted(calls[:wanted])


def _upcall(rng: np.random.Generator, low: float, high: float, duration: float) -> tuple[np.ndarray, float]:
    """A rising tone that varies around the parameters of one whale, and its duration in seconds."""
    at = np.linspace(0, 1, 16)
    low = low * rng.uniform(0.88, 1.14)
    high = min(high * rng.uniform(0.85, 1.2), 350)
    hertz = low + (high - low) * at ** rng.uniform(0.8, 3.0)
    if rng.random() < 0.25:  # some fall before they rise
        hertz += (high - low) * rng.uniform(0.1, 0.35) * np.exp(-at * 7)
    hertz *= 1 + 0.02 * np.sin(at * rng.uniform(3, 9) + rng.uniform(0, 6))
    length = round(duration * float(np.clip(rng.normal(0.95, 0.18), 0.5, 1.6)), 3)
    overtones = (1.0, rng.uniform(0, 0.25), rng.uniform(0, 0.1))
    return sweep(hertz, length, rng.uniform(0.3, 0.75), overtones), length


def song(rng: np.random.Generator, seconds: float) -> Iterator[Sound]:
    """Humpback song: a repeated phrase of a few units, some of which rise like upcalls."""
    kinds = ([1, 1.6, 2.1], [2, 1.2, 0.9], [1, 1.5, 1], [1.3, 1, 1.4], [1, 1.02, 1], [1, 0.7], [0.8, 1, 1.7])
    units = []
    for _ in range(rng.integers(2, 6)):
        kind = kinds[rng.integers(len(kinds))]
        hertz = np.array(kind) * rng.uniform(140, 420)
        overtones = (1.0, *rng.uniform(0.05, 0.7, rng.integers(0, 3)))
        units.append((hertz, rng.uniform(0.3, 2.2), overtones, rng.uniform(1.5, 5)))
    at = rng.uniform(0, seconds)
    strength = rng.uniform(-12, 6)
    end = at + rng.uniform(60, 600)
    while at < min(end, seconds):
        for hertz, length, overtones, gap in units:
            wave = sweep(hertz * rng.uniform(0.95, 1.05), length, rng.uniform(0.25, 0.8), overtones)
            yield Sound(at, echoed(rng, wave), strength + rng.uniform(-4, 3))
            at += gap + rng.uniform(0, 0.6)


def downsweeps(rng: np.random.Generator, seconds: float) -> Iterator[Sound]:
    """Sei whale: one to three falling tones."""
    at = rng.uniform(0, seconds)
    top = rng.uniform(75, 130)
    strength = rng.uniform(-4, 10)
    for _ in range(rng.integers(1, 4)):
        yield Sound(at, sweep([top, top * 0.6, top * 0.4], rng.uniform(0.9, 1.6), 0.4, (1.0,)), strength)
        at += rng.uniform(2.5, 4)


def near_misses(rng: np.random.Generator, seconds: float) -> Iterator[Sound]:
    """One rising tone that is too short, too long or too high for an upcall."""
    kind = rng.integers(3)
    low = rng.uniform(280, 420) if kind == 2 else rng.uniform(60, 150)
    length = (rng.uniform(0.12, 0.3), rng.uniform(3, 8), rng.uniform(0.5, 1.2))[kind]
    wave = sweep([low, low * 1.2, low * rng.uniform(1.5, 2)], length, rng.uniform(0.3, 0.7), (1.0, 0.3))
    yield Sound(rng.uniform(0, seconds), echoed(rng, wave), rng.uniform(-6, 9))


def airguns(rng: np.random.Generator, seconds: float) -> Iterator[Sound]:
    """Seismic survey: low pulses with a long tail, about every ten seconds."""
    at = rng.uniform(0, 20)
    interval = rng.uniform(8, 16)
    strength = rng.uniform(0, 18)
    hertz = rng.uniform(25, 70)
    length = rng.uniform(1.5, 4)
    while at < seconds:
        yield Sound(at, burst(rng, hertz, 0.8, length), strength + rng.normal(0, 1))
        at += interval + rng.normal(0, 0.05)


def gunshots(rng: np.random.Generator, seconds: float) -> Iterator[Sound]:
    """Right-whale gunshots: one to six broadband pulses."""
    at = rng.uniform(0, seconds)
    strength = rng.uniform(4, 22)
    for _ in range(rng.integers(1, 7)):
        yield Sound(at, burst(rng, rng.uniform(150, 500), 1.5, rng.uniform(0.3, 1.2)), strength + rng.normal(0, 2))
        at += rng.uniform(3, 30)


def knocks(rng: np.random.Generator, seconds: float) -> Iterator[Sound]:
    """Mooring chain: a rapid series of short resonant knocks."""
    at = rng.uniform(0, seconds)
    hertz = rng.uniform(80, 700)
    strength = rng.uniform(2, 20)
    for _ in range(rng.integers(2, 18)):
        wave = burst(rng, hertz * rng.uniform(0.9, 1.1), 0.25, rng.uniform(0.08, 0.25))
        yield Sound(at, wave, strength + rng.normal(0, 4))
        at += rng.exponential(0.5) + 0.05


def thumps(rng: np.random.Generator, seconds: float) -> Iterator[Sound]:
    """Fish: pairs of low thumps, or a grunt of rapid pulses."""
    at = rng.uniform(0, seconds)
    hertz = rng.uniform(35, 130)
    strength = rng.uniform(-2, 10)
    gap = rng.uniform(0.3, 0.6) if rng.random() < 0.6 else rng.uniform(0.05, 0.1)
    for _ in range(2 if gap > 0.2 else rng.integers(5, 25)):
        yield Sound(at, burst(rng, hertz, 0.2, rng.uniform(0.15, 0.4)), strength)
        at += gap
