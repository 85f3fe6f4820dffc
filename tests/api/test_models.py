"""Which model is meant, which outputs cannot be written, and what is said of what was looked at."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

import tallymark
from tallymark.api.models import find_models, refuse_paths
from tallymark.core.problems import BadInput
from tallymark.core.registry import challenge


def test_data_in_a_folder_named_like_a_challenge_are_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = challenge("wheat").folder / "model.onnx"
    assert find_models("wheat") == [own]
    (tmp_path / "wheat").mkdir()
    assert find_models("wheat") == [own]
    (tmp_path / "wheat" / "model.onnx").touch()
    assert find_models("wheat") == [Path("wheat/model.onnx")]
    (tmp_path / "fields").mkdir()
    with pytest.raises(BadInput, match=r"no model\.onnx"):
        find_models("fields")
    with pytest.raises(BadInput, match="nothing of that name"):
        find_models("nosuch")


def test_outputs_need_a_folder(tmp_path: Path) -> None:
    refuse_paths([tmp_path / "new.csv", Path("here.csv")])
    with pytest.raises(BadInput) as caught:
        refuse_paths([tmp_path, tmp_path / "no" / "such" / "x.csv"])
    assert sorted(problem.found for problem in caught.value.problems) == ["a folder", f"no folder {tmp_path}/no/such"]


def test_the_part_that_was_looked_at_is_said(sets: Path) -> None:
    options = {"tta": 1, "image_size": 64}
    (note,) = tallymark.predict("wheat", sets / "wheat", **options).notes
    assert note == "looked at part test: 3 of 15 pictures; --part all looks at all"
    assert not tallymark.predict("wheat", sets / "wheat", part="all", **options).notes


@pytest.mark.parametrize(("pixels", "said"), [(1024, False), (2048, True)])
def test_large_photographs_that_are_shown_small_are_said(pixels: int, said: bool, tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "a.jpg"), np.zeros((pixels // 2, pixels, 3), np.uint8))
    notes = tallymark.predict("wheat", tmp_path, tta=1).notes
    assert [f"image_size={pixels // 2}" in note for note in notes] == [True] * said


def test_a_side_beyond_reason_is_refused(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "a.jpg"), np.zeros((64, 64, 3), np.uint8))
    with pytest.raises(BadInput, match="image_size=99999999"):
        tallymark.predict("wheat", tmp_path, image_size=99999999)
