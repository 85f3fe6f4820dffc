"""`tallymark models` lists the pretrained models and the challenges without one; `predict` says what to do there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import tallymark
from tallymark.core.card import ModelCard, why_no_model
from tallymark.core.registry import challenge
from tests.cli.running import run
from tests.cli.test_plugins import install
from tests.formats.files import put
from tests.made import NAMES

PLUGIN = """
from dataclasses import replace
from pathlib import Path

from tallymark.core.registry import challenge

CHALLENGE = replace(challenge("wheat"), name="bees", title="Bees", folder=Path(__file__).parent)
"""
CARD = """# The bees

| | |
| --- | --- |
| data | 12 hives |
| score | **0.25** by the official metric |
| evaluated on | [3 others](other.md) |
| licence | CC0 |

| other | table |
| --- | --- |
| score | 0.9 |
"""


def bees(folder: Path, monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], None]) -> Path:
    """The folder of a challenge of another package."""
    put(folder / "bees_plugin" / "__init__.py", PLUGIN)
    install(folder, "bees_plugin", {"bees": "bees_plugin:CHALLENGE"})
    monkeypatch.syspath_prepend(folder)
    fresh()
    return folder / "bees_plugin"


def test_every_challenge_has_a_model_or_a_reason() -> None:
    listed = json.loads(run("models", "--json"))
    models, without = listed["models"], listed["without_model"]
    assert sorted(one["challenge"] for one in [*models, *without]) == sorted(NAMES)
    assert "wheat" in [one["challenge"] for one in models]
    for one in models:
        assert one["bytes"] == Path(one["path"]).stat().st_size
        assert all(one[name] for name in ("network", "data", "score", "evaluated_on", "licence"))
        assert one["command"] == f"tallymark predict {one['challenge']} FOLDER"
    for one in without:
        assert one["reason"], f"say on the card of {one['challenge']} why it has no model"
        assert one["command"] == f"tallymark train {one['challenge']} FOLDER --out RUN"


def test_the_table_has_the_facts_of_the_card() -> None:
    card = ModelCard.read(challenge("wheat").folder)
    text = run("models")
    assert f"{card.score}" in text
    assert "tallymark predict wheat FOLDER" in text
    assert all(word in text for word in card.licence.split())
    assert not [mark for mark in ("**", "`") if mark in text]


def test_models_of_other_packages_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], None]
) -> None:
    folder = bees(tmp_path, monkeypatch, fresh)
    [missing] = [one for one in tallymark.models().missing if one.challenge == "bees"]
    assert (missing.title, missing.reason) == ("Bees", "")
    put(folder / "model.onnx", "12345")
    [model] = [one for one in tallymark.models().pretrained if one.challenge == "bees"]
    assert (model.bytes, model.path, model.card) == (5, folder / "model.onnx", ModelCard())
    assert "not stated" in run("models")
    put(folder / "model.md", CARD)
    [model] = [one for one in tallymark.models().pretrained if one.challenge == "bees"]
    assert model.card == ModelCard("", "12 hives", 0.25, "3 others", "CC0")


def test_a_broken_package_is_a_problem_beside_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], None]
) -> None:
    install(tmp_path, "bad", {"absent": "absent:CHALLENGE"})
    monkeypatch.syspath_prepend(tmp_path)
    fresh()
    listed = json.loads(run("models", "--json"))
    assert listed["models"]
    assert [problem["kind"] for problem in listed["problems"]] == ["bad_plugin"]
    assert "pip uninstall bad" in run("models")


def test_predict_without_a_pretrained_model_says_why_and_what_to_do(tmp_path: Path) -> None:
    [problem] = json.loads(run("predict", "food", tmp_path, "--json", code=2))["problems"]
    assert problem["kind"] == "no_model"
    assert problem["found"] == f"no pretrained model. {why_no_model(challenge('food').folder)}"
    assert "wheat" in problem["expected"]
    assert "tallymark train food FOLDER --out RUN, then: tallymark predict RUN FOLDER" in problem["remedy"]
    [problem] = json.loads(run("predict", "foood", tmp_path, "--json", code=2))["problems"]
    assert "tallymark models" in problem["remedy"]


def test_a_reason_is_the_first_paragraph_of_its_section(tmp_path: Path) -> None:
    assert why_no_model(tmp_path) == ""
    put(tmp_path / "card.md", "# x\n\n## Pretrained model\n\nNo `data`,\nsee [there](a.md).\n\nMore.\n\n## Rule\n")
    assert why_no_model(tmp_path) == "No data, see there"
