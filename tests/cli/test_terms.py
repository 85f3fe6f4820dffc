"""`tallymark list CHALLENGE` prints the terms of a challenge, as its card has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tallymark.core.card import plain, terms_of
from tests.cli.running import run
from tests.made import NAMES

STATED = {
    "wheat": ("runs without internet access", "publicly available", "submission.csv"),
    "upcalls": ("metrics.py", "25 hours", "doi:10.20383/101.0241"),
    "food": ("15 April 2018", "FGVC5", "no other data", "acknowledge and cite", "non-commercial", "SRI International"),
    "lyft": ("CC BY-NC-SA 4.0", "not stated"),
    "ships": ("speed prize", "40,000", "must not overlap"),
}


@pytest.mark.parametrize("name", NAMES)
def test_list_prints_the_terms(name: str) -> None:
    text = run("list", name)
    assert all(words in text for words in STATED[name])
    [listed] = json.loads(run("list", name, "--json"))["challenges"]
    assert {"licence", "citation"} & set(listed["terms"])
    assert listed["submission_name"] == ("submission.csv" if name == "wheat" else None)
    assert not any("`" in value for value in listed["terms"].values())


def test_a_card_without_terms_has_none(tmp_path: Path) -> None:
    assert terms_of(tmp_path) == {}
    (tmp_path / "card.md").write_text("# mine\n\n## Rule\n\n| a | b |\n| --- | --- |\n| c | d |\n")
    assert terms_of(tmp_path) == {}
    assert plain("see [here](a.md) and `x`") == "see here and x"
