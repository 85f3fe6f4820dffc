"""Named speeds: fields of the recipe by challenge or by model, and what the user gives wins."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tallymark.api.models import find_preset
from tallymark.core.problems import BadInput
from tallymark.core.registry import challenge_names
from tallymark.inference.metadata import ModelMetadata
from tallymark.inference.speed import NAMES, speed_fields, speeds_of
from tallymark.modalities import modality_of

MEASURED = {"fast": {"tta": 1, "resolution": 0.5, "score_threshold": 0.4}}


@pytest.mark.parametrize("name", challenge_names())
@pytest.mark.parametrize("preset", ["tiny", "small", "full"])
def test_every_challenge_has_speeds_that_its_models_can_have(name: str, preset: str) -> None:
    recipe = find_preset(name, preset)
    assert set(speeds_of(name)) == set(NAMES)
    for fields in speeds_of(name).values():
        assert set(fields) <= set(recipe.names_at("prediction"))
        modality_of(recipe).validate(recipe.replace(**fields))


@pytest.mark.parametrize("name", challenge_names())
@pytest.mark.parametrize("preset", ["tiny", "small", "full"])
def test_no_preset_is_slower_than_the_best_speed(name: str, preset: str) -> None:
    recipe = find_preset(name, preset)
    assert recipe.tta_passes <= recipe.replace(**speeds_of(name)["best"]).tta_passes


def test_what_the_user_gives_wins() -> None:
    assert speed_fields("best", "wheat", {}, {}) == {"tta": 2, "tta_scales": 3}
    assert speed_fields("best", "wheat", {}, {"tta": 4}) == {"tta_scales": 3}
    assert speed_fields("fast", "wheat", {}, {"image_size": 640}) == {"tta": 1, "tta_scales": 1}


def test_the_speeds_of_a_model_come_first() -> None:
    assert speed_fields("fast", "wheat", MEASURED, {}) == MEASURED["fast"]
    assert speed_fields("best", "wheat", MEASURED, {}) == {"tta": 2, "tta_scales": 3}


def test_an_unknown_speed_is_refused() -> None:
    with pytest.raises(BadInput, match=r"'fats'.*fast or balanced or best"):
        speed_fields("fats", "wheat", {}, {})


@pytest.mark.parametrize(
    ("speeds", "message"),
    [
        ({"faster": {"tta": 1}}, "'faster', which is no speed"),
        ({"fast": {"stride": 8}}, "stride, which prediction does not change"),
        ({"fast": {"tta": 3}}, "tta=3"),
        ({"fast": 3}, "3 in place of named values"),
        ([], "a list in place of named values"),
    ],
)
def test_speeds_that_cannot_be_are_refused(speeds: object, message: str) -> None:
    stated = json.loads(ModelMetadata("wheat", find_preset("wheat", "tiny")).text())
    with pytest.raises(BadInput, match=message):
        ModelMetadata.read(json.dumps({**stated, "speeds": speeds}), Path("model.onnx"))


def test_speeds_are_kept_in_the_metadata() -> None:
    metadata = replace(ModelMetadata("wheat", find_preset("wheat", "tiny")), speeds=MEASURED)
    assert ModelMetadata.read(metadata.text(), Path("model.onnx")).speeds == MEASURED
