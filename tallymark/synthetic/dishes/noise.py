"""Photographs that do not belong in a set of prepared dishes: raw ingredients, packages, and two dishes at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tallymark.synthetic.dishes.menu import Dish, dish
from tallymark.synthetic.dishes.photographs import photograph
from tallymark.synthetic.dishes.plates import OUTLINES, Plate, circle
from tallymark.synthetic.paint import resize

PIECES = 14
"""Raw pieces in a photograph, on average."""
ENLARGED = 2.6
"""Raw ingredients are not cut into pieces, and seen from nearer."""
BOARDS = ((196, 150, 100), (150, 104, 66), (236, 232, 224), (90, 96, 100))
PRINT = ((210, 30, 40), (30, 80, 170), (30, 120, 60), (240, 190, 30), (40, 40, 44), (240, 240, 238))


def out_of_domain(rng: np.random.Generator, what: Dish, size: int) -> np.ndarray:
    """An ingredient of the dish as it is bought, raw on a board or in a package, as uint8 RGB."""
    return photograph(rng, what, size, _package if rng.random() < 0.5 else _raw)


def two_dishes(rng: np.random.Generator, first: Dish, second: Dish, size: int) -> np.ndarray:
    """Two dishes in one photograph, beside or above each other, in random order."""
    pair = [photograph(rng, what, size) for what in rng.permutation(np.array([first, second], object))]
    joined = np.concatenate([resize(image, size, size // 2) for image in pair], axis=1)
    return joined if rng.random() < 0.5 else np.ascontiguousarray(joined.transpose(1, 0, 2))


def draw_kind(rng: np.random.Generator, shares: Mapping[str, float]) -> str:
    """A kind of noise by its share, or none at all."""
    below = np.cumsum(list(shares.values()))
    return [*shares, ""][int(np.searchsorted(below, rng.random(), side="right"))]


def noisy_photograph(rng: np.random.Generator, true: int, classes: int, kind: str, size: int) -> np.ndarray:
    """A photograph of the class `true` of `classes`, with noise of a kind, or with none."""
    others = [other for other in range(classes) if other != true]
    if kind == "cross_domain":
        return out_of_domain(rng, dish(true), size)
    if kind == "cross_category" and others:
        return two_dishes(rng, dish(true), dish(int(rng.choice(others))), size)
    return photograph(rng, dish(true), size)


def _raw(rng: np.random.Generator, what: Dish, side: int) -> Plate:
    """Raw pieces of the main ingredient on a board."""
    plate = Plate(rng, np.zeros((side, side, 4), np.uint8))
    plate.add(OUTLINES["square"] * 1.1, BOARDS[rng.integers(len(BOARDS))], 10)
    spots = rng.uniform(-0.75, 0.75, (int(rng.integers(PIECES // 2, 2 * PIECES)), 2))
    plate.strew(what.main, spots, 30, ENLARGED)
    return plate


def _package(rng: np.random.Generator, what: Dish, side: int) -> Plate:
    """A printed box: bars of text, and a picture in the colour of the main ingredient."""
    plate = Plate(rng, np.zeros((side, side, 4), np.uint8))
    paper, ink, band = (np.array(PRINT[at], float) for at in rng.permutation(len(PRINT))[:3])
    width, height = rng.uniform(0.6, 1.0, 2)
    box = np.array([[-width, -height], [width, -height], [width, height], [-width, height]])
    plate.add(box, paper, 60)
    plate.add(box * [1, 0.3] + [0, rng.uniform(-0.4, 0.4) * height], band, 61)
    for line in np.linspace(-0.85, 0.85, int(rng.integers(6, 12))) * height:
        plate.add(box * [rng.uniform(0.3, 0.85), 0.03] + [0, line], ink, 61)
    spot = rng.uniform(-0.35, 0.35, 2)
    plate.add(circle(32) * 0.22 + spot, np.array(what.main.color, float), 62)
    return plate
