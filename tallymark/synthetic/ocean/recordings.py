"""Hydrophone recordings: slowly changing ambient noise, passing ships, animals, and noise of the recorder.

A recording is the overlap-add of blocks of four seconds. In each block, white noise is shaped by the noise spectrum
of that time and the sounds are added in the frequency domain, which also resamples them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from tallymark.synthetic.ocean.calls import (
    SAMPLE_RATE,
    Sound,
    airguns,
    downsweeps,
    gunshots,
    knocks,
    near_misses,
    song,
    thumps,
    upcalls,
)

BLOCK = 4
HOP = 2
"""Duration of a block and distance between blocks in seconds."""
KNOT = 45
"""Seconds between the knots of slow changes."""
CALL_BAND = np.arange(50.0, 350.0, 5.0)
WATER = 1480.0
"""Speed of sound in water, in m/s."""


@dataclass(frozen=True)
class Waters:
    """A site and its recorder.

    slope: decrease of the ambient noise in dB per octave. floor: white noise of the recorder in dB.
    swing: standard deviation of slow changes in dB. flow: flow noise at 20 Hz in dB.
    lines: frequency in Hz of the recorder's hum, and its number of harmonics. highpass, resonance: response of the
    hydrophone in Hz. gain: amplitude of quiet noise. ships: per hour. sources: events per hour of each other source.
    """

    slope: float
    floor: float
    swing: float
    flow: float
    lines: tuple[float, int]
    highpass: float
    resonance: float
    gain: float
    ships: float
    sources: dict[Callable[[np.random.Generator, float], Iterator[Sound]], float] = field(default_factory=dict)


BAY = Waters(
    slope=3.0,
    floor=-14,
    swing=3,
    flow=4,
    lines=(40.0, 4),
    highpass=8,
    resonance=700,
    gain=0.0035,
    ships=1.0,
    sources={song: 3, downsweeps: 20, near_misses: 14, gunshots: 5, knocks: 2, thumps: 60, airguns: 0.1},
)
GULF = Waters(
    slope=5.0,
    floor=-20,
    swing=5,
    flow=14,
    lines=(60.0, 2),
    highpass=25,
    resonance=260,
    gain=0.012,
    ships=2.5,
    sources={song: 2, downsweeps: 4, near_misses: 22, gunshots: 10, knocks: 25, thumps: 15, airguns: 0.6},
)


@dataclass(frozen=True)
class Ship:
    """A passing ship: level in dB at 1 km, closest approach in s and m, speed in m/s, lowest tone in Hz.

    depth: product of the depths of ship and hydrophone in square metres, which determines the interference fringes
    of direct sound and surface reflection (Lloyd's mirror).
    """

    level: float
    closest: float
    distance: float
    speed: float
    tone: float
    depth: float

    def received_power(self, time: np.ndarray | float, hertz: np.ndarray | float) -> np.ndarray:
        """Received power at these times (s) and frequencies (Hz)."""
        away = np.hypot(self.distance, self.speed * (time - self.closest)) / 1000
        fringe = 0.1 + 1.8 * np.sin(np.pi * hertz * (2 * self.depth / (1000 * away * WATER))) ** 2
        return 10 ** (self.level / 10) * fringe / away**2


@dataclass(frozen=True)
class Weather:
    """The noise of one recording: level (dB), spectral tilt (dB per octave) and flow noise (dB) at each `KNOT`."""

    waters: Waters
    level: np.ndarray
    spectral_tilt: np.ndarray
    flow: np.ndarray
    ships: list[Ship]

    def density(self, time: float, hertz: np.ndarray) -> np.ndarray:
        """Power spectral density at a time (s): 1/300 per Hz at 150 Hz in quiet water, about 1 in the upcall band."""
        octaves = np.log2(np.maximum(hertz, 5) / 150)
        level, spectral_tilt, flow = (
            np.interp(time / KNOT, np.arange(len(x)), x) for x in (self.level, self.spectral_tilt, self.flow)
        )
        ambient = _power(level + (spectral_tilt - self.waters.slope) * octaves)
        rumble = _power(flow - 10 * (octaves + 2.9))
        passing = sum((ship.received_power(time, hertz) for ship in self.ships), np.zeros(1)) * _power(-4 * octaves)
        return (ambient + rumble + passing + 10 ** (self.waters.floor / 10)) / 300

    def in_band(self, time: float) -> float:
        """RMS of the noise between 50 and 350 Hz at a time (s)."""
        return float(np.sqrt(self.density(time, CALL_BAND).mean() * 300))


def _power(decibels: np.ndarray) -> np.ndarray:
    return np.exp(decibels.astype(np.float32) * np.float32(np.log(10) / 10))


def record(
    rng: np.random.Generator, waters: Waters, seconds: float, rate: int, per_hour: float, clear: float
) -> tuple[np.ndarray, np.ndarray]:
    """A recording as int16 samples, and the (n, 2) start and end of its upcalls in seconds.

    per_hour: expected number of upcalls per hour. clear: fraction of bouts above the noise.
    """
    weather = _weather(rng, waters, seconds)
    calls = upcalls(rng, seconds, per_hour, clear)
    track = np.zeros(round((np.ceil(seconds / HOP) + 2) * HOP) * SAMPLE_RATE, np.float32)
    _hum(rng, waters, track)
    for ship in weather.ships:
        _tones(rng, ship, track)
    for kind, often in waters.sources.items():
        for _ in range(rng.poisson(often * seconds / 3600 * rng.gamma(1, 1))):
            for sound in kind(rng, seconds):
                _add(track, sound, 1.0)
    for call in calls:
        _add(track, call.sound, weather.in_band(call.start))
    signal = _render(rng, weather, track, rate)[: round(seconds * rate)]
    scale = waters.gain * 10 ** (rng.uniform(-4, 4) / 20) * 32768
    samples = np.clip(np.rint(signal * np.float32(scale)), -32768, 32767).astype(np.int16)
    return samples, np.array([call[:2] for call in calls], float).reshape(-1, 2)


def _weather(rng: np.random.Generator, waters: Waters, seconds: float) -> Weather:
    """Random slow changes and ships of one recording."""
    knots = int(seconds // KNOT) + 2
    ships = [
        Ship(
            level=rng.uniform(-10, 8),
            closest=rng.uniform(-0.3, 1.3) * seconds,
            distance=rng.uniform(300, 4000),
            speed=rng.uniform(3, 10),
            tone=rng.uniform(6, 28),
            depth=rng.uniform(100, 1200),
        )
        for _ in range(rng.poisson(waters.ships * seconds / 3600 + 0.15))
    ]
    return Weather(
        waters,
        level=rng.normal(0, waters.swing) + rng.normal(0, waters.swing / 3, knots),
        spectral_tilt=rng.normal(0, 0.7) + rng.normal(0, 0.3, knots),
        flow=waters.flow + rng.normal(0, 5) + rng.normal(0, 4, knots),
        ships=ships,
    )


def _add(track: np.ndarray, sound: Sound, scale: float) -> None:
    """Add a sound to the track; it is truncated at the end."""
    at = round(sound.start * SAMPLE_RATE)
    window = track[at : at + len(sound.wave)]
    window += (scale * 10 ** (sound.strength / 20) * sound.wave[: len(window)]).astype(np.float32)


def _hum(rng: np.random.Generator, waters: Waters, track: np.ndarray) -> None:
    """Add the hum of the recorder: harmonics of decreasing amplitude."""
    base, multiples = waters.lines
    time = np.arange(len(track)) / SAMPLE_RATE
    for number in range(1, multiples + 1):
        hertz = number * base * (1 + rng.normal(0, 2e-4))
        strength = 10 ** ((rng.uniform(-14, 0) - 2 * number) / 20)
        track += (strength * np.sin(2 * np.pi * hertz * time + rng.uniform(0, 6))).astype(np.float32)


def _tones(rng: np.random.Generator, ship: Ship, track: np.ndarray) -> None:
    """Add propeller and engine noise: harmonics of a drifting tone, modulated by the interference fringes."""
    tick = np.arange(0, len(track) + SAMPLE_RATE, SAMPLE_RATE)
    time = np.arange(len(track))
    drift = np.interp(time, tick, ship.tone * (1 + 0.002 * np.cumsum(rng.normal(0, 0.2, len(tick)))))
    rotation = np.exp(1j * np.cumsum(drift) * (2 * np.pi / SAMPLE_RATE)).astype(np.complex64)
    tone = np.ones_like(rotation)
    for number in range(1, int(450 // ship.tone) + 1):
        tone *= rotation
        strength = rng.uniform(-30, -6) + (8 if number % 4 == 0 else 0)
        if strength > -18:
            fade = np.sqrt(ship.received_power(tick / SAMPLE_RATE, number * ship.tone)) * 10 ** (strength / 20)
            track += tone.real * np.interp(time, tick, fade).astype(np.float32)


def _render(rng: np.random.Generator, weather: Weather, track: np.ndarray, rate: int) -> np.ndarray:
    """Noise and sounds at `rate` samples per second.

    The squares of overlapping windows add up to 1: that keeps the power of the noise, and the waveform of the sounds,
    which are windowed twice.
    """
    count = BLOCK * rate
    size = BLOCK * SAMPLE_RATE
    hertz = np.arange(count // 2 + 1) / BLOCK
    response = _response(weather.waters, hertz)
    shared = min(count, size) // 2
    analysis = _window(size)
    synthesis = _window(count)
    padded = np.pad(track, (HOP * SAMPLE_RATE, 0))
    signal = np.zeros((len(padded) // SAMPLE_RATE) * rate, np.float32)
    for start in range(0, len(padded) // SAMPLE_RATE - BLOCK + 1, HOP):
        noise = rng.standard_normal((len(hertz), 2), np.float32).view(np.complex64)[:, 0]
        noise *= np.sqrt(weather.density(start - HOP + BLOCK / 2, hertz) / (4 * BLOCK)) * np.float32(count)
        sounds = np.fft.rfft(padded[start * SAMPLE_RATE : start * SAMPLE_RATE + size] * analysis)
        noise[:shared] += sounds[:shared] * np.float32(count / size)
        signal[start * rate : start * rate + count] += np.fft.irfft(noise * response, count) * synthesis
    return signal[HOP * rate :]


def _window(count: int) -> np.ndarray:
    return np.sin(np.pi * (np.arange(count, dtype=np.float32) + 0.5) / count)


def _response(waters: Waters, hertz: np.ndarray) -> np.ndarray:
    """Frequency response of the hydrophone: a high-pass, and a resonance of 4 dB."""
    octaves = np.log2(np.maximum(hertz, 1e-3) / waters.resonance)
    low = (np.maximum(hertz, 1e-3) / waters.highpass) ** 2
    return (low / (1 + low) * (1 + 0.6 * np.exp(-8 * octaves**2))).astype(np.float32)
