"""Every hand-computed case, scored from Python and from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tallymark
from tallymark.cli.main import app
from tests.cases import all_cases, assert_error, assert_values, write_files


def test_every_rule_has_cases_and_the_docs_state_their_number() -> None:
    cases = [case.values[0] for case in all_cases()]
    assert set(cases) == set(tallymark.challenge_names())
    assert len(cases) >= 170  # no case may get lost
    page = (Path(__file__).parent.parent / "docs" / "rules.md").read_text()
    assert f"{len(cases)} hand-computed cases" in " ".join(page.split())


@pytest.mark.parametrize(("name", "case"), all_cases())
def test_score_from_python_equals_the_hand_computed_case(name: str, case: dict[str, Any], tmp_path: Path) -> None:
    truth, prediction, images, options = write_files(case, tmp_path)
    if "error" in case["expected"]:
        with pytest.raises(tallymark.BadInput) as caught:
            tallymark.score(name, truth, prediction, images=images, **options)
        assert_error(case["expected"]["error"], [problem.as_dict() for problem in caught.value.problems])
        return
    score = tallymark.score(name, truth, prediction, images=images, **options)
    per_item = dict(zip(score.items["item"], score.items["score"], strict=True))
    assert_values(case["expected"], score.as_dict(), per_item)


@pytest.mark.parametrize(("name", "case"), all_cases())
def test_score_from_the_command_line_equals_the_hand_computed_case(
    name: str, case: dict[str, Any], tmp_path: Path
) -> None:
    truth, prediction, images, options = write_files(case, tmp_path)
    table = tmp_path / "items.csv"
    command = ["score", name, str(truth), str(prediction), "--json", "--per-item", str(table)]
    command += ["--images", str(images)] if images else []
    for key, value in options.items():
        command += ["--rule", f"{key}={'x'.join(map(str, value)) if isinstance(value, list) else value}"]
    result = CliRunner().invoke(app, command)
    printed = json.loads(result.stdout)
    if "error" in case["expected"]:
        assert result.exit_code == 2
        assert_error(case["expected"]["error"], printed["problems"])
        return
    assert result.exit_code == 0
    lines = [line.split(",") for line in table.read_text().splitlines()]
    column = lines[0].index("score")
    per_item = {line[0]: float(line[column]) if line[column] else None for line in lines[1:]}
    assert_values(case["expected"], printed, per_item)
