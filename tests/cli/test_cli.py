"""The command line: output, exit codes and help."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile
from typer.testing import CliRunner

from tallymark.cli.main import app
from tests.made import NAMES
from tests.sets import SMALL, copy_of
from tests.submission.test_fuzzing import GOOD

PAIRS: dict[str, list[tuple[object, ...]]] = {
    "wheat": [("a", 0, 0, 1.0, 6), ("b", 0, 0, 200 / 210, 6)],
    "upcalls": [("a.wav", 0, 0, -0.5)],
    "food": [("a", 1)],
    "lyft": [("a", 0, 0, 1.0, 10)],
    "ships": [("a.jpg", 0, 0, 1.0, 10)],
}
"""What `--pairs` writes for the good files: item, numbers of truth and prediction, overlap, thresholds passed."""
GOLDEN = (0.5770114942528736, 0.21694036300777875, 0.31532663316582915)


def run(*words: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "250"})
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture
def good(tmp_path: Path) -> Callable[[str], tuple[Path, Path]]:
    """Writes a truth and a submission of a challenge that are in order."""

    def write(name: str) -> tuple[Path, Path]:
        paths = tmp_path / "truth.csv", tmp_path / "submission.csv"
        for path, text in zip(paths, GOOD[name], strict=True):
            path.write_text(text)
        return paths

    return write


@pytest.fixture(params=NAMES)
def files(request: pytest.FixtureRequest, good: Callable[[str], tuple[Path, Path]]) -> tuple[str, Path, Path]:
    """Each challenge with a truth and a submission."""
    return request.param, *good(request.param)


def test_help_lists_every_command() -> None:
    text = run("--help")
    commands = "list check score compare repair convert explore folds synth train predict tune fuse kit demo"
    assert all(command in text for command in commands.split())


def test_list_shows_challenges_and_the_options_of_one() -> None:
    text = run("list")
    assert all(name in text for name in NAMES)
    assert "best_overall" not in text
    assert "best_overall" in run("list", "wheat")
    assert "or misses if the best overall is taken" in run("list", "wheat")
    listed = {row["name"]: row for row in json.loads(run("list", "--json"))["challenges"]}
    assert set(listed) >= set(NAMES)
    assert {"option": "shape", "values": "HEIGHTxWIDTH", "default": "768x768"} in listed["ships"]["rule_options"]
    assert "did you mean 'ships'?" in run("list", "ship", code=2)


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
    printed = json.loads(run("check", "wheat", path, "--json", code=2))
    assert printed["valid"] is False
    assert printed["total"] == 2
    assert printed["problems"][0]["line"] == 2


def test_score_prints_tables_and_files(files: tuple[str, Path, Path]) -> None:
    name, truth, submission = files
    per_item, pairs = truth.with_name("items.csv"), truth.with_name("pairs.csv")
    text = run("score", name, truth, submission, "--per-item", per_item, "--pairs", pairs)
    assert "score" in text
    assert "rule options" in text
    assert pl.read_csv(per_item, infer_schema=False)["item"].to_list() == pl.read_csv(submission)[:, 0].to_list()
    assert pl.read_csv(pairs).rows() == PAIRS[name]
    printed = json.loads(run("score", name, truth, submission, "--json"))
    assert {"score", "rule_options", "counts"} <= set(printed)


def test_wheat_shows_groups_by_source(good: Callable[[str], tuple[Path, Path]]) -> None:
    printed = json.loads(run("score", "wheat", *good("wheat"), "--json"))
    assert [group["group"] for group in printed["groups"]] == ["s", "t"]
    assert "groups" in run("score", "wheat", *good("wheat"))


def test_upcalls_prints_the_official_lines(tmp_path: Path) -> None:
    """The published baseline: TP 251, FP 184, FN 906."""
    truth, detections = tmp_path / "truth.csv", tmp_path / "detections.csv"
    truth.write_text("filename,timestamp,label\n" + "".join(f"a.wav,{10 * k},up\n" for k in range(1157)))
    hits = [10 * k for k in range(251)] + [10 * k + 5 for k in range(2000, 2184)]
    detections.write_text("filename,timestamp\n" + "".join(f"a.wav,{at}\n" for at in hits))
    lines = run("score", "upcalls", truth, detections, "--hours", 25).splitlines()
    precision, recall, f1 = GOLDEN
    assert lines[:6] == [
        "True Positives (TP): 251",
        "False Positives (FP): 184",
        "False Negatives (FN): 906",
        f"Precision: {precision}",
        f"Recall: {recall}",
        f"F1 Score: {f1}",
    ]
    assert lines[6] == "False positives per hour: 7.36 (25.0 h)"
    assert lines[7].startswith("One-to-one F1: 0.3153")


def test_hours_are_known_for_the_official_test_recordings_only(tmp_path: Path) -> None:
    truth, detections = tmp_path / "truth.csv", tmp_path / "detections.csv"
    official = [f"B_cont_{k}.wav" for k in range(50) if k not in (13, 17, 20, 35, 43, 47)]
    detections.write_text("filename,timestamp\nB_cont_0.wav,50\n")
    for names, rate in ((official, 1 / 25), (official[1:], None), ([*official, "a.wav"], None), (["a.wav"], None)):
        truth.write_text("filename,timestamp,label\n" + "".join(f"{name},10,up\n" for name in names))
        printed = json.loads(run("score", "upcalls", truth, detections, "--json"))
        assert printed["fp_per_hour"] == rate
        assert printed["rule_options"]["hours"] == (None if rate is None else 25)
    text = run("score", "upcalls", truth, detections)
    assert "False positives per hour: unknown; give --hours NUMBER or --audio FOLDER" in text
    assert "hours=none" in text


def test_hours_come_from_audio_headers(tmp_path: Path) -> None:
    (tmp_path / "day").mkdir()
    for name in ("a.wav", "day/b.flac"):
        soundfile.write(tmp_path / name, np.zeros(2000 * 90), 2000)
    truth, detections = tmp_path / "truth.csv", tmp_path / "detections.csv"
    truth.write_text("filename,timestamp,label\na.wav,10,up\n")
    detections.write_text("filename,timestamp\na.wav,10\na.wav,50\n")
    printed = json.loads(run("score", "upcalls", truth, detections, "--audio", tmp_path, "--json"))
    assert printed["rule_options"]["hours"] == 0.05
    assert printed["fp_per_hour"] == 20
    truth.write_text("filename,timestamp,label\nc.wav,10,up\n")
    assert "missing_audio" in run("score", "upcalls", truth, detections, "--audio", tmp_path, code=2)
    (tmp_path / "a.wav").write_bytes(b"not audio")
    assert "corrupt_audio" in run("score", "upcalls", truth, detections, "--audio", tmp_path, code=2)


def test_hours_of_a_data_folder_are_those_of_its_labelled_recordings(tmp_path: Path) -> None:
    folder, detections = tmp_path / "set", tmp_path / "detections.csv"
    (folder / "test").mkdir(parents=True)
    for name in ("a.wav", "b.wav", "test/c.wav"):  # the last one is unlabelled
        soundfile.write(folder / name, np.zeros(2000 * 90), 2000)
    (folder / "annotations.csv").write_text("filename,timestamp\na.wav,10\n")
    detections.write_text("filename,timestamp\na.wav,50\n")
    printed = json.loads(run("score", "upcalls", folder, detections, "--json"))
    assert printed["fp_per_hour"] == 20
    assert json.loads(run("score", "upcalls", folder, detections, "--hours", 2, "--json"))["fp_per_hour"] == 0.5


def test_score_options_of_another_challenge_are_refused(
    good: Callable[[str], tuple[Path, Path]], tmp_path: Path
) -> None:
    command = ("score", "wheat", *good("wheat"))
    for option in (("--audio", tmp_path), ("--hours", 3)):
        text = run(*command, *option, code=2)
        assert "bad_option" in text
        assert "it is an option of upcalls" in text
    assert "it is an option of lyft" in run(*command, "--by-distance", tmp_path, code=2)
    assert "No such option" in run(*command, "--nonsense", 3, code=2)


def test_min_points_need_distances(good: Callable[[str], tuple[Path, Path]]) -> None:
    assert "add --by-distance" in run("score", "lyft", *good("lyft"), "--min-points", 3, code=2)


def test_score_help_shows_the_options_that_challenges_declare() -> None:
    text = run("score", "--help")
    assert all(option in text for option in ("--hours", "--audio", "--by-distance", "--min-points", "--rule"))
    text = run("score", "upcalls", "--help")
    assert "--hours" in text
    assert "--by-distance" not in text
    listed = {row["name"]: row for row in json.loads(run("list", "--json"))["challenges"]}
    flags = [option["option"] for option in listed["upcalls"]["score_options"]]
    assert flags == ["--hours", "--audio", "--labels", "--time-pattern", "--time-zone"]
    assert listed["wheat"]["score_options"] == []


def test_options_may_stand_before_the_challenge(good: Callable[[str], tuple[Path, Path]]) -> None:
    printed = json.loads(run("score", "--json", "--hours=2", "upcalls", *good("upcalls")))
    assert printed["rule_options"]["hours"] == 2


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["-r", "matsch=best_overall"], "did you mean 'match'?"),
        (["-r", "match=best_overal"], "did you mean 'best_overall'?"),
        (["-r", "match"], "key=value"),
    ],
)
def test_an_unknown_rule_option_suggests_the_nearest(
    words: list[str], hint: str, good: Callable[[str], tuple[Path, Path]]
) -> None:
    assert hint in run("score", "wheat", *good("wheat"), *words, code=2)


def test_an_unknown_challenge_suggests_the_nearest(tmp_path: Path) -> None:
    assert "did you mean 'wheat'?" in run("check", "wheet", tmp_path / "x.csv", code=2)


def test_compare_says_which_is_better(tmp_path: Path) -> None:
    truth, a, b = (tmp_path / f"{name}.csv" for name in ("truth", "a", "b"))
    truth.write_text(GOOD["wheat"][0])
    a.write_text("image_id,PredictionString\na,\nb,\n")
    b.write_text(GOOD["wheat"][1])
    printed = json.loads(run("compare", "wheat", truth, a, b, "--json"))
    assert printed["a"] == 0
    assert printed["difference"] == printed["b"] > 0
    assert printed["verdict"] == "B is better"
    assert printed["changed_items"] == 2
    assert "B is better" in run("compare", "wheat", truth, a, b)


def test_repair_lists_its_changes(tmp_path: Path) -> None:
    path, out = tmp_path / "s.csv", tmp_path / "out.csv"
    path.write_text("image_id,PredictionString\na,1 2 3\n")
    assert "dropped a row of 3 values" in run("repair", "wheat", path, "--out", out)
    changes = json.loads(run("repair", "wheat", path, "--out", out, "--force", "--json"))["changes"]
    assert [(change["line"], change["item"]) for change in changes] == [(2, "a")]


@pytest.mark.slow
def test_the_demo_of_one_challenge_trains_and_scores_only_that(tmp_path: Path) -> None:
    text = run("demo", "food", "--out", tmp_path / "demo")
    assert "tallymark score food" in text
    assert "wheat" not in text
    assert "baseline score" in text
    assert (tmp_path / "demo" / "food" / "predicted.csv").exists()
    assert (tmp_path / "demo" / "food" / "submission.csv").exists()


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


def test_images_of_another_set_are_refused(tmp_path: Path) -> None:
    truth, submission, images = (tmp_path / f"{name}.csv" for name in ("truth", "submission", "images"))
    truth.write_text(GOOD["wheat"][0])
    submission.write_text(GOOD["wheat"][1])
    images.write_text("image_id,PredictionString\na.jpg,\nb.jpg,\n")
    assert "no_common_id" in run("score", "wheat", truth, submission, "--images", images, code=2)


def test_all_files_of_a_comparison_are_checked(tmp_path: Path) -> None:
    truth, a, b = (tmp_path / f"{name}.csv" for name in ("truth", "a", "b"))
    truth.write_text(GOOD["wheat"][0])
    a.write_text("image_id,PredictionString\na,\n")
    b.write_text("image_id,PredictionString\na,\nb,\nzz,\n")
    printed = json.loads(run("compare", "wheat", truth, a, b, "--json", code=2))
    assert printed["counts"] == {"missing_id": 1, "unknown_id": 1}


def test_an_unwritable_output_is_reported(good: Callable[[str], tuple[Path, Path]], tmp_path: Path) -> None:
    words = ("score", "wheat", *good("wheat"))
    unwritable = ("--per-item", tmp_path / "no" / "items.csv")
    assert "bad_path" in run(*words, *unwritable, code=2)
    assert json.loads(run(*words, *unwritable, "--json", code=2))["counts"] == {"bad_path": 1}


@pytest.mark.parametrize(("start", "name"), [(b"\x1f\x8b\x08\x00", "gzip"), (b"PK\x03\x04", "spreadsheet")])
def test_archives_are_recognised(start: bytes, name: str, tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_bytes(start + b"\0\0rest")
    assert name in run("check", "wheat", path, code=2)


def test_version() -> None:
    assert run("--version").startswith("tallymark 0.")


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


def test_upcalls_of_a_listed_set_only(tmp_path: Path) -> None:
    truth, detections, images = (tmp_path / f"{name}.csv" for name in ("truth", "detections", "images"))
    truth.write_text("filename,timestamp,label\na.wav,10,up\nb.wav,10,up\n")
    detections.write_text("filename,timestamp\na.wav,10\n")
    images.write_text("filename,timestamp\na.wav,0\n")
    printed = json.loads(run("score", "upcalls", truth, detections, "--images", images, "--json"))
    assert (printed["tp"], printed["fp"], printed["fn"]) == (1, 0, 0)
    detections.write_text("filename,timestamp\na.wav,10\nb.wav,10\n")
    assert "unknown_id" in run("score", "upcalls", truth, detections, "--images", images, code=2)


def test_a_missing_score_is_explained_and_gives_no_verdict(tmp_path: Path) -> None:
    truth, submission = tmp_path / "truth.csv", tmp_path / "submission.csv"
    truth.write_text("Id,PredictionString\ns,0 0 0 2 4 2 0 car\nu,\n")
    submission.write_text("Id,PredictionString\ns,0.9 0 0 0 2 4 2 0 car\nu,\n")
    words = ("lyft", truth, submission)
    assert "a sample has no truth" in run("score", *words, "-r", "metric=mlebench")
    assert "no verdict" in run("compare", *words, submission, "-r", "metric=mlebench", "--resamples", 50)


@pytest.mark.parametrize("name", NAMES)
def test_data_from_synth_to_folds(name: str, sets: Path, tmp_path: Path) -> None:
    listed = json.loads(run("check", name, sets / name, "--json", code=2 if name == "ships" else 0))
    assert listed["items"] == SMALL[name]["items"]
    assert set(listed["counts"]) <= {"shared_scene"}
    assert "written to" in run("folds", name, sets / name, "--folds", 2, "--out", tmp_path / "folds.csv")
    assert pl.read_csv(tmp_path / "folds.csv")["fold"].n_unique() == 2
    assert "written to" in run("explore", name, sets / name, "--out", tmp_path / "page.html")
    assert "<html" in (tmp_path / "page.html").read_text()[:500]


def test_folds_as_json(sets: Path, tmp_path: Path) -> None:
    made = json.loads(run("folds", "food", sets / "food", "--folds", 4, "--out", tmp_path / "f.csv", "--json"))
    assert [row["fold"] for row in made["folds"]] == [0, 1, 2, 3]
    assert "too_few_groups" in run("folds", "lyft", sets / "lyft", "--folds", 50, "--out", tmp_path / "g.csv", code=2)


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


def test_synth_writes_all_items_or_nothing(tmp_path: Path) -> None:
    text = run("synth", "food", tmp_path / "set", "--items", 6, "--seed", 4, "size=32", "classes=2")
    assert "tallymark check food" in text
    assert len(list((tmp_path / "set").rglob("*.jpg"))) == 6
    assert "did you mean 'size'?" in run("synth", "food", tmp_path / "other", "sise=32", code=2)
    assert "a whole number above 0" in run("synth", "food", tmp_path / "other", "size=0", code=2)
    assert not (tmp_path / "other").exists()
    assert "not_empty" in run("synth", "food", tmp_path / "set", code=2)
    assert "a table of columns img_name, label" in run("check", "wheat", tmp_path / "set", code=2)


def test_an_option_given_as_an_assignment_is_explained(tmp_path: Path) -> None:
    assert "give --items 3" in run("synth", "ships", tmp_path / "sea", "items=3", code=2)


def test_hours_are_those_of_the_named_recordings(tmp_path: Path) -> None:
    """Whichever way slashes lean and however letters are capitalised; not of others with the same file name."""
    folder, detections = tmp_path / "set", tmp_path / "detections.csv"
    for day in ("20130401", "test/20130402"):
        (folder / day).mkdir(parents=True)
    for name in ("20130401/a.WAV", "20130401/b.wav", "test/20130402/b.wav"):
        soundfile.write(folder / name, np.zeros(2000 * 90), 2000, format="WAV")
    (folder / "annotations.csv").write_text("filename,timestamp\n20130401\\a.wav,10\n20130401/b.wav,10\n")
    detections.write_text("filename,timestamp\n20130401/b.wav,50\n")
    printed = json.loads(run("score", "upcalls", folder, detections, "--json"))
    assert printed["rule_options"]["hours"] == 0.05
    table = folder / "annotations.csv"
    printed = json.loads(run("score", "upcalls", table, detections, "--audio", folder, "--json"))
    assert printed["rule_options"]["hours"] == 0.075
