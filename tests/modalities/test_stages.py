"""Stages of recipe fields: when a field acts, and so when it may still be changed."""

from __future__ import annotations

from dataclasses import fields
from typing import get_args

import pytest

from tallymark.core.problems import BadInput
from tallymark.core.recipe import Recipe, Stage
from tallymark.inference.predictor import refuse_changes
from tallymark.modalities import TASKS, make_recipe, modality, modality_of

NAMES = sorted(set(TASKS.values()))
STAGES: tuple[Stage, ...] = get_args(Stage)
EACH = pytest.mark.parametrize("recipe_type", [Recipe, *(modality(name).recipe_type for name in NAMES)])


@EACH
def test_every_field_has_one_stage(recipe_type: type[Recipe]) -> None:
    names = [one.name for one in fields(recipe_type)]
    assert all(one.metadata.get("stage") in STAGES for one in fields(recipe_type))
    assert sorted(name for stage in STAGES for name in recipe_type.names_at(stage)) == sorted(names)
    assert recipe_type.names_at(*STAGES) == names


@EACH
def test_the_values_of_a_stage_are_those_of_its_fields(recipe_type: type[Recipe]) -> None:
    recipe = recipe_type().replace(nms_iou=0.123, score_threshold=0.45, tta=1)
    values = recipe.at("prediction", "postprocessing")
    assert list(values) == recipe.names_at("prediction", "postprocessing")
    assert (values["nms_iou"], values["score_threshold"]) == (0.123, 0.45)
    assert "epochs" not in values


@EACH
def test_fields_of_all_modalities_act_at_the_same_stage(recipe_type: type[Recipe]) -> None:
    stages = {one.name: one.metadata["stage"] for one in fields(recipe_type)}
    assert {name: stages[name] for name in stages if name in Recipe.names_at(*STAGES)} == {
        one.name: one.metadata["stage"] for one in fields(Recipe)
    }


@EACH
def test_only_fields_of_prediction_and_postprocessing_may_change(recipe_type: type[Recipe]) -> None:
    recipe = recipe_type()
    refuse_changes({}, recipe)
    refuse_changes(recipe.at("prediction", "postprocessing"), recipe)
    fixed = recipe.at("training", "model")
    with pytest.raises(BadInput) as caught:
        refuse_changes(fixed, recipe)
    problems = list(caught.value.problems)
    assert caught.value.problems.total == len(fixed)
    assert {problem.kind for problem in problems} == {"bad_option"}
    first = next(iter(fixed))
    assert problems[0].found == f"{first}={fixed[first]}"
    assert problems[0].remedy == f"leave it out, or train with {first}={fixed[first]}"
    assert problems[0].expected == f"one of {', '.join(recipe.names_at('prediction', 'postprocessing'))}"


@pytest.mark.parametrize("task", TASKS)
def test_the_task_decides_on_the_modality(task: str) -> None:
    recipe = make_recipe({"task": task})
    assert recipe.task == task
    assert recipe.modality == modality_of(recipe).name == TASKS[task]
    assert isinstance(recipe, modality_of(recipe).recipe_type)
