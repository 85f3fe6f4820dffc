"""Runs: folders that are in use are refused, and resumed with the same recipe only."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tallymark.challenges.wheat.rule import RuleOptions, score
from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.core.versions import version_of
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Boxes
from tallymark.inference.recall_curve import COLUMNS, RecallCurve
from tallymark.inference.run import ENVIRONMENT, MODEL, PROBLEMS, RECALL, RECIPE, SCORE, TUNING, Run
from tallymark.inference.tuning import Tuning
from tallymark.modalities import read_recipe
from tallymark.modalities.image.recipe import ImageRecipe

RECIPE_VALUES = ImageRecipe().replace(epochs=3)


def problem_of(run: Run, *, resume: bool, recipe: ImageRecipe = RECIPE_VALUES) -> Problem:
    with pytest.raises(BadInput) as caught:
        run.refuse(recipe, resume=resume)
    (problem,) = caught.value.problems
    return problem


def test_a_new_or_empty_folder_is_taken(tmp_path: Path) -> None:
    for folder in (tmp_path / "new", tmp_path):
        for resume in (False, True):
            Run(folder).refuse(RECIPE_VALUES, resume=resume)


def test_a_folder_in_use_is_refused_unless_it_is_resumed_with_the_same_recipe(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.begin(RECIPE_VALUES, data="somewhere")
    assert problem_of(run, resume=False).kind == "not_empty"
    run.refuse(RECIPE_VALUES, resume=True)
    problem = problem_of(run, resume=True, recipe=RECIPE_VALUES.replace(epochs=4))
    assert (problem.kind, problem.found) == ("other_recipe", "epochs=4")
    assert problem.expected.startswith("epochs=3")


def test_the_recipe_and_the_environment_are_written_once(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.begin(RECIPE_VALUES, data="somewhere")
    stated = json.loads((run.folder / ENVIRONMENT).read_text())
    assert read_recipe(run.folder / RECIPE) == RECIPE_VALUES
    assert stated["data"] == "somewhere"
    assert stated["packages"]["numpy"] == np.__version__
    run.begin(RECIPE_VALUES.replace(epochs=9), data="elsewhere")
    assert read_recipe(run.folder / RECIPE) == RECIPE_VALUES
    assert json.loads((run.folder / ENVIRONMENT).read_text()) == stated


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\0", b'{"data": "some'])
def test_a_damaged_environment_does_not_keep_a_run_from_being_resumed(damage: bytes, tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.begin(RECIPE_VALUES, data="somewhere")
    (run.folder / ENVIRONMENT).write_bytes(damage)
    run.refuse(RECIPE_VALUES, resume=True)
    assert not run.facts
    run.begin(RECIPE_VALUES, data="somewhere")
    assert run.facts["data"] == "somewhere"


def test_an_environment_that_cannot_be_read_is_not_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path / "run")
    run.begin(RECIPE_VALUES, data="somewhere")
    before = (run.folder / ENVIRONMENT).read_bytes()

    def fail(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr("tallymark.io.texts.read_bytes", fail)
    with pytest.raises(BadInput, match=r"environment\.json.*permission denied"):
        run.begin(RECIPE_VALUES, data="somewhere")
    assert (run.folder / ENVIRONMENT).read_bytes() == before


def test_a_damaged_recipe_says_how_to_resume(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.begin(RECIPE_VALUES, data="somewhere")
    path = run.folder / RECIPE
    whole = path.read_bytes()
    for damage in (b"", whole[: len(whole) // 2], whole[: whole.index(b"epochs")], b"\0\xff", b"task = 3\n"):
        path.write_bytes(damage)
        problem = problem_of(run, resume=True)
        assert (problem.kind, problem.file) == ("bad_recipe", str(path))
        assert problem.remedy.startswith("delete it")
    path.unlink()
    run.refuse(RECIPE_VALUES, resume=True)
    assert problem_of(run, resume=False).kind == "not_empty"
    run.begin(RECIPE_VALUES)
    assert path.read_bytes() == whole


def test_what_a_kill_has_left_does_not_make_a_folder_a_run(tmp_path: Path) -> None:
    (tmp_path / ".recipe.toml.1-0.unfinished").write_text("")
    Run(tmp_path).refuse(RECIPE_VALUES, resume=False)
    (tmp_path / "notes.txt").write_text("by hand")
    assert problem_of(Run(tmp_path), resume=True).remedy == "name a new folder"


def test_models_of_folds_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    run = Run(tmp_path)
    with pytest.raises(BadInput) as caught:
        _ = run.models
    assert next(iter(caught.value.problems)).kind == "no_model"
    for number in (10, 2, 0, 1):
        folder = tmp_path / f"fold-{number}"
        folder.mkdir()
        (folder / MODEL).touch()
    assert [path.parent.name for path in run.models] == ["fold-0", "fold-1", "fold-2", "fold-10"]
    (tmp_path / MODEL).touch()
    assert run.models == [tmp_path / MODEL]


def test_results_are_written(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.begin(RECIPE_VALUES)
    boxes = Annotations.from_rows(Items.of(["a"]), np.zeros(1, int), Boxes.of(np.array([[1.0, 2, 30, 40]])))
    value = score(boxes, boxes, RuleOptions())
    tuning = Tuning(RECIPE_VALUES, value, pl.DataFrame({"score_threshold": [0.1, 0.2], "score": [0.5, 0.6]}))
    problems = Problems(EVERY)
    run.end(tuning, value, problems)
    assert not (run.folder / PROBLEMS).exists()
    assert not (run.folder / RECALL).exists()
    problems.add(Problem("missing_media", "a.jpg", "no file", "an image", item="a"))
    curve = RecallCurve(1.0, pl.DataFrame({name: [0.5] for name in COLUMNS}))
    run.end(tuning, value, problems, curve)
    assert "finished" in json.loads((run.folder / ENVIRONMENT).read_text())
    assert json.loads((run.folder / SCORE).read_text())["score"] == 1
    assert pl.read_csv(run.folder / TUNING).equals(tuning.curve)
    assert pl.read_csv(run.folder / RECALL).columns == list(COLUMNS)
    assert pl.read_csv(run.folder / PROBLEMS)["item"].to_list() == ["a"]
    run.end(tuning, value, Problems(EVERY), curve)  # resumed, without these problems
    assert not (run.folder / PROBLEMS).exists()


def test_versions_of_packages_that_are_not_installed() -> None:
    assert version_of("no-such-package") == "not installed"
