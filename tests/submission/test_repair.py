"""Repair: the result is valid, every change is listed, and valid rows stay as they are."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallymark
from tallymark.core.problems import BadInput
from tallymark.submission.rle import Runs, _merged, _share_out
from tests.made import NAMES, annotations
from tests.submission.test_fuzzing import GOOD, HEALTH_CHECKS, corrupt, edits_of_bytes


def repaired(
    name: str, text: str, folder: Path, sample: str | None = None, **options: object
) -> tuple[list[str], list[str]]:
    """The rows after a repair, and the changes as `line: what`."""
    source = folder / "in.csv"
    out = folder / "out.csv"
    against = folder / "sample.csv"
    source.write_text(text)
    if sample is not None:
        against.write_text(sample)
    changes = tallymark.repair(name, source, out, against=None if sample is None else against, **options)
    assert source.read_text() == text
    return out.read_text().splitlines()[1:], [f"{change.line}: {change.what}" for change in changes]


CASES = {
    "wheat_clip": (
        "wheat",
        "image_id,PredictionString\na,0.5 -10 1000 50 50\n",
        ["a,0.5 0 1000 40 24"],
        ["2: clipped a box to 1024 x 1024 px"],
    ),
    "wheat_drop": (
        "wheat",
        "image_id,PredictionString\na,0.5 0 0 9 9 nan 0 0 9 9 0.4 0 0 -9 9 0.3 2000 0 9 9\nb,0.9 0 0 9\n",
        ["a,0.5 0 0 9 9", "b,"],
        [
            "2: dropped an unreadable box",
            "2: dropped a box of negative size",
            "2: dropped a box outside the image",
            "3: dropped a row of 4 values, not a multiple of 5",
        ],
    ),
    "wheat_of_a_spreadsheet": (
        "wheat",
        "\ufeffimage_id;PredictionString\na;0,5 10 20,25 30 40\nb;\nc;1;2\n",
        ["a,0.5 10 20.25 30 40", "b,"],
        [
            "1: replaced semicolons between fields by commas",
            "2: replaced decimal commas by points",
            "4: dropped an unreadable row",
        ],
    ),
    "upcalls_of_a_spreadsheet": (
        "upcalls",
        'filename\ttimestamp\n"a, b.wav"\t12,5\na.wav\t7\n',
        ['"a, b.wav",12.5', "a.wav,7"],
        ["1: replaced tabs between fields by commas", "2: replaced decimal commas by points"],
    ),
    "wheat_decimals_are_kept": (
        "wheat",
        "image_id,PredictionString\na,0.9 10.1 20.2 30.3 40.4 0.50 1000 1000 24.00 24\n",
        ["a,0.9 10.1 20.2 30.3 40.4 0.50 1000 1000 24.00 24"],
        [],
    ),
    "wheat_rows": (
        "wheat",
        "image_id,PredictionString,extra\na,0.5 0 0 9 9,x\na,0.4 1 1 9 9,y\n,1 0 0 1 1,z\nbad\n",
        ["a,0.5 0 0 9 9 0.4 1 1 9 9"],
        [
            "1: dropped columns",
            "3: joined with the item's first row",
            "4: dropped a row without an id",
            "5: dropped an unreadable row",
        ],
    ),
    "lyft_class_names_end_records": (
        "lyft",
        "Id,PredictionString\na,0.9 0 0 0 2 4 2 car 0.8 0 0 0 2 4 2 0 bus 0.7 0 0 0 2 4 0 0 car 0.6 0 0 0 2 4 2 0 ox\n",
        ["a,0.8 0 0 0 2 4 2 0 bus"],
        [
            "2: dropped a record of 8 values",
            "2: dropped a 3D box without size",
            "2: dropped a 3D box of an unknown class",
        ],
    ),
    "ships_runs": (
        "ships",
        "ImageId,EncodedPixels\na,10 5 1 3 12 9 x 2 589824 7 7 0 4\n",
        ["a,1 3 10 11 589824 1"],
        [
            "2: dropped a start without a length",
            "2: dropped an unreadable run",
            "2: clipped a run to the image",
            "2: dropped a run outside the image",
            "2: sorted and merged runs",
        ],
    ),
    "ships_overlap_earlier": (
        "ships",
        "ImageId,EncodedPixels\na,1 10\na,5 10\na,2 3\n",
        ["a,1 10", "a,11 4"],
        ["3: gave overlapping pixels to another mask", "4: dropped a mask that others cover"],
    ),
    "ships_overlap_confident": (
        "ships",
        "ImageId,EncodedPixels,confidence\na,1 10,0.2\na,5 10,0.9\n",
        ["a,1 4", "a,5 10"],
        ["1: dropped columns", "2: gave overlapping pixels to another mask"],
    ),
    "food_labels": (
        "food",
        "image_name,pred1,pred2,pred3\na,3.0,x,\nb,1,1,2\na,7,8,9\n",
        ["a,3,0,1", "b,1,1,2"],
        ["2: made 3 labels", "4: dropped a second row of the item"],
    ),
    "food_one_column": (
        "food",
        "img_name,label\na,4 5 6 7\nb,4\n",
        ["a,4 5 6", "b,4 0 1"],
        ["2: made 3 labels", "3: made 3 labels"],
    ),
    "upcalls": (
        "upcalls",
        "filename,timestamp\na.wav,1\na.wav,nan\nb.wav,x\n",
        ["a.wav,1"],
        ["3: dropped an unreadable timestamp", "4: dropped an unreadable timestamp"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_fault_is_repaired_and_listed(case: str, tmp_path: Path) -> None:
    name, text, rows, changes = CASES[case]
    assert repaired(name, text, tmp_path) == (rows, changes)


def test_missing_ids_are_added_and_unknown_ids_dropped(tmp_path: Path) -> None:
    rows, changes = repaired(
        "wheat",
        "image_id,PredictionString\nz,\na,0.5 0 0 9 9\n",
        tmp_path,
        "image_id,PredictionString\na,\nb,\n",
    )
    assert rows == ["a,0.5 0 0 9 9", "b,"]
    assert changes == ["2: dropped a row of an unknown id", "None: added a missing row"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_a_valid_file_is_unchanged(name: str, seed: int, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    out = tmp_path / "out.csv"
    predictions = annotations(name, seed)
    if name == "wheat":
        predictions = replace(predictions, shapes=predictions.shapes.clip_to(1024, 1024))
    tallymark.write(name, predictions, source)
    assert tallymark.repair(name, source, out) == []
    assert out.read_bytes() == source.read_bytes()


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=100, suppress_health_check=HEALTH_CHECKS)
@given(edits=edits_of_bytes)
def test_any_corruption_is_repaired_or_reported(
    name: str, edits: list[tuple[float, int, bytes]], tmp_path: Path
) -> None:
    source = tmp_path / "in.csv"
    out = tmp_path / "out.csv"
    source.write_bytes(corrupt(GOOD[name][1], edits))
    try:
        changes = tallymark.repair(name, source, out)
    except tallymark.BadInput as bad:
        assert bad.problems.total
        return
    assert not tallymark.check(name, out).problems
    if tallymark.check(name, source).problems:
        assert changes


@pytest.mark.parametrize("blank", ["\xa0", "\x1d", "\u2003"])
def test_unusual_whitespace_becomes_spaces(blank: str, tmp_path: Path) -> None:
    text = f"image_id,PredictionString\na,0.5 1 2{blank}30 40\nb,{blank}\n"
    rows, changes = repaired("wheat", text, tmp_path)
    assert rows == ["a,0.5 1 2 30 40", "b,"]
    assert changes == ["2: replaced unusual whitespace by spaces", "3: replaced unusual whitespace by spaces"]


def test_changes_have_the_text_before_and_after(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("filename,timestamp\na.wav,x y\n")
    [change] = tallymark.repair("upcalls", tmp_path / "s.csv", tmp_path / "out.csv")
    assert (change.before, change.after) == ("x y", "")


def test_the_original_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(GOOD["wheat"][1])
    with pytest.raises(tallymark.BadInput, match="same_file"):
        tallymark.repair("wheat", tmp_path / "s.csv", tmp_path / "s.csv")


runs = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 6)).map(lambda run: (run[0], run[0] + run[1])), max_size=8)


@given(runs, runs)
def test_runs_merge_and_subtract_like_sets_of_pixels(a: Runs, b: Runs) -> None:
    def pixels(of: Runs) -> set[int]:
        return {pixel for start, stop in of for pixel in range(start, stop)}

    merged = _merged(a)
    assert pixels(merged) == pixels(a)
    assert all(first[1] < second[0] for first, second in pairwise(merged))
    assert pixels(_share_out([_merged(b), merged])[1]) == pixels(a) - pixels(b)


def test_ids_that_can_mean_one_expected_id_only_are_spelled_like_it(tmp_path: Path) -> None:
    sample = "image_id,PredictionString\na,\nb,\nC,\nd,\nD,\ne,\n"
    text = "image_id,PredictionString\na.jpg,1 0 0 9 9\ntest/B.JPG,\nc,\nd.png,\ne,\nE,\n"
    rows, changes = repaired("wheat", text, tmp_path, sample)
    assert rows == ["a,1 0 0 9 9", "b,", "C,", "e,", "d,", "D,"]
    assert changes == [
        "2: changed the spelling of the id",
        "3: changed the spelling of the id",
        "4: changed the spelling of the id",
        "5: dropped a row of an unknown id",
        "7: dropped a row of an unknown id",
        "None: added a missing row",
        "None: added a missing row",
    ]


def test_a_submission_of_another_set_is_refused(tmp_path: Path) -> None:
    """Its repair would be valid, and empty."""
    with pytest.raises(BadInput) as caught:
        repaired("wheat", "image_id,PredictionString\nx,1 0 0 9 9\n", tmp_path, "image_id,PredictionString\na,\n")
    [problem] = caught.value.problems
    assert (problem.kind, problem.found, problem.expected) == ("no_common_id", "ids as 'x'", "ids as 'a'")
    assert not (tmp_path / "out.csv").exists()
