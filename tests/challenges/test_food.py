"""Food: the rule, the file formats, the data set and the synthetic photographs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import tallymark
from tallymark.challenges.food import CHALLENGE, dialect, read, synth
from tallymark.challenges.food.rule import RuleOptions, score
from tallymark.cli.main import app
from tallymark.core.problems import Problems
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Labels
from tallymark.io import tables
from tests.challenges.files import Notes, kinds, parse, put, rows_of
from tests.formats.files import put_image
from tests.made import annotations

OPTIONS = RuleOptions()


def labels(*per_image: list[int]) -> Annotations[Labels]:
    """Class numbers of images a, b, …, the most probable first."""
    item = np.repeat(np.arange(len(per_image)), [len(row) for row in per_image])
    return Annotations.from_rows(
        Items.of(list("abcdefgh"[: len(per_image)])),
        item,
        Labels(np.array([label for row in per_image for label in row])),
    )


def test_the_score_is_the_top_3_error() -> None:
    result = score(labels([1], [2], [3], [4]), labels([1, 8, 9], [8, 2, 9], [8, 9, 3], [1, 2, 3]), OPTIONS)
    assert result.value == 0.25
    assert result.better == "lower"
    assert result.details["top1_error"] == 0.75
    assert result.counts.to_dicts() == [{"right": 3, "wrong": 1}]


def test_a_large_class_id_needs_no_memory() -> None:
    result = score(labels([0], [1]), labels([10**11, 0, 1], [1, 2, 3]), RuleOptions(num_classes=None))
    assert result.analyses["confusions"].tables["confused most often"].rows() == [("0", "100000000000", 1, 1.0)]


def test_k_is_an_option() -> None:
    result = score(labels([1], [2]), labels([1], [1]), RuleOptions(k=1))
    assert result.value == result.details["top1_error"] == 0.5


def test_a_model_of_two_classes_submits_both(tmp_path: Path) -> None:
    known = CHALLENGE.parse_rule_options({}, classes=("cat", "dog"))
    assert (known.k, known.num_classes) == (2, 2)
    assert CHALLENGE.parse_rule_options({"k": 1}, classes=("cat", "dog")).k == 1
    assert CHALLENGE.parse_rule_options({}, classes=tuple("abcd")).k == 3
    ranked = replace(labels([1, 0], [0, 1]), classes=("cat", "dog"))
    tallymark.write("food", ranked, tmp_path / "s.csv")
    assert tallymark.read_submission("food", tmp_path / "s.csv", k=2).shapes.label.tolist() == [1, 0, 0, 1]


def test_truth_and_both_submission_formats(tmp_path: Path) -> None:
    truth, problems = parse(
        dialect.read_truth, put(tmp_path / "t.csv", "img_name,label\na.jpg,3\nb.jpg,210\n"), OPTIONS
    )
    assert not problems
    assert truth.shapes.label.tolist() == [3, 210]
    for name, text in (
        ("seed", "image_name,pred1,pred2,pred3\na.jpg,1,2,3\n"),
        ("kaggle", "img_name,label\na.jpg,1 2 3\n"),
    ):
        path = put(tmp_path / f"{name}.csv", text)
        predictions, problems = parse(dialect.read, path, OPTIONS)
        assert not problems
        assert predictions.shapes.label.tolist() == [1, 2, 3]


def test_both_formats_round_trip(tmp_path: Path) -> None:
    predictions = annotations("food", 1)
    for form, width in (("official", 4), ("kaggle", 2)):
        path = tmp_path / f"{form}.csv"
        tallymark.write("food", predictions, path, form=form)
        assert path.read_text().splitlines()[0].count(",") == width - 1
        assert np.array_equal(tallymark.read_submission("food", path).shapes.label, predictions.shapes.label)


def test_an_unknown_format_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="official, kaggle"):
        tallymark.write("food", annotations("food", 0), tmp_path / "x.csv", form="csv")


def test_images_with_different_numbers_of_labels_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="same number"):
        dialect.write(labels([1, 2], [3]), tmp_path / "x.csv", "seed")


@pytest.mark.parametrize(
    ("row", "kind", "options"),
    [
        ("1,2,", "label_count", {}),
        ("1,2,x", "not_an_integer", {}),
        ("1,2,3.0", "not_an_integer", {}),
        ("1,2,-3", "label_range", {}),
        ("1,2,211", "label_range", {"num_classes": 211}),
        ("1,2,2", "duplicate_label", {"duplicates": "error"}),
    ],
)
def test_faults_of_a_submission_have_their_line(
    row: str, kind: str, options: dict[str, object], tmp_path: Path
) -> None:
    path = put(tmp_path / "s.csv", f"image_name,pred1,pred2,pred3\na,0,1,2\nb,{row}\n")
    rule_options = RuleOptions(**options)
    predictions, problems = parse(dialect.read, path, rule_options)
    assert kinds(problems) == [(kind, 3)]
    assert predictions.counts.tolist() == [3, 0]


CELLS = ["7", "007", "+7", " 7", "7 ", "7.0", "", "-7", "-0", "x", "210", "211", "9" * 10, '"7"', '"7', "7</br>", "7,8"]


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("end", ["\n", "\r\n", "", "\n\n"])
def test_integers_and_text_have_the_same_problems(
    cell: str, end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns of labels are read as integers where that is possible; the result is that of reading text."""
    truth = put(tmp_path / "t.csv", f"image_name,label\na,3\na,4\nb,{cell}{end}")
    submission = put(tmp_path / "s.csv", f"image_name,pred1,pred2,pred3\na,0,1,2\n,1,2,3\nb,4,5,{cell}{end}")

    def outcome(read: Callable[..., Annotations[Labels] | None], path: Path) -> tuple[object, ...]:
        found, problems = parse(read, path, OPTIONS)
        line = None if found.line is None else found.line.tolist()
        return found.items.ids.to_list(), found.offsets.tolist(), found.shapes.label.tolist(), line, problems

    quick = outcome(dialect.read_truth, truth), outcome(dialect.read, submission)
    monkeypatch.setattr(tables, "parse_integers", lambda *_: None)
    assert quick == (outcome(dialect.read_truth, truth), outcome(dialect.read, submission))


