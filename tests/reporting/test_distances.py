"""Recall and precision by distance, with numbers counted by hand and against those of the rule."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import tallymark
from tallymark.cli.main import app
from tallymark.core.problems import BadInput
from tallymark.core.registry import challenge
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.drive import Drive
from tallymark.data.items import Items
from tallymark.geometry import Cuboids
from tallymark.geometry.poses import Poses
from tallymark.io.lidar import SWEEP
from tallymark.reporting.distances import score_by_distance
from tests.challenges.test_lyft import scene
from tests.formats.files import put, put_sweep
from tests.formats.test_kitti import CALIBRATION, CAR, SIDEWAYS

CLASSES = ("car", "bus")


def catalog_of(root: Path, ids: list[str], vehicle: list[tuple[float, float, float]] | None = None) -> Catalog:
    """Items with a sweep each, in the frame of the lidar; with `vehicle`, its position in the world."""
    text = pl.Series(ids, dtype=pl.String)
    files = pl.Series([f"{name}.bin" for name in ids])
    catalog = Catalog(root, SWEEP, Items.of(ids), files, text, np.ones(len(ids), bool), text)
    if vehicle is None:
        return catalog
    upright = np.tile([1.0, 0, 0, 0], (len(ids), 1))
    shots = pl.DataFrame({"file": [str(root / file) for file in files], "timestamp": [0] * len(ids)})
    shots = shots.with_columns(scene=text, channel=pl.lit("LIDAR_TOP"), filename=files)
    own = Poses(upright, np.zeros((len(ids), 3)))
    poses = Poses(upright, np.array(vehicle))
    return replace(catalog, drive=Drive(shots, own, poses, np.zeros((len(ids), 3, 3)), np.arange(len(ids)), text))


def cuboids(rows: list[tuple[int, str, float, float]], **more: Any) -> Annotations[Cuboids]:
    """From item, class, x and length; all are 2 m wide, 2 m high and at y = 0."""
    shapes = Cuboids.of(np.array([(x, 0, 0, 2, length, 2, 0) for _, _, x, length in rows]).reshape(-1, 7))
    label = np.array([CLASSES.index(word) for _, word, _, _ in rows], np.int64)
    item = np.array([item for item, *_ in rows], np.int64)
    return Annotations.from_rows(Items.of(["a", "b"]), item, shapes, label=label, classes=CLASSES, **more)


TRUTH = cuboids([(0, "car", 10, 4), (0, "car", 30, 4), (1, "car", 70, 4), (1, "bus", 19.5, 10)])
PREDICTED = cuboids(
    # an IoU of 1; of 3/5; a false positive; a bus of 9/11 that is predicted in the next band
    [(0, "car", 10, 4), (0, "car", 31, 4), (0, "car", 50, 4), (1, "bus", 20.5, 10)],
    score=np.array([0.9, 0.8, 0.7, 0.6]),
)


def rows(table: pl.DataFrame) -> list[tuple[object, ...]]:
    return [tuple(round(value, 3) if isinstance(value, float) else value for value in row) for row in table.rows()]


def test_classes_and_bands_by_hand(tmp_path: Path) -> None:
    result = score_by_distance(TRUTH, PREDICTED, catalog_of(tmp_path, ["a", "b"]))
    assert result.classes.columns == [
        "class", "truths", "predictions", "tp_50", "tp_70", "recall_50", "precision_50", "recall_70", "precision_70",
    ]  # fmt: skip
    assert rows(result.classes) == [
        ("car", 3, 3, 2, 1, 0.667, 0.667, 0.333, 0.333),
        ("bus", 1, 1, 1, 1, 1, 1, 1, 1),
    ]
    assert rows(result.bands) == [
        ("0-20", 2, 1, 2, 2, 1, 1, 1, 1),
        ("20-40", 1, 2, 1, 0, 1, 1, 0, 0.5),
        ("40-60", 0, 1, 0, 0, None, 0, None, 0),
        ("60+", 1, 0, 0, 0, 0, None, 0, None),
    ]
    assert result.both.select("class", "metres", "truths", "predictions").rows() == [
        ("car", "0-20", 1, 1), ("car", "20-40", 1, 1), ("car", "40-60", 0, 1), ("car", "60+", 1, 0),
        ("bus", "0-20", 1, 0), ("bus", "20-40", 0, 1),
    ]  # fmt: skip


def test_distances_are_from_the_vehicle_of_each_sample(tmp_path: Path) -> None:
    """The vehicle is at x = 30 in the first sample, and at y = 45 in the second."""
    result = score_by_distance(TRUTH, PREDICTED, catalog_of(tmp_path, ["b", "a"], [(0, 45, 9), (30, 0, 9)]))
    assert result.both.select("class", "metres", "truths").filter(pl.col("truths") > 0).rows() == [
        ("car", "0-20", 1), ("car", "20-40", 1), ("car", "60+", 1), ("bus", "40-60", 1),
    ]  # fmt: skip


def test_distances_in_a_sample_without_a_sweep_are_unknown(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path, ["a", "b"], [(0, 0, 0), (0, 0, 0)])
    assert catalog.drive is not None
    lost = replace(catalog, drive=replace(catalog.drive, samples=np.array([0, -1])))
    bands = score_by_distance(TRUTH, PREDICTED, lost).bands
    assert [row[:3] for row in rows(bands)] == [("0-20", 1, 1), ("20-40", 1, 1), ("40-60", 0, 1), ("unknown", 2, 1)]


@pytest.mark.parametrize("world", [False, True])
def test_cuboids_with_few_points_do_not_count(tmp_path: Path, world: bool) -> None:
    """Five points in the first car, two in the second and third, five in the false positive and two in the bus.

    The prediction of the second car has two more, beyond its end.
    """
    shift = np.array([7.0, -3, 2]) if world else np.zeros(3)
    places = {"a": [(10, 5), (30, 2), (32.5, 2), (50, 5), (56, 2)], "b": [(70, 2), (19, 2)]}
    for name, spots in places.items():
        inside = np.concatenate([np.tile([x, 0.1, 0.2], (count, 1)) for x, count in spots])
        ground = np.array([(x, 4.5, -1.6) for x in np.arange(-20, 20, 0.5)])
        points = np.concatenate([inside, ground]) - shift
        put_sweep(tmp_path / f"{name}.bin", np.column_stack([points, np.full((len(points), 1 + world), 0.5)]))
    extra = cuboids([(0, "car", 56, 2)], score=np.array([0.5]))
    predicted = Annotations.from_rows(
        PREDICTED.items,
        np.concatenate([PREDICTED.item, extra.item]),
        PREDICTED.shapes.concat(extra.shapes),
        label=np.append(PREDICTED.labels, 0),
        score=np.append(PREDICTED.scores, 0.5),
        classes=CLASSES,
    )
    catalog = catalog_of(tmp_path, ["a", "b"], [tuple(shift)] * 2 if world else None)
    result = score_by_distance(TRUTH, predicted, catalog, min_points=3)
    # Left: the first car, which is matched, and the false positive with five points.
    assert rows(result.classes) == [("car", 1, 2, 1, 1, 1, 0.5, 1, 0.5)]
    assert rows(score_by_distance(TRUTH, predicted, catalog).classes)[0][:3] == ("car", 3, 4)
    (tmp_path / "b.bin").unlink()
    with pytest.raises(BadInput, match=r"b\.bin"):
        score_by_distance(TRUTH, predicted, catalog, min_points=3)


@pytest.mark.parametrize("seed", range(4))
def test_classes_are_those_of_the_score(seed: int, tmp_path: Path) -> None:
    truth, predicted = scene(seed)
    result = score_by_distance(truth, predicted, catalog_of(tmp_path, truth.items.ids.to_list()))
    lyft = challenge("lyft")
    expected = lyft.score(truth, predicted, lyft.rule_options()).classes
    assert expected is not None
    columns = ["class", "truths", "predictions", "tp_50", "tp_70"]
    assert result.classes.select(columns).equals(expected.select(columns))
    for table in (result.bands, result.both):
        assert table.select(columns[1:]).sum().equals(result.classes.select(columns[1:]).sum())


def test_classes_are_compared_by_name(tmp_path: Path) -> None:
    predicted = replace(PREDICTED, label=1 - PREDICTED.labels, classes=("bus", "car"))
    catalog = catalog_of(tmp_path, ["a", "b"])
    assert score_by_distance(TRUTH, predicted, catalog).both.equals(score_by_distance(TRUTH, PREDICTED, catalog).both)


def test_every_sample_must_be_in_the_folder(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="unknown_sample"):
        score_by_distance(TRUTH, PREDICTED, catalog_of(tmp_path, ["a"]))


def test_no_truth_and_no_predictions(tmp_path: Path) -> None:
    none = cuboids([])
    result = score_by_distance(none, none, catalog_of(tmp_path, ["a", "b"]))
    assert [len(table) for table in (result.classes, result.bands, result.both)] == [0, 0, 0]


def run(*words: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return result.output


def test_a_kitti_folder_has_truth_and_the_frame_of_the_vehicle(tmp_path: Path) -> None:
    """Cars at 11.2 and 21 m from the lidar; only the first is predicted, and contains points."""
    folder = tmp_path / "kitti"
    label = f"{CAR}\n{SIDEWAYS}\n"
    put(folder / "label_2" / "000000.txt", label)
    put(folder / "calib" / "000000.txt", CALIBRATION)
    put_sweep(folder / "velodyne" / "000000.bin", np.tile([11, 2, -0.25, 0.5], (60, 1)))
    put_sweep(folder / "velodyne" / "000001.bin", np.tile([11, 2, -0.25, 0.5], (60, 1)))  # not labelled
    truth = tallymark.read("lyft", folder).truth
    assert truth is not None
    predicted = truth.filter(np.array([True, False])).reindex(Items.of(["000000"]))
    submission = tmp_path / "submission.csv"
    tallymark.write("lyft", replace(predicted, line=None), submission)
    text = run("score", "lyft", folder, submission, "--by-distance", folder)
    assert "score 0.500000" in text
    assert "20-40" in text
    options = ("--by-distance", folder, "--min-points", 51, "--json")
    result = json.loads(run("score", "lyft", folder, submission, *options))["distances"]
    assert [(row["metres"], row["truths"], row["tp_70"]) for row in result["bands"]] == [("0-20", 1, 1)]
    assert tallymark.by_distance("lyft", folder, submission, folder).bands["truths"].to_list() == [1, 1]


def test_only_cuboids_have_distances(tmp_path: Path) -> None:
    example = challenge("wheat").folder / "example"
    files = example / "truth.csv", example / "submission.csv"
    assert "an option of lyft" in run("score", "wheat", *files, "--by-distance", tmp_path, code=2)
    assert "no_truth" in run("score", "lyft", _unlabelled(tmp_path), files[1], code=2)


def _unlabelled(folder: Path) -> Path:
    put_sweep(folder / "sweeps" / "000000.bin", np.ones((2, 4)) / 3)
    return folder
