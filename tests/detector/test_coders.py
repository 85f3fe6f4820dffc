"""Coders: what all tasks have in common, round trips, and candidates read from outputs."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest

from tallymark.core.recipe import Recipe, Task
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.detector.box_coder import BoxCoder
from tallymark.detector.center_coder import MAX_LOG_SIZE, MIN_CANDIDATES, MIN_SCORE, CenterCoder
from tallymark.detector.coders import CODERS
from tallymark.detector.cuboid_coder import CuboidCoder
from tallymark.detector.event_coder import OFFSET_CELLS, EventCoder
from tallymark.detector.mask_coder import MaskCoder
from tallymark.detector.mask_refinement import FINE
from tallymark.detector.outputs import Outputs
from tallymark.detector.tta import ALL, TTATransform
from tallymark.geometry import Boxes, Events, Masks, RotatedBoxes
from tallymark.modalities import TASKS
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.image.recipe import ImageRecipe

CENTER_CODERS: list[CenterCoder] = [BoxCoder(), MaskCoder(), EventCoder(), CuboidCoder()]
EACH = pytest.mark.parametrize("coder", CENTER_CODERS, ids=lambda coder: type(coder).__name__)
NO_GROUPS = np.empty(0, np.int64)
BOXES = ImageRecipe().replace(task="boxes", stride=4)


def outputs_of(coder: CenterCoder, height: int, width: int, *, classes: int = 1, groups: int = 1) -> Outputs:
    """Outputs without any peak."""
    return {
        "heat": np.zeros((classes, height, width), np.float32),
        "values": np.zeros((groups * coder.values, height, width), np.float32),
        "quality": np.ones((groups, height, width), np.float32),
        "presence": np.array(0.7, np.float32),
    }


def test_every_task_has_a_coder_and_a_modality() -> None:
    assert set(CODERS) == set(TASKS) == set(get_args(Task))


@pytest.mark.parametrize("task", CODERS)
def test_the_search_space_has_fields_of_postprocessing_only(task: str) -> None:
    assert set(CODERS[task].search) <= set(Recipe.names_at("postprocessing"))
    for name, values in CODERS[task].search.items():
        assert list(values) == sorted(set(values))
        for value in values:
            Recipe().replace(**{name: value})


@EACH
def test_decode_inverts_encode(coder: CenterCoder) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(3, 40, (2, 50))
    values = rng.uniform(-1, 1, (50, coder.values))
    shapes = coder.decode(x, y, values)
    assert isinstance(shapes, coder.geometry)
    assert len(shapes) == 50
    near_x, near_y = x + rng.uniform(-0.1, 0.1, 50), y + rng.uniform(-0.1, 0.1, 50)
    encoded = coder.encode(shapes, near_x, near_y)
    assert encoded.shape == (50, coder.values)
    np.testing.assert_allclose(coder.iou(coder.decode(near_x, near_y, encoded), shapes), 1, atol=1e-6)


@EACH
def test_the_footprint_is_at_the_position_of_the_shapes(coder: CenterCoder) -> None:
    shapes = coder.decode(np.array([8.0, 20.0]), np.array([6.0, 9.0]), np.zeros((2, coder.values)))
    footprint = coder.footprint(shapes)
    assert isinstance(footprint, RotatedBoxes)
    np.testing.assert_allclose(footprint.x, [8, 20])
    if not coder.one_dimensional:
        np.testing.assert_allclose(footprint.y, [6, 9])


@pytest.mark.parametrize("coder", [BoxCoder(), MaskCoder(), CuboidCoder()], ids=lambda coder: type(coder).__name__)
def test_lengths_are_limited(coder: CenterCoder) -> None:
    shapes = coder.decode(np.zeros(1), np.zeros(1), np.full((1, coder.values), 1000.0))
    footprint = coder.footprint(shapes)
    assert footprint.length[0] <= 2 * np.exp(MAX_LOG_SIZE)


@EACH
def test_unreadable_items_have_no_candidates(coder: CenterCoder) -> None:
    candidates = coder.unreadable(3)
    assert len(candidates.x) == len(candidates.score) == len(candidates.label) == 0
    assert candidates.values.shape == (0, coder.values)
    assert candidates.presence == 0


@pytest.mark.parametrize("transform", ALL[1:])
def test_inverted_outputs_of_several_head_groups_are_those_of_each(transform: TTATransform) -> None:
    coder = BoxCoder()
    rng = np.random.default_rng(0)
    outputs: Outputs = {
        "heat": rng.random((3, 5, 7)),
        "values": rng.random((2 * coder.values, 5, 7)),
        "quality": rng.random((2, 5, 7)),
        "presence": np.array(0.4),
    }
    inverted = coder.invert_outputs(outputs, transform)
    np.testing.assert_array_equal(inverted["heat"], transform.invert(outputs["heat"]))
    np.testing.assert_array_equal(inverted["quality"], transform.invert(outputs["quality"]))
    assert inverted["presence"] == 0.4
    for group in range(2):
        own = slice(group * coder.values, (group + 1) * coder.values)
        expected = coder.invert_tta(transform.invert(outputs["values"][own]), transform)
        np.testing.assert_array_equal(inverted["values"][own], expected)


def test_time_cannot_be_flipped() -> None:
    with pytest.raises(ValueError, match="tta=1"):
        EventCoder().invert_tta(np.zeros((1, 1, 8)), TTATransform(hflip=True))


def test_the_score_is_the_weighted_geometric_mean_of_heat_and_quality() -> None:
    outputs = outputs_of(BoxCoder(), 8, 8)
    outputs["heat"][0, 2, 5] = 0.81
    outputs["quality"][0, 2, 5] = 0.25
    for weight in (0.0, 0.5, 1.0):
        recipe = BOXES.replace(quality_weight=weight)
        candidates = BoxCoder().read_outputs(outputs, (0, 0, 32, 32), recipe, NO_GROUPS, 1)
        assert candidates.score.tolist() == [pytest.approx(0.81 ** (1 - weight) * 0.25**weight)]
        assert (candidates.x.tolist(), candidates.y.tolist()) == ([5.5], [2.5])
        assert candidates.label.tolist() == [0]
        assert candidates.presence == pytest.approx(0.7)


def test_only_peaks_inside_the_area_that_counts_are_read() -> None:
    """Half open: the cell whose centre is on the left or top edge counts, that on the right or bottom edge does not."""
    outputs = outputs_of(BoxCoder(), 16, 16)
    for column in (1, 4, 8, 12):
        outputs["heat"][0, 8, column] = 0.9
    candidates = BoxCoder().read_outputs(outputs, (18, 0, 50, 64), BOXES, NO_GROUPS, 1)
    assert candidates.x.tolist() == [4.5, 8.5]


def test_weak_peaks_are_not_read() -> None:
    outputs = outputs_of(BoxCoder(), 8, 8)
    outputs["heat"][0, 2, 2] = MIN_SCORE - 0.001
    outputs["heat"][0, 5, 5] = MIN_SCORE + 0.001
    candidates = BoxCoder().read_outputs(outputs, (0, 0, 32, 32), BOXES, NO_GROUPS, 1)
    assert candidates.x.tolist() == [5.5]


def test_the_number_of_candidates_of_a_tile_is_limited() -> None:
    outputs = outputs_of(BoxCoder(), 32, 32)
    outputs["heat"][0, ::2, ::2] = np.random.default_rng(0).uniform(0.1, 0.9, (16, 16))
    candidates = BoxCoder().read_outputs(outputs, (0, 0, 128, 128), BOXES, NO_GROUPS, 1)
    assert len(candidates.x) == MIN_CANDIDATES
    assert candidates.score.min() >= np.sort(outputs["heat"].ravel())[-MIN_CANDIDATES] ** 0.5 - 1e-6


def test_each_class_is_read_from_its_head_group() -> None:
    coder = BoxCoder()
    outputs = outputs_of(coder, 8, 8, classes=3, groups=2)
    outputs["heat"][0, 2, 2] = outputs["heat"][1, 4, 4] = outputs["heat"][2, 6, 6] = 0.9
    outputs["values"][: coder.values] = 1.0
    outputs["values"][coder.values :] = 2.0
    outputs["quality"][0] = 0.25
    recipe = BOXES.replace(quality_weight=1.0)
    candidates = coder.read_outputs(outputs, (0, 0, 32, 32), recipe, np.array([1, 0, 1]), 1)
    by_label = dict(zip(candidates.label.tolist(), candidates.values[:, 0].tolist(), strict=True))
    assert by_label == {0: 2.0, 1: 1.0, 2: 2.0}
    quality = dict(zip(candidates.label.tolist(), candidates.score.tolist(), strict=True))
    assert quality == {0: 1.0, 1: 0.25, 2: 1.0}


def test_neighbouring_cells_vote_for_the_shape_of_a_peak() -> None:
    """Each by its squared confidence, and about the same box, whose sides are at other distances from each cell."""
    coder = BoxCoder()
    outputs = outputs_of(coder, 8, 8)
    for column, heat, width in ((4, 0.8, 5.0), (3, 0.4, 6.0), (5, 0.4, 7.0)):
        outputs["heat"][0, 4, column] = heat
        box = Boxes(*np.array([[2.0], [1.0], [width], [6.0]]))
        outputs["values"][:, 4, column] = coder.encode(box, np.array([column + 0.5]), np.array([4.5]))[0]
    voted = coder.vote((np.array([4]), np.array([4])), np.array([0]), np.array([0]), outputs)
    box = coder.decode(np.array([4.5]), np.array([4.5]), voted)
    mean = (4 * 5 + 6 + 7) / 6
    np.testing.assert_allclose(np.concatenate(box.columns), [2, 1, mean, 6], rtol=1e-5)


@EACH
def test_boxes_and_cuboids_have_votes(coder: CenterCoder) -> None:
    """Masks are refined by their coverage, and the times of calls are precise enough."""
    rows = 1 if coder.one_dimensional else 8
    outputs = outputs_of(coder, rows, 8) | {"cover": np.zeros((1, FINE * rows, FINE * 8), np.float32)}
    outputs["heat"][0, 0, 4], outputs["heat"][0, 0, 5] = 0.9, 0.8
    outputs["values"][:, 0, 4] = 0.5
    shape = coder.decode(np.array([4.5]), np.array([0.5]), outputs["values"][None, :, 0, 4].astype(float))
    outputs["values"][:, 0, 5] = coder.encode(shape, np.array([5.5]), np.array([0.5]))[0] + 0.1
    recipe = AudioRecipe() if coder.one_dimensional else BOXES
    inside = 0, 0, 8 * recipe.stride, 2 if coder.one_dimensional else 8 * recipe.stride
    [read] = coder.read_outputs(outputs, inside, recipe, NO_GROUPS, 1).values
    own = coder.encode(shape, np.array([4.5]), np.array([0.5]))[0]
    assert np.allclose(read, own, atol=1e-5) is not isinstance(coder, BoxCoder | CuboidCoder)


def test_a_neighbour_of_another_object_has_no_vote() -> None:
    coder = BoxCoder()
    outputs = outputs_of(coder, 8, 8)
    outputs["heat"][0, 4, 4:6] = 0.8, 0.9
    outputs["values"][:, 4, 4] = np.log(3)
    outputs["values"][:, 4, 5] = np.log(8)
    voted = coder.vote((np.array([4]), np.array([4])), np.array([0]), np.array([0]), outputs)
    np.testing.assert_allclose(voted, np.log([[3.0, 3, 3, 3]]), rtol=1e-6)


@EACH
def test_cells_without_confidence_keep_their_own_shape(coder: CenterCoder) -> None:
    """Also at the border, where cells have fewer neighbours."""
    rng = np.random.default_rng(0)
    outputs = outputs_of(coder, 1 if coder.one_dimensional else 8, 8)
    outputs["values"] = rng.normal(0, 0.5, outputs["values"].shape).astype(np.float32)
    outputs["quality"][:] = 0
    corner = np.zeros(1, np.int64)
    voted, own = coder.vote((corner, corner), corner, corner, outputs), outputs["values"][None, :, 0, 0]
    half = np.full(1, 0.5)
    assert coder.iou(coder.decode(half, half, voted), coder.decode(half, half, own)) == pytest.approx(1.0)


def test_events_keep_a_minimum_distance() -> None:
    coder = EventCoder()
    outputs = outputs_of(coder, 1, 64)
    outputs["heat"][0, 0, [10, 13, 40]] = 0.8, 0.9, 0.7
    recipe = AudioRecipe()
    candidates = coder.read_outputs(outputs, (0, 0, 64 * recipe.stride, 2), recipe, NO_GROUPS, 8)
    assert sorted(candidates.x.tolist()) == [13.5, 40.5]


def test_the_agreement_of_events_falls_with_their_distance() -> None:
    truth = Events(np.array([10.0, 10.0, 10.0]))
    predicted = Events(np.array([10.0, 10 + OFFSET_CELLS, 10 - OFFSET_CELLS]))
    np.testing.assert_allclose(EventCoder().iou(predicted, truth), [1, np.exp(-1), np.exp(-1)])


def test_predicted_events_are_ordered_and_rounded_to_milliseconds() -> None:
    items = Items.of(["a", "b"])
    time = np.array([5.00049, 1.0, 3.0, 2.12345])
    score = np.array([0.9, 0.8, 0.7, 0.6])
    candidates = Annotations.from_rows(items, np.array([0, 0, 1, 1]), Events(time), label=np.zeros(4, int), score=score)
    predictions = EventCoder().to_truth_geometry(candidates, np.ones((2, 2)), AudioRecipe())
    assert predictions.shapes.time.tolist() == [1.0, 5.0, 2.123, 3.0]
    assert predictions.scores.tolist() == [0.8, 0.9, 0.6, 0.7]
    assert predictions.counts.tolist() == [2, 2]


def test_the_truth_of_masks_is_their_rotated_rectangle() -> None:
    image = np.zeros((40, 60), bool)
    image[10:20, 5:45] = True
    rectangles = MaskCoder().from_truth(Masks.of([image], image.shape))
    assert isinstance(rectangles, RotatedBoxes)
    x, y, length, width, angle = (float(column[0]) for column in rectangles.columns)
    assert (x, y) == (pytest.approx(25, abs=0.5), pytest.approx(15, abs=0.5))
    assert (length, width) == (pytest.approx(40, abs=1), pytest.approx(10, abs=1))
    assert np.sin(angle) == pytest.approx(0, abs=0.02)
    assert MaskCoder().from_truth(rectangles) is rectangles


def test_masks_are_refined_by_the_map_of_covered_cells() -> None:
    """The regressed rectangle is too short; the covered cells show how long the object is."""
    coder = MaskCoder()
    x, y = np.array([20.0]), np.array([12.0])
    short: Any = RotatedBoxes(x, y, np.array([10.0]), np.array([5.0]), np.zeros(1))
    cover = np.zeros((1, 24 * FINE, 40 * FINE), np.float32)
    cover[0, round(9.5 * FINE) : round(14.5 * FINE), 13 * FINE : 27 * FINE] = 1
    values = coder.encode(short, x, y)
    outputs = {"cover": cover}
    refined, quality = coder.refine(x, y, values, np.array([0.9]), np.array([0.9]), outputs)
    [length] = coder.decode(x, y, refined).length
    assert 10 < length <= 15
    assert 0 < quality[0] <= 1


@pytest.mark.parametrize("scale", [1.0, 1.2])
def test_predicted_masks_are_scaled(scale: float) -> None:
    items = Items.of(["a"])
    rectangles = RotatedBoxes.of(np.array([[50.0, 30.0, 40.0, 20.0, 0.0]]))
    candidates = Annotations.from_rows(items, np.zeros(1, int), rectangles, score=np.ones(1))
    recipe = ImageRecipe().replace(task="masks", mask_scale=scale)
    masks = MaskCoder().to_truth_geometry(candidates, np.array([[100.0, 60.0]]), recipe)
    assert masks.shapes.area[0] == pytest.approx(800 * scale**2, rel=0.02)


def test_boxes_are_their_own_truth() -> None:
    boxes = Boxes.of(np.array([[1.0, 2.0, 3.0, 4.0]]))
    assert BoxCoder().from_truth(boxes) is boxes
