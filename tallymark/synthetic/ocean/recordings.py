"""The sea as a hydrophone hears it: noise that changes slowly, passing ships, animals, and the recorder itself.

A recording is put together from overlapping blocks of four seconds. In each, random noise gets the colour of its
moment and the sounds are added, all as one spectrum; so the same few lines colour, resample and mix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from tallymark.synthetic.ocean.calls import (
    BAND,
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

BLOCK, HOP = 4, 2
"""Seconds of a block, and from one to the next."""
KNOT = 45
"""Seconds between the points that slow changes pass through."""
CALL_BAND = np.arange(50.0, 350.0, 5.0)
WATER = 1480.0
"""Speed of sound, in metres a second."""


@dataclass(frozen=True)
class Waters:
    """A place and its recorder.

    slope: dB that noise falls per octave. floor: noise of the recorder in dB, the same at all frequencies.
    swing: dB of slow change. flow: dB of low rumble of the current at 20 Hz.
    lines: Hz of the recorder's own hum and how many multiples. highpass, resonance: the hydrophone's response in Hz.
    heard: events an hour of each kind, ships aside.
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
    heard: dict[Callable[[np.random.Generator, float], Iterator[Sound]], float] = field(default_factory=dict)


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
    heard={song: 3, downsweeps: 20, near_misses: 14, gunshots: 5, knocks: 2, thumps: 60, airguns: 0.1},
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
    heard={song: 2, downsweeps: 4, near_misses: 22, gunshots: 10, knocks: 25, thumps: 15, airguns: 0.6},
)


@dataclass(frozen=True)
class Ship:
    """A ship that passes: level in dB at 1 km, closest approach in s and m, m/s, lowest tone in Hz.

    depth: product of its and the hydrophone's depth in square metres, which sets the fringes between direct sound
    and its reflection at the surface.
    """

    level: float
    closest: float
    distance: float
    speed: float
    tone: float
    depth: float

    def heard(self, time: np.ndarray | float, hertz: np.ndarray | float) -> np.ndarray:
        """Power at these times and frequencies."""
        away = np.hypot(self.distance, self.speed * (time - self.closest)) / 1000
        fringe = 0.1 + 1.8 * np.sin(np.pi * hertz * (2 * self.depth / (1000 * away * WATER))) ** 2
        return 10 ** (self.level / 10) * fringe / away**2


@dataclass(frozen=True)
class Weather:
    """The noise of one recording: slow changes of level (dB), tilt (dB per octave) and rumble (dB), one each `KNOT`."""

    waters: Waters
    level: np.ndarray
    tilt: np.ndarray
    flow: np.ndarray
    ships: list[Ship]

    def density(self, time: float, hertz: np.ndarray) -> np.ndarray:
        """Power per Hz at a time; 1 / 300 at 150 Hz in quiet water, so that the upcalls' band has a power near 1."""
        octaves = np.log2(np.maximum(hertz, 5) / 150)
        level, tilt, flow = (np.interp(time / KNOT, np.arange(len(x)), x) for x in (self.level, self.tilt, self.flow))
        ambient = _power(level + (tilt - self.waters.slope) * octaves)
        rumble = _power(flow - 10 * (octaves + 2.9))
        passing = sum((ship.heard(time, hertz) for ship in self.ships), np.zeros(1)) * _power(-4 * octaves)
        return (ambient + rumble + passing + 10 ** (self.waters.floor / 10)) / 300

    def in_band(self, time: float) -> float:
        """RMS of the noise between 50 and 350 Hz."""
        return float(np.sqrt(self.density(time, CALL_BAND).mean() * 300))


def _power(decibels: np.ndarray) -> np.ndarray:
    return np.exp(decibels.astype(np.float32) * np.float32(np.log(10) / 10))


def record(
    rng: np.random.Generator, waters: Waters, seconds: float, rate: int, per_hour: float, clear: float
) -> tuple[np.ndarray, np.ndarray]:
    """A recording as 16-bit samples, and the start and end of each upcall in it, in seconds, as an (n, 2) array.

    per_hour: upcalls to expect, `clear`: the share of them that stand out.
    """
    weather = _weather(rng, waters, seconds)
    calls = upcalls(rng, seconds, per_hour, clear)
    track = np.zeros(round((np.ceil(seconds / HOP) + 2) * HOP) * BAND, np.float32)
    _hum(rng, waters, track)
    for ship in weather.ships:
        _tones(rng, ship, track)
    for kind, often in waters.heard.items():
        for _ in range(rng.poisson(often * seconds / 3600 * rng.gamma(1, 1))):
            for sound in kind(rng, seconds):
                _add(track, sound, 1.0)
    for call in calls:
        _add(track, call.sound, weather.in_band(call.start))
    heard = _render(rng, weather, track, rate)[: round(seconds * rate)]
    loud = waters.gain * 10 ** (rng.uniform(-4, 4) / 20) * 32768
    samples = np.clip(np.rint(heard * np.float32(loud)), -32768, 32767).astype(np.int16)
    return samples, np.array([call[:2] for call in calls], float).reshape(-1, 2)


