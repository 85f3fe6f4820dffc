"""A dish on its plate from above: pieces with a flat colour and a height."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from tallymark.synthetic.dishes.menu import INGREDIENTS, Dish, Ingredient, Pattern, Shape
from tallymark.synthetic.paint import fill, finish, fractal

GARNISH = ("basil", "almond", "pea", "corn", "olive", "onion")
"""Ingredients that are strewn over any dish: they are not evidence of its class."""
PLATES = ((246, 245, 240), (232, 226, 212), (60, 62, 66), (120, 150, 170), (196, 150, 110), (250, 250, 250))
RICE = Ingredient("strip", (244, 238, 222), 0.04, 8, 0)


@dataclass
class Plate:
    """The plate from above, with coordinates from -1 to 1 both ways.

    layers: (side, side, 4) uint8: red, green, blue, and height; a height of 0 is outside the plate.
    """

    rng: np.random.Generator
    layers: np.ndarray

    @property
    def color(self) -> np.ndarray:
        return self.layers[..., :3]

    @property
    def height(self) -> np.ndarray:
        return self.layers[..., 3]

    def add(self, corners: np.ndarray, color: np.ndarray | tuple[float, ...], height: float) -> None:
        """Add one piece: its outline (n, 2), colour, and height (0 to 255)."""
        red, green, blue = color
        fill(self.layers, (corners / 1.05 + 1) * (len(self.layers) / 2), (red, green, blue, height))

    def strew(self, what: Ingredient, spots: np.ndarray, base: float, scale: float = 1.0) -> None:
        """Add pieces of an ingredient at these positions (n, 2), with random variation, on food of height `base`."""
        rng = self.rng
        count = len(spots)
        angle = rng.uniform(0, 2 * np.pi, count)
        size = what.size * scale * rng.uniform(0.78, 1.22, count)
        colors = np.array(what.color) * rng.uniform(0.82, 1.12, (count, 1)) + rng.normal(0, 7, (count, 3))
        rise = base + what.height * rng.uniform(0.8, 1.6, count)
        outlines = rotated(OUTLINES[what.shape], angle, size) * rng.uniform(0.85, 1.15, (count, 1, 2)) + spots[:, None]
        for outline, color, height in zip(outlines, colors, rise, strict=True):
            self.add(outline, color, height)
            if what.shape == "egg":
                middle = outline.mean(axis=0)
                self.add(middle + 0.45 * (outline - middle), (244, 178, 40), height + 14)

    def cloud(self, coarse: float) -> np.ndarray:
        """Fractal noise from -0.5 to 0.5; its coarsest wavelength is `coarse` times the width of the plate."""
        side = len(self.layers)
        return fractal(self.rng, side, side, coarse * side, max(2.0, side / 100), 0.7) - np.float32(0.5)


@cache
def circle(count: int = 20) -> np.ndarray:
    """A circle of radius 1 as a polygon of `count` corners."""
    angle = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return np.stack([np.cos(angle), np.sin(angle)], 1)


def _closed(points: np.ndarray) -> np.ndarray:
    return np.concatenate([points, points[:1]])


_ARC = np.linspace(-0.3, np.pi + 0.3, 12)
OUTLINES: dict[Shape, np.ndarray] = {
    "round": circle(),
    "ring": np.concatenate([_closed(circle()), _closed(circle() * 0.52)[::-1]]),
    "square": np.array([[-0.9, -0.8], [0.8, -0.9], [0.9, 0.8], [-0.8, 0.9]]),
    "strip": np.array([[-1, -0.2], [0, -0.3], [1, -0.15], [1, 0.2], [0, 0.12], [-1, 0.25]]),
    "leaf": np.array(
        [[-1, 0], [-0.5, -0.36], [0.1, -0.42], [0.6, -0.25], [1, 0], [0.6, 0.25], [0.1, 0.42], [-0.5, 0.36]]
    ),
    "crescent": np.concatenate(
        [np.stack([np.cos(_ARC), np.sin(_ARC)], 1), 0.5 * np.stack([np.cos(_ARC), np.sin(_ARC) + 0.1], 1)[::-1]]
    ),
    "wedge": np.array([[-0.8, -0.55], [0.2, -0.75], [1, 0], [0.2, 0.75], [-0.8, 0.55]]),
    "egg": circle() * (1 + 0.12 * np.sin(3 * np.linspace(0, 2 * np.pi, 20, endpoint=False)))[:, None],
}
"""Outlines of pieces (n, 2) with a radius of about 1."""


def rotated(outline: np.ndarray, angle: np.ndarray, size: np.ndarray) -> np.ndarray:
    """The outline rotated by each angle (radians) and scaled by each size, as (n, corners, 2)."""
    cos = np.cos(angle) * size
    sin = np.sin(angle) * size
    return outline @ np.stack([cos, sin, -sin, cos], 1).reshape(-1, 2, 2)


def _spots(rng: np.random.Generator, count: int, reach: float, pattern: Pattern) -> np.ndarray:
    """Random positions (count, 2) within `reach` of the centre."""
    angle = rng.uniform(0, 2 * np.pi, count)
    away = reach * np.sqrt(rng.random(count))
    if pattern == "ring":
        away = reach * rng.normal(0.85, 0.06, count)
    elif pattern == "heap":
        away = away * 0.55
    elif pattern == "half":
        angle = angle / 2
    return np.stack([away * np.cos(angle), away * np.sin(angle)], 1)


def _blob(rng: np.random.Generator, reach: float, rough: float) -> np.ndarray:
    """An irregular round outline (48, 2)."""
    wave = np.arange(2, 8)
    angle = wave * np.arange(48)[:, None] * (2 * np.pi / 48)
    waves = np.sin(angle + rng.uniform(0, 6, 6)) @ rng.normal(0, rough / wave)
    return circle(48) * (reach * (1 + waves))[:, None]


def _shades(dish: Dish) -> tuple[np.ndarray, np.ndarray]:
    """The light and the dark colour of the dish's base."""
    light, dark = dish.base
    return np.array(light, float), np.array(dark, float)


