"""The examples in the official texts, as they stand there, through the commands `check`, `repair` and `score`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tallymark.cli.main import app

WHEAT = """\
image_id,PredictionString
ce4833752,1.0 0 0 50 50
adcfa13da,1.0 0 0 50 50
6ca7b2650,
1da9078c1,0.3 0 0 50 50 0.5 10 10 30 30
7640b4963,0.5 0 0 50 50
etc...
"""
LYFT = """\
Id,PredictionString
db8b47bd4ebdf3b3fb21598bb41bd8853d12f8d2ef25ce76edd4af4d04e49341,
97ce3ab08ccbc0baae0267cbf8d4da947e1f11ae1dbcb80c3f4408784cd9170c,1.0 2742.15 673.16 -18.65 1.834 4.609 1.648 2.619 car
etc...
"""
SHIPS = """\
ImageId,EncodedPixels
  00002bd58.jpg,1 3
  00015efb6.jpg,
  00023d5fc.jpg,1 3 10 5
  etc.
"""
FOOD = """\
image_name,pred1,pred2,pred3 </br>
test_0001,0,1,10 </br>
test_0002,1,3,5 </br>
test_0003,0,5,1 </br>
"""
CLOSING = {"wheat": WHEAT, "lyft": LYFT, "ships": SHIPS}
"""Examples that close with a line that stands for further rows."""


def run(tmp_path: Path, verb: str, challenge: str, *words: str, **files: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON of a verb; `files` are written first, by their name without `.csv`."""
    for name, text in files.items():
        (tmp_path / f"{name}.csv").write_text(text)
    paths = [str(tmp_path / word) if word.endswith(".csv") else word for word in words]
    result = CliRunner().invoke(app, [verb, challenge, *paths, "--json"])
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.parametrize("name", CLOSING)
def test_an_example_is_valid(name: str, tmp_path: Path) -> None:
    rows = "".join(CLOSING[name].splitlines(keepends=True)[:-1])
    code, result = run(tmp_path, "check", name, "example.csv", example=rows)
    assert (code, result["valid"]) == (0, True)


@pytest.mark.parametrize("name", CLOSING)
def test_the_closing_line_of_an_example_is_named(name: str, tmp_path: Path) -> None:
    code, result = run(tmp_path, "check", name, "example.csv", example=CLOSING[name])
    assert (code, result["valid"]) == (2, False)
    (problem,) = result["problems"]
    assert problem["kind"] == "field_count"
    assert problem["line"] == len(CLOSING[name].splitlines())


@pytest.mark.parametrize("name", CLOSING)
def test_repair_drops_the_closing_line_of_an_example(name: str, tmp_path: Path) -> None:
    code, result = run(tmp_path, "repair", name, "example.csv", "--out", "repaired.csv", example=CLOSING[name])
    assert (code, len(result["changes"])) == (0, 1)
    rows = CLOSING[name].splitlines()[:-1]
    assert (tmp_path / "repaired.csv").read_text().splitlines() == [row.strip() for row in rows]


def test_wheat_a_box_of_the_example_has_this_place_and_size(tmp_path: Path) -> None:
    """`0.5 0 0 100 100` is a box at the origin with a width and height of 100."""
    truth = 'image_id,width,height,bbox,source\nce4833752,1024,1024,"[0, 0, 100, 100]",a\n'
    submission = "image_id,PredictionString\nce4833752,0.5 0 0 100 100\n"
    code, result = run(tmp_path, "score", "wheat", "truth.csv", "mine.csv", truth=truth, mine=submission)
    assert (code, result["score"]) == (0, 1.0)


def test_wheat_any_prediction_on_an_empty_image_scores_zero(tmp_path: Path) -> None:
    truth = "image_id,width,height,bbox,source\na,1024,1024,,s\n"
    some = "image_id,PredictionString\na,1.0 0 0 50 50\n"
    assert run(tmp_path, "score", "wheat", "truth.csv", "mine.csv", truth=truth, mine=some)[1]["score"] == 0.0


