"""Ships from above: hull, deck, cargo, bridge, shadow and wake, and their rectangular masks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallymark.synthetic.paint import fill, stroke

HULLS = np.array(
    [
        (150, 50, 40), (96, 40, 34), (60, 62, 66), (36, 40, 46), (206, 206, 200), (232, 232, 228),
        (120, 122, 122), (40, 60, 96), (70, 110, 96), (150, 126, 92), (186, 96, 50), (84, 92, 70),
    ],
    float,
)  # fmt: skip
CARGO = np.array(
    [(170, 60, 46), (60, 96, 150), (200, 196, 186), (96, 130, 90), (206, 150, 60), (110, 70, 60), (70, 72, 78)], float
)
SMALL = 30
"""Length in pixels below which a ship has only a hull and a cabin."""


@dataclass(frozen=True)
class Vessel:
    """The rectangle of a ship in pixels: centre, length, width, and heading in radians from x towards y (down).

    still: whether it is moored to a quay or to another ship.
    """

    x: float
    y: float
    length: float
    width: float
    heading: float
    still: bool = False

    def points(self, unit: np.ndarray | list[tuple[float, float]]) -> np.ndarray:
        """Pixel coordinates of points (n, 2) in the ship's frame: stern and port are -0.5, bow and starboard 0.5."""
        own = np.asarray(unit, float) * (self.length, self.width)
        cos, sin = np.cos(self.heading), np.sin(self.heading)
        return own @ np.array([(cos, sin), (-sin, cos)]) + (self.x, self.y)

    def footprint(self, height: int, width: int) -> tuple[slice, slice, np.ndarray]:
        """Rows and columns of a window, and the mask of its pixels whose centres are inside the rectangle."""
        corners = self.points([(-0.5, -0.5), (-0.5, 0.5), (0.5, 0.5), (0.5, -0.5)])
        low = np.clip(np.floor(corners.min(0)).astype(int), 0, (width, height))
        high = np.clip(np.ceil(corners.max(0)).astype(int) + 1, low, (width, height))
        x = np.arange(low[0], high[0]) - self.x
        y = np.arange(low[1], high[1])[:, None] - self.y
        cos, sin = np.cos(self.heading), np.sin(self.heading)
        inside = (np.abs(x * cos + y * sin) <= self.length / 2) & (np.abs(y * cos - x * sin) <= self.width / 2)
        return slice(low[1], high[1]), slice(low[0], high[0]), inside


def draw(rng: np.random.Generator, image: np.ndarray, ship: Vessel, sun: float) -> None:
    """Paint a ship onto a uint8 image, in place; `sun` is the direction of its shadow in radians."""
    blunt = ship.length > SMALL and rng.random() < 0.15
    taper = rng.uniform(0.02, 0.06) if blunt else rng.uniform(0.15, 0.3)
    stern = rng.uniform(0.7, 1.0)
    side = 0.5 - taper
    hull = np.array([
        (-0.5, -0.5 * stern), (-0.42, -0.5), (side, -0.5), (side + 0.7 * taper, -0.28), (0.5, 0.0),
        (side + 0.7 * taper, 0.28), (side, 0.5), (-0.42, 0.5), (-0.5, 0.5 * stern),
    ])  # fmt: skip
    if blunt:
        hull[3:6] = [(0.5, -0.46), (0.5, 0.0), (0.5, 0.46)]
    color = np.clip(HULLS[rng.integers(len(HULLS))] * rng.uniform(0.75, 1.15) + rng.normal(0, 8, 3), 10, 250)
    high = min(0.25 * ship.width, 5.0) * rng.uniform(0.5, 1.2)
    corners = ship.points(hull)
    _shade(image, corners, high * np.array([np.cos(sun), np.sin(sun)]))
    fill(image, corners, color)
    if ship.length < SMALL:
        _cabin(rng, image, ship, color)
        return
    deck = np.clip(color * rng.uniform(0.6, 1.3) + rng.normal(0, 16, 3), 10, 250)
    fill(image, ship.points(hull * (0.95, 0.8)), deck)
    [_containers, _hatches, _pipes, _decks][rng.integers(4)](rng, image, ship, deck)
    if not blunt or rng.random() < 0.5:
        _bridge(rng, image, ship, sun)


def _shade(image: np.ndarray, corners: np.ndarray, shift: np.ndarray) -> None:
    """Draw the shadow of the hull on the water."""
    far = corners + shift
    low = np.maximum(np.floor(far.min(0)).astype(int), 0)
    high = np.minimum(np.ceil(far.max(0)).astype(int) + 1, image.shape[1::-1])
    if (high > low).all():
        under = image[low[1] : high[1], low[0] : high[0]]
        dark = under.copy()
        fill(dark, far - low, (8, 12, 18))
        under[:] = (under * np.float32(0.35) + dark * np.float32(0.65)).astype(np.uint8)


