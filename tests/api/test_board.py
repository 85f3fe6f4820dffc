"""Boards: places by the official rule in either direction, refused files with reasons, public and private scores."""

from __future__ import annotations

import json
import math
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import tallymark
from tallymark.cli.main import app
from tallymark.core.registry import challenge
from tallymark.scoring.score import Score
from tests.made import NAMES, annotations


def example(name: str, file: str) -> Path:
    return challenge(name).folder / "example" / file


def emptied(name: str, path: Path) -> Path:
    """The example submission with a worse prediction: a row without a prediction, or with a wrong one."""
    lines = example(name, "submission.csv").read_text().splitlines()
    worse = {"food": f"{lines[1].split(',')[0]},0,1,2", "upcalls": f"{lines[1].split(',')[0]},1600"}
    full = next(at for at, line in enumerate(lines) if at and not line.endswith(",") and (name != "ships" or at > 2))
    kept = [*lines[:full], worse.get(name, lines[full].split(",")[0] + ","), *lines[full + 1 :]]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(kept) + "\n")
    return path


@pytest.fixture
def submissions(tmp_path: Path) -> Path:
    folder = tmp_path / "submissions"
    (folder / "team a").mkdir(parents=True)
    shutil.copy(example("wheat", "submission.csv"), folder / "team a" / "good.csv")
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_places_follow_the_official_score(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "subs"
    folder.mkdir()
    shutil.copy(example(name, "submission.csv"), folder / "z.csv")
    emptied(name, folder / "a.csv")
    board = tallymark.board(name, folder, example(name, "truth.csv"), resamples=200)
    scores = {
        file: tallymark.score(name, example(name, "truth.csv"), folder / file).value for file in ("z.csv", "a.csv")
    }
    assert {one.name: one.score for one in board.entries} == scores
    ordered = sorted(scores, key=lambda file: scores[file], reverse=board.better == "higher")
    assert [one.name for one in board.entries] == ordered
    assert board.entries[0].place == 1
    assert not board.refused
    for one in board.entries:
        assert one.low <= one.score <= one.high
    score = tallymark.score(name, example(name, "truth.csv"), folder / "z.csv")
    assert board.baseline.score == score.baseline


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_totals_are_those_of_one_weight_after_the_other(name: str, seed: int) -> None:
    truth, predicted = annotations(name, seed), annotations(name, seed + 10)
    what = challenge(name)
    score: Score = what.score(truth, predicted.reindex(truth.items), what.rule_options())
    weights = np.random.default_rng(seed).integers(0, 3, (20, len(truth.items))).astype(float)
    assert score.totals(weights) == pytest.approx([score.total(one) for one in weights], abs=1e-12, nan_ok=True)


def test_bad_files_are_refused_with_reasons_and_others_are_named(submissions: Path) -> None:
    lines = example("wheat", "submission.csv").read_text().splitlines()
    (submissions / "short.csv").write_text("\n".join(lines[:3]) + "\n")
    (submissions / "odd.csv").write_text("image_id;PredictionString\n")
    (submissions / "empty.csv").write_text("")
    shutil.copy(submissions / "team a" / "good.csv", submissions / "team a" / "copy.csv")
    shutil.copy(example("wheat", "truth.csv"), submissions / "truth.csv")
    os.mkfifo(submissions / "pipe.csv")
    for other in ("sub.zip", "notes.txt", ".hidden.csv"):
        (submissions / other).write_text("x")
    board = tallymark.board("wheat", submissions, submissions / "truth.csv", resamples=50)
    assert [(one.place, one.name, one.same_as) for one in board.entries] == [
        (1, "team a/copy.csv", ""),
        (1, "team a/good.csv", "team a/copy.csv"),
    ]
    refused = {one.name: one.problems.counts for one in board.refused}
    assert set(refused) == {"short.csv", "odd.csv", "empty.csv", "pipe.csv"}
    assert refused["short.csv"] == {"missing_id": 4}
    [short] = [one for one in board.refused if one.name == "short.csv"]
    assert short.reasons[0].endswith("(and 3 more); add a row for it (or read with missing=empty)")
    assert {name for name, _ in board.others} == {"truth.csv", "sub.zip", "notes.txt", ".hidden.csv"}


def test_a_file_without_a_score_is_refused(tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text("image_id,width,height,bbox\na,10,10,\n")
    (tmp_path / "subs").mkdir()
    (tmp_path / "subs" / "nothing.csv").write_text("image_id,PredictionString\na,\n")
    board = tallymark.board("wheat", tmp_path / "subs", tmp_path / "truth.csv")
    assert not board.entries
    assert board.refused[0].problems.counts == {"no_score": 1}


def test_public_and_private_scores_are_those_of_their_items(submissions: Path, tmp_path: Path) -> None:
    truth = example("wheat", "truth.csv")
    emptied("wheat", submissions / "team b" / "worse.csv")
    ids = tallymark.read_truth("wheat", truth).items.ids.to_list()
    public = tmp_path / "public.csv"
    public.write_text("id,group,split\n" + "".join(f"{one},,{'public' if at < 2 else 'private'}\n"
                                                    for at, one in enumerate(ids)))  # fmt: skip
    board = tallymark.board("wheat", submissions, truth, public=public, resamples=50)
    for part, chosen in (("public", ids[:2]), ("score", ids[2:])):
        listed = tmp_path / f"{part}.csv"
        listed.write_text("image_id,PredictionString\n" + "".join(f"{one},\n" for one in chosen))
        for one in board.entries:
            official = tallymark.score("wheat", truth, submissions / one.name, images=listed, extra="ignore").value
            assert getattr(one, part) == pytest.approx(official, abs=1e-12)
    assert [(one.place, one.public_place, one.shake_up) for one in board.entries] == [(1, 1, 0), (1, 2, 1)]
    assert (board.items, board.public_items) == (4, 2)


@pytest.mark.parametrize(
    ("text", "kind"), [("id\nnonsense\n", "unknown_id"), ("id\n{all}\n", "no_private_id"), ("id\n", "no_public_id")]
)
def test_bad_public_lists_are_refused(text: str, kind: str, submissions: Path, tmp_path: Path) -> None:
    truth = example("wheat", "truth.csv")
    ids = "\n".join(tallymark.read_truth("wheat", truth).items.ids)
    (tmp_path / "public.csv").write_text(text.replace("{all}", ids))
    with pytest.raises(tallymark.BadInput) as bad:
        tallymark.board("wheat", submissions, truth, public=tmp_path / "public.csv")
    assert kind in bad.value.problems.counts


def test_recordings_that_only_a_submission_names_count_for_it(tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text("filename,timestamp\na.wav,10\nb.wav,20\n")
    folder = tmp_path / "subs"
    folder.mkdir()
    (folder / "right.csv").write_text("filename,timestamp\na.wav,10\nb.wav,20\n")
    (folder / "more.csv").write_text("filename,timestamp\na.wav,10\nb.wav,20\nc.wav,5\n")
    board = tallymark.board("upcalls", folder, tmp_path / "truth.csv", resamples=50)
    assert [(one.name, one.score) for one in board.entries] == [("right.csv", 1.0), ("more.csv", pytest.approx(0.8))]


def test_groups_are_scored_by_themselves(submissions: Path) -> None:
    board = tallymark.board("wheat", submissions, example("wheat", "truth.csv"), resamples=50)
    groups = tallymark.score("wheat", example("wheat", "truth.csv"), submissions / "team a" / "good.csv").groups
    assert groups is not None
    scored = {name: value for name, value in zip(board.group_names, board.entries[0].groups, strict=True)
              if math.isfinite(value)}  # fmt: skip
    assert scored == pytest.approx(dict(zip(groups["group"], groups["score"], strict=True)))


def test_the_command_writes_a_page_and_a_table_with_escaped_names(submissions: Path, tmp_path: Path) -> None:
    shutil.copy(submissions / "team a" / "good.csv", submissions / "<script>alert(1)</script>.csv".replace("/", "_"))
    out, table = tmp_path / "board.html", tmp_path / "board.csv"
    arguments = ["board", "wheat", str(submissions), str(example("wheat", "truth.csv")), "--out", str(out)]
    result = CliRunner().invoke(app, [*arguments, "--csv", str(table), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["submissions"][0]["place"] == 1
    page = out.read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert table.read_text().startswith("place,submission,score,low,high,")
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code == 2
    assert "exists" in again.output


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "subs").mkdir()
    (tmp_path / "subs" / "a.zip").write_text("")
    with pytest.raises(tallymark.BadInput) as bad:
        tallymark.board("wheat", tmp_path / "subs", example("wheat", "truth.csv"))
    assert bad.value.problems.counts == {"empty_folder": 1}
