"""Which model a name stands for, and what the notes of a prediction say."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

import tallymark
from tallymark.api.models import find_models
from tallymark.core.problems import BadInput
from tallymark.core.registry import challenge


def test_a_data_folder_named_like_a_challenge_is_not_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pretrained = challenge("wheat").folder / "model.onnx"
    assert find_models("wheat") == [pretrained]
    (tmp_path / "wheat").mkdir()
    assert find_models("wheat") == [pretrained]
    (tmp_path / "wheat" / "model.onnx").touch()
    assert find_models("wheat") == [Path("wheat/model.onnx")]
    (tmp_path / "fields").mkdir()
    with pytest.raises(BadInput, match=r"no model\.onnx"):
        find_models("fields")
    with pytest.raises(BadInput, match="nothing of that name"):
        find_models("nosuch")


def test_a_note_names_the_predicted_split(sets: Path) -> None:
    options = {"tta": 1, "image_size": 64}
    learned, note = tallymark.predict("wheat", sets / "wheat", **options).notes
    assert note == "predicted split test: 3 of 15 images; --split all predicts all"
    assert tallymark.predict("wheat", sets / "wheat", split="all", **options).notes == (learned,)


def test_a_pretrained_model_says_what_it_has_learned_from(sets: Path, tmp_path: Path) -> None:
    options = {"split": "all", "tta": 1, "image_size": 64}
    (note,) = tallymark.predict("wheat", sets / "wheat", **options).notes
    card = next(one.card for one in tallymark.models().pretrained if one.challenge == "wheat")
    assert note == f"pretrained model, trained on {card.data}; its scores: tallymark models"
    own = tmp_path / "model.onnx"  # a model of one's own has no card beside it
    own.write_bytes(find_models("wheat")[0].read_bytes())
    assert not tallymark.predict(own, sets / "wheat", **options).notes


def test_an_excessive_image_size_is_refused(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "a.jpg"), np.zeros((64, 64, 3), np.uint8))
    with pytest.raises(BadInput, match="image_size=99999999"):
        tallymark.predict("wheat", tmp_path, image_size=99999999)
