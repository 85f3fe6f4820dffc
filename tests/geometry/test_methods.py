"""What every geometry class answers for itself: its noun, scaling, clipping and fusion."""

from __future__ import annotations

import numpy as np
import pytest

from tallymark.geometry import Boxes, Clusters, Cuboids, Events, Geometry, Labels, Masks, RotatedBoxes

SHAPES: list[Geometry] = [
    Boxes.of(np.ones((2, 4))),
    RotatedBoxes.of(np.ones((2, 5))),
    Masks.of([np.eye(3, dtype=bool)] * 2, (3, 3)),
    Cuboids.of(np.ones((2, 7))),
    Events(np.ones(2)),
    Labels(np.array([0, 1])),
]


@pytest.mark.parametrize("shapes", SHAPES, ids=lambda shapes: type(shapes).__name__)
def test_shapes_inside_their_items_are_kept_by_clipping(shapes: Geometry) -> None:
    clipped, kept = shapes.clip(np.full((2, 2), 10.0))
    assert kept.tolist() == [0, 1]
    assert type(clipped) is type(shapes)
    assert len(shapes.concat(clipped)) == 4
    assert len(shapes.noun) == 2


def test_boxes_are_clipped_to_their_own_image_and_slivers_dropped() -> None:
    boxes = Boxes.of(np.array([[-5, 2, 10, 10], [95, 0, 10, 10], [99.5, 0, 10, 10]]))
    clipped, kept = boxes.clip(np.array([[100, 100], [100, 5], [100, 100]]))
    assert kept.tolist() == [0, 1]
    assert np.stack(clipped.columns, 1).tolist() == [[0, 2, 5, 10], [95, 0, 5, 5]]


def test_events_are_clipped_to_their_own_recording() -> None:
    clipped, kept = Events(np.array([-1.0, 5, 70])).clip(np.array([[60, np.nan]] * 3))
    assert clipped.time.tolist() == [0, 5, 60]
    assert kept.tolist() == [0, 1, 2]


def test_masks_are_scaled_by_one_factor() -> None:
    bitmap = np.array([[True, False, True], [False, True, True]])
    scaled = Masks.of([bitmap], (2, 3)).scale(2)
    assert scaled.shape == (4, 6)
    assert (scaled.bitmap(0) == np.kron(bitmap, np.ones((2, 2), bool))).all()
    with pytest.raises(ValueError, match="one scale"):
        scaled.scale(np.ones(1))


def test_masks_over_images_of_two_shapes_are_put_together_on_one_that_holds_both() -> None:
    rng = np.random.default_rng(0)
    for shape, other in (((4, 9), (7, 5)), ((7, 5), (4, 9)), ((4, 5), (4, 9)), ((6, 6), (6, 6)), ((1, 1), (5, 8))):
        several = [[rng.random(size) < share for share in (0.3, 0.8, 0.0, 1.0)] for size in (shape, other)]
        both = Masks.of(several[0], shape).concat(Masks.of(several[1], other))
        assert both.shape == (max(shape[0], other[0]), max(shape[1], other[1]))
        wanted = [np.pad(one, [(0, whole - own) for whole, own in zip(both.shape, one.shape, strict=True)])
                  for one in (*several[0], *several[1])]  # fmt: skip
        assert both.as_json() == Masks.of(wanted, both.shape).as_json()


def test_a_mask_is_cropped_to_its_bounding_box() -> None:
    bitmap = np.zeros((6, 8), bool)
    bitmap[2:5, 3] = bitmap[4, 3:6] = True
    crop, left, top = Masks.of([~bitmap, bitmap, np.zeros((6, 8), bool)], (6, 8)).crop(1)
    assert (left, top) == (3, 2)
    assert (crop == bitmap[2:5, 3:6]).all()
    assert Masks.of([np.zeros((6, 8), bool)], (6, 8)).crop(0)[0].size == 0


def test_a_cluster_is_fused_by_its_shares() -> None:
    clusters = Clusters.of(np.array([0, 0, 1]), np.array([0, 2]), np.array([0.75, 0.25, 0.0]))
    fused = Boxes.of(np.array([[0, 0, 4, 4], [4, 0, 4, 8], [9, 9, 1, 1]])).fuse(clusters)
    assert np.stack(fused.columns, 1).tolist() == [[1, 0, 4, 5], [9, 9, 1, 1]]