def _pizza(plate: Plate, dish: Dish) -> float:
    light, dark = _shades(dish)
    plate.add(_blob(plate.rng, 0.92, 0.012), (204, 148, 82), 60)
    plate.add(_blob(plate.rng, 0.8, 0.02), dark, 40)
    for spot in _spots(plate.rng, 40, 0.72, "scatter"):
        cheese = _blob(plate.rng, plate.rng.uniform(0.08, 0.2), 0.1) + spot
        plate.add(cheese, light * plate.rng.uniform(0.92, 1.05), 46)
    return 0.7


def _pasta(plate: Plate, dish: Dish) -> float:
    """A nest of noodles: overlapping arcs."""
    rng = plate.rng
    light, dark = _shades(dish)
    plate.add(_blob(rng, 0.62, 0.04), dark, 40)
    for number, spot in enumerate(_spots(rng, 90, 0.5, "scatter")):
        bend = rng.uniform(0.12, 0.4)
        start = rng.uniform(0, 2 * np.pi)
        angle = start + np.linspace(0, rng.uniform(1.1, 3.3), 12)
        arc = np.stack([np.cos(angle), np.sin(angle)], 1)
        outline = np.concatenate([arc * bend, (arc * (bend + 0.036))[::-1]])
        plate.add(outline + spot, light + (dark - light) * rng.uniform(0, 0.6), 50 + number * 0.6)
    return 0.56


def _rice_bowl(plate: Plate, dish: Dish) -> float:
    light, dark = _shades(dish)
    plate.add(_blob(plate.rng, 0.82, 0.01), (light + dark) / 2, 40)
    plate.strew(replace(RICE, color=dish.base[0]), _spots(plate.rng, 220, 0.8, "scatter"), 44)
    return 0.66


