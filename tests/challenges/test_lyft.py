"""Lyft: the rules against simple reference loops, the file formats, the data set and the synthetic drives."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tallymark
from tallymark.challenges.lyft import dialect, read, synth
from tallymark.challenges.lyft.dialect import CLASSES
from tallymark.challenges.lyft.rule import RuleOptions, score
from tallymark.core.problems import BadInput, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Cuboids
from tests.challenges.files import Notes, kinds, parse, put, rows_of
from tests.reference import average_precision, greedy

THRESHOLDS = [k / 20 for k in range(10, 20)]
SAMPLES = 5


def scene(seed: int) -> tuple[Annotations[Cuboids], Annotations[Cuboids]]:
    """Random truth and predictions; these are shifted copies of the truth, some of another class, some duplicated."""
    rng = np.random.default_rng(seed)
    items = Items.of([f"s{k}" for k in rng.permutation(SAMPLES)])
    item = np.sort(np.concatenate([np.arange(SAMPLES), rng.integers(0, SAMPLES, 30)]))
    rows = np.concatenate(
        [rng.uniform(0, 25, (35, 2)), np.zeros((35, 1)), rng.uniform(3, 5, (35, 3)), rng.uniform(-4, 4, (35, 1))], 1
    )
    label = rng.integers(0, 3, 35)
    near_duplicate = np.flatnonzero(item[1:] == item[:-1])[::3] + 1  # of the truth before it
    rows[near_duplicate] = rows[near_duplicate - 1] + 0.05
    label[near_duplicate] = label[near_duplicate - 1]
    truth = Annotations.from_rows(items, item, Cuboids.of(rows), label=label, classes=CLASSES)
    copy = np.sort(rng.integers(0, 35, 45))
    moved = rows[copy] + rng.normal(0, 0.15, (45, 7)) * (1, 1, 1, 0.5, 0.5, 0.5, 0.3)
    other = np.where(rng.random(45) < 0.1, rng.integers(0, 4, 45), label[copy])
    score = rng.permutation(45) / 45
    return truth, Annotations.from_rows(items, item[copy], Cuboids.of(moved), label=other, score=score, classes=CLASSES)


def overlaps(
    truth: Annotations[Cuboids], predicted: Annotations[Cuboids], t: np.ndarray, p: np.ndarray
) -> list[list[float]]:
    """IoU of predictions (rows) with truths (columns)."""
    i, j = (grid.ravel() for grid in np.meshgrid(t, p))
    intersection, union = truth.shapes.overlap(predicted.shapes, i, j)
    return (intersection / union).reshape(len(p), len(t)).tolist()


def ranked_rows(objects: Annotations[Cuboids], sample: int, label: int | None) -> np.ndarray:
    """The objects of a sample and class (None for all), in order of descending confidence."""
    rows = np.flatnonzero((objects.item == sample) & ((objects.labels == label) if label is not None else True))
    return rows[np.argsort(-objects.scores[rows], kind="stable")] if objects.score is not None else rows


def reference(truth: Annotations[Cuboids], predicted: Annotations[Cuboids], metric: str, class_mode: str) -> float:
    """The score by definition: loops over thresholds, samples and classes."""
    values = []
    mode = "best_overall" if metric == "mlebench" else "best_unmatched"
    for threshold in THRESHOLDS:
        if metric == "sdk":
            values.append(
                np.mean([_dataset_precision(truth, predicted, label, threshold) for label in np.unique(truth.labels)])
            )
            continue
        per_sample = []
        for sample in range(SAMPLES):
            labels = sorted({*truth.labels[truth.item == sample], *predicted.labels[predicted.item == sample]})
            counts = {}
            for label in [None] if class_mode == "agnostic" else labels:
                t, p = ranked_rows(truth, sample, label), ranked_rows(predicted, sample, label)
                hits = greedy(overlaps(truth, predicted, t, p), threshold, mode)
                counts[label] = (hits, len(t), len(p))
            if metric == "mlebench":
                per_sample.append(np.mean([average_precision(h, t) for h, t, _ in counts.values() if t]))
            elif class_mode == "per_class_mean":
                per_sample.append(np.mean([sum(h) / (t + p - sum(h)) for h, t, p in counts.values()]))
            else:
                hits, t, p = (
                    sum(column) for column in zip(*((sum(h), t, p) for h, t, p in counts.values()), strict=True)
                )
                per_sample.append(hits / (t + p - hits))
        values.append(np.mean(per_sample))
    return float(np.mean(values))


def _dataset_precision(
    truth: Annotations[Cuboids], predicted: Annotations[Cuboids], label: int, threshold: float
) -> float:
    """The average precision of a class over all samples."""
    hits: dict[int, bool] = {}
    for sample in range(SAMPLES):
        t, p = ranked_rows(truth, sample, label), ranked_rows(predicted, sample, label)
        hits |= dict(zip(p.tolist(), greedy(overlaps(truth, predicted, t, p), threshold, "best_overall"), strict=True))
    ranked = sorted(hits, key=lambda row: -predicted.scores[row])
    return average_precision([hits[row] for row in ranked], int((truth.labels == label).sum()))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "options",
    [
        {"metric": "text", "class_mode": "within"},
        {"metric": "text", "class_mode": "agnostic"},
        {"metric": "text", "class_mode": "per_class_mean"},
        {"metric": "sdk"},
        {"metric": "mlebench"},
    ],
    ids=lambda options: "-".join(options.values()),
)
def test_scores_equal_the_reference(options: dict[str, Any], seed: int) -> None:
    truth, predicted = scene(seed)
    got = score(truth, predicted, RuleOptions(**options)).value
    expected = reference(truth, predicted, options["metric"], options.get("class_mode", "within"))
    assert 0 < got < 1
    assert got == pytest.approx(expected, abs=1e-12)


def test_an_unknown_class_is_rejected_or_kept_as_a_false_positive(tmp_path: Path) -> None:
    truth = put(tmp_path / "truth.csv", "Id,PredictionString\ns,0 0 0 2 4 2 0 car\n")
    submission = put(
        tmp_path / "submission.csv", "Id,PredictionString\ns,0.9 0 0 0 2 4 2 0 car 0.8 9 9 0 2 4 2 0 Car\n"
    )
    with pytest.raises(BadInput, match="did you mean 'car'"):
        tallymark.score("lyft", truth, submission)
    assert tallymark.score("lyft", truth, submission, unknown_class="keep").value == 0.5


OPTIONS = RuleOptions()
CAR = "10 20 1 2 4 1.5 0.5 car"


@pytest.mark.parametrize("row", [CAR, f"0.75 {CAR}"])
def test_truth_may_have_a_confidence(row: str, tmp_path: Path) -> None:
    path = put(tmp_path / "train.csv", f"Id,PredictionString\na,{row} {row}\nb,\n")
    truth, problems = parse(dialect.read_truth, path, OPTIONS)
    assert not problems
    assert truth.counts.tolist() == [2, 0]
    assert np.column_stack(truth.shapes.columns)[0].tolist() == [10, 20, 1, 2, 4, 1.5, 0.5]
    assert truth.classes == CLASSES
    assert (truth.score is None) == (row == CAR)


def test_a_submission_round_trips(tmp_path: Path) -> None:
    text = f"Id,PredictionString\na,0.75 {CAR} 0.5 1 2 3 4 5 6 -3 bus\nb,\n"
    predictions, problems = parse(dialect.read, put(tmp_path / "s.csv", text), OPTIONS)
    assert not problems
    assert predictions.scores.tolist() == [0.75, 0.5]
    assert [CLASSES[label] for label in predictions.labels] == ["car", "bus"]
    dialect.write(predictions, tmp_path / "again.csv", "official")
    assert (tmp_path / "again.csv").read_text() == text


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        ("0.9 0 0 0 2 4 2 car", "token_count"),
        ("0.9 0 0 0 2 4 2 x car", "not_a_number"),
        ("0.9 0 0 0 2 0 2 0 car", "nonpositive_size"),
        ("0.9 0 0 0 2 4 2 0 tram", "unknown_class"),
    ],
)
def test_faults_of_a_submission_have_their_line(record: str, kind: str, tmp_path: Path) -> None:
    path = put(tmp_path / "s.csv", f"Id,PredictionString\na,0.75 {CAR}\nb,{record}\n")
    predictions, problems = parse(dialect.read, path, OPTIONS)
    assert kinds(problems) == [(kind, 3)]
    assert predictions.counts.tolist() == [1, 0]


def test_repair_drops_invalid_records_and_corrects_the_case_of_classes() -> None:
    notes = Notes()
    cell = f"0.9 0 0 0 2 4 2 car 0.8 {CAR} 0.7 0 0 0 2 4 0 0 car 0.6 0 0 0 2 4 2 0 Bus 0.5 0 0 0 2 4 2 0 tram"
    repaired = dialect.repair(rows_of({"PredictionString": cell}), OPTIONS, notes)
    assert repaired == [{"PredictionString": f"0.8 {CAR} 0.6 0 0 0 2 4 2 0 bus"}]
    assert len(notes) == 4
    assert dialect.filler(["Id", "PredictionString"], OPTIONS) == {"PredictionString": ""}


def test_repair_writes_class_names_in_lower_case(tmp_path: Path) -> None:
    text = "Id,PredictionString\na,0.9 0 0 0 2 4 2 0 Car 0.8 9 0 0 1 1 2 0 PEDESTRIAN 0.7 9 9 0 2 4 2 0 Tram\n"
    source = put(tmp_path / "in.csv", text)
    changes = tallymark.repair("lyft", source, tmp_path / "out.csv")
    row = "a,0.9 0 0 0 2 4 2 0 car 0.8 9 0 0 1 1 2 0 pedestrian"
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == [row]
    lower = "wrote a class name in lower case"
    assert [change.what for change in changes] == [lower, lower, "dropped a 3D box of an unknown class"]
    assert [change.line for change in changes] == [2, 2, 2]


def test_repair_keeps_unknown_classes_on_request(tmp_path: Path) -> None:
    source = put(tmp_path / "in.csv", "Id,PredictionString\na,0.9 0 0 0 2 4 2 0 tram\n")
    tallymark.repair("lyft", source, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == ["a,"]
    assert tallymark.repair("lyft", source, tmp_path / "kept.csv", unknown_class="keep") == []
    assert (tmp_path / "kept.csv").read_text().splitlines()[1:] == ["a,0.9 0 0 0 2 4 2 0 tram"]


SCENES = synth.SceneOptions(samples_per_scene=2, beams=16, columns=180, cameras="none")


@pytest.fixture(scope="module")
def drives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A synthetic data set of four training samples and a test sample."""
    folder = tmp_path_factory.mktemp("lyft")
    synth.write(folder, 5, 3, SCENES)
    return folder


