"""Fusing files: settings from the truth or from a file, valid submissions, and files that do not go together."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import tallymark
from tallymark.api.known_truth import TruthChanges
from tallymark.api.report import subject_of
from tallymark.cli.main import app
from tallymark.core.problems import BadInput
from tallymark.core.registry import challenge
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.detector.label_coder import top_k
from tallymark.geometry import Boxes
from tallymark.inference.candidate_files import write_candidates
from tallymark.inference.candidates import Candidates
from tallymark.inference.metadata import ModelMetadata
from tests.inference.made_candidates import made_candidates, made_metadata
from tests.inference.noisy_models import (
    CHIP,
    DISHES,
    SIDE,
    as_masks,
    noisy,
    noisy_labels,
    true_boxes,
    true_cuboids,
    true_events,
    true_labels,
    true_ships,
)
from tests.reviews import write_review


def write_truth(truth: Annotations[Boxes], path: Path) -> Path:
    boxes = np.stack(truth.shapes.columns, 1).tolist()
    rows = [
        f'{truth.items.ids[item]},"{box}",field {item % 4}'
        for item, box in zip(truth.item.tolist(), boxes, strict=True)
    ]
    path.write_text("image_id,bbox,source\n" + "\n".join(rows) + "\n")
    return path


def as_file(
    name: str,
    objects: Annotations[Any],
    path: Path,
    size: tuple[float, float] = (SIDE, SIDE),
    fold: np.ndarray | None = None,
) -> Path:
    """A candidate file with these objects. fold: of each item, as in that of a run."""
    metadata = made_metadata(name)
    recipe = metadata.recipe.replace(score_threshold=0.4, nms_iou=1.0)
    count = len(objects.items)
    candidates = Candidates(objects, np.tile(np.array(size, float), (count, 1)), np.ones(count))
    write_candidates(candidates, path, ModelMetadata(name, recipe, objects.classes), fold)
    return path


def wheat_files(folder: Path, items: int = 24) -> tuple[Path, list[Path]]:
    truth = true_boxes(items)
    files = [as_file("wheat", noisy(truth, seed), folder / f"{seed}.parquet") for seed in range(3)]
    return write_truth(truth, folder / "truth.csv"), files


def problem_of(name: str, files: list[Path], **given: Any) -> Any:
    with pytest.raises(BadInput) as caught:
        tallymark.fuse(name, files, **given)
    return next(iter(caught.value.problems))


def test_settings_are_tuned_on_held_out_files_and_used_for_others(tmp_path: Path) -> None:
    truth, files = wheat_files(tmp_path)
    tuned = tallymark.fuse("wheat", files, tmp_path / "held_out.csv", truth=truth, settings=tmp_path / "fuse.toml")
    assert tuned.gain is not None
    assert tuned.score is not None
    assert tuned.better
    assert tuned.gain.low > 0
    assert tuned.gain.a.value == max(one.tuned.value for one in tuned.inputs)
    assert tuned.score.value > max(one.score.value for one in tuned.inputs)
    again = tallymark.fuse("wheat", files, tmp_path / "test.csv", settings=tmp_path / "fuse.toml")
    assert again.settings == tuned.settings
    assert (tmp_path / "test.csv").read_bytes() == (tmp_path / "held_out.csv").read_bytes()
    assert tallymark.check("wheat", tmp_path / "test.csv").problems.total == 0
    in_sample = tallymark.score("wheat", truth, tmp_path / "test.csv").value
    assert in_sample == pytest.approx(tuned.score.value, abs=0.05)
    changed = tallymark.fuse("wheat", files, settings=tmp_path / "fuse.toml", weights=[1, 0, 0], score_threshold=0.9)
    assert changed.settings == replace(tuned.settings, weights=(1, 0, 0), score_threshold=0.9)


def test_given_settings_are_not_tuned(tmp_path: Path) -> None:
    truth, files = wheat_files(tmp_path, 10)
    given: dict[str, Any] = {"method": "nms", "weights": [1, 2, 1], "iou": 0.35, "score_threshold": 0.41}
    tuned = tallymark.fuse("wheat", files, truth=truth, calibration="rank", **given)
    assert tuned.settings.method == "nms"
    assert tuned.settings.weights == (1, 2, 1)
    assert (tuned.settings.iou, tuned.settings.score_threshold, tuned.settings.calibration) == (0.35, 0.41, "rank")


def test_runs_are_cross_validated_by_their_folds(tmp_path: Path) -> None:
    truth = true_boxes(24)
    shown = write_truth(truth, tmp_path / "truth.csv")
    models = [noisy(truth, seed) for seed in range(2)]
    given: dict[str, Any] = {"truth": shown, "method": "wbf", "weights": [1, 1], "iou": 0.5, "calibration": "none"}

    def scores(fold: np.ndarray | None) -> set[float]:
        """Cross-validated ones, by two seeds."""
        files = [as_file("wheat", one, tmp_path / f"{k}.parquet", fold=fold) for k, one in enumerate(models)]
        results = [tallymark.fuse("wheat", files, seed=seed, **given) for seed in range(2)]
        return {result.score.value for result in results if result.score is not None}

    assert len(scores(None)) == len(scores(np.zeros(24, int))) == 2  # random halves
    assert len(scores(np.arange(24) % 3)) == 1


def a_data_set(folder: Path, truth: Annotations[Boxes]) -> Path:
    """A data folder with this truth, whose images nobody reads."""
    (folder / "train").mkdir(parents=True)
    for name in truth.items.ids:
        (folder / "train" / f"{name}.jpg").write_bytes(b"")
    write_truth(truth, folder / "train.csv")
    return folder


def test_exclusions_and_corrections_of_a_training_are_asked_for(tmp_path: Path) -> None:
    """By fuse and by report: what was excluded, or corrected, would count as missed."""
    truth = true_boxes(12)
    data = a_data_set(tmp_path / "data", truth)
    names, first = truth.items.ids, truth.items.ids[0]
    excluded = tmp_path / "excluded.csv"
    excluded.write_text(f"item,number\n{first},\n{names[1]},1\n")
    shape = truth.filter(truth.item == 2).shapes.as_json()[0]
    marked = {"complete": True, "truths": [{"number": 0, "verdict": "wrong", "shape": shape}]}
    review = write_review(tmp_path / "corrections.json", "wheat", {names[2]: marked})
    fingerprint = hashlib.sha256(review.read_bytes()).hexdigest()
    runs = []
    for seed in range(2):
        runs.append(tmp_path / f"run-{seed}")
        runs[-1].mkdir()
        as_file("wheat", noisy(truth, seed), runs[-1] / "held_out.parquet")
    used: dict[str, object] = {"exclude": str(excluded)}
    page = tmp_path / "page.html"
    given: dict[str, Any] = {"exclude": excluded}
    for kind in ("no_exclusions", "no_corrections"):
        (runs[1] / "environment.json").write_text(json.dumps(used))
        now = given if kind == "no_corrections" else {}
        assert problem_of("wheat", runs, truth=data, **now).kind == kind
        with pytest.raises(BadInput, match=kind):
            tallymark.report("wheat", runs[1], page, truth=data, **now)
        used["corrections"] = [{"file": str(review), "sha256": fingerprint, "items": 1}]
    given["corrections"] = [review]
    tuned = tallymark.fuse("wheat", runs, truth=data, **given)
    assert tuned.score is not None
    assert first not in tuned.score.items["item"].to_list()
    assert "1 of 12 items of the files have no truth: not scored" in tuned.notes
    tallymark.report("wheat", runs[1], page, truth=data, **given)
    changes = TruthChanges.of(challenge("wheat"), **given)
    shown = subject_of(challenge("wheat"), runs[1], None, data, {}, changes).truth
    assert shown is not None
    assert shown.counts.tolist() == (truth.counts[1:] - (np.arange(1, 12) < 3)).tolist()
    assert "without truth" in problem_of("wheat", runs, **given).found
    assert "data folder" in problem_of("wheat", runs, truth=data / "train.csv", **given).expected


def test_fusing_works_without_truth_for_every_challenge(tmp_path: Path) -> None:
    ships = true_ships(8)[1]
    objects = {"wheat": true_boxes(8), "lyft": true_cuboids(8), "upcalls": true_events(8), "ships": ships}
    sizes = {"upcalls": (600.0, np.nan), "lyft": (100.0, 100.0)}
    for name, truth in objects.items():
        options = {"shape": CHIP} if name == "ships" else {}
        made = [noisy(truth, seed) for seed in range(2)]
        files = [
            as_file(name, one, tmp_path / f"{name}{seed}.parquet", sizes.get(name, (SIDE, SIDE)))
            for seed, one in enumerate(made)
        ]
        fused = tallymark.fuse(name, files, tmp_path / f"{name}.csv", **options)
        assert 0 < len(fused.predictions) < sum(len(one) for one in made)
        assert not tallymark.check(name, tmp_path / f"{name}.csv", **options).problems
        more = [tallymark.fuse(name, files, tmp_path / "again.csv", method=method, **options) for method in ("nms",)]
        assert len(more[0].predictions)


def test_masks_without_scores_vote(tmp_path: Path) -> None:
    masks, boxes = true_ships(20)
    found = [noisy(boxes, seed, misses=0.1, alarms=0.3) for seed in range(3)]
    files = [tmp_path / f"{seed}.csv" for seed in range(3)]
    for one, path in zip(found, files, strict=True):
        tallymark.write("ships", as_masks(one), path, shape=CHIP)
    tallymark.write("ships", masks, tmp_path / "truth.csv", shape=CHIP)
    plain = tallymark.fuse("ships", files, tmp_path / "fused.csv", shape=CHIP)
    assert not tallymark.check("ships", tmp_path / "fused.csv", shape=CHIP).problems
    assert plain.settings.score_threshold == 0.5
    singles = [tallymark.score("ships", tmp_path / "truth.csv", path, shape=CHIP).value for path in files]
    assert tallymark.score("ships", tmp_path / "truth.csv", tmp_path / "fused.csv", shape=CHIP).value > max(singles)
    mixed = [*files[:2], as_file("ships", found[2], tmp_path / "2.parquet")]
    result = tallymark.fuse("ships", mixed, tmp_path / "mixed.csv", shape=CHIP)
    assert any("no scores" in note for note in result.notes)
    assert not tallymark.check("ships", tmp_path / "mixed.csv", shape=CHIP).problems
    candidates = [as_file("ships", one, tmp_path / f"{seed}.parquet") for seed, one in enumerate(found)]
    problem = problem_of("ships", candidates, out=tmp_path / "usual.csv")  # 768 x 768 px: other pixels
    assert (problem.kind, problem.file) == ("other_size", str(tmp_path / "usual.csv"))
    assert not (tmp_path / "usual.csv").exists()
    other = as_file("ships", found[2], tmp_path / "other.parquet", (100, 100))
    assert problem_of("ships", [*files[:2], other], shape=CHIP).kind == "other_size"


def test_labels_with_and_without_probabilities(tmp_path: Path) -> None:
    truth = true_labels(120)
    names = tuple(str(k) for k in range(DISHES))
    models = [replace(noisy_labels(truth, seed), classes=names) for seed in range(3)]
    lists = [tmp_path / f"{seed}.csv" for seed in range(3)]
    for one, path in zip(models, lists, strict=True):
        tallymark.write("food", top_k(one, 3), path)
    known = [as_file("food", one, tmp_path / f"{seed}.parquet") for seed, one in enumerate(models)]
    table = tmp_path / "truth.csv"
    rows = zip(truth.items.ids, truth.shapes.label, strict=True)
    table.write_text("image_name,label\n" + "".join(f"{item},{label}\n" for item, label in rows))
    by_probability = tallymark.fuse("food", known, tmp_path / "mean.csv", truth=table)
    by_rank = tallymark.fuse("food", lists, tmp_path / "votes.csv", truth=table)
    mixed = tallymark.fuse("food", [known[0], *lists[1:]], tmp_path / "mixed.csv")
    assert by_probability.score is not None
    assert by_rank.score is not None
    assert by_probability.score.value < min(one.tuned.value for one in by_probability.inputs)
    assert by_rank.score.value <= min(one.tuned.value for one in by_rank.inputs)
    assert by_rank.settings.method == mixed.settings.method == "votes"
    for file in ("mean.csv", "votes.csv", "mixed.csv"):
        assert not tallymark.check("food", tmp_path / file).problems
    assert problem_of("food", lists, method="mean").kind == "bad_option"
    other = as_file("food", replace(models[0], classes=names[::-1]), tmp_path / "other.parquet")
    assert problem_of("food", [known[0], other]).kind == "other_classes"


def test_labels_that_all_files_repeat_stay_repeated(tmp_path: Path) -> None:
    header = "image_name,pred1,pred2,pred3\n"
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    files[0].write_text(header + "x,1,1,1\ny,4,5,6\n")
    files[1].write_text(header + "x,1,2,2\ny,4,6,5\n")
    tallymark.fuse("food", files, tmp_path / "fused.csv")
    assert (tmp_path / "fused.csv").read_text() == header + "x,1,2,2\ny,4,5,6\n"


def test_files_that_do_not_go_together_are_problems(tmp_path: Path) -> None:
    truth, files = wheat_files(tmp_path, 6)
    items = true_boxes(6).items.ids.to_list()
    fewer = noisy(true_boxes(6), 0).reindex(Items.of(items[:-1]))
    assert problem_of("wheat", [files[0], as_file("wheat", fewer, tmp_path / "fewer.parquet")]).kind == "missing_id"
    assert problem_of("wheat", [tmp_path / "fewer.parquet", files[0]]).kind == "unknown_id"
    lenient = tallymark.fuse("wheat", [files[0], tmp_path / "fewer.parquet"], missing="empty")
    assert len(lenient.predictions.items) == 6
    write_candidates(made_candidates("ships"), tmp_path / "ships.parquet", made_metadata("ships"))
    assert problem_of("wheat", [files[0], tmp_path / "ships.parquet"]).kind == "other_challenge"
    assert problem_of("wheat", [files[0], tmp_path]).kind == "no_candidates"
    assert problem_of("wheat", [files[0], truth]).kind == "bad_header"
    assert problem_of("wheat", files[:1]).kind == "bad_option"
    other = as_file("wheat", noisy(true_boxes(6), 0), tmp_path / "other.parquet", (77, 77))
    assert problem_of("wheat", [files[0], other]).kind == "other_size"
    (tmp_path / "scores.csv").write_text("image_id,PredictionString\nimage,0.9 1 1 9 9 -1.5 30 30 9 9\n")
    problem = problem_of("wheat", [tmp_path / "scores.csv"] * 2)
    assert (problem.kind, problem.found, problem.item) == ("score_range", "-1.5", "image")
    (tmp_path / "other.csv").write_text('image_id,bbox\nsomething,"[1, 2, 3, 4]"\n')
    assert problem_of("wheat", files, truth=tmp_path / "other.csv").kind == "missing_truth"
    (tmp_path / "none.csv").write_text("image_id,PredictionString\n")
    assert problem_of("wheat", [tmp_path / "none.csv"] * 2, truth=truth).kind == "no_items"
    for given in (
        {"weights": [1]}, {"weights": [0, 0, 0]}, {"weights": [1, -1, 1]}, {"weights": [1, np.nan, 1]},
        {"method": "mean"}, {"calibration": "logit"}, {"iou": 2.0}, {"score_threshold": -1.0},
    ):  # fmt: skip
        assert problem_of("wheat", files, **given).kind == "bad_option"


def test_the_same_file_twice_and_an_empty_one_are_notes(tmp_path: Path) -> None:
    _, files = wheat_files(tmp_path, 6)
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(files[0].read_bytes())
    assert any("counts twice" in note for note in tallymark.fuse("wheat", [files[0], copy]).notes)
    boxes = true_boxes(6)
    nothing = replace(Annotations.empty(boxes.items, boxes.shapes), score=np.empty(0))
    empty = as_file("wheat", nothing, tmp_path / "empty.parquet")
    result = tallymark.fuse("wheat", [files[0], empty], tmp_path / "out.csv")
    assert any("no predictions" in note for note in result.notes)


@pytest.mark.parametrize("text", ["", "method = 3", "challenge = 'wheat'", "\0", "[[[[", "weights = 'a'"])
def test_damaged_settings_are_a_problem(text: str, tmp_path: Path) -> None:
    _, files = wheat_files(tmp_path, 4)
    path = tmp_path / "fuse.toml"
    path.write_text(text)
    assert problem_of("wheat", files, settings=path).kind == "bad_settings"


def test_settings_of_another_challenge_or_number_of_files_are_problems(tmp_path: Path) -> None:
    truth, files = wheat_files(tmp_path, 6)
    path = tmp_path / "fuse.toml"
    tallymark.fuse("wheat", files, truth=truth, settings=path, method="nms", iou=0.5, calibration="none")
    assert problem_of("wheat", files[:2], settings=path).kind == "bad_option"
    path.write_text(path.read_text().replace('"wheat"', '"lyft"'))
    assert problem_of("wheat", files, settings=path).kind == "bad_settings"
    assert problem_of("wheat", files, settings=tmp_path / "missing.toml").kind == "bad_settings"


def test_the_command_prints_scores_gain_and_interval(tmp_path: Path) -> None:
    truth, files = wheat_files(tmp_path, 8)
    words = [str(file) for file in files]
    common = ["--truth", str(truth), "--method", "wbf", "--iou", "0.3"]
    printed = CliRunner().invoke(app, ["fuse", "wheat", *words, *common], env={"COLUMNS": "300"})
    assert printed.exit_code == 0, printed.output
    for word in ("tuned, cross-validated", "fused", "gain", "95 % interval", "settings: method=wbf"):
        assert word in printed.output
    out, settings = tmp_path / "out.csv", tmp_path / "fuse.toml"
    more = ["--out", str(out), "--settings", str(settings), "--json"]
    stated = json.loads(CliRunner().invoke(app, ["fuse", "wheat", *words, *common, *more]).output)
    assert {"score", "gain", "interval", "verdict", "files", "settings"} <= stated.keys()
    assert out.exists()
    assert settings.exists()
    refused = CliRunner().invoke(app, ["fuse", "wheat", *words, "--out", str(out)])
    assert refused.exit_code == 2
    assert "exists" in refused.output
    for wrong in (["--weights", "a,b"], []):
        assert CliRunner().invoke(app, ["fuse", "wheat", *words, *wrong]).exit_code == 2