def test_lyft_a_volume_of_the_example_matches_its_annotation(tmp_path: Path) -> None:
    """Annotations have the same numbers without a confidence; the sample without objects stays empty."""
    rows = LYFT.splitlines()[:-1]
    truth = "\n".join([rows[0], rows[1], rows[2].replace(",1.0 ", ",")]) + "\n"
    mine = "\n".join(rows) + "\n"
    code, result = run(tmp_path, "score", "lyft", "truth.csv", "mine.csv", truth=truth, mine=mine)
    assert (code, result["score"]) == (0, 1.0)


def test_ships_pixels_count_from_one_down_and_then_right(tmp_path: Path) -> None:
    """`1 3 10 5` are the pixels 1, 2, 3 and 10 to 14: the same mask in other words scores 1."""
    head = "ImageId,EncodedPixels\n00023d5fc.jpg,"
    truth, mine = f"{head}1 3 10 5\n", f"{head}1 1 2 1 3 1 10 1 11 4\n"
    assert run(tmp_path, "score", "ships", "truth.csv", "mine.csv", truth=truth, mine=mine)[1]["score"] == 1.0


@pytest.mark.parametrize(
    ("masks", "kind"),
    [
        (["10 5 1 3"], "not_sorted"),
        (["0 3"], "not_positive"),
        (["1 0"], "not_positive"),
        (["1 3 2 5"], "duplicate_pixel"),
        (["1 3", "3 4"], "overlapping_masks"),
    ],
    ids=["sorted", "positive start", "positive length", "no pixel twice", "no two masks overlap"],
)
def test_ships_what_the_metric_checks_is_refused(masks: list[str], kind: str, tmp_path: Path) -> None:
    mine = "ImageId,EncodedPixels\n" + "".join(f"a.jpg,{mask}\n" for mask in masks)
    code, result = run(tmp_path, "check", "ships", "mine.csv", mine=mine)
    assert (code, result["valid"]) == (2, False)
    assert [problem["kind"] for problem in result["problems"]] == [kind]


def test_food_the_example_has_tags_of_a_web_page_that_repair_removes(tmp_path: Path) -> None:
    code, result = run(tmp_path, "check", "food", "example.csv", example=FOOD)
    assert (code, [problem["kind"] for problem in result["problems"]]) == (2, ["break_tag"])
    code, result = run(tmp_path, "repair", "food", "example.csv", "--out", "repaired.csv", example=FOOD)
    assert (code, len(result["changes"])) == (0, 1)
    assert (tmp_path / "repaired.csv").read_text() == FOOD.replace(" </br>", "")


def test_food_a_label_among_the_three_is_no_error(tmp_path: Path) -> None:
    """The true label is found first, last and not at all: a third of the three photographs is an error."""
    truth = "img_name,label\ntest_0001,0\ntest_0002,5\ntest_0003,7\n"
    mine = FOOD.replace(" </br>", "")
    code, result = run(tmp_path, "score", "food", "truth.csv", "mine.csv", truth=truth, mine=mine)
    assert (code, result["score"]) == (0, pytest.approx(1 / 3))


def test_upcalls_several_detections_of_a_call_count_once_and_one_may_find_several_calls(tmp_path: Path) -> None:
    """The two scenarios that the text draws."""
    truth = "filename,timestamp\na.wav,10.0\nb.wav,10.0\nb.wav,10.5\n"
    mine = "filename,timestamp\na.wav,9.9\na.wav,10.0\na.wav,10.1\nb.wav,10.2\n"
    code, result = run(tmp_path, "score", "upcalls", "truth.csv", "mine.csv", "--hours", "1", truth=truth, mine=mine)
    assert code == 0
    assert (result["tp"], result["fp"], result["fn"]) == (3, 0, 0)
