"""Synthetic dishes: reproducible, in the official layout, with classes that can be distinguished."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

import tallymark
from tallymark.challenges.food import synth
from tallymark.challenges.food.synth import SceneOptions, write
from tallymark.core.problems import BadInput
from tallymark.synthetic.dishes.menu import LARGEST, dish, look_alikes, place
from tallymark.synthetic.dishes.photographs import photograph
from tallymark.synthetic.dishes.plates import serve
from tallymark.synthetic.streams import stream
from tests.sets import contents

SMALL = SceneOptions(classes=6, size=64)


def labels(path: Path) -> np.ndarray:
    return np.array([int(line.split(",")[1]) for line in path.read_text().splitlines()[1:]])


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write(tmp_path / name, 20, seed, SMALL)
    first, again, other = (contents(tmp_path / name) for name in "abc")
    assert first == again
    same = {name for name in first if first[name] == other[name]}
    assert same == {"class_list.txt", "sample_submission.csv"}


def test_an_item_does_not_depend_on_the_number_of_items(tmp_path: Path) -> None:
    write(tmp_path / "few", 10, 1, SMALL)
    write(tmp_path / "more", 30, 1, SMALL)
    few, more = contents(tmp_path / "few"), contents(tmp_path / "more")
    assert all(more[name] == few[name] for name in few if name.endswith(".jpg"))


def test_the_layout_is_the_official_one(tmp_path: Path) -> None:
    write(tmp_path, 50, 3, SMALL)
    splits = {"train": 32, "val": 8, "test": 10}
    for split, count in splits.items():
        names = sorted(path.name for path in (tmp_path / f"{split}_set").iterdir())
        assert names == [f"{split}_{number:06d}.jpg" for number in range(count)]
        table = "solution.csv" if split == "test" else f"{split}_labels.csv"
        truth = tallymark.read_truth("food", tmp_path / table)
        assert truth.items.ids.to_list() == names
    sample = tmp_path / "sample_submission.csv"
    assert not tallymark.check("food", sample, against=tmp_path).problems
    assert 0 <= tallymark.score("food", tmp_path / "solution.csv", sample).value <= 1
    assert (tmp_path / "class_list.txt").read_text().splitlines()[:2] == [
        "0 salami_olive_pizza",
        "1 salami_mushroom_pizza",
    ]


def test_label_noise_has_the_requested_rate_and_is_in_the_training_set_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synth, "noisy_photograph", lambda *_: np.zeros((16, 16, 3), np.uint8))
    clean = SceneOptions(classes=12, size=16, noise=0)
    noisy = SceneOptions(classes=12, size=16, noise=0.5)
    write(tmp_path / "clean", 400, 3, clean)
    write(tmp_path / "noisy", 400, 3, noisy)
    right, given = (labels(tmp_path / name / "train_labels.csv") for name in ("clean", "noisy"))
    wrong = right != given
    assert 0.4 < wrong.mean() < 0.6
    alike = [place(a)[0] == place(b)[0] for a, b in zip(right[wrong], given[wrong], strict=True)]
    assert 0.65 < np.mean(alike) < 0.95
    for table in ("val_labels.csv", "solution.csv"):
        assert (tmp_path / "clean" / table).read_bytes() == (tmp_path / "noisy" / table).read_bytes()


def test_every_dish_has_a_distinct_name_and_a_family() -> None:
    dishes = [dish(number) for number in range(LARGEST)]
    assert len({one.name for one in dishes}) == LARGEST
    assert len({one.family for one in dishes}) == 10
    assert look_alikes(4, 12) == [3, 5]


def test_photographs_have_various_aspect_ratios_and_one_longer_side() -> None:
    shapes = {photograph(stream(1, number), dish(number), 48).shape for number in range(40)}
    assert {max(shape) for shape in shapes} == {48}
    assert len(shapes) >= 4


@pytest.mark.parametrize("number", [0, 3, 6, 12, 15, 24, 27])
def test_the_ingredients_of_the_class_are_on_the_plate(number: int) -> None:
    food = dish(number)
    plate = serve(stream(2, number), food, 200)
    for piece in (food.main, food.second):
        difference = np.abs(plate.color.astype(float) - piece.color).max(axis=2)
        assert (difference < 40).mean() > 0.002, piece


def test_families_can_be_classified_by_color_histograms() -> None:
    """A nearest-mean classifier of colour histograms is far better than random, and far from perfect."""
    classes = (0, 3, 6, 12)

    def histogram(seed: int, number: int) -> np.ndarray:
        image = photograph(stream(seed, number), dish(number), 64)
        return cv2.calcHist([image], [0, 1, 2], None, [5, 5, 5], [0, 256] * 3).ravel() / image[..., 0].size

    means = [np.mean([histogram(seed, number) for seed in range(10)], axis=0) for number in classes]
    guesses = [
        (np.argmin([np.abs(histogram(seed, number) - mean).sum() for mean in means]), right)
        for right, number in enumerate(classes)
        for seed in range(100, 108)
    ]
    assert 0.4 < np.mean([guess == right for guess, right in guesses]) < 1


def test_too_many_classes_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        write(tmp_path, 2, 1, SceneOptions(classes=LARGEST + 1, size=4))
    assert caught.value.problems.total == 2
