"""Satellite scenes of the sea: water, waves, glint, foam, clouds, land and ships, with an instance mask."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np

from tallymark.synthetic.paint import blur, fill, finish, fractal, grain, ramp, resize, stroke
from tallymark.synthetic.sea.coast import Berth, Land, harbour, paint_land, shore
from tallymark.synthetic.sea.vessel import Vessel, draw, wake

WATERS = np.array(
    [
        ((4, 20, 58), (8, 30, 74)), ((10, 42, 60), (24, 66, 80)), ((20, 60, 56), (52, 104, 92)),
        ((52, 70, 92), (70, 90, 112)), ((14, 28, 36), (26, 44, 50)), ((110, 140, 138), (150, 178, 172)),
        ((24, 52, 92), (40, 74, 118)), ((86, 98, 78), (140, 138, 104)), ((8, 14, 18), (20, 26, 30)),
        ((40, 110, 124), (110, 180, 170)),
    ],
    float,
)  # fmt: skip
"""Pairs of clear and turbid water colours."""
TILE = 512
WAVE_STD = 30
SHORTEST = 6.5
LONGEST = 300.0
"""Length of ships in pixels, bow to stern."""


def swell(rng: np.random.Generator, length: float, spread: float) -> np.ndarray:
    """Waves of a wavelength of about `length` pixels along x, on a periodic tile; mean 0, standard deviation 1.

    spread: directional spread in radians: 0.1 for long parallel crests, 2 for a choppy sea.
    """
    across, along = np.meshgrid(np.fft.fftfreq(TILE), np.fft.rfftfreq(TILE), indexing="ij")
    wave_number = np.maximum(np.hypot(across, along), 1e-9)
    shape = np.exp(-(np.log(wave_number * length) ** 2) / 0.5 - (np.arctan2(across, along) / spread) ** 2)
    spectrum = np.fft.rfft2(rng.standard_normal((TILE, TILE))) * shape
    tile = np.fft.irfft2(spectrum, (TILE, TILE))
    waves: np.ndarray = tile / tile.std()
    return waves


def prepare(rng: np.random.Generator) -> list[np.ndarray]:
    """The waves that all scenes of a set share; each scene rotates, scales and mixes them at random.

    As uint8, with mean 128 and standard deviation `WAVE_STD`, and repeated, so that a scene seldom reaches the edge.
    """
    kinds = ((3, 2), (4, 0.6), (6, 0.3), (9, 0.5), (14, 0.25), (24, 0.4))
    tiles = [swell(rng, length, spread) for length, spread in kinds]
    return [np.tile(np.clip(tile * WAVE_STD + 128, 0, 255).astype(np.uint8), (3, 3)) for tile in tiles]


@dataclass(frozen=True)
class Window:
    """A rectangle of a scene in pixels."""

    x: int
    y: int
    width: int
    height: int

    def place(self, rng: np.random.Generator) -> tuple[float, float]:
        """A random position x, y inside."""
        return rng.uniform(self.x, self.x + self.width), rng.uniform(self.y, self.y + self.height)


def scene(
    rng: np.random.Generator,
    waves: list[np.ndarray],
    height: int,
    width: int,
    side: int,
    ships: int,
    focus: Window,
    coast: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """A scene (uint8 RGB) and its instance mask: the number of the ship at each pixel, 0 for none.

    side: side of the chips that will be cropped from it. focus: where the first ship is, if there is water.
    coast: how frequent land is, relative to the default. Masks of ships are rectangles; pixels in two of them belong
    to neither.
    """
    shores, harbours = (0.13 * coast, 0.15 * coast) if ships < 4 else (0.15 * coast, 0.5 * coast)
    kind = rng.choice(3, p=(1 - shores - harbours, shores, harbours))
    land = None if kind == 0 else (shore, harbour)[kind - 1](rng, height, width, side)
    clouds = _clouds(rng, height, width, side) if rng.random() < 0.22 else None
    taken = np.zeros((height, width), np.uint8) if land is None else land.dry()
    if clouds is not None:
        taken = cv2.max(taken, (clouds > 0.35).astype(np.uint8) * 255)
    fleet = _fleet(rng, taken, land, ships, focus)
    sun = rng.uniform(0, 2 * np.pi)
    wind = rng.uniform(0, 2 * np.pi)
    water, ripple = _water(rng, waves, height, width, side, land, wind)
    foam = _foam(rng, ripple, land, fleet, side)
    if foam is not None:
        water += (np.float32(215) - water) * foam[..., None]
    image = finish(water)
    if land is not None:
        paint_land(rng, image, land, side)
    _clutter(rng, image, taken, side, sun)
    instances = np.zeros((height, width), np.int16)
    overlap = np.zeros((height, width), bool)
    for number, ship in enumerate(fleet, start=1):
        draw(rng, image, ship, sun)
        rows, columns, inside = ship.footprint(height, width)
        overlap[rows, columns] |= inside & (instances[rows, columns] > 0)
        instances[rows, columns][inside] = number
    instances[overlap] = 0
    return _receive(rng, image, clouds), instances


def _water(
    rng: np.random.Generator,
    waves: list[np.ndarray],
    height: int,
    width: int,
    side: int,
    land: Land | None,
    wind: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The image of the water (float32) and its ripples, with mean 0 and a standard deviation of about 1."""
    rows = height // 8
    columns = width // 8
    murk = fractal(rng, rows, columns, side / 12, 6, 0.5) * rng.uniform(0.2, 1)
    if land is not None:  # shallows
        near = cv2.resize(land.height, (columns, rows), interpolation=cv2.INTER_AREA)
        murk = np.clip(murk + np.exp(np.minimum(near, 0) * rng.uniform(10, 40)) * rng.uniform(0.2, 0.9), 0, 1)
    clear, troubled = WATERS[rng.integers(len(WATERS))]
    tone = rng.uniform(0.7, 1.25)
    coarse = ramp(murk, (clear * tone, troubled * tone))
    water: np.ndarray = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_LINEAR)
    first, second = rng.integers(0, len(waves), 2)
    crests = _rotated(rng, waves[first], height, width, wind)
    others = _rotated(rng, waves[second], height, width, wind + rng.normal(0, 0.5))
    weight = rng.uniform(0.3, 0.8) / WAVE_STD
    mean = -128 * (1 / WAVE_STD + weight)
    ripple = cv2.addWeighted(crests, 1 / WAVE_STD, others, weight, mean, dtype=cv2.CV_32F)
    strength = rng.uniform(0.01, 0.05) if rng.random() < 0.6 else rng.uniform(0.05, 0.2)
    gain = strength * (clear * tone + 25) * rng.uniform(0.9, 1.1, 3)
    water += cv2.merge([ripple * np.float32(channel) for channel in gain])
    if rng.random() < 0.15:  # sun glint
        sparkle = np.maximum(ripple - np.float32(rng.uniform(1.2, 2.2)), 0) * np.float32(rng.uniform(15, 60))
        water += cv2.merge([sparkle * np.float32(channel) for channel in rng.uniform(0.7, 1.1, 3)])
    return water, ripple


