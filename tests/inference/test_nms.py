"""Vectorized NMS and fusion equal processing the detections one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Boxes, Cuboids, Labels, Masks, RotatedBoxes
from tallymark.inference.nms import Method, fuse_overlapping, fuse_scales

METHODS: tuple[Method, ...] = ("nms", "soft_nms", "wbf")


def one_item(shapes: Any, score: list[float], label: list[int] | None = None) -> Annotations[Any]:
    kinds = None if label is None else np.array(label)
    item = np.zeros(len(shapes), np.int64)
    return Annotations.from_rows(Items.of(["a"]), item, shapes, score=np.array(score), label=kinds)


def random_detections(kind: str, seed: int) -> Annotations[Any]:
    """Crowded shapes of two classes in four items, with many equal scores."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, 50))
    place, size = rng.uniform(0, 12, (count, 3)), rng.uniform(4, 12, (count, 3))
    turn = rng.uniform(-4, 4, (count, 1))
    if kind == "boxes":
        shapes: Any = Boxes.of(np.concatenate([place[:, :2], size[:, :2]], 1).round())
    elif kind == "rotated":
        shapes = RotatedBoxes.of(np.concatenate([place[:, :2], size[:, :2], turn], 1))
    elif kind == "cuboids":
        shapes = Cuboids.of(np.concatenate([place * (1, 1, 0.3), size, turn], 1))
    else:
        shapes = Masks.of([rng.random((4, 4)) < 0.6 for _ in range(count)], (4, 4))
    item, label = np.sort(rng.integers(0, 4, count)), rng.integers(0, 2, count)
    score, line = rng.integers(1, 9, count) / 8, np.arange(count)
    return Annotations.from_rows(Items.of(list("abcd")), item, shapes, score=score, label=label, line=line)


def all_overlaps(found: Annotations[Any]) -> np.ndarray:
    """(n, n) IoU, 0 between items and classes."""
    i, j = np.indices((len(found), len(found))).reshape(2, -1)
    intersection, union = found.shapes.overlap(found.shapes, i, j)
    same = (found.item[i] == found.item[j]) & (found.labels[i] == found.labels[j])
    return np.where(same, intersection / np.maximum(union, 1e-9), 0).reshape(len(found), len(found))


def kept_one_by_one(found: Annotations[Any], overlap: float) -> list[int]:
    iou, kept = all_overlaps(found), list[int]()
    for row in np.argsort(-found.scores, kind="stable").tolist():
        if not any(iou[row, other] > overlap for other in kept):
            kept.append(row)
    return kept


def decayed_one_by_one(found: Annotations[Any], overlap: float) -> np.ndarray:
    iou, score, left = all_overlaps(found), found.scores.astype(float), set(range(len(found)))
    sigma = overlap**2 / np.log(2)
    while left:
        surest = min(left, key=lambda row: (-score[row], row))
        left.remove(surest)
        for row in left:
            score[row] *= np.exp(-(iou[surest, row] ** 2) / sigma)
    return score


seeds = st.integers(0, 2**32)


@pytest.mark.parametrize("kind", ["boxes", "rotated", "cuboids", "masks"])
@settings(max_examples=40)
@given(seed=seeds, overlap=st.sampled_from([0.0, 0.2, 0.5, 0.7]))
def test_nms_equals_one_by_one(kind: str, seed: int, overlap: float) -> None:
    found = random_detections(kind, seed)
    merged = fuse_overlapping(found, "nms", overlap)
    kept = kept_one_by_one(found, overlap)
    expected = sorted(kept, key=lambda row: (found.item[row], -found.scores[row], row))
    assert merged.line is not None
    assert merged.line.tolist() == expected
    assert merged.item.tolist() == found.item[expected].tolist()
    assert merged.labels.tolist() == found.labels[expected].tolist()
    assert merged.scores.tolist() == found.scores[expected].tolist()


@pytest.mark.parametrize("kind", ["boxes", "rotated", "cuboids", "masks"])
@settings(max_examples=20)
@given(seed=seeds, overlap=st.sampled_from([0.3, 0.5, 0.8]))
def test_soft_equals_one_by_one(kind: str, seed: int, overlap: float) -> None:
    found = random_detections(kind, seed)
    # No two scores alike: a product in another order would part them by rounding alone.
    found = Annotations.from_rows(
        found.items,
        found.item,
        found.shapes,
        label=found.label,
        line=found.line,
        score=found.scores + np.random.default_rng(seed).uniform(0, 0.1, len(found)),
    )
    merged = fuse_overlapping(found, "soft_nms", overlap)
    assert merged.line is not None
    assert sorted(merged.line.tolist()) == list(range(len(found)))
    assert np.allclose(merged.scores, decayed_one_by_one(found, overlap)[merged.line], rtol=1e-9)