def _salad(plate: Plate, dish: Dish) -> float:
    light, dark = _shades(dish)
    for mix in (1.0, 0.5, 0.0):
        red, green, blue = (light + (dark - light) * mix).astype(int).tolist()
        leaf = Ingredient("leaf", (red, green, blue), 0.26, 30, 0)
        plate.strew(leaf, _spots(plate.rng, 22, 0.66, "scatter"), 40)
    return 0.62


def _steak(plate: Plate, dish: Dish) -> float:
    light, dark = _shades(dish)
    middle = [-0.15, -0.2]
    plate.add(_blob(plate.rng, 0.5, 0.06) * [1.2, 0.8] + middle, (light + dark) / 2, 70)
    for offset in np.arange(-0.42, 0.5, 0.14):  # grill marks
        mark = rotated(OUTLINES["strip"], np.array([1.2]), np.array([0.28 * np.sqrt(1 - (offset / 0.6) ** 2)]))[0]
        plate.add(mark + middle + [offset, 0], dark, 66)
    return 0.72


def _liquid(plate: Plate, dish: Dish) -> float:
    """Soup or curry, with drops of oil or cream; curry has rice on one side."""
    rng = plate.rng
    light, dark = _shades(dish)
    plate.add(_blob(rng, 0.84, 0.004), light + (dark - light) * rng.uniform(0.3, 0.7), 40)
    if dish.family == "curry":
        plate.strew(RICE, _spots(rng, 150, 0.75, "half") * [1, -1], 48)
    for spot in _spots(rng, 14, 0.7, "scatter"):
        plate.add(circle() * rng.uniform(0.01, 0.05) + spot, light * 1.08, 42)
    return 0.66


