"""Sounds of single animals and things under water, and when they are heard.

All sounds are made at `BAND` samples a second with an RMS of 1. A strength in dB is above the noise of quiet water
between 50 and 350 Hz, where upcalls are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

BAND = 2000
"""Samples a second: sounds reach up to half of it."""
CROWDED = 1200.0
"""Upcalls an hour, at most: one every three seconds."""


class Sound(NamedTuple):
    """A sound that starts at `start` seconds, `strength` dB loud."""

    start: float
    wave: np.ndarray
    strength: float


def sweep(hertz: Sequence[float] | np.ndarray, seconds: float, peak: float, overtones: Sequence[float]) -> np.ndarray:
    """A tone through these frequencies, evenly spaced in time, that swells until `peak` (0 to 1) and fades.

    overtones: strength of the first, second, … multiple of the frequency.
    """
    count = max(2, round(seconds * BAND))
    at = np.linspace(0, 1, count)
    contour = np.interp(at, np.linspace(0, 1, len(hertz)), np.log(hertz))
    width = count // (2 * len(hertz)) * 2 + 1
    contour = np.convolve(np.pad(contour, width // 2, "edge"), np.full(width, 1 / width), "valid")
    phase = np.cumsum(np.exp(contour)) * (2 * np.pi / BAND)
    swell = np.sin(np.pi * at ** (np.log(0.5) / np.log(peak)))
    tones = [strength * np.sin((number + 1) * phase) for number, strength in enumerate(overtones)]
    wave = np.sum(tones, axis=0) * np.maximum(swell, 0) ** 0.8
    return wave / wave.std()


def burst(rng: np.random.Generator, hertz: float, octaves: float, seconds: float) -> np.ndarray:
    """A pulse of noise around a frequency that dies away within `seconds`, with the reverberation of the sea floor."""
    count = max(16, round(seconds * BAND))
    frequency = np.fft.rfftfreq(count, 1 / BAND)
    shape = np.exp(-0.5 * (np.log2(np.maximum(frequency, 1) / hertz) / octaves) ** 2)
    decay = np.exp(-np.linspace(0, 7, count)) * np.minimum(1, np.arange(count) / (0.004 * BAND))
    wave = np.fft.irfft(np.fft.rfft(rng.standard_normal(count)) * shape, count) * decay
    return wave / wave[: count // 4].std()


def echoed(rng: np.random.Generator, wave: np.ndarray) -> np.ndarray:
    """The sound with its paths by way of surface and floor, later and weaker; the direct one comes first."""
    late = round(0.35 * BAND)
    heard = np.pad(wave, (0, late))
    for _ in range(rng.integers(0, 6)):
        after = int(late * rng.random() ** 3)  # the shortest detours blur a tone, the long ones repeat it
        heard[after : after + len(wave)] += rng.uniform(-0.6, 0.6) * np.exp(-2 * after / late) * wave
    return heard


class Call(NamedTuple):
    """One upcall: when it is, in seconds, and its sound."""

    start: float
    end: float
    sound: Sound


def upcalls(rng: np.random.Generator, seconds: float, per_hour: float, clear: float) -> list[Call]:
    """Upcalls in order of time, in bouts of one whale each; their strength is above the noise of their moment.

    clear: share of bouts that stand out of the noise. None begin within 0.8 s of one another.
    """
    wanted = rng.poisson(min(per_hour, CROWDED) * seconds / 3600 * rng.gamma(1.5, 1 / 1.5))
    calls: list[Call] = []
    for _ in range(wanted):
        if len(calls) >= wanted:
            break
        at = rng.uniform(0, seconds)
        strength = rng.uniform(-2, 10) if rng.random() < clear else rng.uniform(-11, -2)
        low, high, voice = rng.uniform(65, 115), rng.uniform(160, 250), rng.uniform(0.8, 1.3)
        for _ in range(rng.geometric(0.22)):
            wave, length = _upcall(rng, low, high, voice)
            start = round(at, 3)
            if start + length + 0.5 < seconds and all(abs(start - call.start) > 0.8 for call in calls):
                sound = Sound(start, echoed(rng, wave), strength + rng.uniform(-2, 2))
                calls.append(Call(start, round(start + length, 3), sound))
            at += 1 + rng.exponential(9)
    return sorted(calls[:wanted])


def _upcall(rng: np.random.Generator, low: float, high: float, voice: float) -> tuple[np.ndarray, float]:
    """A rising tone like the others of this whale, and its length in seconds."""
    at = np.linspace(0, 1, 16)
    low, high = low * rng.uniform(0.88, 1.14), min(high * rng.uniform(0.85, 1.2), 350)
    hertz = low + (high - low) * at ** rng.uniform(0.8, 3.0)
    if rng.random() < 0.25:  # some fall before they rise
        hertz += (high - low) * rng.uniform(0.1, 0.35) * np.exp(-at * 7)
    hertz *= 1 + 0.02 * np.sin(at * rng.uniform(3, 9) + rng.uniform(0, 6))
    length = round(voice * float(np.clip(rng.normal(0.95, 0.18), 0.5, 1.6)), 3)
    overtones = (1.0, rng.uniform(0, 0.25), rng.uniform(0, 0.1))
    return sweep(hertz, length, rng.uniform(0.3, 0.75), overtones), length


def song(rng: np.random.Generator, seconds: float) -> Iterator[Sound]:
    """A humpback that repeats a phrase of a few units: falling, arched, level and, to mislead, rising."""
    kinds = ([1, 1.6, 2.1], [2, 1.2, 0.9], [1, 1.5, 1], [1.3, 1, 1.4], [1, 1.02, 1], [1, 0.7], [0.8, 1, 1.7])
    units = []
    for _ in range(rng.integers(2, 6)):
        kind = kinds[rng.integers(len(kinds))]
        hertz = np.array(kind) * rng.uniform(140, 420)
        overtones = (1.0, *rng.uniform(0.05, 0.7, rng.integers(0, 3)))
        units.append((hertz, rng.uniform(0.3, 2.2), overtones, rng.uniform(1.5, 5)))
    at, strength = rng.uniform(0, seconds), rng.uniform(-12, 6)
    end = at + rng.uniform(60, 600)
    while at < min(end, seconds):
        for hertz, length, overtones, gap in units:
            wave = sweep(hertz * rng.uniform(0.95, 1.05), length, rng.uniform(0.25, 0.8), overtones)
            yield Sound(at, echoed(rng, wave), strength + rng.uniform(-4, 3))
            at += gap + rng.uniform(0, 0.6)


def downsweeps(rng: np.random.Generator, seconds: float) -> Iterator[Sound]:
    """A sei whale: one to three falling tones."""
    at = rng.uniform(0, seconds)
    top, strength = rng.uniform(75, 130), rng.uniform(-4, 10)
    for _ in range(rng.integers(1, 4)):
        yield Sound(at, sweep([top, top * 0.6, top * 0.4], rng.uniform(0.9, 1.6), 0.4, (1.0,)), strength)
        at += rng.uniform(2.5, 4)


def near_misses(rng: np.random.Generator, seconds: float) -> Iterator[Sound]:
    """One tone that rises as an upcall does, but much too fast, much too slowly, or too high."""
    kind = rng.integers(3)
    low = rng.uniform(280, 420) if kind == 2 else rng.uniform(60, 150)
    length = (rng.uniform(0.12, 0.3), rng.uniform(3, 8), rng.uniform(0.5, 1.2))[kind]
    wave = sweep([low, low * 1.2, low * rng.uniform(1.5, 2)], length, rng.uniform(0.3, 0.7), (1.0, 0.3))
    yield Sound(rng.uniform(0, seconds), echoed(rng, wave), rng.uniform(-6, 9))


def airguns(rng: np.random.Generator, seconds: float) -> Iterator[Sound]:
    """A seismic survey: low pulses with a long tail, every ten seconds or so."""
    at, every, strength = rng.uniform(0, 20), rng.uniform(8, 16), rng.uniform(0, 18)
    hertz, length = rng.uniform(25, 70), rng.uniform(1.5, 4)
    while at < seconds:
        yield Sound(at, burst(rng, hertz, 0.8, length), strength + rng.normal(0, 1))
        at += every + rng.normal(0, 0.05)


def gunshots(rng: np.random.Generator, seconds: float) -> Iterator[Sound]:
    """One to six sharp bangs of a whale, all frequencies at once."""
    at, strength = rng.uniform(0, seconds), rng.uniform(4, 22)
    for _ in range(rng.integers(1, 7)):
        yield Sound(at, burst(rng, rng.uniform(150, 500), 1.5, rng.uniform(0.3, 1.2)), strength + rng.normal(0, 2))
        at += rng.uniform(3, 30)


def knocks(rng: np.random.Generator, seconds: float) -> Iterator[Sound]:
    """The mooring's chain: a quick run of short ringing knocks."""
    at, hertz, strength = rng.uniform(0, seconds), rng.uniform(80, 700), rng.uniform(2, 20)
    for _ in range(rng.integers(2, 18)):
        wave = burst(rng, hertz * rng.uniform(0.9, 1.1), 0.25, rng.uniform(0.08, 0.25))
        yield Sound(at, wave, strength + rng.normal(0, 4))
        at += rng.exponential(0.5) + 0.05


def thumps(rng: np.random.Generator, seconds: float) -> Iterator[Sound]:
    """Fish: pairs of low thumps, or a grunt of quick pulses."""
    at, hertz, strength = rng.uniform(0, seconds), rng.uniform(35, 130), rng.uniform(-2, 10)
    gap = rng.uniform(0.3, 0.6) if rng.random() < 0.6 else rng.uniform(0.05, 0.1)
    for _ in range(2 if gap > 0.2 else rng.integers(5, 25)):
        yield Sound(at, burst(rng, hertz, 0.2, rng.uniform(0.15, 0.4)), strength)
        at += gap
