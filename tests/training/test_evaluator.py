"""The evaluator: the official rule on held-out items decides which checkpoint is better."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tallymark
from tallymark.challenges.wheat.rule import RuleOptions
from tallymark.core.problems import BadInput
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import LabelledCatalog
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.scoring.score import Score
from tallymark.training.evaluator import Evaluator
from tallymark.training.network import make_network
from tests.sets import copy_of

RECIPE = ImageRecipe().replace(width=4, neck=8, image_size=64, crop_size=64)


@pytest.fixture(scope="module")
def catalog(sets: Path) -> LabelledCatalog:
    return tallymark.read("wheat", sets / "wheat").in_split("train").with_truth()


class Rule:
    """Counts predictions, and says which way is better."""

    def __init__(self, better: Any) -> None:
        self.better = better
        self.counts: list[int] = []

    def __call__(self, truth: Annotations[Any], predictions: Annotations[Any]) -> Score:
        assert truth.items.ids.to_list() == predictions.items.ids.to_list()
        self.counts.append(len(predictions))
        value = float(len(predictions))
        return Score("wheat", value, self.better, RuleOptions(), pl.DataFrame(), lambda weight: value)


@pytest.mark.parametrize(("better", "sign"), [("higher", 1), ("lower", -1)])
def test_the_objective_is_higher_for_better_scores(catalog: LabelledCatalog, better: str, sign: int) -> None:
    rule = Rule(better)
    evaluation = Evaluator(catalog, RECIPE, rule)(make_network(RECIPE, 1).eval())
    assert evaluation.objective == sign * evaluation.metrics["score"]
    assert evaluation.metrics["score"] in rule.counts
    assert 0 <= evaluation.metrics["score_threshold"] <= 1


def test_candidates_are_those_of_every_item(catalog: LabelledCatalog) -> None:
    evaluator = Evaluator(catalog, RECIPE, Rule("higher"))
    candidates, truth = evaluator.predict(make_network(RECIPE, 1).eval())
    assert truth is catalog.truth
    assert candidates.items.ids.to_list() == catalog.items.ids.to_list()
    assert candidates.objects.classes == catalog.truth.classes
    assert candidates.readable.all()
    assert not evaluator.problems


def test_unreadable_items_are_reported_at_each_prediction(sets: Path, tmp_path: Path) -> None:
    catalog = tallymark.read("wheat", copy_of(sets, "wheat", tmp_path)).in_split("train").with_truth()
    path = catalog.path(2)
    assert path is not None
    path.write_bytes(b"no image")
    evaluator = Evaluator(catalog, RECIPE, Rule("higher"))
    network = make_network(RECIPE, 1).eval()
    for _ in range(2):
        candidates, truth = evaluator.predict(network)
        assert [problem.item for problem in evaluator.problems] == [catalog.items.ids[2]]
        assert candidates.readable.all()
        assert candidates.items.ids.to_list() == np.delete(catalog.items.ids.to_numpy(), 2).tolist()
        assert truth.items.ids.to_list() == candidates.items.ids.to_list()


def test_a_fold_in_which_nothing_can_be_read_is_refused(sets: Path, tmp_path: Path) -> None:
    catalog = tallymark.read("wheat", copy_of(sets, "wheat", tmp_path)).in_split("train").with_truth()
    for item in range(len(catalog)):
        (catalog.root / catalog.files[item]).write_bytes(b"no image")
    with pytest.raises(BadInput, match="corrupt_media"):
        Evaluator(catalog, RECIPE, Rule("higher")).predict(make_network(RECIPE, 1).eval())
