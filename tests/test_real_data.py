"""Known facts of the real data sets. They are no part of the project: name their folder in TALLYMARK_DATA."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import tallymark
from tallymark.geometry.points_in_boxes import count_points_in_cuboids
from tallymark.geometry.poses import transform_cuboids
from tallymark.io.lidar import read_sweep

DATA = Path(os.environ.get("TALLYMARK_DATA", "no such folder"))
FOLDERS = [
    ("wheat", "wheat"),
    ("wheat", "wheat/half"),
    ("ships", "ships"),
    ("food", "food"),
    ("food", "food/food101_64px"),
    ("upcalls", "whales"),
    ("lyft", "lidar/lyft"),
    ("lyft", "lidar/kitti"),
    ("lyft", "lidar/argoverse"),
    ("lyft", "lidar/nuscenes"),
    ("lyft", "lidar/sustech"),
]

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="TALLYMARK_DATA names no folder with the real data")


@pytest.mark.parametrize(("name", "folder"), FOLDERS)
def test_every_folder_is_checked_and_explored(name: str, folder: str, tmp_path: Path) -> None:
    checked = tallymark.check(name, DATA / folder)
    assert checked.items > 0
    assert not {"corrupt_media", "truncated_media"} & set(checked.problems.counts)
    tallymark.explore(name, DATA / folder, tmp_path / "page.html")
    there = tallymark.read(name, DATA / folder).files.is_not_null().any()
    assert ("<img" in (tmp_path / "page.html").read_text()) == there


def test_giant_wheat_boxes_are_reported() -> None:
    problems = tallymark.check("wheat", DATA / "wheat").problems
    giants = {problem.item for problem in problems if problem.kind == "giant_box"}
    assert giants >= {"42e6efaaa", "a1321ca95", "2cc75e9f5", "41c0123cc"}
    catalog = tallymark.read("wheat", DATA / "wheat")
    assert catalog.truth is not None
    empty = catalog.labelled & (catalog.truth.counts == 0)
    assert (len(catalog.in_split("train")), len(catalog.truth), int(empty.sum())) == (135, 5258, 6)


def test_duplicate_calls_are_reported() -> None:
    problems = tallymark.check("upcalls", DATA / "whales").problems
    assert problems.counts["duplicate_call"] == 4
    audible = tallymark.read("upcalls", DATA / "whales")
    assert audible.truth is not None
    here = audible.select(audible.files.is_not_null().to_numpy())
    assert here.truth is not None
    assert (len(here), len(here.truth)) == (8, 65)


def test_the_short_sweep_of_lyft(tmp_path: Path) -> None:
    """As published it had two floats less."""
    [path] = (DATA / "lidar" / "lyft" / "lidar_real").glob("*.bin")
    assert not tallymark.check("lyft", path.parent).problems
    floats = np.fromfile(path, np.float32)[:265_728]
    floats.tofile(tmp_path / path.name)
    [problem] = tallymark.check("lyft", tmp_path).problems
    assert (problem.kind, problem.found) == ("ragged_sweep", "265728 floats, not divisible by 5")


def test_lyft_annotations_through_every_frame() -> None:
    """The cuboids of the tables, transformed from world to lidar and back, equal those of the derived file."""
    catalog = tallymark.read("lyft", DATA / "lidar" / "lyft")
    stated = tallymark.read_truth("lyft", DATA / "lidar" / "lyft" / "train_from_tables.csv")
    assert catalog.truth is not None
    assert catalog.drive is not None
    assert catalog.items.ids.to_list() == stated.items.ids.to_list()
    assert (catalog.truth.label == stated.label).all()
    for ours, theirs in zip(catalog.truth.shapes.columns[:-1], stated.shapes.columns[:-1], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-3)
    turn = catalog.truth.shapes.yaw - stated.shapes.yaw
    np.testing.assert_allclose(np.sin(turn), 0, atol=1e-3)
    np.testing.assert_allclose(np.cos(turn), 1, atol=1e-3)
    ego = catalog.drive.to_frame(0, stated.shapes, frame="ego")
    assert (np.hypot(ego.x, ego.y) < 120).all()
    assert (np.abs(ego.z) < 5).all()  # on the ground around the vehicle
    seen = catalog.drive.to_frame(0, stated.shapes)
    back = transform_cuboids(seen, catalog.drive.pose(0))
    for before, after in zip(stated.shapes.columns[:3], back.columns[:3], strict=True):
        np.testing.assert_allclose(before, after, atol=1e-6)


def test_kitti_cuboids_hold_points() -> None:
    catalog = tallymark.read("lyft", DATA / "lidar" / "kitti")
    assert catalog.truth is not None
    assert len(catalog) == 19
    for item in range(len(catalog)):
        path = catalog.path(item)
        assert path is not None
        cuboids = catalog.truth.shapes.take(np.arange(*catalog.truth.offsets[item : item + 2]))
        inside = count_points_in_cuboids(read_sweep(path, 4), cuboids)
        assert (inside[np.hypot(cuboids.x, cuboids.y) < 45] > 0).all()
