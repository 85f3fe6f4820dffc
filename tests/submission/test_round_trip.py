"""Submissions round trip: reading a written file gives the same annotations, and the file is valid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tallymark
from tallymark.challenges.lyft.dialect import CLASSES
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Boxes, Cuboids, Events, Labels, Masks
from tests.made import NAMES, annotations, columns_of


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(12))
def test_written_predictions_are_read_back(name: str, seed: int, tmp_path: Path) -> None:
    predictions = annotations(name, seed)
    path = tmp_path / "submission.csv"
    tallymark.write(name, predictions, path)
    got = tallymark.read_submission(name, path)
    if name == "upcalls":  # recordings without detections have no row in this format
        got = got.reindex(predictions.items)
    else:
        assert got.items.ids.to_list() == predictions.items.ids.to_list()
        assert tallymark.check(name, path, against=path).problems.total == 0
    assert got.offsets.tolist() == predictions.offsets.tolist()
    assert all(map(np.array_equal, columns_of(got.shapes), columns_of(predictions.shapes)))
    if name in ("wheat", "lyft"):  # the files of the others have no column for it
        assert got.score is not None
        assert np.array_equal(got.score, predictions.score)
    if predictions.label is not None:
        assert [got.classes[k] for k in got.labels] == [predictions.classes[k] for k in predictions.labels]


@pytest.mark.parametrize("name", NAMES)
def test_writing_is_deterministic(name: str, tmp_path: Path) -> None:
    for out in ("a.csv", "b.csv"):
        tallymark.write(name, annotations(name, 3), tmp_path / out)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


@pytest.mark.parametrize(
    ("name", "shapes", "rows"),
    [
        ("wheat", Boxes.of(np.empty((0, 4))), ["a,", "b,"]),
        ("lyft", Cuboids.of(np.empty((0, 7))), ["a,", "b,"]),
        ("ships", Masks.of([], (768, 768)), ["a,", "b,"]),
        ("upcalls", Events(np.empty(0)), []),
    ],
)
def test_no_predictions_are_a_valid_submission(name: str, shapes: Any, rows: list[str], tmp_path: Path) -> None:
    tallymark.write(name, Annotations.empty(Items.of(["a", "b"]), shapes, CLASSES), tmp_path / "submission.csv")
    assert (tmp_path / "submission.csv").read_text().splitlines()[1:] == rows


@pytest.mark.parametrize(
    ("name", "shapes", "kind"),
    [
        ("wheat", Boxes.of(np.array([[0, 0, np.nan, 5]])), "not_a_number"),
        ("wheat", Boxes.of(np.array([[0, 0, -1, 5]])), "negative_size"),
        ("lyft", Cuboids.of(np.array([[0, 0, 0, 1, 1, 0, 0]])), "nonpositive_size"),
        ("ships", Masks(np.array([10**6]), np.array([5]), np.array([0, 1]), (768, 768)), "out_of_bounds"),
        ("food", Labels(np.array([-1])), "label_count"),
    ],
)
def test_an_invalid_submission_is_removed(name: str, shapes: object, kind: str, tmp_path: Path) -> None:
    wrong = Annotations.from_rows(
        Items.of(["a"]), np.zeros(1, np.int64), shapes, label=np.zeros(1, np.int64), classes=CLASSES
    )
    with pytest.raises(tallymark.BadInput) as caught:
        tallymark.write(name, wrong, tmp_path / "submission.csv")
    assert kind in caught.value.problems.counts
    assert not list(tmp_path.iterdir())


def test_ids_that_look_like_numbers_stay_text(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("image_id,PredictionString\n1e5,\n007,\n0x1f,\n")
    assert tallymark.read_submission("wheat", tmp_path / "s.csv").items.ids.to_list() == ["1e5", "007", "0x1f"]


@pytest.mark.parametrize("name", NAMES)
def test_files_do_not_depend_on_how_many_items_are_written_at_a_time(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text is made of some items at a time, so that a submission of millions of rows takes little memory."""
    predictions = annotations(name, seed=3)
    tallymark.write(name, predictions, tmp_path / "whole.csv")
    parts = Annotations.parts
    monkeypatch.setattr(Annotations, "parts", lambda self: parts(self, 2))
    tallymark.write(name, predictions, tmp_path / "parts.csv")
    assert (tmp_path / "parts.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
