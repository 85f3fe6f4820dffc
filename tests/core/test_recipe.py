"""Recipes are written, read and refused as files and options."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallymark.api.models import find_preset
from tallymark.core.options import as_assignments, options, parse_assignments
from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import LidarRecipe, PictureRecipe, Recipe, SoundRecipe, class_cuts, class_groups, read_recipe
from tallymark.modalities.inputs import ear_of
from tallymark.modalities.lidar.sweeps import bird_of
from tests.made import NAMES

FINDS = {"wheat": "boxes", "ships": "masks", "food": "labels", "upcalls": "instants", "lyft": "cuboids"}
OTHER: dict[str, object] = {
    "finds": "masks", "backbone": "lite0", "weights": 'a "b"\\c é', "width": 7, "frozen": 3, "stride": 16, "zoom": 1.25,
    "tilt": 33.5, "clean": True, "rate": 1e-7, "decay": 0.0, "average": 0.99999, "precision": "bf16", "seed": 0,
    "views": 8, "merge": "wbf", "cut": 1.0, "gate": 1e-9, "apart": "items",
}  # fmt: skip


def problem_of(**given: object) -> Problem:
    with pytest.raises(BadInput) as caught:
        PictureRecipe().but(**given)
    (problem,) = caught.value.problems
    return problem


def test_a_recipe_is_read_as_it_was_saved(tmp_path: Path) -> None:
    recipe = PictureRecipe().but(**OTHER)
    assert {name: asdict(recipe)[name] for name in OTHER} == OTHER
    recipe.save(tmp_path / "r.toml")
    assert read_recipe(tmp_path / "r.toml") == recipe
    assert recipe != PictureRecipe()


@given(
    rate=st.floats(1e-300, 1e300), cut=st.floats(0, 1), width=st.integers(1, 10**9 - 1), clean=st.booleans(),
    weights=st.text(st.characters(categories=("L", "N", "P", "S", "Zs"))),
)  # fmt: skip
def test_any_value_survives_a_file(
    tmp_path_factory: pytest.TempPathFactory, rate: float, cut: float, width: int, clean: bool, weights: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "recipe.toml"
    recipe = PictureRecipe().but(rate=rate, cut=cut, width=width, clean=clean, weights=weights)
    recipe.save(path)
    assert read_recipe(path) == recipe


def test_fields_that_a_file_lacks_have_their_default(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text("side = 640\n")
    assert read_recipe(tmp_path / "r.toml") == PictureRecipe().but(side=640)


@pytest.mark.parametrize("content", [b"side = ", b"\xff\xfe", None])
def test_a_file_that_is_no_recipe(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "r.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        read_recipe(path)
    assert [(problem.kind, problem.file) for problem in caught.value.problems] == [("bad_recipe", str(path))]


def test_the_text_of_a_command_line_says_the_same() -> None:
    given = parse_assignments(["views=8", "clean=yes", "cut=.25", "stride=8", "weights=imagenet", "seed=0"])
    recipe = PictureRecipe().but(**given)
    assert (recipe.views, recipe.clean, recipe.cut, recipe.stride, recipe.weights) == (8, True, 0.25, 8, "imagenet")
    typed = parse_assignments(as_assignments(recipe).split("  "))
    assert PictureRecipe().but(**typed) == recipe


@pytest.mark.parametrize(
    ("name", "meant"), [("epoch", "epochs"), ("learning_rate", None), ("view", "views"), ("color", "colour")]
)
def test_an_unknown_key_names_the_nearest(name: str, meant: str | None) -> None:
    problem = problem_of(**{name: 1})
    assert (problem.kind, problem.found) == ("unknown_option", f"'{name}'")
    if meant:
        assert problem.remedy == f"did you mean '{meant}'?"
    else:
        assert problem.remedy


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("finds", "circles"), ("stride", 5), ("stride", "4.0"), ("stride", True), ("views", 3), ("views", "eight"),
        ("cut", 1.01), ("cut", -0.1), ("cut", "nan"), ("cut", "half"), ("cut", None),
        ("tilt", -1), ("tilt", "inf"), ("decay", "nan"),
        ("frozen", -1), ("frozen", 1.5), ("frozen", ""), ("seed", "1e3"), ("seed", True),
        ("width", 0), ("epochs", "0"), ("batch", 2.5), ("side", 10**10),
        ("rate", 0), ("rate", "inf"), ("zoom", -1),
        ("clean", "maybe"), ("clean", 1), ("clean", ""),
    ],
)  # fmt: skip
def test_wrong_values_are_refused(name: str, value: object) -> None:
    problem = problem_of(**{name: value})
    assert (problem.kind, problem.found) == ("bad_option", f"{name}={value}")
    assert problem.expected
    assert problem.remedy


def test_all_wrong_values_are_told_at_once() -> None:
    with pytest.raises(BadInput) as caught:
        PictureRecipe().but(cut=2, view=1, stride=3)
    assert caught.value.problems.counts == {"bad_option": 2, "unknown_option": 1}


@pytest.mark.parametrize("value", ["yes", "True", "TRUE", True])
def test_words_for_yes(value: object) -> None:
    assert PictureRecipe().but(clean=value).clean is True
    assert PictureRecipe().but(clean=True).but(clean={"yes": "no"}.get(str(value), "False")).clean is False


def test_every_field_is_an_option_and_described() -> None:
    described = {option.option: option for option in options(PictureRecipe)}
    assert list(described) == [field.name for field in fields(PictureRecipe)]
    assert described["views"].values == "1 | 2 | 4 | 8"
    assert (described["clean"].values, described["clean"].default) == ("yes | no", "no")
    assert described["frozen"].values == "whole number from 0 on"
    assert described["tilt"].values == "number from 0 on"
    words = set(f"{Recipe.__doc__} {PictureRecipe.__doc__}".replace(":", " ").replace(",", " ").split())
    assert [name for name in described if name not in words] == []


@pytest.mark.parametrize("preset", ["tiny", "small", "full"])
@pytest.mark.parametrize("name", NAMES)
def test_every_preset_is_valid(name: str, preset: str, tmp_path: Path) -> None:
    recipe = find_preset(name, preset)
    assert recipe.but() == recipe
    recipe.save(tmp_path / "r.toml")
    assert read_recipe(tmp_path / "r.toml") == recipe
    assert recipe.finds == FINDS[name]
    if isinstance(recipe, SoundRecipe):
        assert round(recipe.seconds / recipe.hop) % 16 == 0, "a network halves time four times"
        assert ear_of(recipe).bands % 32 == 0
    elif isinstance(recipe, LidarRecipe):
        assert bird_of(recipe).side % 32 == 0
    else:
        assert recipe.crop % 32 == 0, "a network halves its windows five times"
    assert recipe.models <= recipe.folds
    assert recipe.weights == "none" or recipe.backbone == "lite0"
    assert recipe.weights != "none" or recipe.frozen == 0, "random weights have to learn"
    assert recipe.finds != "boxes" or recipe.tilt == 0


@pytest.mark.parametrize("name", NAMES)
def test_presets_grow(name: str) -> None:
    tiny, small, full = (find_preset(name, preset) for preset in ("tiny", "small", "full"))
    if isinstance(tiny, PictureRecipe):
        assert tiny.side < small.side <= full.side
        assert tiny.crop < small.crop <= full.crop
    else:
        assert tiny.width < small.width <= full.width
    assert small.models < full.models
    with pytest.raises(BadInput, match="did you mean 'small'"):
        find_preset(name, "smal")


def test_groups_of_classes() -> None:
    classes = ("car", "bus", "truck", "animal", "tram")
    assert class_groups(Recipe(), classes) == [0] * 5
    assert class_groups(Recipe().but(groups="truck, bus | car"), classes) == [1, 0, 0, 2, 2]
    assert class_groups(Recipe().but(groups="car|bus,truck | animal , tram"), classes) == [0, 1, 1, 2, 2]
    for wrong in ("car, lorry", "car | car"):
        with pytest.raises(BadInput, match="in groups="):
            class_groups(Recipe().but(groups=wrong), classes)


def test_cuts_of_classes(tmp_path: Path) -> None:
    recipe = LidarRecipe().but(cut=0.3, cuts="other vehicle 0.25, bus 1", low=-3.5, groups="bus | car")
    assert class_cuts(recipe, ("car", "bus", "other vehicle")) == [0.3, 1, 0.25]
    assert class_cuts(recipe.but(cuts=""), ("car", "bus")) == [0.3, 0.3]
    recipe.save(tmp_path / "r.toml")
    assert read_recipe(tmp_path / "r.toml") == recipe
    for wrong in ("bus", "bus 2", "bus 0.2 car 0.4"):
        with pytest.raises(BadInput, match="in cuts"):
            class_cuts(recipe.but(cuts=wrong), ("car", "bus"))


def test_a_height_may_be_below_0() -> None:
    assert LidarRecipe().but(low="-2.5", high=0).high == 0
    with pytest.raises(BadInput):
        LidarRecipe().but(low="deep")
    with pytest.raises(BadInput):
        LidarRecipe().but(low=float("inf"))