@pytest.mark.parametrize("kind", ["boxes", "rotated", "cuboids", "masks"])
@settings(max_examples=20)
@given(seed=seeds)
def test_wbf_leaves_as_many_as_nms(kind: str, seed: int) -> None:
    found = random_detections(kind, seed)
    fused, kept = fuse_overlapping(found, "wbf", 0.4), fuse_overlapping(found, "nms", 0.4)
    assert fused.line is not None
    assert kept.line is not None
    assert sorted(fused.line.tolist()) == sorted(kept.line.tolist())
    assert fused.counts.tolist() == kept.counts.tolist()


@settings(max_examples=40)
@given(seed=seeds)
def test_wbf_gathers_as_one_by_one(seed: int) -> None:
    found = random_detections("boxes", seed)
    fused, iou, kept = fuse_overlapping(found, "wbf", 0.4), all_overlaps(found), list[int]()
    members: dict[int, list[int]] = {}
    for row in np.argsort(-found.scores, kind="stable").tolist():
        near = [other for other in kept if iou[row, other] > 0.4]
        leader = max(near, key=lambda other: iou[row, other]) if near else row  # max takes the first, the surest
        kept += [] if near else [row]
        members.setdefault(leader, []).append(row)
    assert fused.line is not None
    assert sorted(fused.line.tolist()) == sorted(members)
    for at, leader in enumerate(fused.line.tolist()):
        own = members[leader]
        score = found.scores[own]
        assert fused.scores[at] == found.scores[leader] == score.max()
        assert fused.shapes.x[at] == pytest.approx(np.average(found.shapes.x[own], weights=score), abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_order_is_by_item_and_then_by_score(method: Method) -> None:
    for seed in range(10):
        merged = fuse_overlapping(random_detections("boxes", seed), method, 0.3)
        within = np.diff(merged.item) == 0
        assert (np.diff(merged.item) >= 0).all()
        assert (np.diff(merged.scores)[within] <= 0).all()


def test_a_chain_of_neighbours_keeps_every_other_one() -> None:
    """Each overlaps the next only, and is surer than it."""
    count = 101
    boxes = Boxes.of(np.array([(6.0 * k, 0, 10, 10) for k in range(count)]))
    merged = fuse_overlapping(one_item(boxes, [1 - k / 200 for k in range(count)]), "nms", 0.2)
    assert merged.shapes.x.tolist() == [12.0 * k for k in range(51)]


def test_overlap_must_be_above_the_limit() -> None:
    boxes = Boxes.of(np.array([(0, 0, 2, 1), (1, 0, 2, 1)]))  # IoU 1/3
    found = one_item(boxes, [0.9, 0.8])
    assert len(fuse_overlapping(found, "nms", 1 / 3)) == 2
    assert len(fuse_overlapping(found, "nms", 0.33)) == 1


def test_detections_of_equal_score_count_in_their_order() -> None:
    boxes = Boxes.of(np.array([(0, 0, 10, 10), (1, 0, 10, 10), (2, 0, 10, 10)]))
    merged = fuse_overlapping(one_item(boxes, [0.5, 0.5, 0.5]), "nms", 0.5)
    assert merged.shapes.x.tolist() == [0]


@pytest.mark.parametrize("method", METHODS)
def test_classes_and_items_leave_each_other_alone(method: Method) -> None:
    boxes = Boxes.of(np.tile([0.0, 0, 10, 10], (3, 1)))
    item, label, score = np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([0.9, 0.8, 0.7])
    found = Annotations.from_rows(Items.of(["a", "b"]), item, boxes, score=score, label=label, classes=("x", "y"))
    merged = fuse_overlapping(found, method, 0.5)
    assert merged.item.tolist() == [0, 0, 1]
    assert merged.labels.tolist() == [0, 1, 1]
    assert merged.scores.tolist() == [0.9, 0.8, 0.7]
    assert merged.classes == ("x", "y")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "shapes", [Boxes.of(np.empty(0)), RotatedBoxes.of(np.empty(0)), Cuboids.of(np.empty(0)), Masks.of([], (5, 5))]
)
def test_nothing_found_stays_nothing(method: Method, shapes: Any) -> None:
    items = Items.of(["a", "b"])
    merged = fuse_overlapping(Annotations.empty(items, shapes), method, 0.5)
    assert merged.counts.tolist() == [0, 0]
    assert not len(fuse_overlapping(Annotations.empty(Items.of([]), shapes), method, 0.5))


