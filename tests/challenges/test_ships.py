"""Ships: the rule, the file formats, the data set and the synthetic chips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tallymark.challenges.ships import dialect, read, synth
from tallymark.challenges.ships.rule import TWENTIETHS, RuleOptions, score
from tallymark.core.problems import Problems
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Masks
from tests.challenges.files import Notes, kinds, parse, put, rows_of
from tests.formats.files import put_image

SHAPE = (8, 100)
OPTIONS = RuleOptions(shape=SHAPE)


def masks(*per_chip: list[tuple[int, int]]) -> Annotations[Masks]:
    """Masks of one run each, (start, length) from pixel 1, of chips a, b, …"""
    item = np.repeat(np.arange(len(per_chip)), [len(runs) for runs in per_chip])
    runs = np.array([run for runs in per_chip for run in runs], np.int64).reshape(-1, 2)
    shapes = Masks(runs[:, 0] - 1, runs[:, 1], np.arange(len(runs) + 1), SHAPE)
    return Annotations.from_rows(Items.of(list("abcdefgh"[: len(per_chip)])), item, shapes)


def test_thresholds_are_those_of_the_text() -> None:
    assert [k / 20 for k in TWENTIETHS] == [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]


@pytest.mark.parametrize(("pixels", "hits"), [(100, 10), (96, 10), (95, 9), (71, 5), (51, 1), (50, 0)])
def test_a_threshold_counts_if_the_iou_exceeds_it(pixels: int, hits: int) -> None:
    assert score(masks([(1, 100)]), masks([(1, pixels)]), OPTIONS).value == pytest.approx(hits / 10)


def test_iou_equal_to_the_threshold_counts_on_request() -> None:
    assert score(masks([(1, 100)]), masks([(1, 50)]), RuleOptions(shape=SHAPE, iou_comparison="ge")).value == 0.1


def test_the_score_is_f2() -> None:
    """One true positive, one false positive, two false negatives: 5 / (5 + 4 * 2 + 1)."""
    truth = masks([(1, 10), (101, 10), (201, 10)])
    assert score(truth, masks([(1, 10), (301, 10)]), OPTIONS).value == pytest.approx(5 / 14)


def test_empty_chips_without_predictions_score_1() -> None:
    assert score(masks([], [(1, 10)]), masks([], [(1, 10)]), OPTIONS).value == 1
    assert score(masks([], [(1, 10)]), masks([(5, 5)], [(1, 10)]), OPTIONS).value == 0.5


def test_truth_and_submission_are_run_length_encoded(tmp_path: Path) -> None:
    path = put(tmp_path / "s.csv", "ImageId,EncodedPixels\na.jpg,1 3 10 5\nb.jpg,\na.jpg,20 2\n")
    for reader in (dialect.read_truth, dialect.read):
        found, problems = parse(reader, path, OPTIONS)
        assert not problems
        assert found.items.ids.to_list() == ["a.jpg", "b.jpg"]
        assert found.counts.tolist() == [2, 0]
        assert found.shapes.start.tolist() == [0, 9, 19]
        assert found.shapes.length.tolist() == [3, 5, 2]


def test_predictions_must_not_overlap_and_truth_may(tmp_path: Path) -> None:
    path = put(tmp_path / "s.csv", "ImageId,EncodedPixels\na.jpg,1 10\nb.jpg,1 10\na.jpg,8 5\n")
    _, problems = parse(dialect.read_truth, path, OPTIONS)
    assert not problems
    _, problems = parse(dialect.read, path, OPTIONS)
    assert kinds(problems) == [("overlapping_masks", 4)]
    assert problems[0].found == "3 pixels shared with line 2"


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("1 2 3", "token_count"),
        ("1 x", "not_an_integer"),
        ("1.0 2", "not_an_integer"),
        ("0 2", "not_positive"),
        ("1 0", "not_positive"),
        ("800 2", "out_of_bounds"),
        ("801 1", "out_of_bounds"),
        (f"1 {10**30}", "out_of_bounds"),
        ("10 2 1 2", "not_sorted"),
        ("1 5 3 2", "duplicate_pixel"),
    ],
)
def test_invalid_masks_are_problems_with_their_line(cell: str, kind: str, tmp_path: Path) -> None:
    path = put(tmp_path / "s.csv", f"ImageId,EncodedPixels\na.jpg,1 3\nb.jpg,{cell}\n")
    found, problems = parse(dialect.read, path, OPTIONS)
    assert kinds(problems) == [(kind, 3)]
    assert found.counts.tolist() == [1, 0]


def test_a_submission_round_trips(tmp_path: Path) -> None:
    dialect.write(masks([(1, 10), (101, 10)], []), tmp_path / "s.csv", "official")
    assert (tmp_path / "s.csv").read_text() == "ImageId,EncodedPixels\na,1 10\na,101 10\nb,\n"
    back, problems = parse(dialect.read, tmp_path / "s.csv", OPTIONS)
    assert not problems
    assert back.counts.tolist() == [2, 0]


def test_repair_gives_shared_pixels_to_one_mask() -> None:
    notes = Notes()
    rows = rows_of({"EncodedPixels": "10 5 1 3"}, {"EncodedPixels": "12 10"}, {"EncodedPixels": "1 2"})
    assert dialect.repair(rows, OPTIONS, notes) == [{"EncodedPixels": "1 3 10 5"}, {"EncodedPixels": "15 7"}]
    assert [line for line, _ in notes] == [2, 3, 4]
    assert dialect.filler(["ImageId", "EncodedPixels"], OPTIONS) == {"EncodedPixels": ""}
    assert dialect.columns(["EncodedPixels", "ImageId"], OPTIONS) == ["ImageId", "EncodedPixels"]


def put_set(folder: Path, suffix: str = "_v2") -> None:
    """A labelled chip with a ship, one without, and a test chip."""
    for name in (f"train{suffix}/a.jpg", f"train{suffix}/b.jpg", f"test{suffix}/c.jpg"):
        put_image(folder / name, SHAPE[1], SHAPE[0])
    put(folder / f"train_ship_segmentations{suffix}.csv", "ImageId,EncodedPixels\na.jpg,1 3\nb.jpg,\n")


@pytest.mark.parametrize("suffix", ["_v2", ""])
def test_both_versions_of_the_official_layout_are_read(suffix: str, tmp_path: Path) -> None:
    put_set(tmp_path, suffix)
    catalog, problems = parse(read.read, tmp_path, OPTIONS)
    assert not problems
    assert dict(zip(catalog.items.ids, catalog.split, strict=True)) == {
        "a.jpg": "train", "b.jpg": "train", "c.jpg": "test",
    }  # fmt: skip
    assert dict(zip(catalog.items.ids, catalog.labelled, strict=True)) == {"a.jpg": True, "b.jpg": True, "c.jpg": False}
    assert catalog.truth is not None
    assert catalog.truth.shapes.shape == SHAPE
    assert catalog.cells == 3
    assert dialect.folder_ids(tmp_path, Problems()) == ["c.jpg"]


def test_chips_of_another_shape_are_a_problem(tmp_path: Path) -> None:
    put_set(tmp_path)
    problems = Problems()
    assert read.read(tmp_path, RuleOptions(), problems) is None
    [problem] = problems
    assert problem.kind == "other_shape"
    assert "shape=8x100" in problem.remedy


def test_synthetic_chips_are_read_back(tmp_path: Path) -> None:
    scenes = synth.SceneOptions(size=96, empty=0.0)
    assert scenes.rule_options == {"shape": "96x96"}
    assert synth.SceneOptions().rule_options == {}
    synth.write(tmp_path, 5, 3, scenes)
    options = RuleOptions(shape=(96, 96))
    catalog, problems = parse(read.read, tmp_path, options)
    assert not problems
    assert sorted(catalog.split) == ["test", *["train"] * 4]
    assert catalog.truth is not None
    assert len(catalog.truth) >= 3
    sample, problems = parse(dialect.read, tmp_path / "sample_submission_v2.csv", options)
    assert not problems
    assert len(sample.items) == 1
