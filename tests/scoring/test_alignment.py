"""Truth and submissions are brought under the same items; missing and unknown items are problems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import soundfile

from tallymark.core.options import parse_options
from tallymark.core.problems import Problems
from tallymark.core.registry import Challenge, challenge
from tallymark.data.items import Items
from tallymark.scoring import alignment
from tallymark.scoring.alignment import expected_items, fit_items, read_answers, read_pairs

WHEAT = "image_id,width,height,bbox,source\n"
SUBMITTED = "image_id,PredictionString\n"
CALLS = "filename,timestamp\n"


def options(what: Challenge, **given: object) -> Any:
    return parse_options(what.rule_options, given)


def wheat_truth(folder: Path, *ids: str) -> Path:
    rows = [
        f'{name},1024,1024,"[{10 * at}, 0, 8, 8]",{"arvalis_1" if at % 2 else "ethz_1"}\n'
        for at, name in enumerate(ids)
    ]
    return write(folder / "truth.csv", WHEAT + "".join(rows))


def wheat_submission(folder: Path, *ids: str, name: str = "submission.csv") -> Path:
    return write(folder / name, SUBMITTED + "".join(f"{one},0.5 0 0 8 8\n" for one in ids))


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def pair(
    name: str, truth: Path, submission: Path, images: Path | None = None, **given: object
) -> tuple[alignment.Pair | None, Problems]:
    what = challenge(name)
    problems = Problems()
    _, [pair] = read_pairs(what, truth, [submission], images, options(what, **given), problems)
    return pair, problems


def ids(found: Any) -> list[str]:
    return found.items.ids.to_list()


def kinds(problems: Problems) -> list[tuple[str, str | None]]:
    return [(problem.kind, problem.item) for problem in problems]


def test_predictions_take_the_order_of_the_truth(tmp_path: Path) -> None:
    both, problems = pair("wheat", wheat_truth(tmp_path, "a", "b", "c"), wheat_submission(tmp_path, "c", "a", "b"))
    assert not problems
    assert both is not None
    truth, predicted = both
    assert ids(truth) == ids(predicted) == ["a", "b", "c"]
    assert predicted.counts.tolist() == [1, 1, 1]


def test_missing_and_unknown_items_are_problems(tmp_path: Path) -> None:
    both, problems = pair("wheat", wheat_truth(tmp_path, "a", "b"), wheat_submission(tmp_path, "a", "x"))
    found = {(problem.kind, problem.item, problem.line) for problem in problems}
    assert found == {("unknown_id", "x", 3), ("missing_id", "b", None)}
    assert both is not None
    assert ids(both[1]) == ["a", "b"]
    assert both[1].counts.tolist() == [1, 0]


def test_the_rule_may_allow_missing_and_unknown_items(tmp_path: Path) -> None:
    files = wheat_truth(tmp_path, "a", "b"), wheat_submission(tmp_path, "a", "x")
    both, problems = pair("wheat", *files, missing="empty", extra="ignore")
    assert not problems
    assert both is not None
    assert both[1].counts.tolist() == [1, 0]


def test_several_submissions_are_read_at_once_and_each_has_its_own_problems(tmp_path: Path) -> None:
    what = challenge("wheat")
    truth = wheat_truth(tmp_path, "a", "b")
    good = wheat_submission(tmp_path, "b", "a", name="good.csv")
    short = wheat_submission(tmp_path, "a", name="short.csv")
    broken = write(tmp_path / "broken.csv", "nonsense\n1\n")
    problems = Problems()
    known, pairs = read_pairs(what, truth, [good, short, broken], None, options(what), problems)
    assert known is not None
    assert ids(known) == ["a", "b"]
    assert [one is None for one in pairs] == [False, False, True]
    assert {(problem.kind, Path(problem.file).name) for problem in problems} == {
        ("missing_id", "short.csv"),
        ("bad_header", "broken.csv"),
    }


@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_large_files_are_read_one_by_one_with_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(alignment, "TOGETHER", limit)
    both, problems = pair("wheat", wheat_truth(tmp_path, "a", "b"), wheat_submission(tmp_path, "b", "a"))
    assert not problems
    assert both is not None
    assert ids(both[1]) == ["a", "b"]


def test_without_a_truth_there_is_no_pair(tmp_path: Path) -> None:
    both, problems = pair("wheat", tmp_path / "none.csv", wheat_submission(tmp_path, "a"))
    assert both is None
    assert problems.total == 1


def test_a_list_of_images_adds_those_without_objects(tmp_path: Path) -> None:
    sample = wheat_submission(tmp_path, "c", "a", "b", name="sample_submission.csv")
    both, problems = pair("wheat", wheat_truth(tmp_path, "a", "b"), wheat_submission(tmp_path, "a", "b", "c"), sample)
    assert not problems
    assert both is not None
    truth, predicted = both
    assert ids(truth) == ids(predicted) == ["c", "a", "b"]
    assert truth.counts.tolist() == [0, 1, 1]
    assert truth.items.group is not None
    assert truth.items.group.to_list() == ["(none)", "ethz_1", "arvalis_1"]


def test_a_list_of_another_set_is_a_problem(tmp_path: Path) -> None:
    sample = wheat_submission(tmp_path, "x", "y", name="sample_submission.csv")
    _, problems = pair("wheat", wheat_truth(tmp_path, "a"), wheat_submission(tmp_path, "x", "y"), sample)
    assert "no_common_id" in problems.counts


@pytest.mark.parametrize(
    ("name", "truth", "submission"),
    [
        ("food", "image_name,label\na.jpg,1\n", "image_name,pred1,pred2,pred3\na.jpg,1,2,3\nb.jpg,1,2,3\n"),
        ("upcalls", "clip_name,label\na,1\n", "clip_name,probability\na,0.5\nb,0.5\n"),
    ],
)
def test_listed_items_without_a_label_are_a_problem(name: str, truth: str, submission: str, tmp_path: Path) -> None:
    listed = write(tmp_path / "submission.csv", submission)
    _, problems = pair(name, write(tmp_path / "truth.csv", truth), listed, listed)
    [problem] = problems
    assert problem.kind == "missing_truth"
    assert "1 of 2 items" in problem.found


def test_sparse_submissions_need_not_name_every_recording(tmp_path: Path) -> None:
    truth = write(tmp_path / "truth.csv", CALLS + "a.wav,1.0\nb.wav,2.0\n")
    submission = write(tmp_path / "calls.csv", CALLS + "b.wav,2.1\nc.wav,3.0\n")
    both, problems = pair("upcalls", truth, submission)
    assert not problems
    assert both is not None
    assert ids(both[0]) == ids(both[1]) == ["a.wav", "b.wav", "c.wav"]
    assert both[0].counts.tolist() == [1, 1, 0]
    assert both[1].counts.tolist() == [0, 1, 1]


def test_sparse_submissions_must_not_name_unknown_recordings_of_a_list(tmp_path: Path) -> None:
    truth = write(tmp_path / "truth.csv", CALLS + "a.wav,1.0\n")
    submission = write(tmp_path / "calls.csv", CALLS + "b.wav,2.1\nc.wav,3.0\n")
    folder = tmp_path / "recordings"
    folder.mkdir()
    for name in ("a.wav", "b.wav"):
        soundfile.write(folder / name, [0.0] * 100, 100)
    both, problems = pair("upcalls", truth, submission, folder)
    assert kinds(problems) == [("unknown_id", "c.wav")]
    assert both is not None
    assert ids(both[0]) == ids(both[1]) == ["a.wav", "b.wav"]


def test_recordings_without_a_common_name_are_remarked(tmp_path: Path) -> None:
    truth = write(tmp_path / "truth.csv", CALLS + "day/a.wav,1.0\n")
    for names, remarks in (("a.wav", 1), ("a.wav day/a.wav", 0), ("", 0)):
        submission = write(tmp_path / "calls.csv", CALLS + "".join(f"{name},1.0\n" for name in names.split()))
        _, problems = pair("upcalls", truth, submission)
        assert not problems
        assert len(problems.remarks) == remarks
        assert all("names as day/a.wav, and not as a.wav" in remark for remark in problems.remarks)


def test_predictions_in_unlabelled_recordings_of_a_folder_are_not_scored(tmp_path: Path) -> None:
    folder = tmp_path / "recordings"
    folder.mkdir()
    for name in ("a.wav", "b.wav"):
        soundfile.write(folder / name, [0.0] * 100, 100)
    write(folder / "a.txt", "0.2\t0.4\tup\n")
    submission = write(tmp_path / "calls.csv", CALLS + "a.wav,0.3\nb.wav,0.1\nb.wav,0.5\nc.wav,0.5\n")
    both, problems = pair("upcalls", folder, submission)
    assert not problems
    assert both is not None
    assert ids(both[1]) == ["a.wav", "c.wav"]
    assert problems.remarks == ["1 of 3 predicted items in calls.csv without annotations or media: not scored"]


@pytest.mark.parametrize("like", ["a", "a.jpg"])
def test_a_folder_names_items_with_or_without_suffix_as_the_truth_does(tmp_path: Path, like: str) -> None:
    for name in ("a.jpg", "b.jpg"):
        (tmp_path / name).touch()
    what = challenge("ships")  # its ids have suffixes
    problems = Problems()
    items = expected_items(what, tmp_path, options(what), Items.of([like]), problems)
    assert not problems
    assert items is not None
    assert items.ids.to_list() == [like, like.replace("a", "b")]


def test_a_folder_with_one_sample_submission_names_its_items(tmp_path: Path) -> None:
    wheat_submission(tmp_path, "b", "a", name="sample_submission.csv")
    (tmp_path / "z.jpg").touch()
    what = challenge("wheat")
    items = expected_items(what, tmp_path, options(what), Items.of(["a"]), Problems())
    assert items is not None
    assert items.ids.to_list() == ["b", "a"]


def test_a_list_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    what = challenge("wheat")
    problems = Problems()
    assert expected_items(what, tmp_path / "none.csv", options(what), Items.of(["a"]), problems) is None
    assert problems.total == 1


def test_a_data_folder_has_the_answers_of_its_labelled_items(sets: Path) -> None:
    what = challenge("wheat")
    problems = Problems()
    truth = read_answers(what, sets / "wheat", options(what), problems)
    assert not problems
    assert truth is not None
    catalog = what.module("read").read(sets / "wheat", options(what), Problems())
    assert ids(truth) == catalog.in_split("train").items.ids.to_list()


def test_a_folder_without_answers_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").touch()
    what = challenge("wheat")
    problems = Problems()
    assert read_answers(what, tmp_path, options(what), problems) is None
    assert [problem.kind for problem in problems] == ["no_truth"]


def test_fit_items_keeps_objects_of_known_items_only(tmp_path: Path) -> None:
    what = challenge("wheat")
    problems = Problems()
    predicted = what.dialect.read(wheat_submission(tmp_path, "b", "x"), options(what), problems)
    fitted = fit_items(what, predicted, Items.of(["a", "b"]), "file.csv", options(what), problems)
    assert ids(fitted) == ["a", "b"]
    assert fitted.counts.tolist() == [0, 1]
    assert {(problem.kind, problem.file) for problem in problems} == {
        ("unknown_id", "file.csv"),
        ("missing_id", "file.csv"),
    }