def test_soft_by_hand() -> None:
    """IoU 1/3 with the limit 1/3 halves; the third is weakened by both, twice by IoU 1/3."""
    boxes = Boxes.of(np.array([(0, 0, 2, 1), (1, 0, 2, 1), (0, 0, 2, 1)]))
    merged = fuse_overlapping(one_item(boxes, [0.8, 0.6, 0.4]), "soft_nms", 1 / 3)
    # The second: 0.6 / 2 = 0.3. The third overlaps the first wholly: 0.4 * 2 ** -9, then halved by the second.
    assert merged.scores == pytest.approx([0.8, 0.3, 0.4 * 2**-9 / 2])
    assert merged.shapes.x.tolist() == [0, 1, 0]


def test_soft_follows_the_weakened_order() -> None:
    """The second falls behind the third, and then is weakened by it, not the other way round."""
    boxes = Boxes.of(np.array([(0, 0, 4, 1), (1, 0, 4, 1), (4, 0, 4, 1)]))
    merged = fuse_overlapping(one_item(boxes, [0.9, 0.8, 0.5]), "soft_nms", 0.3)
    second = 0.8 * 2 ** -((0.6 / 0.3) ** 2) * 2 ** -((1 / 7 / 0.3) ** 2)
    assert merged.scores == pytest.approx([0.9, 0.5, second])
    assert merged.shapes.x.tolist() == [0, 4, 1]


def test_soft_weakens_the_later_of_equals() -> None:
    boxes = Boxes.of(np.array([(1, 0, 2, 1), (0, 0, 2, 1)]))
    merged = fuse_overlapping(one_item(boxes, [0.8, 0.8]), "soft_nms", 1 / 3)
    assert merged.shapes.x.tolist() == [1, 0]
    assert merged.scores == pytest.approx([0.8, 0.4])


def test_soft_with_a_limit_of_nothing_leaves_no_confidence() -> None:
    boxes = Boxes.of(np.array([(0, 0, 2, 1), (1, 0, 2, 1)]))
    assert fuse_overlapping(one_item(boxes, [0.9, 0.8]), "soft_nms", 0).scores.tolist() == [0.9, 0]


def test_wbf_of_boxes_by_hand() -> None:
    """Corners weighed 0.75 to 0.25, with the confidence of the surer."""
    boxes = Boxes.of(np.array([(0, 0, 10, 10), (2, 0, 10, 14), (50, 50, 10, 10)]))
    merged = fuse_overlapping(one_item(boxes, [0.75, 0.25, 0.6]), "wbf", 0.4)
    x, y, width, height = (column.tolist() for column in merged.shapes.columns)
    assert merged.scores.tolist() == [0.75, 0.6]
    assert (x, y) == ([0.5, 50], [0, 50])
    assert width == [10, 10]
    assert height == [11, 10]


def test_wbf_keeps_the_score_of_a_detection_with_duplicates() -> None:
    boxes = Boxes.of(np.tile([0.0, 0, 10, 10], (3, 1)))
    merged = fuse_overlapping(one_item(boxes, [0.9, 0.05, 0.05]), "wbf", 0.5)
    assert merged.scores.tolist() == [0.9]


def test_wbf_joins_the_closest_of_those_that_stay() -> None:
    boxes = Boxes.of(np.array([(0, 0, 10, 10), (10, 0, 10, 10), (6, 0, 10, 10)]))
    merged = fuse_overlapping(one_item(boxes, [0.8, 0.6, 0.2]), "wbf", 0.2)
    assert merged.shapes.x == pytest.approx([0, (0.6 * 10 + 0.2 * 6) / 0.8])
    assert merged.scores.tolist() == [0.8, 0.6]


@pytest.mark.parametrize(("scores", "x"), [([0.8, 0.6, 0.2], [1, 10]), ([0.6, 0.8, 0.2], [9, 0])])
def test_wbf_joins_the_highest_score_of_equal_iou(scores: list[float], x: list[float]) -> None:
    boxes = Boxes.of(np.array([(0, 0, 10, 10), (10, 0, 10, 10), (5, 0, 10, 10)]))
    merged = fuse_overlapping(one_item(boxes, scores), "wbf", 0.2)
    assert merged.scores.tolist() == [0.8, 0.6]
    assert merged.shapes.x == pytest.approx(x)


def test_wbf_without_confidence_is_the_plain_mean() -> None:
    boxes = Boxes.of(np.array([(0, 0, 10, 10), (2, 0, 10, 10)]))
    assert fuse_overlapping(one_item(boxes, [0, 0]), "wbf", 0.5).shapes.x.tolist() == [1]