def _weather(rng: np.random.Generator, waters: Waters, seconds: float) -> Weather:
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
        tilt=rng.normal(0, 0.7) + rng.normal(0, 0.3, knots),
        flow=waters.flow + rng.normal(0, 5) + rng.normal(0, 4, knots),
        ships=ships,
    )


def _add(track: np.ndarray, sound: Sound, scale: float) -> None:
    """Mix a sound in; what reaches past the end is cut off."""
    at = round(sound.start * BAND)
    room = track[at : at + len(sound.wave)]
    room += (scale * 10 ** (sound.strength / 20) * sound.wave[: len(room)]).astype(np.float32)


def _hum(rng: np.random.Generator, waters: Waters, track: np.ndarray) -> None:
    """The recorder's steady lines, each multiple weaker."""
    base, multiples = waters.lines
    time = np.arange(len(track)) / BAND
    for number in range(1, multiples + 1):
        hertz = number * base * (1 + rng.normal(0, 2e-4))
        strength = 10 ** ((rng.uniform(-14, 0) - 2 * number) / 20)
        track += (strength * np.sin(2 * np.pi * hertz * time + rng.uniform(0, 6))).astype(np.float32)


def _tones(rng: np.random.Generator, ship: Ship, track: np.ndarray) -> None:
    """Propeller and engine: multiples of a tone that wavers a little, fading in and out with the fringes."""
    tick = np.arange(0, len(track) + BAND, BAND)
    time = np.arange(len(track))
    drift = np.interp(time, tick, ship.tone * (1 + 0.002 * np.cumsum(rng.normal(0, 0.2, len(tick)))))
    turn = np.exp(1j * np.cumsum(drift) * (2 * np.pi / BAND)).astype(np.complex64)
    tone = np.ones_like(turn)
    for number in range(1, int(450 // ship.tone) + 1):
        tone *= turn
        strength = rng.uniform(-30, -6) + (8 if number % 4 == 0 else 0)
        if strength > -18:
            fade = np.sqrt(ship.heard(tick / BAND, number * ship.tone)) * 10 ** (strength / 20)
            track += tone.real * np.interp(time, tick, fade).astype(np.float32)


def _render(rng: np.random.Generator, weather: Weather, track: np.ndarray, rate: int) -> np.ndarray:
    """Noise and sounds at `rate` samples a second.

    Windows whose squares add up to 1 keep the noise's power, and the sounds, which pass two of them, unchanged.
    """
    count, size = BLOCK * rate, BLOCK * BAND
    hertz = np.arange(count // 2 + 1) / BLOCK
    response = _response(weather.waters, hertz)
    shared = min(count, size) // 2
    before, after = _window(size), _window(count)
    padded = np.pad(track, (HOP * BAND, 0))
    heard = np.zeros((len(padded) // BAND) * rate, np.float32)
    for start in range(0, len(padded) // BAND - BLOCK + 1, HOP):
        noise = rng.standard_normal((len(hertz), 2), np.float32).view(np.complex64)[:, 0]
        noise *= np.sqrt(weather.density(start - HOP + BLOCK / 2, hertz) / (4 * BLOCK)) * np.float32(count)
        sounds = np.fft.rfft(padded[start * BAND : start * BAND + size] * before)
        noise[:shared] += sounds[:shared] * np.float32(count / size)
        heard[start * rate : start * rate + count] += np.fft.irfft(noise * response, count) * after
    return heard[HOP * rate :]


def _window(count: int) -> np.ndarray:
    return np.sin(np.pi * (np.arange(count, dtype=np.float32) + 0.5) / count)


def _response(waters: Waters, hertz: np.ndarray) -> np.ndarray:
    """What the hydrophone makes of each frequency: weak lows, and a resonance of 4 dB."""
    octaves = np.log2(np.maximum(hertz, 1e-3) / waters.resonance)
    low = (np.maximum(hertz, 1e-3) / waters.highpass) ** 2
    return (low / (1 + low) * (1 + 0.6 * np.exp(-8 * octaves**2))).astype(np.float32)