def test_synthetic_drives_are_read_back(drives: Path) -> None:
    catalog, problems = parse(read.read, drives, OPTIONS)
    assert not problems
    assert sorted(catalog.split) == ["test", *["train"] * 4]
    assert catalog.truth is not None
    assert catalog.truth.classes == CLASSES
    assert len(catalog.truth) > 4
    assert catalog.drive is not None
    assert catalog.drive.columns == read.COLUMNS
    truth, _ = parse(dialect.read_truth, drives / "train.csv", OPTIONS)
    assert len(truth) == len(catalog.truth)


def test_other_categories_of_the_tables_are_kept_on_request(drives: Path, tmp_path: Path) -> None:
    folder = tmp_path / "drives"
    shutil.copytree(drives, folder)
    (folder / "train.csv").unlink()
    table = folder / "train_data" / "category.json"
    table.write_text(table.read_text().replace('"car"', '"vehicle.car"'))
    kept = tallymark.read("lyft", folder, unknown_class="keep")
    assert kept.truth is not None
    cars = np.bincount(kept.truth.labels)[kept.truth.classes.index("vehicle.car")]
    assert cars > 0
    assert not tallymark.check("lyft", folder, unknown_class="keep").problems
    problems = Problems()
    read.read(folder, RuleOptions(), problems)
    assert problems.counts == {"unknown_class": 1}


def test_the_ids_of_a_folder_are_its_test_samples(drives: Path) -> None:
    solution, _ = parse(dialect.read_truth, drives / "solution.csv", OPTIONS)
    assert dialect.folder_ids(drives, Problems()) == solution.items.ids.to_list()


def test_sweeps_without_tables_are_unlabelled(drives: Path, tmp_path: Path) -> None:
    sweep = next((drives / "train_lidar").iterdir())
    (tmp_path / "a.bin").write_bytes(sweep.read_bytes())
    catalog, problems = parse(read.read, tmp_path, OPTIONS)
    assert not problems
    assert catalog.items.ids.to_list() == ["a"]
    assert catalog.truth is None
