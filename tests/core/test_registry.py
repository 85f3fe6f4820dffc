"""Challenges: what they declare, and what the core does where they declare nothing."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast

import pytest

import tallymark
from tallymark.core.problems import BadInput, Problems
from tallymark.core.registry import Scoring, challenge, challenge_names
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog


@pytest.mark.parametrize("name", challenge_names())
def test_score_options_are_declared_with_type_and_help(name: str) -> None:
    for option in challenge(name).score_options:
        assert option.flag == "--" + option.name.replace("_", "-")
        assert option.type in (Path, float, int, str)
        assert option.help.endswith(".")


@pytest.mark.parametrize("name", challenge_names())
def test_rule_options_are_documented(name: str) -> None:
    kind = challenge(name).rule_options
    words = str(kind.__doc__).replace(":", " ").replace(",", " ").split()
    inherited = {"missing", "extra"}
    assert [field.name for field in fields(kind) if field.name not in {*words, *inherited}] == []


def test_a_challenge_without_declarations_uses_the_rule_options_as_given() -> None:
    what = challenge("wheat")
    rule_options = what.rule_options(match="best_overall")
    nothing = cast(Annotations[Any], None)
    scoring = Scoring(Path("truth.csv"), None, rule_options, {}, Problems())
    assert what.complete_rule_options(scoring) is rule_options
    assert what.analyze(nothing, nothing, scoring) == {}
    assert what.mask_shape(rule_options) is None
    assert what.rule_options_for(cast(Catalog, None), rule_options, {})(cast(Any, None)) is rule_options


def test_masks_have_the_shape_of_the_rule_option() -> None:
    what = challenge("ships")
    assert what.mask_shape(what.rule_options(shape=(256, 128))) == (256, 128)


def test_hours_in_training_are_those_of_the_scored_recordings(sets: Path) -> None:
    what = challenge("upcalls")
    catalog = tallymark.read("upcalls", sets / "upcalls").in_split("train")
    assert catalog.truth is not None
    rule_options = what.rule_options()
    rule = what.rule_on(catalog, rule_options, {})
    half = catalog.truth.reindex(replace(catalog.items, ids=catalog.items.ids[:4], group=None, line=None))
    for truth in (catalog.truth, half):
        assert cast(Any, rule(truth, truth).rule_options).hours == round(len(truth.items) * 25 / 3600, 6)
    given = what.rule_on(catalog, what.rule_options(hours=25.0), {"hours": 25})
    assert cast(Any, given(half, half).rule_options).hours == 25


def test_a_missing_module_is_explained(tmp_path: Path) -> None:
    what = replace(challenge("wheat"), package="")
    assert not what.has("recipe")
    with pytest.raises(BadInput, match=r"add recipe\.py"):
        what.module("recipe")
