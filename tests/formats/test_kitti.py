"""KITTI: 3D boxes in the lidar frame, with the points of real sweeps inside them."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tallymark
from tallymark.challenges.lyft.dialect import CLASSES
from tallymark.core.problems import Problems
from tallymark.formats import read_cuboids
from tallymark.formats.kitti import Frame, read_frame
from tallymark.geometry.points_in_boxes import count_points_in_cuboids
from tallymark.io.lidar import read_sweep
from tests.formats.files import listing, only, put, put_sweep

# The lidar sits 1 m behind and 0.5 m above the camera; camera x is right, y down, z forward.
CALIBRATION = "P0: 1 2 3\nR0_rect: 1 0 0 0 1 0 0 0 1\nTr_velo_to_cam: 0 -1 0 0 0 0 -1 0.5 1 0 0 -1\n"
CAR = "Car 0.00 0 0.1 1 2 3 4 1.5 1.6 4.0 -2.0 1.5 10.0 -1.5707963267948966"
SIDEWAYS = "Van 0 0 0 1 2 3 4 2 1.6 4 0 1.5 20 0"
DONT_CARE = "DontCare -1 -1 -10 1 2 3 4 -1 -1 -1 -1000 -1000 -1000 -10"


def put_frame(root: Path, name: str, label: str, calibration: str = CALIBRATION) -> Path:
    put_sweep(root / "velodyne" / f"{name}.bin", np.ones((3, 4)))
    put(root / "calib" / f"{name}.txt", calibration)
    return put(root / "label_2" / f"{name}.txt", label)


def test_cuboids_are_transformed_to_the_lidar_frame(tmp_path: Path) -> None:
    put_frame(tmp_path / "training", "000000", f"{CAR}\n{DONT_CARE}\n{SIDEWAYS}\n")
    catalog = tallymark.read("lyft", tmp_path)
    truth = catalog.truth
    assert truth is not None
    assert [truth.classes[label] for label in truth.labels] == ["car", "car"]
    ahead, sideways = np.column_stack(truth.shapes.columns).round(9).tolist()
    assert ahead == [11, 2, -0.25, 1.6, 4, 1.5, 0]
    assert sideways == [21, 0, 0, 1.6, 4, 2, -round(np.pi / 2, 9)]
    assert truth.line is not None
    assert truth.line.tolist() == [1, 3]
    assert not catalog.notes
    assert catalog.remarks == ("excluded labels of classes that the challenge does not have: 1 DontCare",)
    assert catalog.medium.inspect(tmp_path / "training" / "velodyne" / "000000.bin").extent == (3, 4)
    assert catalog.drive is None


def test_an_unknown_class_is_kept_where_that_is_asked_for(tmp_path: Path) -> None:
    ship = CAR.replace("Car", "Spaceship")
    put_frame(tmp_path, "000000", f"{CAR}\n{ship}\n{DONT_CARE}\n")
    put_frame(tmp_path, "000001", f"{ship}\n")
    truth = tallymark.read("lyft", tmp_path, unknown_class="keep").truth
    assert truth is not None
    assert truth.classes == (*CLASSES, "spaceship")
    assert [truth.classes[label] for label in truth.labels] == ["car", "spaceship", "spaceship"]
    assert truth.counts.tolist() == [2, 1]


def test_a_rotated_camera_rotates_the_heading(tmp_path: Path) -> None:
    angle = 0.3
    matrix = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    rectified = CALIBRATION.replace("1 0 0 0 1 0 0 0 1\n", " ".join(map(str, matrix.ravel())) + "\n")
    put_frame(tmp_path, "000000", CAR, rectified)
    truth = tallymark.read("lyft", tmp_path).truth
    assert truth is not None
    straight = np.array([-2.0, 0.75, 10.0]) @ matrix  # rotated back
    expected = [straight[2] + 1, -straight[0], 0.5 - straight[1]]
    assert np.allclose(np.column_stack(truth.shapes.columns)[0, :3], expected)
    assert np.isclose(truth.shapes.yaw[0], angle)


def test_splits_and_frames_without_labels(tmp_path: Path) -> None:
    put_frame(tmp_path / "training", "000000", CAR)
    put_sweep(tmp_path / "testing" / "velodyne" / "000000.bin", np.ones((1, 4)))
    put_sweep(tmp_path / "training" / "velodyne_reduced" / "000000.bin", np.ones((1, 4)))
    catalog = tallymark.read("lyft", tmp_path)
    assert catalog.items.ids.to_list() == ["testing/000000", "training/000000"]
    assert catalog.split.to_list() == ["test", "train"]
    assert catalog.labelled.tolist() == [False, True]
    assert catalog.files[1] == "training/velodyne_reduced/000000.bin"
    assert not catalog.notes
    assert catalog.remarks == ("1 frame with two sweeps: the one in velodyne_reduced was read",)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Car 1 2 3", "field_count"),
        (CAR.replace("10.0", "ten"), "not_a_number"),
        (CAR.replace("10.0", "inf"), "not_a_number"),
        (CAR.replace("1.6", "0"), "not_positive"),
        (CAR.replace("Car", "Spaceship"), "unknown_class"),
    ],
)
def test_a_bad_row_is_a_problem_with_its_line(tmp_path: Path, text: str, kind: str) -> None:
    label = put_frame(tmp_path, "000000", f"{CAR}\n{text}\n{CAR}\n")
    problems = Problems()
    catalog = read_cuboids(listing(tmp_path), CLASSES, problems)
    problem = only(problems, kind)
    assert (problem.file, problem.line) == (str(label), 2)
    assert catalog is not None
    assert catalog.truth is not None
    assert len(catalog.truth) == 2


@pytest.mark.parametrize(
    ("calibration", "kind"),
    [
        (None, "missing_calibration"),
        ("", "bad_calibration"),
        (CALIBRATION.replace("R0_rect: 1", "R0_rect:"), "bad_calibration"),
        (CALIBRATION.replace("1 0 0 0 1 0 0 0 1\n", "0 0 0 0 0 0 0 0 0\n"), "bad_calibration"),
        (CALIBRATION.replace("0.5", "nan"), "bad_calibration"),
    ],
)
def test_frames_without_a_valid_calibration_are_unlabelled(tmp_path: Path, calibration: str | None, kind: str) -> None:
    put_frame(tmp_path, "000000", CAR)
    put_frame(tmp_path, "000001", CAR, calibration or "")
    if calibration is None:
        (tmp_path / "calib" / "000001.txt").unlink()
    problems = Problems()
    catalog = read_cuboids(listing(tmp_path), CLASSES, problems)
    assert {problem.kind for problem in problems} == {kind}
    assert {Path(problem.file).name for problem in problems} == {"000001.txt"}
    assert catalog is not None
    assert catalog.labelled.tolist() == [True, False]


def real(name: str) -> Path:
    """A folder of real sweeps; skips the test if the environment names none."""
    folder = Path(os.environ.get("TALLYMARK_DATA", ""), "lidar", name)
    if "TALLYMARK_DATA" not in os.environ or not folder.is_dir():
        pytest.skip(f"set TALLYMARK_DATA to a folder with lidar/{name} to run this")
    return folder


def frames(folder: Path) -> Iterator[tuple[str, Frame, Path]]:
    """Each frame of a real set: its name, its labels without DontCare, and its sweep."""
    for label in sorted((folder / "training" / "label_2").glob("*.txt")):
        problems = Problems()
        frame = read_frame(label, folder / "training" / "calib" / label.name, problems)
        assert frame is not None
        assert not problems
        kept = [at for at, name in enumerate(frame.names) if name != "DontCare"]
        boxes = frame.boxes.take(np.array(kept, np.int64))
        sweep = next(folder.glob(f"training/velodyne*/{label.stem}.bin"))
        yield label.stem, Frame([frame.names[at] for at in kept], boxes, [frame.line[at] for at in kept]), sweep


def test_real_kitti_cuboids_contain_their_points() -> None:
    folder = real("kitti")
    with (folder / "boxes_lidar.csv").open() as file:
        table = list(csv.DictReader(file))
    compared = 0
    for name, frame, sweep in frames(folder):
        rows = [row for row in table if row["frame"] == name]
        assert [row["class"] for row in rows] == frame.names
        columns = ("x", "y", "z", "width", "length", "height", "yaw")
        expected = np.array([[float(row[column]) for column in columns] for row in rows]).reshape(-1, 7)
        assert np.allclose(np.column_stack(frame.boxes.columns), expected, atol=6e-4)
        counts = count_points_in_cuboids(read_sweep(sweep, 4), frame.boxes)
        stated = np.array([int(row["num_points"]) for row in rows])
        # The table counts the points of whole sweeps: boxes that are truncated by the image border have fewer here.
        truncated = np.array([float(row["truncated"]) > 0 for row in rows]) & (sweep.parent.name == "velodyne_reduced")
        close = np.abs(counts - stated) <= np.maximum(2, 0.02 * stated)
        assert close[~truncated].all()
        assert (counts[truncated] <= stated[truncated] + 2).all()
        assert (counts[np.hypot(frame.boxes.x, frame.boxes.y) < 45] > 0).all()
        compared += len(rows)
    assert compared == len(table) == 98
    catalog = tallymark.read("lyft", folder)
    assert catalog.truth is not None
    assert len(catalog.truth) == 98 - 6  # without Misc
    assert not catalog.notes
    assert catalog.remarks[0].endswith("39 DontCare, 6 Misc")


def test_real_argoverse_cuboids_contain_their_points() -> None:
    folder = real("argoverse")
    found = [count_points_in_cuboids(read_sweep(sweep, 4), frame.boxes) for _, frame, sweep in frames(folder)]
    assert [(np.count_nonzero(counts), len(counts)) for counts in found] == [(67, 73), (73, 77)]
