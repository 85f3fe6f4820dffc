"""The three lyft metrics against plain loops over random scenes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tallymark.api import score as api_score
from tallymark.challenges.lyft.dialect import CLASSES
from tallymark.core.problems import BadInput
from tallymark.core.registry import challenge
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Cuboids
from tests.reference import average_precision, greedy

THRESHOLDS = [k / 20 for k in range(10, 20)]
SAMPLES = 5


def scene(seed: int) -> tuple[Annotations[Cuboids], Annotations[Cuboids]]:
    """Every sample has truths; predictions are shifted copies, some of another class, some twice."""
    rng = np.random.default_rng(seed)
    items = Items.of([f"s{k}" for k in rng.permutation(SAMPLES)])
    item = np.sort(np.concatenate([np.arange(SAMPLES), rng.integers(0, SAMPLES, 30)]))
    rows = np.concatenate(
        [rng.uniform(0, 25, (35, 2)), np.zeros((35, 1)), rng.uniform(3, 5, (35, 3)), rng.uniform(-4, 4, (35, 1))], 1
    )
    label = rng.integers(0, 3, 35)
    twin = np.flatnonzero(item[1:] == item[:-1])[::3] + 1  # nearly coincides with the truth before it
    rows[twin], label[twin] = rows[twin - 1] + 0.05, label[twin - 1]
    truth = Annotations.from_rows(items, item, Cuboids.of(rows), label=label, classes=CLASSES)
    copy = np.sort(rng.integers(0, 35, 45))
    moved = rows[copy] + rng.normal(0, 0.15, (45, 7)) * (1, 1, 1, 0.5, 0.5, 0.5, 0.3)
    other = np.where(rng.random(45) < 0.1, rng.integers(0, 4, 45), label[copy])
    score = rng.permutation(45) / 45
    return truth, Annotations.from_rows(items, item[copy], Cuboids.of(moved), label=other, score=score, classes=CLASSES)


def overlaps(
    truth: Annotations[Cuboids], predicted: Annotations[Cuboids], t: np.ndarray, p: np.ndarray
) -> list[list[float]]:
    i, j = (grid.ravel() for grid in np.meshgrid(t, p))
    intersection, union = truth.shapes.overlap(predicted.shapes, i, j)
    return (intersection / union).reshape(len(p), len(t)).tolist()


def rows_of(made: Annotations[Cuboids], sample: int, kind: int | None) -> np.ndarray:
    mine = (made.item == sample) & ((made.labels == kind) if kind is not None else True)
    rows = np.flatnonzero(mine)
    return rows[np.argsort(-made.scores[rows], kind="stable")] if made.score is not None else rows


def reference(truth: Annotations[Cuboids], predicted: Annotations[Cuboids], metric: str, class_mode: str) -> float:
    values, mode = [], "best_overall" if metric == "mlebench" else "best_unmatched"
    for threshold in THRESHOLDS:
        if metric == "sdk":
            values.append(np.mean([_whole_set(truth, predicted, kind, threshold) for kind in np.unique(truth.labels)]))
            continue
        per_sample = []
        for sample in range(SAMPLES):
            kinds = sorted({*truth.labels[truth.item == sample], *predicted.labels[predicted.item == sample]})
            counts = {}
            for kind in [None] if class_mode == "agnostic" else kinds:
                t, p = rows_of(truth, sample, kind), rows_of(predicted, sample, kind)
                hits = greedy(overlaps(truth, predicted, t, p), threshold, mode)
                counts[kind] = (hits, len(t), len(p))
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


def _whole_set(truth: Annotations[Cuboids], predicted: Annotations[Cuboids], kind: int, threshold: float) -> float:
    hits: dict[int, bool] = {}
    for sample in range(SAMPLES):
        t, p = rows_of(truth, sample, kind), rows_of(predicted, sample, kind)
        hits |= dict(zip(p.tolist(), greedy(overlaps(truth, predicted, t, p), threshold, "best_overall"), strict=True))
    ranked = sorted(hits, key=lambda row: -predicted.scores[row])
    return average_precision([hits[row] for row in ranked], int((truth.labels == kind).sum()))


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
def test_equals_plain_loops(options: dict[str, Any], seed: int) -> None:
    truth, predicted = scene(seed)
    what = challenge("lyft")
    got = what.score(truth, predicted, what.rule_options(**options)).value
    expected = reference(truth, predicted, options["metric"], options.get("class_mode", "within"))
    assert 0 < got < 1
    assert got == pytest.approx(expected, abs=1e-12)


def test_an_unknown_class_is_refused_or_kept_as_one_that_nothing_matches(tmp_path: Path) -> None:
    truth, submission = tmp_path / "truth.csv", tmp_path / "submission.csv"
    truth.write_text("Id,PredictionString\ns,0 0 0 2 4 2 0 car\n")
    submission.write_text("Id,PredictionString\ns,0.9 0 0 0 2 4 2 0 car 0.8 9 9 0 2 4 2 0 Car\n")
    with pytest.raises(BadInput, match="did you mean 'car'"):
        api_score.score("lyft", truth, submission)
    assert api_score.score("lyft", truth, submission, unknown_class="keep").value == 0.5
