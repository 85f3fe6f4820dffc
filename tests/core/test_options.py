"""Options: which values are accepted and which are refused."""

from __future__ import annotations

from typing import Any

import pytest

from tallymark.core.options import SceneOptions, describe, list_options, meanings, parse_assignments, parse_options
from tallymark.core.problems import BadInput
from tallymark.core.registry import challenge, challenge_names


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("ships", {"shape": "2x3"}, {"shape": (2, 3)}),
        ("ships", {"shape": "2,3"}, {"shape": (2, 3)}),
        ("ships", {"shape": [2, 3]}, {"shape": (2, 3)}),
        ("upcalls", {"hours": "6", "buffer_s": 2}, {"hours": 6.0, "buffer_s": 2.0}),
        ("food", {"num_classes": "211"}, {"num_classes": 211}),
        ("food", {"num_classes": "none", "k": 5}, {"num_classes": None, "k": 5}),
        ("wheat", {"missing": "empty"}, {"missing": "empty"}),
    ],
)
def test_values_are_converted(name: str, given: dict[str, Any], expected: dict[str, Any]) -> None:
    rule_options = describe(parse_options(challenge(name).rule_options, given))
    assert {key: rule_options[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("ships", {"shape": "2"}),
        ("ships", {"shape": "0x5"}),
        ("ships", {"shape": "1000000000x1000000000"}),
        ("ships", {"shape": "axb"}),
        ("upcalls", {"hours": "0"}),
        ("upcalls", {"hours": "nan"}),
        ("upcalls", {"hours": "many"}),
        ("food", {"k": "0"}),
        ("food", {"k": "3.0"}),
        ("food", {"num_classes": "-1"}),
        ("wheat", {"match": "greedy"}),
        ("wheat", {"nonsense": "1"}),
    ],
)
def test_invalid_values_are_refused(name: str, given: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        parse_options(challenge(name).rule_options, given)


def test_all_invalid_options_are_reported() -> None:
    with pytest.raises(BadInput) as caught:
        parse_options(challenge("wheat").rule_options, {"matsch": "x", "match": "y", "extra": "ignore"})
    assert [problem.kind for problem in caught.value.problems] == ["unknown_option", "bad_option"]
    assert {problem.file for problem in caught.value.problems} == {"rule options"}


def test_an_assignment_is_split_at_its_first_equals_sign() -> None:
    assert parse_assignments(["a=1", " b = x=y "]) == {"a": "1", "b": "x=y"}


@pytest.mark.parametrize("name", challenge_names())
def test_every_option_is_described(name: str) -> None:
    described = list_options(challenge(name).rule_options)
    assert described
    assert all(option.values and option.default for option in described)


@pytest.mark.parametrize("name", challenge_names())
def test_every_option_has_a_meaning(name: str) -> None:
    for kind in (challenge(name).rule_options, challenge(name).module("synth").SceneOptions):
        explained = meanings(kind)
        assert [option.option for option in list_options(kind) if not explained.get(option.option)] == []


def test_meanings_come_from_docstrings() -> None:
    explained = meanings(challenge("food").rule_options)
    assert explained["k"] == "labels per row"
    assert explained["missing"] == "an item without a row is an `error`, or counts as `empty`"


@pytest.mark.parametrize("name", challenge_names())
def test_the_demo_uses_existing_scene_options(name: str) -> None:
    kind: type[SceneOptions] = challenge(name).module("synth").SceneOptions
    assert issubclass(kind, SceneOptions)
    scenes = parse_options(kind, {key: value for key, value in kind.demo.items() if key != "items"})
    parse_options(challenge(name).rule_options, scenes.rule_options)
    assert kind().rule_options == {}, "official data need no rule options"
