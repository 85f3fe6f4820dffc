"""Wheat: the rule, the file formats, the data set and the synthetic images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tallymark.challenges.wheat import dialect, read, synth
from tallymark.challenges.wheat.rule import TWENTIETHS, RuleOptions, score
from tallymark.core.problems import Problems
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Boxes
from tests.challenges.files import Notes, kinds, parse, put, rows_of
from tests.formats.files import put_image

OPTIONS = RuleOptions()


def boxes(*per_image: list[tuple[float, float, float, float]], scores: list[float] | None = None) -> Annotations[Boxes]:
    """Boxes x, y, width, height of images a, b, …"""
    item = np.repeat(np.arange(len(per_image)), [len(rows) for rows in per_image])
    rows = np.array([row for rows in per_image for row in rows], float).reshape(-1, 4)
    items = Items.of(list("abcdefgh"[: len(per_image)]))
    return Annotations.from_rows(items, item, Boxes.of(rows), score=None if scores is None else np.array(scores))


def test_thresholds_are_those_of_the_text() -> None:
    assert [k / 20 for k in TWENTIETHS] == [0.5, 0.55, 0.6, 0.65, 0.7, 0.75]


@pytest.mark.parametrize(("height", "hits"), [(100, 6), (76, 6), (75, 5), (61, 3), (51, 1), (50, 0)])
def test_a_threshold_counts_if_the_iou_exceeds_it(height: float, hits: int) -> None:
    """The prediction is the upper part of the truth, so that the IoU is `height` / 100."""
    result = score(boxes([(0, 0, 100, 100)]), boxes([(0, 0, 100, height)], scores=[0.9]), OPTIONS)
    assert result.value == pytest.approx(hits / 6)


def test_iou_equal_to_the_threshold_counts_on_request() -> None:
    truth, predictions = boxes([(0, 0, 100, 100)]), boxes([(0, 0, 100, 50)], scores=[0.9])
    assert score(truth, predictions, OPTIONS).value == 0
    assert score(truth, predictions, RuleOptions(iou_comparison="ge")).value == pytest.approx(1 / 6)


def test_the_score_is_the_mean_over_images_of_tp_by_tp_fp_fn() -> None:
    truth = boxes([(0, 0, 10, 10), (50, 0, 10, 10)], [(0, 0, 10, 10)])
    predictions = boxes([(0, 0, 10, 10), (200, 0, 10, 10)], [(0, 0, 10, 10)], scores=[0.9, 0.8, 0.7])
    assert score(truth, predictions, OPTIONS).value == pytest.approx((1 / 3 + 1) / 2)


@pytest.mark.parametrize(("empty_image", "value"), [("skip", 1.0), ("one", 1.0), ("zero", 0.5)])
def test_images_without_boxes_and_predictions(empty_image: str, value: float) -> None:
    truth = boxes([(0, 0, 10, 10)], [])
    predictions = boxes([(0, 0, 10, 10)], [], scores=[0.9])
    assert score(truth, predictions, RuleOptions(empty_image=empty_image)).value == value


def test_false_positives_on_an_empty_image_score_0() -> None:
    assert score(boxes([]), boxes([(0, 0, 10, 10)], scores=[0.1]), OPTIONS).value == 0


def test_inclusive_boxes_are_one_pixel_larger() -> None:
    truth, predictions = boxes([(0, 0, 9, 9)]), boxes([(0, 0, 9, 4)], scores=[0.9])
    inclusive = RuleOptions(box_convention="inclusive", iou_comparison="ge")
    assert score(truth, predictions, RuleOptions(iou_comparison="ge")).value == 0
    assert score(truth, predictions, inclusive).value == pytest.approx(1 / 6)


def test_truth_has_one_row_per_box(tmp_path: Path) -> None:
    text = 'image_id,width,height,bbox,source\nb,1024,1024,"[1.5, 2, 30, 40]",x\na,1024,1024,,y\n'
    path = put(tmp_path / "train.csv", text + 'b,1024,1024,"[5,6,7,8]",x\n')
    truth, problems = parse(dialect.read_truth, path, OPTIONS)
    assert not problems
    assert truth.items.ids.to_list() == ["b", "a"]
    assert truth.counts.tolist() == [2, 0]
    assert truth.items.group is not None
    assert truth.items.group.to_list() == ["x", "y"]
    assert np.column_stack(truth.shapes.columns).tolist() == [[1.5, 2, 30, 40], [5, 6, 7, 8]]


def test_faults_of_the_truth_have_their_line(tmp_path: Path) -> None:
    cells = ["[1, 2, 3, 4]", "[1, 2, 3]", "1, 2, 3, 4", "[1, 2, nan, 4]", "[1, 2, -3, 4]"]
    path = put(tmp_path / "train.csv", "image_id,bbox\n" + "".join(f'a,"{cell}"\n' for cell in cells))
    _, problems = parse(dialect.read_truth, path, OPTIONS)
    assert kinds(problems) == [("bad_bbox", 3), ("bad_bbox", 4), ("bad_bbox", 5), ("negative_size", 6)]


def test_a_submission_round_trips(tmp_path: Path) -> None:
    predictions = boxes([(1, 2, 30, 40), (5.25, 6, 7, 8)], [], scores=[0.5, 0.75])
    dialect.write(predictions, tmp_path / "s.csv", "official")
    assert (tmp_path / "s.csv").read_text() == "image_id,PredictionString\na,0.5 1 2 30 40 0.75 5.25 6 7 8\nb,\n"
    back, problems = parse(dialect.read, tmp_path / "s.csv", OPTIONS)
    assert not problems
    assert back.counts.tolist() == [2, 0]
    assert np.column_stack(back.shapes.columns).tolist() == np.column_stack(predictions.shapes.columns).tolist()
    assert back.scores.tolist() == [0.5, 0.75]


def test_faults_of_a_submission_have_their_line(tmp_path: Path) -> None:
    rows = ["a,0.5 1 2 3", "b,0.5 1 2 3 x", "c,0.5 10 20 -3 4", "d,0.5 1 2 3 4", "d,"]
    path = put(tmp_path / "s.csv", "image_id,PredictionString\n" + "\n".join(rows) + "\n")
    predictions, problems = parse(dialect.read, path, OPTIONS)
    assert kinds(problems) == [("token_count", 2), ("not_a_number", 3), ("negative_size", 4), ("duplicate_id", 6)]
    assert predictions.counts.tolist() == [0, 0, 0, 1]


def test_repair_clips_boxes_and_drops_invalid_ones() -> None:
    notes = Notes()
    rows = rows_of({"PredictionString": "0.5 -10 1000 50 50 0.4 0 0 -9 9 0.3 2000 0 9 9 0.2 x 0 9 9 0.1 0 0 9 9"})
    assert dialect.repair(rows, OPTIONS, notes) == [{"PredictionString": "0.5 0 1000 40 24 0.1 0 0 9 9"}]
    assert [line for line, _ in notes] == [2] * 4
    assert dialect.filler(["image_id", "PredictionString"], OPTIONS) == {"PredictionString": ""}
    assert dialect.columns(["PredictionString", "x", "image_id"], OPTIONS) == ["image_id", "PredictionString"]
    assert dialect.columns(["image_id"], OPTIONS) is None


def test_the_official_layout_is_read(tmp_path: Path) -> None:
    for name in ("train/a.jpg", "train/b.jpg", "test/c.jpg"):
        put_image(tmp_path / name)
    put(tmp_path / "train.csv", 'image_id,width,height,bbox,source\na,100,50,"[1, 2, 3, 4]",x\n')
    catalog, problems = parse(read.read, tmp_path, OPTIONS)
    assert not problems
    assert dict(zip(catalog.items.ids, catalog.split, strict=True)) == {"a": "train", "b": "train", "c": "test"}
    assert dict(zip(catalog.items.ids, catalog.labelled, strict=True)) == {"a": True, "b": True, "c": False}
    assert catalog.truth is not None
    assert len(catalog.truth) == 1
    assert catalog.size is not None
    assert catalog.size[0].tolist() == [100, 50]
    assert dialect.folder_ids(tmp_path, Problems()) == ["c"]


def test_sizes_that_are_not_numbers_are_noted(tmp_path: Path) -> None:
    put_image(tmp_path / "train" / "a.jpg")
    put(tmp_path / "train.csv", 'image_id,width,height,bbox\na,wide,50,"[1, 2, 3, 4]"\n')
    catalog, problems = parse(read.read, tmp_path, OPTIONS)
    assert not problems
    assert catalog.size is not None
    assert np.isnan(catalog.size[0, 0])
    assert kinds(list(catalog.notes)) == [("bad_size", 2)]


def test_synthetic_images_are_read_back(tmp_path: Path) -> None:
    synth.write(tmp_path, 5, 3, synth.SceneOptions(size=96, empty=0.0, foreign=1.0))
    catalog, problems = parse(read.read, tmp_path, OPTIONS)
    assert not problems
    assert sorted(catalog.split) == ["test", *["train"] * 4]
    assert catalog.truth is not None
    assert len(catalog.truth) > 4
    solution, problems = parse(dialect.read_truth, tmp_path / "solution.csv", OPTIONS)
    assert not problems
    assert solution.items.group is not None
    assert set(solution.items.group) <= set(synth.FOREIGN)


def test_a_box_of_negative_size_is_reported_and_not_kept(tmp_path: Path) -> None:
    """It would confuse whoever looks for overlapping boxes."""
    rows = 'image_id,bbox\na,"[3, 4, 8, 6]"\na,"[12, 9, -1e308, 6]"\nb,"[1, 2, -3, 4]"\n'
    truth, problems = parse(dialect.read_truth, put(tmp_path / "train.csv", rows), OPTIONS)
    assert kinds(problems) == [("negative_size", 3), ("negative_size", 4)]
    assert truth.counts.tolist() == [1, 0]
