"""Every number of a recipe, of rule options and of synthetic data has bounds: none can take all memory."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from typer.testing import CliRunner

from tallymark.cli.main import app
from tallymark.core.options import parse_options
from tallymark.core.problems import BadInput
from tallymark.core.registry import challenge, challenge_names
from tallymark.modalities import modality

KINDS: list[Any] = [modality(medium).recipe_type for medium in ("image", "audio", "lidar")]
for challenge_name in challenge_names():
    KINDS += [challenge(challenge_name).rule_options, challenge(challenge_name).module("synth").SceneOptions]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
@pytest.mark.parametrize("value", ["999999999", "1e308", "inf", "nan", "9" * 5000])
def test_no_number_is_without_bounds(kind: Any, value: str) -> None:
    for field in dataclasses.fields(kind):
        numeric = isinstance(field.default, int | float) and not isinstance(field.default, bool)
        if (numeric or field.default is None) and not (field.name == "seed" and value == "999999999"):
            with pytest.raises(BadInput) as caught:
                parse_options(kind, {field.name: value})
            assert [len(problem.found) < 80 for problem in caught.value.problems] == [True]


def test_a_problem_names_the_bounds() -> None:
    with pytest.raises(BadInput, match=r"at least 0\.0005, at most 10"):
        modality("audio").recipe_type().replace(hop_seconds=1e-9)
    with pytest.raises(BadInput, match="at most 1000"):
        parse_options(challenge("food").rule_options, {"k": 999_999_999})
    lidar = modality("lidar")
    with pytest.raises(BadInput, match="cells to a side"):
        lidar.validate(lidar.recipe_type().replace(bev_range=1000, voxel_size=0.01))


@pytest.mark.parametrize(
    "words",
    [
        ["score", "food", "truth.csv", "submission.csv", "-r", "k=999999999"],
        ["synth", "wheat", "new", "--items", "1000000000000"],
        ["synth", "wheat", "new", "size=1000000000"],
        ["train", "wheat", ".", "--out", "run", "batch_size=1000000000"],
    ],
    ids=lambda words: words[0] + words[-1],
)
def test_commands_refuse_numbers_that_take_all_memory(
    words: list[str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, words, env={"COLUMNS": "250"})
    assert (result.exit_code, [*tmp_path.iterdir()]) == (2, [])
    assert "bad_option" in result.output
