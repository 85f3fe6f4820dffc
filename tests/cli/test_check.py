"""`tallymark check`: valid submissions, problems, expected ids, data folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.cli.running import run
from tests.formats.files import put, put_recording
from tests.made import NAMES
from tests.sets import copy_of
from tests.submission.test_fuzzing import GOOD


def test_check_accepts_valid_submissions(files: tuple[str, Path, Path]) -> None:
    name, _, submission = files
    assert "valid" in run("check", name, submission, "--against", submission)
    assert json.loads(run("check", name, submission, "--json"))["valid"] is True


def test_check_lists_problems(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("image_id,PredictionString\na,1 2 3\nb,1 0 0 x 1\n")
    text = run("check", "wheat", path, code=2)
    assert f"2 problems in {path}" in text.replace("\n", "")
    assert "token_count" in text
    assert "not_a_number" in text
    assert "line 3" in text
    listed = tmp_path / "problems.csv"
    text = run("check", "wheat", path, "--out", listed, code=2)
    assert text.replace("\n", "").endswith(f"written to {listed}")
    printed = json.loads(run("check", "wheat", path, "--json", "--out", listed, "--force", code=2))
    assert printed["valid"] is False
    assert printed["total"] == 2
    assert printed["problems"][0]["line"] == 2


def test_options_that_nothing_would_be_done_with_are_refused(
    good: Callable[[str], tuple[Path, Path]], tmp_path: Path
) -> None:
    """A list of exclusions is about a folder, and expected ids are those of a submission."""
    _, submission = good("wheat")
    assert "a data folder with it" in run("check", "wheat", submission, "--exclude", submission, code=2)
    assert "a submission with it" in run("check", "wheat", tmp_path, "--against", submission, code=2)
    for option, value in (("--media", tmp_path), ("--gsd", 0.1)):
        text = run("convert", "wheat", submission, "--out", tmp_path / "out.csv", option, value, code=2)
        assert "add --to FORMAT" in text
    assert not (tmp_path / "out.csv").exists()


def test_every_problem_is_written_to_the_list(tmp_path: Path) -> None:
    """However many there are; on the screen, their number is enough."""
    path, listed = tmp_path / "s.csv", tmp_path / "problems.csv"
    path.write_text("image_id,PredictionString\n" + "".join(f"{number},1 2 3\n" for number in range(250)))
    assert "in all: 250 token_count" in run("check", "wheat", path, "--out", listed, code=2)
    assert pl.read_csv(listed)["line"].to_list() == list(range(2, 252))


@pytest.mark.parametrize("name", NAMES)
def test_a_data_folder_defines_the_expected_ids(name: str, tmp_path: Path) -> None:
    test = tmp_path / ("test_data" if name == "lyft" else "test")
    test.mkdir()
    suffix = {"wheat": ".jpg", "food": ".jpg", "upcalls": "", "ships": ""}
    if name == "lyft":
        (test / "sample.json").write_text('[{"token": "a"}, {"token": "b"}, {"token": "c"}]')
    else:
        stems = {"upcalls": ("a.wav", "b.wav"), "ships": ("a.jpg", "b.jpg", "c.jpg")}.get(name, ("a", "b", "c"))
        for stem in stems:
            (test / f"{stem}{suffix[name]}").touch()
    submission = tmp_path / "s.csv"
    submission.write_text(GOOD[name][1])
    printed = json.loads(
        run("check", name, submission, "--against", tmp_path, "--json", code=0 if name == "upcalls" else 2)
    )
    assert printed["counts"] == ({} if name == "upcalls" else {"missing_id": 1})


def test_an_empty_or_invalid_data_folder_is_reported(tmp_path: Path) -> None:
    submission = tmp_path / "s.csv"
    submission.write_text(GOOD["lyft"][1])
    folder = tmp_path / "data"
    folder.mkdir()
    assert "empty_folder" in run("check", "lyft", submission, "--against", folder, code=2)
    (folder / "sample.json").write_text('{"token": 3')
    assert "bad_json" in run("check", "lyft", submission, "--against", folder, code=2)


@pytest.mark.parametrize(("start", "name"), [(b"\x1f\x8b\x08\x00", "gzip"), (b"PK\x03\x04", "spreadsheet")])
def test_archives_are_recognised(start: bytes, name: str, tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_bytes(start + b"\0\0rest")
    assert name in run("check", "wheat", path, code=2)


def test_a_missing_sample_is_the_only_problem(tmp_path: Path) -> None:
    submission = tmp_path / "s.csv"
    submission.write_text(GOOD["wheat"][1])
    printed = json.loads(run("check", "wheat", submission, "--against", tmp_path / "nothere.csv", "--json", code=2))
    assert printed["counts"] == {"unreadable": 1}


def test_ids_of_food_may_lack_the_suffix_of_the_file(tmp_path: Path) -> None:
    submission, sample = tmp_path / "s.csv", tmp_path / "sample.csv"
    submission.write_text(GOOD["food"][1])
    sample.write_text("image_name,pred1,pred2,pred3\na.jpg,0,1,2\nb.jpg,0,1,2\n")
    assert "valid" in run("check", "food", submission, "--against", sample)
    for name in ("a.jpg", "b.jpg"):
        (tmp_path / "test").mkdir(exist_ok=True)
        (tmp_path / "test" / name).touch()
    assert "valid" in run("check", "food", submission, "--against", tmp_path / "test")
    out = tmp_path / "out.csv"
    assert (
        json.loads(run("repair", "food", submission, "--against", tmp_path / "test", "-o", out, "--json"))["changes"]
        == []
    )


def test_check_writes_a_list_for_exclude(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "wheat", tmp_path)
    victim = sorted((folder / "train").iterdir())[0]
    victim.write_bytes(victim.read_bytes()[:1000])
    report = run("check", "wheat", folder, "--out", tmp_path / "problems.csv", code=2)
    assert "truncated_media" in report
    assert victim.name in report
    assert pl.read_csv(tmp_path / "problems.csv")["item"].to_list() == [victim.stem]
    assert "valid" in run("check", "wheat", folder, "--exclude", tmp_path / "problems.csv")
    assert "bad_header" in run("check", "wheat", folder, "--exclude", folder / "train.csv", code=2)


def test_items_without_annotations_are_counted(tmp_path: Path) -> None:
    """Neither `check` nor `train` takes them for empty; without any annotations, all are to be predicted."""
    put_recording(tmp_path / "a.wav")
    put_recording(tmp_path / "b.wav")
    assert json.loads(run("check", "upcalls", tmp_path, "--json", code=2))["remarks"] == []
    put(tmp_path / "a.txt", "0.1\t0.2\tupcall\n")
    remark = "1 of 2 recordings without annotations: not taken for empty, and not trained on"
    assert json.loads(run("check", "upcalls", tmp_path, "--json", code=2))["remarks"] == [remark]
    put(tmp_path / "b.txt", "")
    assert json.loads(run("check", "upcalls", tmp_path, "--json", code=2))["remarks"] == []


def test_an_unknown_id_that_must_mean_a_missing_one_is_said_how_to_write(tmp_path: Path) -> None:
    put(tmp_path / "sample.csv", "image_id,PredictionString\na,\nb,\n")
    put(tmp_path / "s.csv", "image_id,PredictionString\nA.jpg,\nz,\n")
    printed = json.loads(
        run("check", "wheat", tmp_path / "s.csv", "--against", tmp_path / "sample.csv", "--json", code=2)
    )
    remedies = {one["item"]: one["remedy"] for one in printed["problems"] if one["kind"] == "unknown_id"}
    assert remedies == {
        "A.jpg": "write 'a'; `tallymark repair` does",
        "z": "remove the row (or read with extra=ignore)",
    }


def test_the_truth_in_place_of_a_sample_submission_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "truth.csv", "image_id,width,height,bbox,source\n")
    put(tmp_path / "s.csv", "image_id,PredictionString\na,\n")
    words = ("check", "wheat", tmp_path / "s.csv", "--against", tmp_path / "truth.csv", "--json")
    [problem] = json.loads(run(*words, code=2))["problems"]
    assert (problem["kind"], problem["remedy"]) == ("bad_header", "give a sample submission, or the data folder")