def _rotated(rng: np.random.Generator, tile: np.ndarray, height: int, width: int, angle: float) -> np.ndarray:
    """A periodic tile, rotated, scaled and shifted, at the size of the scene."""
    scale = rng.uniform(0.7, 1.2)
    rotation = scale * np.array([(np.cos(angle), np.sin(angle)), (-np.sin(angle), np.cos(angle))])
    room = max(16.0, len(tile) / 2 - scale * float(np.hypot(height, width)) / 2)  # wrapping at the edge is slow
    middle = len(tile) / 2 + rng.uniform(-room, room, 2)
    matrix = np.column_stack([rotation, middle - rotation @ (width / 2, height / 2)])
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return cv2.warpAffine(tile, matrix, (width, height), flags=flags, borderMode=cv2.BORDER_WRAP)


def _foam(
    rng: np.random.Generator, ripple: np.ndarray, land: Land | None, fleet: list[Vessel], side: int
) -> np.ndarray | None:
    """Opacity of foam at each pixel: wakes, surf and whitecaps; None if there is none."""
    height, width = ripple.shape
    foam: np.ndarray | None = None
    moving = [ship for ship in fleet if not ship.still and rng.random() < 0.5]
    if moving or rng.random() < 0.04:  # sometimes the ship of a wake is outside
        trail = np.zeros((height // 2, width // 2), np.uint8)
        away = Vessel(-20.0, rng.uniform(0, height), 40.0, 9.0, np.pi)
        for ship in moving or [away]:
            wake(rng, trail, replace(ship, x=ship.x / 2, y=ship.y / 2, length=ship.length / 2, width=ship.width / 2))
        trail = cv2.blur(trail, (3, 3)).astype(np.float32) * np.float32(rng.uniform(0.3, 0.9) / 255)
        foam = resize(trail, height, width) * np.clip(0.75 + 0.35 * ripple, 0.1, 1)
    if land is not None and not land.quays and rng.random() < 0.6:
        surf = np.exp(-((land.height + 0.006) ** 2) * np.float32(rng.uniform(2e4, 8e4))) * np.clip(0.5 + ripple, 0, 1)
        foam = surf if foam is None else np.maximum(foam, surf)
    if rng.random() < 0.2:
        caps = np.clip((ripple - np.float32(rng.uniform(2.6, 3.4))) * 0.8, 0, 0.8)
        foam = caps if foam is None else np.maximum(foam, caps)
    return foam


def _clouds(rng: np.random.Generator, height: int, width: int, side: int) -> np.ndarray:
    """Opacity of clouds at each pixel, 0 to 1."""
    puffs = resize(fractal(rng, height // 4, width // 4, side / 10, 2, 0.6), height, width)
    return np.clip((puffs - np.float32(rng.uniform(0.5, 0.8))) * np.float32(rng.uniform(2, 6)), 0, 1)


def _fleet(rng: np.random.Generator, taken: np.ndarray, land: Land | None, count: int, focus: Window) -> list[Vessel]:
    """Ships on free water: at berths, at anchor or under way, some side by side. Marks their pixels in `taken`."""
    height, width = taken.shape
    everywhere = Window(0, 0, width, height)
    heading = rng.uniform(0, 2 * np.pi)
    typical = rng.lognormal(4.05, 0.85) * (0.6 if count > 3 else 1)
    berths = [] if land is None else land.berths
    fleet: list[Vessel] = []
    for _ in range(40 * count):
        if len(fleet) == count:
            break
        length = float(np.clip(typical * rng.lognormal(0, 0.35), SHORTEST, LONGEST))
        ship = Vessel(0, 0, length, max(2.5, length / (rng.uniform(3, 6) + length / 120)), heading + rng.normal(0, 0.1))
        beside = bool(fleet) and rng.random() < 0.3
        if beside:
            ship = _beside(rng, ship, fleet[-1])
        elif berths and rng.random() < 0.7:
            ship = _moored(rng, ship, berths[rng.integers(len(berths))])
        else:
            x, y = (everywhere if fleet else focus).place(rng)
            ship = replace(ship, x=x, y=y, heading=ship.heading if rng.random() < 0.4 else rng.uniform(0, 2 * np.pi))
        afloat = _free(taken, ship, 0.85 if beside or berths else 1.2)
        if afloat and (fleet or _within(ship, focus)):
            if beside:
                fleet[-1] = replace(fleet[-1], still=True)
            fleet.append(ship)
            rows, columns, inside = ship.footprint(height, width)
            taken[rows, columns][inside] = 255
    return fleet


def _beside(rng: np.random.Generator, ship: Vessel, other: Vessel) -> Vessel:
    """The ship alongside another one, hull to hull."""
    length = other.length * rng.uniform(0.7, 1.1)
    width = max(2.5, other.width * rng.uniform(0.8, 1.1))
    ship = replace(ship, length=length, width=width, heading=other.heading, still=True)
    off = ((ship.width + other.width) / 2 + rng.uniform(-0.4, 1.2)) * rng.choice([-1, 1])
    slide = rng.normal(0, 0.08) * length
    cos = np.cos(other.heading)
    sin = np.sin(other.heading)
    ship = replace(ship, x=other.x + slide * cos - off * sin, y=other.y + slide * sin + off * cos)
    return replace(ship, heading=ship.heading + np.pi) if rng.random() < 0.4 else ship


def _moored(rng: np.random.Generator, ship: Vessel, berth: Berth) -> Vessel:
    """The ship at a quay, with a few pixels of water between."""
    start = np.array([berth.x0, berth.y0])
    end = np.array([berth.x1, berth.y1])
    direction = (end - start) / max(1e-6, float(np.hypot(*(end - start))))
    right = np.array([-direction[1], direction[0]])
    x, y = start + (end - start) * rng.random() + right * (ship.width / 2 + rng.uniform(1, 3))
    heading = float(np.arctan2(direction[1], direction[0])) + np.pi * int(rng.integers(2))
    return replace(ship, x=float(x), y=float(y), heading=heading, still=True)


def _within(ship: Vessel, window: Window) -> bool:
    return window.x <= ship.x < window.x + window.width and window.y <= ship.y < window.y + window.height


def _free(taken: np.ndarray, ship: Vessel, room: float) -> bool:
    """Whether the ship's rectangle, scaled by `room`, is free at a grid of points, of which 30 % are in the scene."""
    height, width = taken.shape
    along, across = np.meshgrid(np.linspace(-0.5, 0.5, 9), np.linspace(-0.5, 0.5, 5))
    spots = np.rint(ship.points(np.stack([along.ravel(), across.ravel()], 1) * room)).astype(int)
    visible = ((spots >= 0) & (spots < (width, height))).all(axis=1)
    spots = spots[visible]
    return bool(visible.mean() > 0.3 and not taken[spots[:, 1], spots[:, 0]].any())


def _clutter(rng: np.random.Generator, image: np.ndarray, taken: np.ndarray, side: int, sun: float) -> None:
    """Objects that resemble ships: buoys, rocks, wind turbines, fish farms."""
    height, width = taken.shape
    kinds = rng.random(4) < (0.15, 0.08, 0.05, 0.04)
    angle = np.linspace(0, 2 * np.pi, 10, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], 1)
    shift = np.array([np.cos(sun), np.sin(sun)])
    for x, y in rng.uniform(0, (width, height), (int(rng.integers(1, 9)), 2)):
        if taken[int(y), int(x)]:
            continue
        spot = np.array([x, y])
        if kinds[0]:
            fill(image, spot + ring * rng.uniform(0.8, 1.6), rng.uniform(120, 255, 3))
        elif kinds[1]:
            rock = ring * rng.uniform(0.5, 1, (10, 1)) * side * rng.uniform(0.003, 0.02)
            fill(image, spot + rock * 1.35, rng.uniform(150, 230, 3))
            fill(image, spot + rock, rng.uniform(40, 90) * np.array([1, 0.95, 0.85]))
        elif kinds[2]:
            _turbine(rng, image, spot, shift * side * 0.06, side)
        elif kinds[3]:
            for step in range(int(rng.integers(2, 6))):
                cage = spot + (step * 0.022 * side * shift) + ring * 0.008 * side
                stroke(image, np.concatenate([cage, cage[:1]]), (150, 160, 150))


def _turbine(rng: np.random.Generator, image: np.ndarray, spot: np.ndarray, shadow: np.ndarray, side: int) -> None:
    """A wind turbine: mast, three blades, and their shadow on the water."""
    angles = rng.uniform(0, 2 * np.pi) + np.arange(3) * 2 * np.pi / 3
    tips = np.stack([np.cos(angles), np.sin(angles)], 1) * side * 0.03
    stroke(image, np.stack([spot, spot + shadow]), (14, 20, 26))
    top = spot - shadow * 0.4
    stroke(image, np.stack([spot, top]), (232, 232, 232), 2)
    for tip in tips:
        stroke(image, np.stack([spot + shadow, spot + shadow + tip * 0.8]), (14, 20, 26))
        stroke(image, np.stack([top, top + tip]), (240, 240, 240))


def _receive(rng: np.random.Generator, image: np.ndarray, clouds: np.ndarray | None) -> np.ndarray:
    """Clouds, haze, blur of the optics and noise of the sensor."""
    haze = rng.uniform(0, 0.12) if rng.random() < 0.8 else rng.uniform(0.12, 0.4)
    image = blur(image, rng.uniform(0.4, 0.8))
    received = cv2.addWeighted(image, 1 - haze, image, 0, haze * 190, dtype=cv2.CV_32F)
    if clouds is not None:
        received += (np.float32(238) - received) * clouds[..., None]
    grain(rng, received, rng.uniform(0.8, 3))
    return finish(received)