def _cake(plate: Plate, dish: Dish) -> None:
    """A whole cake from above, or a slice with visible layers."""
    rng = plate.rng
    light, dark = _shades(dish)
    if rng.random() < 0.5:
        plate.add(circle(48) * 0.74, dark, 90)
        plate.add(circle(48) * 0.68, light, 110)
        plate.strew(dish.main, _spots(rng, dish.main.count, 0.58, dish.pattern), 112)
        plate.strew(dish.second, _spots(rng, int(dish.second.count * dish.portion), 0.58, "ring"), 112)
        return
    tip, left, right = np.array([-0.75, 0.1]), np.array([0.55, -0.5]), np.array([0.65, 0.2])
    deep = np.array([0, rng.uniform(0.35, 0.5)])
    layers = 5
    for layer in range(layers):
        top, bottom = deep * layer / layers, deep * (layer + 1) / layers
        shade = (light, np.array(dish.main.color) * 0.6 + 90)[layer % 2] * rng.uniform(0.92, 1.02)
        plate.add(np.array([tip + top, right + top, right + bottom, tip + bottom]), shade, 70)
    plate.add(np.array([tip, left, right]), dark * 0.4 + light * 0.6, 90)
    weight = rng.dirichlet([1.3, 1.3, 1.3], dish.main.count // 2 + 4)
    spots = weight @ np.array([tip, left, right])
    many = max(2, int(len(spots) * 0.35 * dish.portion))
    plate.strew(dish.main, spots[many:], 92, 0.9)
    plate.strew(dish.second, spots[:many], 94, 0.9)


def _each(plate: Plate) -> Iterator[tuple[np.ndarray, float]]:
    """Position and size of each serving, in a loose square grid."""
    rng = plate.rng
    across = int(rng.integers(2, 4))
    grid = (np.stack(np.meshgrid(np.arange(across), np.arange(across)), -1).reshape(-1, 2) + 0.5) / across * 1.3 - 0.65
    for spot in grid[rng.permutation(len(grid))[: rng.integers(3, len(grid) + 1)]]:
        yield spot + rng.normal(0, 0.02, 2), 0.62 / across


def _sushi(plate: Plate, dish: Dish) -> None:
    rng = plate.rng
    light, _ = _shades(dish)
    main, second = (np.array(food.color, float) for food in (dish.main, dish.second))
    for spot, size in _each(plate):
        for reach, color in ((1.0, light), (0.84, (28, 44, 34)), (0.74, (246, 244, 238))):
            plate.add(circle() * size * reach + spot, color, 92)
        angle = rng.uniform(0, 2 * np.pi, 1)
        piece = rotated(OUTLINES[dish.main.shape] - [0.3, 0], angle, np.array([size * 0.4]))[0]
        side = rotated(OUTLINES[dish.second.shape] + [0.9, 0.3], angle, np.array([size * 0.26]))[0]
        plate.add(piece + spot, main * rng.uniform(0.9, 1.1), 94)
        plate.add(side + spot, second * rng.uniform(0.9, 1.1), 98)


def _doughnuts(plate: Plate, dish: Dish) -> None:
    rng = plate.rng
    light, dark = _shades(dish)
    for spot, size in _each(plate):
        plate.add(OUTLINES["ring"] * size * 1.06 + spot, (206, 150, 84), 70)
        plate.add(OUTLINES["ring"] * size * 0.94 + spot, light + (dark - light) * rng.random(), 96)
        for food, portion in ((dish.main, 1.0), (dish.second, 0.5 * dish.portion)):
            angle = rng.uniform(0, 2 * np.pi, max(2, int(portion * food.count * 0.4)))
            around = np.stack([np.cos(angle), np.sin(angle)], 1) * size * rng.normal(0.74, 0.07, (len(angle), 1))
            plate.strew(food, around + spot, 96, 1.45 * size)


BASES: dict[str, Callable[[Plate, Dish], float]] = {
    "pizza": _pizza,
    "pasta": _pasta,
    "rice_bowl": _rice_bowl,
    "salad": _salad,
    "steak": _steak,
    "soup": _liquid,
    "curry": _liquid,
}
"""Functions that add the base of a family; each returns the radius within which ingredients are placed."""
SERVINGS: dict[str, Callable[[Plate, Dish], None]] = {"cake": _cake, "sushi": _sushi, "doughnuts": _doughnuts}
"""Functions for families that are served in pieces, each with its own topping."""


def serve(rng: np.random.Generator, dish: Dish, side: int) -> Plate:
    """The dish on its plate from above, (side, side) pixels."""
    china = np.array(PLATES[rng.integers(len(PLATES))], float) * rng.uniform(0.92, 1.0)
    plate = Plate(rng, np.zeros((side, side, 4), np.uint8))
    square = not dish.bowl and rng.random() < 0.2
    rim = OUTLINES["square"] * 1.05 if square else circle(64)
    plate.add(rim, china, 30)
    plate.add(rim * 0.93, china * 0.97, 26)
    plate.add(rim * (0.88 if dish.bowl else 0.7), china * 0.93, 4 if dish.bowl else 20)
    if dish.family in SERVINGS:
        SERVINGS[dish.family](plate, dish)
    else:
        reach = BASES[dish.family](plate, dish)
        plate.color[:] = finish(plate.color * (1 + 0.22 * plate.cloud(0.2))[..., None])
        many = rng.uniform(0.75, 1.3)
        second = max(1, round(dish.second.count * dish.portion * 0.6 * many))
        plate.strew(dish.main, _spots(rng, max(2, round(dish.main.count * many)), reach, dish.pattern), 60)
        plate.strew(dish.second, _spots(rng, second, reach, "scatter"), 64)
    if rng.random() < 0.5:
        garnish = INGREDIENTS[GARNISH[rng.integers(len(GARNISH))]]
        plate.strew(garnish, _spots(rng, int(rng.integers(1, 6)), 0.8, "scatter"), 70, 0.8)
    return plate
