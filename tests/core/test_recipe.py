"""Recipes: fields, presets, files and invalid values."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallymark.api.models import find_preset
from tallymark.core.options import as_assignments, list_options, parse_assignments
from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import Recipe, head_groups_of, thresholds_by_class
from tallymark.modalities import read_recipe
from tallymark.modalities.audio.config import spectrogram_config
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.lidar.recipe import LidarRecipe
from tallymark.modalities.lidar.sweeps import bev_grid
from tests.made import NAMES

TASKS = {"wheat": "boxes", "ships": "masks", "food": "labels", "upcalls": "events", "lyft": "cuboids"}
OTHER: dict[str, object] = {
    "task": "masks", "backbone": "efficientnet_lite0", "weights": 'a "b"\\c é', "width": 7,
    "frozen_stages": 3, "stride": 16, "scale_jitter": 1.25, "rotate_degrees": 33.5, "train_on_val": True,
    "learning_rate": 1e-7, "weight_decay": 0.0, "ema_decay": 0.99999, "precision": "bf16", "seed": 0, "tta": 8,
    "fusion": "wbf", "score_threshold": 1.0, "image_threshold": 1e-9, "fold_by": "items",
}  # fmt: skip


def problem_of(**given: object) -> Problem:
    with pytest.raises(BadInput) as caught:
        ImageRecipe().replace(**given)
    (problem,) = caught.value.problems
    return problem


def test_a_recipe_is_read_as_it_was_saved(tmp_path: Path) -> None:
    recipe = ImageRecipe().replace(**OTHER)
    assert {name: asdict(recipe)[name] for name in OTHER} == OTHER
    recipe.save(tmp_path / "r.toml")
    assert read_recipe(tmp_path / "r.toml") == recipe
    assert recipe != ImageRecipe()


@given(
    rate=st.floats(1e-300, 10), threshold=st.floats(0, 1), width=st.integers(1, 1024),
    train_on_val=st.booleans(), weights=st.text(st.characters(categories=("L", "N", "P", "S", "Zs"))),
)  # fmt: skip
def test_any_value_survives_a_round_trip_through_a_file(
    tmp_path_factory: pytest.TempPathFactory,
    rate: float,
    threshold: float,
    width: int,
    train_on_val: bool,
    weights: str,
) -> None:
    path = tmp_path_factory.getbasetemp() / "recipe.toml"
    recipe = ImageRecipe().replace(
        learning_rate=rate, score_threshold=threshold, width=width, train_on_val=train_on_val, weights=weights
    )
    recipe.save(path)
    assert read_recipe(path) == recipe


def test_fields_missing_from_a_file_have_their_default(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text("image_size = 640\n")
    assert read_recipe(tmp_path / "r.toml") == ImageRecipe().replace(image_size=640)


@pytest.mark.parametrize("content", [b"image_size = ", b"\xff\xfe", None])
def test_an_invalid_recipe_file_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "r.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        read_recipe(path)
    assert [(problem.kind, problem.file) for problem in caught.value.problems] == [("bad_recipe", str(path))]


def test_assignments_of_the_command_line_are_parsed() -> None:
    given = parse_assignments(
        ["tta=8", "train_on_val=yes", "score_threshold=.25", "stride=8", "weights=imagenet", "seed=0"]
    )
    recipe = ImageRecipe().replace(**given)
    assert (recipe.tta, recipe.train_on_val, recipe.score_threshold, recipe.stride, recipe.weights) == (
        8,
        True,
        0.25,
        8,
        "imagenet",
    )
    typed = parse_assignments(as_assignments(recipe).split("  "))
    assert ImageRecipe().replace(**typed) == recipe


@pytest.mark.parametrize(
    ("name", "meant"), [("epoch", "epochs"), ("zzz", None), ("tt", "tta"), ("colour_jitter", "color_jitter")]
)
def test_an_unknown_field_suggests_the_nearest(name: str, meant: str | None) -> None:
    problem = problem_of(**{name: 1})
    assert (problem.kind, problem.found) == ("unknown_option", f"'{name}'")
    if meant:
        assert problem.remedy == f"did you mean '{meant}'?"
    else:
        assert problem.remedy


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("task", "circles"), ("stride", 5), ("stride", "4.0"), ("stride", True), ("tta", 3), ("tta", "eight"),
        ("score_threshold", 1.01), ("score_threshold", -0.1), ("score_threshold", "nan"),
        ("score_threshold", "half"), ("score_threshold", None),
        ("rotate_degrees", -1), ("rotate_degrees", "inf"), ("weight_decay", "nan"),
        ("frozen_stages", -1), ("frozen_stages", 1.5), ("frozen_stages", ""), ("seed", "1e3"), ("seed", True),
        ("width", 0), ("epochs", "-1"), ("batch_size", 2.5), ("image_size", 10**10),
        ("learning_rate", 0), ("learning_rate", "inf"), ("scale_jitter", -1),
        ("train_on_val", "maybe"), ("train_on_val", 1), ("train_on_val", ""),
    ],
)  # fmt: skip
def test_invalid_values_are_refused(name: str, value: object) -> None:
    problem = problem_of(**{name: value})
    assert (problem.kind, problem.found) == ("bad_option", f"{name}={value}")
    assert problem.expected
    assert problem.remedy


def test_all_invalid_values_are_reported_at_once() -> None:
    with pytest.raises(BadInput) as caught:
        ImageRecipe().replace(score_threshold=2, views=1, stride=3)
    assert caught.value.problems.counts == {"bad_option": 2, "unknown_option": 1}


@pytest.mark.parametrize("value", ["yes", "True", "TRUE", True])
def test_spellings_of_booleans(value: object) -> None:
    assert ImageRecipe().replace(train_on_val=value).train_on_val is True
    assert (
        ImageRecipe()
        .replace(train_on_val=True)
        .replace(train_on_val={"yes": "no"}.get(str(value), "False"))
        .train_on_val
        is False
    )


def test_every_field_is_an_option_and_described() -> None:
    described = {option.option: option for option in list_options(ImageRecipe)}
    assert list(described) == [field.name for field in fields(ImageRecipe)]
    assert described["tta"].values == "1 | 2 | 4 | 8"
    assert (described["train_on_val"].values, described["train_on_val"].default) == ("yes | no", "no")
    assert described["frozen_stages"].values == "whole number from 0 on"
    assert described["rotate_degrees"].values == "number from 0 on"
    words = set(f"{Recipe.__doc__} {ImageRecipe.__doc__}".replace(":", " ").replace(",", " ").split())
    assert [name for name in described if name not in words] == []


@pytest.mark.parametrize("preset", ["tiny", "small", "full"])
@pytest.mark.parametrize("name", NAMES)
def test_every_preset_is_valid(name: str, preset: str, tmp_path: Path) -> None:
    recipe = find_preset(name, preset)
    assert recipe.replace() == recipe
    recipe.save(tmp_path / "r.toml")
    assert read_recipe(tmp_path / "r.toml") == recipe
    assert recipe.task == TASKS[name]
    if isinstance(recipe, AudioRecipe):
        assert round(recipe.clip_seconds / recipe.hop_seconds) % 16 == 0, "a network halves time four times"
        assert spectrogram_config(recipe).n_bins % 32 == 0
    elif isinstance(recipe, LidarRecipe):
        assert bev_grid(recipe).side % 32 == 0
    else:
        assert recipe.crop_size % 32 == 0, "a network halves its crops five times"
    assert recipe.train_folds <= recipe.folds
    assert recipe.weights == "none" or recipe.backbone == "efficientnet_lite0"
    assert recipe.weights != "none" or recipe.frozen_stages == 0, "random weights must be trained"
    assert recipe.task != "boxes" or recipe.rotate_degrees == 0


@pytest.mark.parametrize("name", NAMES)
def test_larger_presets_have_larger_networks(name: str) -> None:
    tiny, small, full = (find_preset(name, preset) for preset in ("tiny", "small", "full"))
    if isinstance(tiny, ImageRecipe):
        assert tiny.image_size < small.image_size <= full.image_size
        assert tiny.crop_size < small.crop_size <= full.crop_size
    else:
        assert tiny.width < small.width <= full.width
    assert small.train_folds < full.train_folds
    with pytest.raises(BadInput, match="did you mean 'small'"):
        find_preset(name, "smal")


def test_head_groups() -> None:
    classes = ("car", "bus", "truck", "animal", "tram")
    assert head_groups_of(Recipe(), classes) == [0] * 5
    assert head_groups_of(Recipe().replace(head_groups="truck, bus | car"), classes) == [1, 0, 0, 2, 2]
    assert head_groups_of(Recipe().replace(head_groups="car|bus,truck | animal , tram"), classes) == [0, 1, 1, 2, 2]
    for wrong in ("car, lorry", "car | car"):
        with pytest.raises(BadInput, match="in head_groups="):
            head_groups_of(Recipe().replace(head_groups=wrong), classes)


def test_class_thresholds(tmp_path: Path) -> None:
    recipe = LidarRecipe().replace(
        score_threshold=0.3, class_thresholds="other vehicle 0.25, bus 1", z_min=-3.5, head_groups="bus | car"
    )
    assert thresholds_by_class(recipe, ("car", "bus", "other vehicle")) == [0.3, 1, 0.25]
    assert thresholds_by_class(recipe.replace(class_thresholds=""), ("car", "bus")) == [0.3, 0.3]
    recipe.save(tmp_path / "r.toml")
    assert read_recipe(tmp_path / "r.toml") == recipe
    for wrong in ("bus", "bus 2", "bus 0.2 car 0.4"):
        with pytest.raises(BadInput, match="in class_thresholds"):
            thresholds_by_class(recipe.replace(class_thresholds=wrong), ("car", "bus"))


def test_classes_with_commas_and_numbers_in_their_names_have_thresholds() -> None:
    classes = ("ship", "ship, small", "class 1, 0.5 m", "ship, small 2")
    stated = ", ".join(f"{name} {number / 10}" for number, name in enumerate(classes, 1))
    recipe = Recipe().replace(class_thresholds=stated)
    assert thresholds_by_class(recipe, classes) == [0.1, 0.2, 0.3, 0.4]
    with pytest.raises(BadInput, match=r"'boat 0\.2' in class_thresholds"):
        thresholds_by_class(recipe.replace(class_thresholds="ship, small 0.3, boat 0.2, ship 0.1"), classes)


def test_heights_may_be_negative() -> None:
    assert LidarRecipe().replace(z_min="-2.5", z_max=0).z_max == 0
    with pytest.raises(BadInput):
        LidarRecipe().replace(z_min="deep")
    with pytest.raises(BadInput):
        LidarRecipe().replace(z_min=float("inf"))
