"""Synthetic satellite chips: official files, reproducible, with masks that fit the ships."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

import tallymark
from tallymark.challenges.ships.synth import SceneOptions, write
from tallymark.synthetic.sea.chips import Window, prepare, scene
from tallymark.synthetic.sea.vessel import Vessel, draw
from tallymark.synthetic.streams import stream
from tests.sets import contents

SMALL = SceneOptions(size=192, empty=0.5)
SHAPE = {"shape": (192, 192)}


@pytest.fixture(scope="module")
def ships(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ships")
    write(folder, 30, 1, SMALL)
    return folder


def test_the_same_seed_gives_the_same_bytes(ships: Path, tmp_path: Path) -> None:
    write(tmp_path / "again", 30, 1, SMALL)
    assert contents(tmp_path / "again") == contents(ships)
    write(tmp_path / "other", 5, 2, SMALL)
    assert not set(contents(tmp_path / "other")) & {name for name in contents(ships) if name.endswith(".jpg")}


def test_a_chip_does_not_depend_on_the_number_of_items(ships: Path, tmp_path: Path) -> None:
    write(tmp_path, 10, 1, SMALL)
    few, many = contents(tmp_path), contents(ships)
    assert len([name for name in few if name.endswith(".jpg") and few[name] == many[name]]) == 10


def test_tables_list_exactly_the_chips(ships: Path) -> None:
    assert not tallymark.check("ships", ships / "sample_submission_v2.csv", **SHAPE).problems
    for table, folder in (("train_ship_segmentations_v2.csv", "train_v2"), ("solution.csv", "test_v2")):
        truth = tallymark.read_truth("ships", ships / table, **SHAPE)
        assert set(truth.items.ids) == {path.name for path in (ships / folder).iterdir()}
        assert len(truth.shapes.collisions(truth.item)) == 0
        assert truth.counts.max() <= 15


def test_the_number_and_size_of_ships_are_those_of_the_challenge() -> None:
    waves = prepare(stream(1))
    sizes = []
    counts = []
    for number in range(40):
        _, numbers = scene(stream(1, number), waves, 256, 256, 256, 1 + number % 2, Window(0, 0, 256, 256))
        areas = np.bincount(numbers.ravel())[1:]
        sizes += areas[areas > 0].tolist()
        counts.append(np.count_nonzero(areas))
    assert 1 <= np.mean(counts) <= 1.6
    assert min(sizes) < 100
    assert 150 < np.median(sizes) < 1500
    assert max(sizes) > 2000


def test_chips_of_one_scene_overlap_exactly(tmp_path: Path) -> None:
    """Chips that are cropped from one scene have the same pixels where they overlap, here in a chain of four."""
    write(tmp_path, 10, 3, replace(SMALL, neighbours=1.0, empty=1.0))
    table = tallymark.read_truth("ships", tmp_path / "train_ship_segmentations_v2.csv", **SHAPE)
    chips = [cv2.imread(str(tmp_path / "train_v2" / name)).astype(int) for name in table.items.ids]
    assert _nearest_shift(chips[0], chips[1]) < 4  # JPEG artefacts only
    assert _nearest_shift(chips[0], chips[4]) > 4  # another scene


def _nearest_shift(one: np.ndarray, other: np.ndarray) -> float:
    """The mean difference of two chips where they overlap, for the best shift by thirds of a chip."""
    step = 64
    side = 192
    best = 255.0
    for y in range(-2, 3):
        for x in range(-2, 3):
            a = one[max(0, y * step) : side + min(0, y * step), max(0, x * step) : side + min(0, x * step)]
            b = other[max(0, -y * step) : side + min(0, -y * step), max(0, -x * step) : side + min(0, -x * step)]
            best = min(best, float(np.abs(a - b).mean()))
    return best


@pytest.mark.parametrize("length", [9.0, 24.0, 120.0])
@pytest.mark.parametrize("heading", [0.0, 0.7, 2.0])
def test_the_mask_fits_the_ship(length: float, heading: float) -> None:
    """The hull is inside its rectangle, fills most of it and reaches its ends; the shadow does not count."""
    image = np.full((160, 160, 3), (8, 12, 18), np.uint8)  # as dark as the shadow
    ship = Vessel(80.3, 79.6, length, length / 4, heading)
    draw(stream(5), image, ship, 0.3)
    rows, columns, inside = ship.footprint(160, 160)
    mask = np.zeros((160, 160), bool)
    mask[rows, columns] = inside
    painted = np.abs(image.astype(int) - (8, 12, 18)).sum(2) > 30
    assert abs(mask.sum() - length * length / 4) < 0.15 * mask.sum() + 4
    assert painted[mask].mean() > 0.7
    grown = cv2.dilate(mask.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    assert not painted[~grown].any()
    hull = cv2.boundingRect(painted.astype(np.uint8))
    rectangle = cv2.boundingRect(mask.astype(np.uint8))
    assert np.abs(np.array(hull) - rectangle).max() <= 2 + 0.12 * length


def test_masks_cover_the_ships() -> None:
    """Pixels of ships differ from the surrounding water by more than the variation of the water."""
    waves = prepare(stream(1))
    contrasts = []
    for number in range(12):
        image, numbers = scene(stream(2, number), waves, 256, 256, 256, 1, Window(0, 0, 256, 256))
        mask = (numbers > 0).astype(np.uint8)
        ring = cv2.dilate(mask, np.ones((9, 9), np.uint8)) - cv2.dilate(mask, np.ones((3, 3), np.uint8))
        if mask.any():
            away = np.abs(image.astype(float) - np.median(image[ring > 0], 0)).sum(2)
            contrasts.append(away[mask > 0].mean() / away[ring > 0].mean())
    assert len(contrasts) >= 8
    assert np.median(contrasts) > 2
