"""Post-processing: thresholds, clipping and fusion of candidates, in the geometry of the challenge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.detector.mask_coder import canvas_shape
from tallymark.geometry import Boxes, Events, Masks, RotatedBoxes
from tallymark.inference.candidates import Candidates, concat_candidates
from tallymark.inference.postprocess import postprocess, postprocess_parts
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.image.recipe import ImageRecipe

BOXES = ImageRecipe().replace(task="boxes", score_threshold=0.5, nms_iou=0.5)
MASKS = BOXES.replace(task="masks")
UNREADABLE = (np.nan, np.nan)


def candidates_of(
    shapes: Any,
    item: list[int],
    score: list[float],
    *,
    presence: tuple[float, ...] = (1.0, 1.0),
    size: tuple[tuple[float, float], ...] = ((100, 50), (100, 50)),
) -> Candidates:
    items = Items.of([f"p{k}" for k in range(len(size))])
    label = np.zeros(len(item), int)
    objects = Annotations.from_rows(items, np.array(item, int), shapes, label=label, score=np.array(score, float))
    return Candidates(objects, np.array(size, float), np.array(presence))


def rows(predictions: Annotations[Any]) -> list[list[float]]:
    return np.stack(predictions.shapes.columns, 1).tolist()


def mask_image(masks: Masks, number: int) -> np.ndarray:
    """One mask as a boolean image (height, width)."""
    height, width = masks.shape
    mask, address = masks.pixels()
    flat = np.zeros(height * width, bool)
    flat[address[mask == number]] = True
    return flat.reshape(width, height).T


def disjoint_boxes(count: int) -> Boxes:
    return Boxes.of(np.array([[20.0 * k, 5, 10, 10] for k in range(count)]))


def test_a_score_equal_to_the_threshold_is_kept() -> None:
    predictions = postprocess(candidates_of(disjoint_boxes(3), [0, 0, 0], [0.49, 0.5, 0.9]), BOXES)
    assert predictions.scores.tolist() == [0.9, 0.5]
    assert predictions.counts.tolist() == [2, 0]


def test_the_image_threshold_empties_images_of_low_presence() -> None:
    candidates = candidates_of(disjoint_boxes(4), [0, 0, 1, 1], [0.9, 0.8, 0.9, 0.8], presence=(0.29, 0.3))
    assert postprocess(candidates, BOXES.replace(image_threshold=0.3)).counts.tolist() == [0, 2]
    assert postprocess(candidates, BOXES.replace(image_threshold=0.0)).counts.tolist() == [2, 2]


def test_each_class_has_the_threshold_that_is_named_for_it() -> None:
    items = Items.of(["a"])
    objects = Annotations.from_rows(
        items,
        np.zeros(4, int),
        disjoint_boxes(4),
        label=np.array([0, 0, 1, 1]),
        score=np.array([0.6, 0.4, 0.6, 0.4]),
        classes=("ear", "awn"),
    )
    candidates = Candidates(objects, np.array([[100.0, 50.0]]), np.ones(1))
    predictions = postprocess(candidates, BOXES.replace(class_thresholds="awn 0.4"))
    assert sorted(zip(predictions.labels.tolist(), predictions.scores.tolist(), strict=True)) == [
        (0, 0.6),
        (1, 0.4),
        (1, 0.6),
    ]


def test_overlapping_candidates_of_one_image_are_fused() -> None:
    boxes = Boxes.of(np.array([[10, 10, 20, 20], [11, 10, 20, 20], [60, 10, 20, 20]]))
    assert postprocess(candidates_of(boxes, [0, 0, 0], [0.8, 0.9, 0.7]), BOXES).scores.tolist() == [0.9, 0.7]
    assert len(postprocess(candidates_of(boxes, [0, 1, 0], [0.8, 0.9, 0.7]), BOXES)) == 3
    assert len(postprocess(candidates_of(boxes, [0, 0, 0], [0.8, 0.9, 0.7]), BOXES.replace(nms_iou=0.95))) == 3


def test_boxes_are_clipped_to_their_own_image() -> None:
    boxes = Boxes.of(np.array([[-10, -5, 30, 20], [90, 40, 30, 30], [90, 40, 30, 30], [150, 10, 20, 20]]))
    candidates = candidates_of(boxes, [0, 0, 1, 1], [0.9, 0.8, 0.9, 0.8], size=((100, 50), (120, 200)))
    assert rows(postprocess(candidates, BOXES)) == [[0, 0, 20, 15], [90, 40, 10, 10], [90, 40, 30, 30]]


@pytest.mark.parametrize(("left", "kept"), [(98.9, 1), (99.1, 0), (100, 0), (300, 0)])
def test_boxes_with_less_than_a_pixel_inside_the_image_are_dropped(left: float, kept: int) -> None:
    assert len(postprocess(candidates_of(Boxes.of(np.array([[left, 10, 20, 20]])), [0], [0.9]), BOXES)) == kept


def test_unreadable_images_do_not_affect_the_candidates_of_others() -> None:
    candidates = candidates_of(disjoint_boxes(1), [1], [0.9], presence=(0.0, 1.0), size=(UNREADABLE, (100, 50)))
    assert rows(postprocess(candidates, BOXES)) == [[0, 5, 10, 10]]


def test_rotated_boxes_become_masks_of_the_images_size() -> None:
    rectangles = RotatedBoxes.of(np.array([[10, 8, 12, 4, 0], [50, 20, 2, 2, 0], [99, 30, 20, 6, 0]]))
    predictions = postprocess(candidates_of(rectangles, [0, 0, 1], [0.9] * 3), MASKS)
    assert isinstance(predictions.shapes, Masks)
    assert predictions.shapes.shape == (50, 100)
    assert predictions.shapes.area.tolist() == [48, 66]  # 4 pixels are too few; 11 of 20 columns lie in the image
    assert predictions.item.tolist() == [0, 1]
    assert mask_image(predictions.shapes, 0)[6:10, 4:16].all()


def test_masks_of_one_image_do_not_overlap() -> None:
    rectangles = RotatedBoxes.of(np.array([[20, 20, 20, 8, 0], [20, 20, 20, 8, np.pi / 2]]))
    predictions = postprocess(candidates_of(rectangles, [0, 0], [0.8, 0.9]), MASKS)
    assert (mask_image(predictions.shapes, 0) & mask_image(predictions.shapes, 1)).sum() == 0
    assert predictions.scores.tolist() == [0.9, 0.8]
    assert predictions.shapes.area.tolist() == [160, 96]


def test_masks_of_images_of_several_sizes_lie_on_one_canvas() -> None:
    rectangles = RotatedBoxes.of(np.array([[10, 8, 12, 4, 0], [98, 25, 20, 4, 0], [30, 55, 12, 20, 0]]))
    sizes = (UNREADABLE, (100.0, 50.0), (120.0, 30.0), (40.0, 60.0))
    candidates = candidates_of(rectangles, [1, 1, 3], [0.9, 0.8, 0.7], presence=(1, 1, 1, 1), size=sizes)
    predictions = postprocess(candidates, MASKS)
    assert predictions.shapes.shape == canvas_shape(candidates.size) == (60, 120)
    assert predictions.counts.tolist() == [0, 2, 0, 1]
    assert predictions.shapes.area.tolist() == [48, 12 * 4, 12 * 15]  # cut off at the edges of their own images
    first, second, third = (np.nonzero(predictions.shapes.bitmap(mask)) for mask in range(3))
    assert [side.min() for side in first] == [6, 4]
    assert [side.max() for side in second] == [26, 99]
    assert [side.max() for side in third] == [59, 35]
    assert canvas_shape(np.array([UNREADABLE] * 4)) == (1, 1)


@pytest.mark.parametrize("first", [(100.0, 50.0), (40.0, 30.0), UNREADABLE])
def test_masks_of_parts_with_images_of_other_sizes_lie_on_one_canvas(first: tuple[float, float]) -> None:
    rectangles = RotatedBoxes.of(np.array([[10, 8, 12, 4, 0], [30, 55, 12, 20, 0]]))
    item = [1, 1] if first is UNREADABLE else [0, 1]
    candidates = candidates_of(rectangles, item, [0.9, 0.7], size=(first, (40.0, 60.0)))

    class Stored:
        """Candidates on disk, whose parts are loaded one after the other."""

        items = candidates.items

        def parts(self) -> Iterator[Candidates]:
            yield from (candidates.select(np.array([at])) for at in range(2))

    whole, parts = postprocess(candidates, MASKS).shapes, postprocess_parts(Stored(), MASKS, ()).shapes
    assert parts.shape == whole.shape
    assert parts.as_json() == whole.as_json()


def test_unreadable_images_have_no_predictions() -> None:
    unreadable = (UNREADABLE, UNREADABLE)
    rectangles = RotatedBoxes.of(np.empty((0, 5)))
    boxes = Boxes.of(np.empty((0, 4)))
    for shapes, recipe in ((rectangles, MASKS), (boxes, BOXES)):
        candidates = candidates_of(shapes, [], [], presence=(0, 0), size=unreadable)
        assert postprocess(candidates, recipe).counts.tolist() == [0, 0]


def test_events_are_clipped_to_the_seconds_that_could_be_read() -> None:
    events = Events(np.array([-0.2, 3, 9.99, 10.3]))
    candidates = candidates_of(events, [0, 0, 1, 1], [0.9] * 4, size=((20, np.nan), (10, np.nan)))
    predictions = postprocess(candidates, AudioRecipe().replace(score_threshold=0.5))
    assert predictions.shapes.time.tolist() == [0, 3, 9.99, 10]


def test_candidates_of_different_items_are_concatenated() -> None:
    one = candidates_of(disjoint_boxes(3), [0, 0, 1], [0.9, 0.8, 0.7], presence=(0.1, 0.2))
    renamed = one.rename(Items.of(["x", "y"]))
    other = Candidates(renamed.objects, renamed.size, np.array([0.3, 0.4]))
    both = concat_candidates([one, other])
    assert both.items.ids.to_list() == ["p0", "p1", "x", "y"]
    assert both.objects.counts.tolist() == [2, 1, 2, 1]
    assert both.presence.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert both.size.shape == (4, 2)
    assert concat_candidates([one]) is one


def test_candidates_of_selected_items_are_in_their_order() -> None:
    sizes = ((10.0, 5.0), UNREADABLE, (30.0, 6.0))
    candidates = candidates_of(disjoint_boxes(3), [0, 2, 2], [0.9, 0.8, 0.7], presence=(0.1, 0.2, 0.3), size=sizes)
    selected = candidates.select(np.array([2, 1]))
    assert selected.items.ids.to_list() == ["p2", "p1"]
    assert selected.objects.scores.tolist() == [0.8, 0.7]
    assert selected.objects.counts.tolist() == [2, 0]
    assert selected.presence.tolist() == [0.3, 0.2]
    assert selected.readable.tolist() == [True, False]