@pytest.mark.parametrize("turns", [0, 1, 2, 3, -5])
def test_wbf_of_rotated_boxes_by_hand(turns: int) -> None:
    """The second is written with its sides swapped after odd quarter turns, and is the same rectangle."""
    sides = (12, 20) if turns % 2 else (20, 12)
    boxes = RotatedBoxes.of(np.array([(0, 0, 20, 10, 3.0), (4, 2, *sides, 3.2 + turns * np.pi / 2)]))
    merged = fuse_overlapping(one_item(boxes, [0.5, 0.5]), "wbf", 0.4).shapes
    assert np.column_stack(merged.columns)[0] == pytest.approx([2, 1, 20, 11, 3.1])


def test_wbf_of_cuboids_by_hand() -> None:
    """Headings of 3.1 and -3.1 meet at pi, not at 0; weights 3 to 1."""
    rows = np.array([(0, 0, 0, 2, 4, 1, 3.1), (0.4, 0, 0.2, 2, 4.4, 1.2, -3.1)])
    merged = fuse_overlapping(one_item(Cuboids.of(rows), [0.75, 0.25]), "wbf", 0.3).shapes
    assert np.column_stack(merged.columns)[0, :6] == pytest.approx([0.1, 0, 0.05, 2, 4.1, 1.05])
    apart = 2 * np.pi - 6.2
    heading = 3.1 + np.arctan2(0.25 * np.sin(apart), 0.75 + 0.25 * np.cos(apart))
    assert merged.yaw[0] == pytest.approx(heading)


@pytest.mark.parametrize(("scores", "heading"), [([0.5, 0.5], 1.0), ([0.4, 0.3, 0.3], 1.0 + np.pi)])
def test_wbf_of_cuboids_that_head_the_other_way(scores: list[float], heading: float) -> None:
    rows = np.array([(0, 0, 0, 2, 4, 1, 1.0 + np.pi * (k > 0)) for k in range(len(scores))])
    merged = fuse_overlapping(one_item(Cuboids.of(rows), scores), "wbf", 0.5).shapes
    assert np.cos(merged.yaw[0] - heading) == pytest.approx(1)


def test_wbf_of_masks_keeps_the_highest_score() -> None:
    small, large = np.zeros((2, 6, 6), bool)
    small[1:4, 1:4], large[1:5, 1:4] = True, True
    merged = fuse_overlapping(one_item(Masks.of([small, large], (6, 6)), [0.4, 0.8]), "wbf", 0.5)
    assert np.array_equal(merged.shapes.bitmap(0), large)
    assert merged.scores.tolist() == [0.8]


def test_nms_without_scores_keeps_the_first() -> None:
    boxes = Boxes.of(np.tile([0.0, 0, 10, 10], (3, 1)))
    found = Annotations.from_rows(Items.of(["a"]), np.zeros(3, np.int64), boxes, line=np.arange(3))
    merged = fuse_overlapping(found, "nms", 0.5)
    assert merged.score is None
    assert merged.line is not None
    assert merged.line.tolist() == [0]


def test_invalid_arguments_are_refused() -> None:
    boxes = one_item(Boxes.of(np.array([0.0, 0, 1, 1])), [1])
    with pytest.raises(ValueError, match="none of"):
        fuse_overlapping(boxes, "average", 0.5)
    with pytest.raises(ValueError, match="between 0 and 1"):
        fuse_overlapping(boxes, "nms", 1.5)
    with pytest.raises(ValueError, match="Labels do not overlap"):
        fuse_overlapping(one_item(Labels(np.array([1])), [1]), "nms", 0.5)


def test_objects_found_at_several_scales_have_the_mean_score_and_shape() -> None:
    """The second is found at one of two scales only, and the third twice at the same one."""
    boxes = Boxes.of([[0, 0, 10, 10], [50, 0, 10, 10], [90, 0, 10, 10], [2, 0, 10, 10], [91, 0, 10, 10]])
    found = one_item(boxes, [0.6, 0.8, 0.4, 0.2, 0.2])
    fused = fuse_scales(found, np.array([0, 0, 0, 1, 0]), np.array([2]))
    np.testing.assert_allclose(fused.scores, [0.4, 0.4, 0.2])
    np.testing.assert_allclose(np.sort(fused.shapes.x), [0.5, 50, 90 + 1 / 3])


def test_classes_and_items_are_apart_at_several_scales() -> None:
    boxes = Boxes.of([[0, 0, 10, 10]] * 4)
    item, label = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 0])
    found = Annotations.from_rows(Items.of(["a", "b"]), item, boxes, score=np.full(4, 0.5), label=label)
    fused = fuse_scales(found, np.array([0, 1, 0, 0]), np.array([2, 1]))
    assert list(zip(fused.item, fused.labels, fused.scores, strict=True)) == [(0, 0, 0.25), (0, 1, 0.25), (1, 0, 0.5)]
