"""Synthetic wheat photographs: official files, reproducible, with bounding boxes that fit the heads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

import tallymark
from tallymark.challenges.wheat.synth import FOREIGN, SOURCES, SceneOptions, write
from tallymark.synthetic.field.plots import STYLES, photograph, prepare
from tallymark.synthetic.streams import stream
from tests.sets import contents

SMALL = SceneOptions(size=128)


@pytest.fixture(scope="module")
def wheat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheat")
    write(folder, 15, 1, SMALL)
    return folder


def test_the_same_seed_gives_the_same_bytes(wheat: Path, tmp_path: Path) -> None:
    write(tmp_path / "again", 15, 1, SMALL)
    assert contents(tmp_path / "again") == contents(wheat)
    write(tmp_path / "other", 2, 2, SMALL)
    assert not set(contents(tmp_path / "other").values()) & set(contents(wheat).values())


def test_a_photograph_does_not_depend_on_the_number_of_items(wheat: Path, tmp_path: Path) -> None:
    write(tmp_path, 5, 1, SMALL)
    few, many = contents(tmp_path), contents(wheat)
    assert len([name for name in few if name.endswith(".jpg") and few[name] == many[name]]) == 5


def test_the_layout_is_the_official_one(wheat: Path) -> None:
    assert not tallymark.check("wheat", wheat / "sample_submission.csv").problems
    train = tallymark.read_truth("wheat", wheat / "train.csv")
    test = tallymark.read_truth("wheat", wheat / "solution.csv")
    assert set(train.items.ids) <= {path.stem for path in (wheat / "train").iterdir()}
    assert set(test.items.ids) == {path.stem for path in (wheat / "test").iterdir()}
    assert train.items.group is not None
    assert set(train.items.group) <= set(SOURCES)
    assert "[" in (wheat / "train.csv").read_text()
    line = (wheat / "train.csv").read_text().splitlines()[1]
    assert line.count(".0") == 4
    for boxes in (train.shapes, test.shapes):
        assert (boxes.x >= 0).all()
        assert (boxes.y >= 0).all()
        assert (boxes.x + boxes.width <= SMALL.size).all()
        assert (boxes.y + boxes.height <= SMALL.size).all()


def test_images_without_heads_are_listed_in_the_solution_only(tmp_path: Path) -> None:
    write(tmp_path, 5, 1, replace(SMALL, empty=1.0, foreign=1.0))
    assert (tmp_path / "train.csv").read_text() == "image_id,width,height,bbox,source\n"
    answers = tallymark.read_truth("wheat", tmp_path / "solution.csv")
    assert (len(answers.items), len(answers)) == (1, 0)
    assert answers.items.group is not None
    assert set(answers.items.group) <= set(FOREIGN)


@pytest.mark.parametrize("name", ["rows", "dense"])
def test_boxes_fit_the_heads(name: str) -> None:
    """Without leaves and awns, pixels of the colour of heads are inside the boxes and touch all four sides."""
    style = replace(STYLES[name], leaves=0, awns=0.0, blur=0.0, grain=0.0, heads=(5, 5), upright=1.0)
    plot = prepare(stream(4), style, 256)
    photo, boxes = photograph(stream(4, 1), plot)
    assert 3 <= len(boxes) <= 5
    head = np.asarray(style.head, float).mean(0) - np.asarray(style.soil, float).mean(0)
    bright = (photo.astype(float) - np.median(photo, (0, 1))) @ head / (head @ head) > 0.2
    inside = np.zeros(bright.shape, bool)
    for x, y, width, height in boxes.tolist():
        inside[max(0, y - 1) : y + height + 1, max(0, x - 1) : x + width + 1] = True
        crop = bright[y : y + height, x : x + width]
        for edge in (crop[:3], crop[-3:], crop[:, :3], crop[:, -3:]):
            assert edge.any()
    assert bright[inside].mean() > 4 * bright[~inside].mean()


def test_styles_differ() -> None:
    """Every style has its own number of heads and illumination."""
    means = {}
    for number, (name, style) in enumerate(STYLES.items()):
        photo, boxes = photograph(stream(1, number), prepare(stream(1, number), style, 128))
        assert style.heads[0] * 0.6 <= len(boxes) <= style.heads[1], name
        means[name] = cv2.mean(photo)[:3]
    assert np.std(list(means.values()), axis=0).min() > 10


def test_sizes_out_of_range_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(tallymark.BadInput, match="a side from"):
        write(tmp_path, 2, 1, SceneOptions(size=100_000))
