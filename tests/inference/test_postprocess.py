"""What a recipe's cut and gate leave of what models say, inside the pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tallymark.core.problems import BadInput
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Boxes, Events, Masks, RotatedBoxes
from tallymark.inference.pipeline import Candidates, concat_candidates
from tallymark.inference.postprocess import common_shape, postprocess, top_k
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.image.recipe import ImageRecipe

BOXES = ImageRecipe().replace(task="boxes", score_threshold=0.5, nms_iou=0.5)
MASKS = BOXES.replace(task="masks")


def raw_of(
    shapes: Any,
    item: list[int],
    score: list[float],
    *,
    presence: tuple[float, ...] = (1.0, 1.0),
    size: tuple[tuple[float, float], ...] = ((100, 50), (100, 50)),
) -> Candidates:
    items = Items.of([f"p{k}" for k in range(len(size))])
    found = Annotations.from_rows(
        items, np.array(item, int), shapes, label=np.zeros(len(item), int), score=np.array(score, float)
    )
    return Candidates(items, np.array(size, float), found=found, presence=np.array(presence))


def rows(found: Annotations[Any]) -> list[list[float]]:
    return np.stack(found.shapes.columns, 1).tolist()


def apart(count: int) -> Boxes:
    return Boxes.of(np.array([[20.0 * k, 5, 10, 10] for k in range(count)]))


def test_the_cut_is_included() -> None:
    found = postprocess(raw_of(apart(3), [0, 0, 0], [0.49, 0.5, 0.9]), BOXES)
    assert found.scores.tolist() == [0.9, 0.5]
    assert found.counts.tolist() == [2, 0]


def test_the_gate_closes_pictures_that_seem_empty() -> None:
    raw = raw_of(apart(4), [0, 0, 1, 1], [0.9, 0.8, 0.9, 0.8], presence=(0.29, 0.3))
    assert postprocess(raw, BOXES.replace(image_threshold=0.3)).counts.tolist() == [0, 2]
    assert postprocess(raw, BOXES.replace(image_threshold=0.0)).counts.tolist() == [2, 2]


def test_overlapping_findings_become_one() -> None:
    boxes = Boxes.of(np.array([[10, 10, 20, 20], [11, 10, 20, 20], [60, 10, 20, 20]]))
    assert postprocess(raw_of(boxes, [0, 0, 0], [0.8, 0.9, 0.7]), BOXES).scores.tolist() == [0.9, 0.7]
    assert len(postprocess(raw_of(boxes, [0, 1, 0], [0.8, 0.9, 0.7]), BOXES)) == 3
    assert len(postprocess(raw_of(boxes, [0, 0, 0], [0.8, 0.9, 0.7]), BOXES.replace(nms_iou=0.95))) == 3


def test_boxes_are_clipped_to_their_own_picture() -> None:
    boxes = Boxes.of(np.array([[-10, -5, 30, 20], [90, 40, 30, 30], [90, 40, 30, 30], [150, 10, 20, 20]]))
    raw = raw_of(boxes, [0, 0, 1, 1], [0.9, 0.8, 0.9, 0.8], size=((100, 50), (120, 200)))
    assert rows(postprocess(raw, BOXES)) == [[0, 0, 20, 15], [90, 40, 10, 10], [90, 40, 30, 30]]


@pytest.mark.parametrize(("left", "kept"), [(98.9, 1), (99.1, 0), (100, 0), (300, 0)])
def test_less_than_a_pixel_is_nothing(left: float, kept: int) -> None:
    assert len(postprocess(raw_of(Boxes.of(np.array([[left, 10, 20, 20]])), [0], [0.9]), BOXES)) == kept


def test_candidates_of_one_picture_are_not_measured_by_another_that_cannot_be_read() -> None:
    raw = raw_of(apart(1), [1], [0.9], presence=(0.0, 1.0), size=((np.nan, np.nan), (100, 50)))
    assert rows(postprocess(raw, BOXES)) == [[0, 5, 10, 10]]


def test_rectangles_become_masks_of_the_pictures() -> None:
    raw = raw_of(
        RotatedBoxes.of(np.array([[10, 8, 12, 4, 0], [50, 20, 2, 2, 0], [99, 30, 20, 6, 0]])), [0, 0, 1], [0.9] * 3
    )
    found = postprocess(raw, MASKS)
    assert isinstance(found.shapes, Masks)
    assert found.shapes.shape == (50, 100)
    assert found.shapes.area.tolist() == [48, 66]  # 4 pixels are too few; 11 of 20 columns lie in the picture
    assert found.item.tolist() == [0, 1]
    picture = found.shapes.bitmap(0)
    assert picture[6:10, 4:16].all()


def test_masks_of_one_picture_share_no_pixel() -> None:
    raw = raw_of(RotatedBoxes.of(np.array([[20, 20, 20, 8, 0], [20, 20, 20, 8, np.pi / 2]])), [0, 0], [0.8, 0.9])
    found = postprocess(raw, MASKS)
    assert (found.shapes.bitmap(0) & found.shapes.bitmap(1)).sum() == 0
    assert found.scores.tolist() == [0.9, 0.8]
    assert found.shapes.area.tolist() == [160, 96]


def test_masks_need_pictures_of_one_size() -> None:
    shapes = RotatedBoxes.of(np.array([[10, 8, 12, 4, 0]]))
    unread, first, other = (np.nan, np.nan), (100.0, 50.0), (100.0, 60.0)
    raw = raw_of(shapes, [1], [0.9], presence=(1, 1, 1, 1), size=(unread, first, first, other))
    with pytest.raises(BadInput) as caught:
        postprocess(raw, MASKS)
    (problem,) = caught.value.problems
    assert (problem.kind, problem.item) == ("other_size", "p3")
    assert "100x60" in problem.found
    assert problem.expected == "100x50"
    assert common_shape(replace(raw, size=np.array([unread, first, first, first]))) == (50, 100)


def test_no_picture_that_can_be_read_has_no_findings() -> None:
    none = (np.nan, np.nan)
    raw = raw_of(RotatedBoxes.of(np.empty((0, 5))), [], [], presence=(0, 0), size=(none, none))
    assert postprocess(raw, MASKS).counts.tolist() == [0, 0]
    raw = raw_of(Boxes.of(np.empty((0, 4))), [], [], presence=(0, 0), size=(none, none))
    assert postprocess(raw, BOXES).counts.tolist() == [0, 0]


def test_of_equal_chances_the_lower_class_id_comes_first() -> None:
    chances = np.array([[0.1, 0.3, 0.3, 0.3], [0.25, 0.25, 0.25, 0.25], [0.0, 0.2, 0.1, 0.7]])
    raw = Candidates(Items.of(["a", "b", "c"]), np.ones((3, 2)), chances=chances)
    found = postprocess(raw, ImageRecipe().replace(task="labels"))
    assert found.shapes.label.reshape(3, 3).tolist() == [[1, 2, 3], [0, 1, 2], [3, 1, 2]]
    assert found.scores.reshape(3, 3)[2].tolist() == [0.7, 0.2, 0.1]
    assert top_k(raw, 9).counts.tolist() == [4, 4, 4]


def test_what_was_said_of_different_items_is_joined() -> None:
    one = raw_of(apart(3), [0, 0, 1], [0.9, 0.8, 0.7], presence=(0.1, 0.2))
    items = Items.of(["x", "y"])
    other = replace(one, items=items, found=replace(one.found, items=items), presence=np.array([0.3, 0.4]))  # type: ignore[type-var]
    both = concat_candidates([one, other])
    assert both.items.ids.to_list() == ["p0", "p1", "x", "y"]
    assert both.found is not None
    assert both.found.counts.tolist() == [2, 1, 2, 1]
    assert both.presence is not None
    assert both.presence.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert both.size.shape == (4, 2)
    assert concat_candidates([one]) is one


def test_calls_are_within_what_was_heard() -> None:
    raw = raw_of(Events(np.array([-0.2, 3, 9.99, 10.3])), [0, 0, 1, 1], [0.9] * 4, size=((20, np.nan), (10, np.nan)))
    assert postprocess(raw, AudioRecipe().replace(score_threshold=0.5)).shapes.time.tolist() == [0, 3, 9.99, 10]