def _block(image: np.ndarray, ship: Vessel, u: float, v: float, long: float, wide: float, color: np.ndarray) -> None:
    """Draw a rectangle on the ship, centred at (u, v) in its frame."""
    half_u = long / 2
    half_v = wide / 2
    box = [(u - half_u, v - half_v), (u + half_u, v - half_v), (u + half_u, v + half_v), (u - half_u, v + half_v)]
    fill(image, ship.points(box), np.clip(color, 0, 255))


def _cabin(rng: np.random.Generator, image: np.ndarray, ship: Vessel, color: np.ndarray) -> None:
    pale = np.full(3, rng.uniform(150, 250)) if color.mean() < 150 else color * rng.uniform(0.4, 0.8)
    _block(image, ship, rng.uniform(-0.25, 0.15), 0, rng.uniform(0.15, 0.4), rng.uniform(0.4, 0.7), pale)


def _bridge(rng: np.random.Generator, image: np.ndarray, ship: Vessel, sun: float) -> None:
    """Draw the white bridge, mostly near the stern, with its shadow on the deck."""
    u = rng.uniform(-0.42, -0.34) if rng.random() < 0.8 else rng.uniform(0.1, 0.3)
    long = rng.uniform(0.05, 0.11)
    wide = rng.uniform(0.6, 0.92)
    white = np.full(3, rng.uniform(190, 250))
    lean = ship.heading - sun
    _block(image, ship, u + 0.02 * np.cos(lean), 0.08 * np.sin(-lean), long, wide * 0.9, np.full(3, 30.0))
    _block(image, ship, u, 0, long, wide, white)
    _block(image, ship, u - long * 0.2, 0, long * 0.4, wide * 0.4, white * 0.7)


def _containers(rng: np.random.Generator, image: np.ndarray, ship: Vessel, deck: np.ndarray) -> None:
    rows = max(3, int(ship.length / 14))
    lanes = int(np.clip(ship.width / 4, 1, 4))
    for u in np.linspace(-0.28, 0.36, rows):
        if rng.random() < 0.12:
            continue
        for v in (np.arange(lanes) + 0.5) / lanes - 0.5:
            color = CARGO[rng.integers(len(CARGO))] * rng.uniform(0.7, 1.1)
            _block(image, ship, u, 0.78 * v, 0.52 / rows, 0.74 / lanes, color)


def _hatches(rng: np.random.Generator, image: np.ndarray, ship: Vessel, deck: np.ndarray) -> None:
    tone = deck * rng.uniform(0.5, 0.8) if rng.random() < 0.5 else deck * 0.5 + 110
    count = int(rng.integers(3, 8))
    for u in np.linspace(-0.25, 0.32, count):
        _block(image, ship, u, 0, 0.4 / count, 0.55, tone * rng.uniform(0.9, 1.1))


def _pipes(rng: np.random.Generator, image: np.ndarray, ship: Vessel, deck: np.ndarray) -> None:
    tone = np.clip(deck + rng.uniform(30, 80), 0, 255)
    for v in rng.uniform(-0.12, 0.12, 3):
        stroke(image, ship.points([(-0.3, v), (0.38, v)]), tone)
    stroke(image, ship.points([(0.02, -0.36), (0.02, 0.36)]), tone)


def _decks(rng: np.random.Generator, image: np.ndarray, ship: Vessel, deck: np.ndarray) -> None:
    """The superstructure of a ferry or yacht: long and white, with dark details."""
    white = np.full(3, rng.uniform(180, 248))
    _block(image, ship, -0.06, 0, 0.66, 0.7, white)
    for u in rng.uniform(-0.32, 0.2, rng.integers(1, 4)):
        _block(image, ship, u, 0, rng.uniform(0.04, 0.14), rng.uniform(0.2, 0.5), white * rng.uniform(0.4, 0.8))


def wake(rng: np.random.Generator, foam: np.ndarray, ship: Vessel) -> None:
    """Draw the wake of a moving ship into a uint8 plane of foam: a turbulent strip and two arms."""
    reach = rng.uniform(1.5, 7)
    bend = rng.normal(0, 0.25)
    for extent, bright in ((1.0, 50), (0.6, 90), (0.3, 150), (0.12, 220)):
        end = -0.45 - reach * extent
        off = bend * (reach * extent) ** 2 * 0.3
        wide = 0.35 + 0.45 * extent
        strip = [(-0.45, -0.3), (end, off - wide), (end, off + wide), (-0.45, 0.3)]
        fill(foam, ship.points(strip), bright)
    arms = reach * rng.uniform(0.3, 0.8)
    spread = arms * ship.length / ship.width * 0.34
    for side in (-1, 1):
        arm = ship.points([(0.45, 0), (0.2, side * 0.6), (0.45 - arms, side * spread)])
        stroke(foam, arm, rng.uniform(60, 150), max(1, round(ship.width / 9)))
