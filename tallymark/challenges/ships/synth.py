"""Synthetic satellite images in the official files of the ships challenge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tallymark.challenges.ships import dialect
from tallymark.core import options
from tallymark.core.options import Fraction, bounded
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Masks
from tallymark.io.tables import write_table
from tallymark.synthetic.names import check_side, hex_names
from tallymark.synthetic.paint import save_jpeg
from tallymark.synthetic.sea.chips import Window, prepare, scene
from tallymark.synthetic.streams import make_each, stream, test_share

TRAIN, TEST, WAVES, LINKS = 0, 1, 2, 3
CROWDS = np.array([0.637, 0.18, 0.07, 0.038, 0.022, *[0.0084] * 5, *[0.0022] * 5])
"""Probability that an image with ships has 1, 2, … 15 of them."""
LONGEST_CHAIN = 4
SMALLEST = 8
"""Ships with fewer pixels than this in an image are not annotated."""
OFFICIAL = 768
"""Side of the official images in pixels."""


@dataclass(frozen=True)
class SceneOptions(options.SceneOptions):
    """What the images look like.

    size: side in pixels; other than 768, they need the rule option `shape`.
    empty: share of scenes without a ship.
    neighbours: share of training images that overlap the one before, being cropped from the same scene.
    coast: factor on the share of scenes with land; 0 for open sea only.
    """

    # Small images of open sea, most with ships: a minute of training is too short for land.
    demo: ClassVar[Mapping[str, Any]] = {"items": 300, "size": 256, "empty": 0.1, "coast": 0}

    size: int = bounded(OFFICIAL, most=8_192)
    empty: Fraction = 0.78
    neighbours: Fraction = 0.25
    coast: Fraction = 1.0

    @property
    def rule_options(self) -> dict[str, str]:
        """The image size, where it is not the official one."""
        return {} if self.size == OFFICIAL else {"shape": f"{self.size}x{self.size}"}


def write(folder: Path, items: int, seed: int, scenes: SceneOptions) -> None:
    """Write train_v2/ with its masks, test_v2/ with the sample submission, and its truth in solution.csv."""
    check_side(scenes.size)
    waves = prepare(stream(seed, WAVES))
    tests = test_share(items)

    def write_images(split: int, name: str, chains: list[range], count: int) -> Annotations[Masks]:
        (folder / name).mkdir(parents=True, exist_ok=True)
        names = [f"{chip}.jpg" for chip in hex_names(seed, split, count)]
        crop = partial(_crop, (seed, split), [folder / name / chip for chip in names], chains, waves, scenes)
        made = make_each(len(chains), crop, f"{name} images")
        return _gather(names, [masks for chain in made for masks in chain][:count], scenes.size)

    truth = write_images(TRAIN, "train_v2", _chains(seed, items - tests, scenes.neighbours), items - tests)
    dialect.write(truth, folder / "train_ship_segmentations_v2.csv", "official")
    answers = write_images(TEST, "test_v2", [range(number, number + 1) for number in range(tests)], tests)
    dialect.write(answers, folder / "solution.csv", "official")
    sample = folder / "sample_submission_v2.csv"
    write_table(sample, {"ImageId": answers.items.ids, "EncodedPixels": ["1 2"] * tests})


def _chains(seed: int, count: int, neighbours: float) -> list[range]:
    """Numbers of images that share a scene. The last chain may exceed `count`, so that no image depends on it."""
    chains, start, number = [], 0, 1
    while start < count:
        linked = stream(seed, LINKS, number).random() < neighbours
        if not linked or number - start == LONGEST_CHAIN:
            chains.append(range(start, number))
            start = number
        number += 1
    return chains


def _crop(
    path: tuple[int, int],
    files: Sequence[Path],
    chains: Sequence[range],
    waves: list[np.ndarray],
    scenes: SceneOptions,
    number: int,
) -> list[Masks]:
    """Write the images of a chain; returns the masks of each. path: of the random streams."""
    chain = chains[number]
    rng = stream(*path, chain[0])
    ships = 0 if rng.random() < scenes.empty else 1 + int(rng.choice(len(CROWDS), p=CROWDS / CROWDS.sum()))
    chips = _chips(rng, waves, len(chain), scenes, ships)
    for (image, _), file in zip(chips, files[chain.start : chain.stop], strict=False):
        save_jpeg(file, image, int(rng.integers(88, 96)))
    return [masks for _, masks in chips]


def _chips(
    rng: np.random.Generator, waves: list[np.ndarray], count: int, scenes: SceneOptions, ships: int
) -> list[tuple[np.ndarray, Masks]]:
    """Images of one scene, shifted by thirds of their side, each with the masks of its ships."""
    size = scenes.size
    places = rng.choice(9, count, replace=False)
    corners = np.stack([places // 3, places % 3], 1)
    corners = (corners - corners.min(0)) * (size // 3)
    y, x = (int(part) for part in corners.max(0))
    common = Window(x, y, size - x, size - y)
    image, numbers = scene(rng, waves, y + size, x + size, size, ships, common, scenes.coast)
    chips = []
    for top, left in corners.tolist():
        own = numbers[top : top + size, left : left + size]
        listed = np.flatnonzero(np.bincount(own.ravel())[1:] >= SMALLEST) + 1
        masks = Masks.of([own == number for number in listed], (size, size))
        chips.append((image[top : top + size, left : left + size], masks))
    return chips


def _gather(names: list[str], chips: list[Masks], size: int) -> Annotations[Masks]:
    """The masks of all images as annotations."""
    chips = [Masks.of([], (size, size)), *chips]
    start = np.concatenate([chip.start for chip in chips])
    length = np.concatenate([chip.length for chip in chips])
    runs = np.concatenate([np.diff(chip.offsets) for chip in chips])
    masks = Masks(start, length, np.concatenate([[0], np.cumsum(runs)]), (size, size))
    item = np.repeat(np.arange(len(names)), [len(chip) for chip in chips[1:]])
    return Annotations.from_rows(Items.of(names), item, masks)