def test_other_headers_are_problems(tmp_path: Path) -> None:
    problems = Problems()
    assert dialect.read(put(tmp_path / "s.csv", "image_name,pred1,pred2\na,1,2\n"), OPTIONS, problems) is None
    assert kinds(list(problems)) == [("bad_header", 1)]


def test_repair_fills_up_labels() -> None:
    notes = Notes()
    rows = rows_of(
        {"image_name": "a", "pred1": "3.0", "pred2": "x", "pred3": ""},
        {"image_name": "a", "pred1": "7", "pred2": "8", "pred3": "9"},
    )
    assert dialect.repair(rows, OPTIONS, notes) == [{"pred1": "3", "pred2": "0", "pred3": "1"}]
    assert [line for line, _ in notes] == [3, 2]
    assert dialect.filler(["image_name", "labels"], OPTIONS) == {"labels": "0 1 2"}


def test_missing_rows_get_labels(tmp_path: Path) -> None:
    sample = put(tmp_path / "sample.csv", "image_name,pred1,pred2,pred3\na,0,1,2\nb,0,1,2\n")
    source = put(tmp_path / "in.csv", "image_name,pred1,pred2,pred3\na,5,6,7\n")
    tallymark.repair("food", source, tmp_path / "out.csv", against=sample)
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == ["a,5,6,7", "b,0,1,2"]


def test_repair_follows_the_rule_options(tmp_path: Path) -> None:
    source = put(tmp_path / "in.csv", "image_name,pred1,pred2,pred3\na,7,7,211\n")
    tallymark.repair("food", source, tmp_path / "out.csv", num_classes=211, duplicates="error")
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == ["a,7,0,1"]


def test_submissions_are_converted_between_formats(tmp_path: Path) -> None:
    submission = tallymark.challenge("food").folder / "example" / "submission.csv"
    steps = ((submission, tmp_path / "k.csv", "kaggle"), (tmp_path / "k.csv", tmp_path / "s.csv", "official"))
    for source, target, form in steps:
        result = CliRunner().invoke(app, ["convert", "food", str(source), "--out", str(target), "--form", form])
        assert result.exit_code == 0, result.output
    first, again = (tallymark.read_submission("food", path) for path in (submission, tmp_path / "s.csv"))
    assert first.shapes.label.tolist() == again.shapes.label.tolist()


def put_set(folder: Path, classes: str = "0 pizza\n1 onion soup\n") -> None:
    """Two training images, a validation image and a test image."""
    for name in ("train_set/a.jpg", "train_set/b.jpg", "val_set/c.jpg", "test_set/d.jpg"):
        put_image(folder / name)
    put(folder / "train_labels.csv", "img_name,label\na.jpg,1\nb.jpg,0\n")
    put(folder / "val_labels.csv", "img_name,label\nc.jpg,1\n")
    if classes:
        put(folder / "class_list.txt", classes)


def test_the_official_layout_is_read(tmp_path: Path) -> None:
    put_set(tmp_path)
    catalog, problems = parse(read.read, tmp_path, OPTIONS)
    assert not problems
    splits = dict(zip(catalog.items.ids, catalog.split, strict=True))
    assert splits == {"a.jpg": "train", "b.jpg": "train", "c.jpg": "val", "d.jpg": "test"}
    assert catalog.truth is not None
    assert catalog.truth.classes == ("pizza", "onion soup")
    assert catalog.truth.labels.tolist() == [1, 0, 1]
    assert dialect.folder_ids(tmp_path, Problems()) == ["d.jpg"]


def test_without_a_class_list_classes_are_numbers(tmp_path: Path) -> None:
    put_set(tmp_path, classes="")
    catalog, problems = parse(read.read, tmp_path, OPTIONS)
    assert not problems
    assert catalog.truth is not None
    assert catalog.truth.classes == ("0", "1")


def test_labels_that_the_class_list_lacks_are_problems(tmp_path: Path) -> None:
    put_set(tmp_path, classes="0 pizza\n")
    catalog, problems = parse(read.read, tmp_path, OPTIONS)
    assert kinds(problems) == [("unknown_class", 2), ("unknown_class", 2)]
    assert catalog.labelled.tolist() == [False, True, False, False]


def test_class_lists_are_numbered_from_0(tmp_path: Path) -> None:
    put_set(tmp_path, classes="0 pizza\n2 soup\n\n2\n")
    _, problems = parse(read.read, tmp_path, OPTIONS)
    assert kinds(problems) == [("bad_class", 2), ("bad_class", 4)]


def test_synthetic_photographs_are_read_back(tmp_path: Path) -> None:
    synth.write(tmp_path, 10, 3, synth.SceneOptions(size=32, classes=3))
    catalog, problems = parse(read.read, tmp_path, OPTIONS)
    assert not problems
    assert sorted(catalog.split) == ["test"] * 2 + ["train"] * 7 + ["val"]
    assert catalog.truth is not None
    assert len(catalog.truth.classes) == 3
