"""KITTI: label_2/, calib/ and velodyne*/ side by side; volumes are carried from the camera to the lidar.

A label gives a volume in the rectified frame of the camera (x right, y down, z forward): height, width, length, the
middle of its bottom, and the turn about y. A calibration leads from the lidar (x forward, y left, z up) to there.
KITTI labels only what the front camera sees: `velodyne_reduced/`, cut to that view, goes before whole sweeps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from tallymark.core.problems import EVERY, Problem, Problems, clip, nearest
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.formats.gathered import (
    Entry,
    Refused,
    as_number,
    catalog_of,
    items_of,
    read_lines,
)
from tallymark.geometry import Cuboids
from tallymark.io.folders import LIDAR_SUFFIXES, Folder, distinct_names, split_of_path
from tallymark.io.lidar import SWEEP, inspect_sweep

COLUMNS = 4
KITTI_SWEEP = replace(SWEEP, inspect=partial(inspect_sweep, columns=COLUMNS))
LABELS, SWEEP_FOLDERS = "label_2", ("velodyne_reduced", "velodyne")
FIELDS = (15, 16)
"""Values in a row; the sixteenth is the confidence of a prediction."""
SAME = {
    "van": "car",  # one class in nuScenes, whose tables lyft shares
    "vehicle": "car",
    "large_vehicle": "truck",
    "tram": "other_vehicle",
    "trailer": "other_vehicle",
    "school_bus": "bus",
    "cyclist": "bicycle",
    "bicyclist": "bicycle",
    "motorcyclist": "motorcycle",
    "moped": "motorcycle",
    "person": "pedestrian",
    "person_sitting": "pedestrian",
    "wheelchair": "pedestrian",
}
"""Classes of KITTI and Argoverse by the class that has the same things in it; a rider counts as what is ridden."""
ASIDE = {"dontcare", "misc", "on_road_obstacle", "other_mover", "stroller"}
"""Classes that none of the nine stands for."""


@dataclass(frozen=True, eq=False)
class Frame:
    """The labels of one sweep: words as written, volumes in the frame of the lidar, and the line of each."""

    words: list[str]
    volumes: Cuboids
    line: list[int]


def read_kitti(listed: Folder, classes: tuple[str, ...], problems: Problems) -> Catalog | None:
    """Sweeps with volumes of these classes; None if there are neither labels nor sweeps where KITTI has them."""
    notes = Problems(EVERY)
    sweeps, labels = _sweeps(listed, problems=notes), _labels(listed)
    frames = sorted({*sweeps, *labels})
    if not frames:
        return None
    names = distinct_names(frames, listed.root, lambda frame: frame.name)
    entries, read = [], []
    for at, frame in enumerate(frames):
        label = labels.get(frame)
        known = None if label is None else read_frame(label, frame.parent / "calib" / f"{frame.name}.txt", problems)
        entries.append(
            Entry(names[frame], sweeps.get(frame), split_of_path(frame, listed.root), label, known is not None)
        )
        if known is not None and label is not None:
            kinds = _kinds(known, label, names[frame], classes, notes, problems)
            kept = np.flatnonzero(kinds >= 0)
            lines = np.array(known.line, np.int64)[kept]
            read.append((np.full(len(kept), at), known.volumes.take(kept), kinds[kept], lines))
    none = np.empty(0, np.int64)
    item, label_numbers, line = (np.concatenate([none, *(columns[k] for columns in read)]) for k in (0, 2, 3))
    volumes = np.concatenate([np.empty((0, 7)), *(np.column_stack(columns[1].columns) for columns in read)])
    truth = Annotations.from_rows(
        items_of(entries), item, Cuboids.of(volumes), label=label_numbers, classes=classes, line=line
    )
    return catalog_of(listed.root, KITTI_SWEEP, entries, truth, notes)


def read_frame(label: Path, calibration: Path, problems: Problems) -> Frame | None:
    """The volumes of a label file; None, with a problem, if they cannot be placed. DontCare has sides of -1."""
    rows = read_lines(label, problems)
    lidar_to_camera = _read_calibration(calibration, problems)
    if rows is None or lidar_to_camera is None:
        return None
    words, values, lines = [], [], []
    for line, text in rows:
        word, *rest = text.split()
        try:
            numbers = _numbers(text, rest)
        except Refused as bad:
            problems.add(bad.at(label, line, label.stem))
            continue
        words.append(word)
        values.append(numbers)
        lines.append(line)
    camera = np.array(values, float).reshape(-1, 7)
    return Frame(words, _to_lidar(camera, lidar_to_camera), lines)


def _numbers(text: str, tokens: list[str]) -> list[float]:
    """Height, width, length, x, y, z and turn, the last seven of fifteen values."""
    if len(tokens) + 1 not in FIELDS:
        expected = "a class and 14 numbers"
        raise Refused("field_count", f"{len(tokens) + 1} values in {clip(text)}", expected, "mend or remove the row")
    numbers = [as_number(token) for token in tokens[7:14]]
    if not np.isfinite(numbers).all():
        raise Refused("not_a_number", clip(text), "finite numbers", "mend or remove the row")
    if text.split()[0].lower() != "dontcare" and min(numbers[:3]) <= 0:
        raise Refused("not_positive", clip(text), "height, width and length above 0", "mend or remove the row")
    return numbers


def _to_lidar(camera: np.ndarray, lidar_to_camera: np.ndarray) -> Cuboids:
    """Volumes of the camera (rows of height, width, length, x, y, z, turn) in the frame of the lidar."""
    height, width, length, x, y, z, turn = camera.T
    back = np.linalg.inv(lidar_to_camera)
    centre = np.stack([x, y - height / 2, z], axis=1) @ back[:3, :3].T + back[:3, 3]
    heading = np.stack([np.cos(turn), np.zeros(len(turn)), -np.sin(turn)], axis=1) @ back[:3, :3].T
    yaw = np.arctan2(heading[:, 1], heading[:, 0])
    return Cuboids.of(np.column_stack([centre, width, length, height, yaw]))


def _read_calibration(path: Path, problems: Problems) -> np.ndarray | None:
    """The 4 x 4 matrix R0_rect Tr_velo_to_cam; None, with a problem, if it is not there."""
    if not path.is_file():
        expected, remedy = "the calibration of a labelled sweep", "add the file: without it no volume can be placed"
        problems.add(Problem("missing_calibration", str(path), "nothing", expected, remedy))
        return None
    rows = {}
    for line, text in read_lines(path, problems) or []:
        name, _, values = text.partition(":")
        rows[name.strip()] = line, [as_number(token) for token in values.split()]
    turn = _matrix(rows, ("R0_rect", "R_rect"), (3, 3), path, problems)
    move = _matrix(rows, ("Tr_velo_to_cam", "Tr_velo_cam"), (3, 4), path, problems)
    if turn is None or move is None:
        return None
    whole = np.eye(4)
    whole[:3] = turn @ move
    return whole


def _matrix(
    rows: dict[str, tuple[int, list[float]]],
    names: tuple[str, ...],
    shape: tuple[int, int],
    path: Path,
    problems: Problems,
) -> np.ndarray | None:
    line, values = next((rows[name] for name in names if name in rows), (None, []))
    good = len(values) == shape[0] * shape[1] and bool(np.isfinite(values).all())
    matrix = np.reshape(values, shape) if good else np.zeros(shape)
    if good and abs(np.linalg.det(matrix[:, :3])) > 0.5:  # a turn has 1
        return matrix
    found = "none" if line is None else "a matrix that is no turn" if good else f"{len(values)} values"
    expected, remedy = f"{names[0]} with {shape[0]} x {shape[1]} finite numbers", "get the calibration again"
    problems.add(Problem("bad_calibration", str(path), found, expected, remedy, line=line))
    return None


def _kinds(
    frame: Frame, label: Path, item: str, classes: tuple[str, ...], notes: Problems, problems: Problems
) -> np.ndarray:
    """The class of each volume; -1 for what is none, which is noted, and for what is unknown, which is a problem."""
    kinds = np.full(len(frame.words), -1)
    for at, (line, word) in enumerate(zip(frame.line, frame.words, strict=True)):
        name = SAME.get(word.lower(), word.lower())
        if name in classes:
            kinds[at] = classes.index(name)
        elif name in ASIDE:
            expected, remedy = "a class of the challenge", "nothing: it is left out"
            notes.add(Problem("left_out", str(label), word, expected, remedy, line=line))
        else:
            remedy = nearest(name, (*classes, *SAME))
            problems.add(
                Problem("unknown_class", str(label), clip(word), "a known class", remedy, line=line, item=item)
            )
    return kinds


def _labels(listed: Folder) -> dict[Path, Path]:
    """Label files by their frame, a path without a suffix beside the folder of labels."""
    return {path.parent.parent / path.stem: path for path in listed.ending({".txt"}) if path.parent.name == LABELS}


def _sweeps(listed: Folder, problems: Problems) -> dict[Path, Path]:
    """Sweeps by their frame; where there are two, the one cut to the camera's view, and that is noted."""
    found: dict[Path, Path] = {}
    rank = {name: at for at, name in enumerate(SWEEP_FOLDERS)}
    every = [path for path in listed.ending(LIDAR_SUFFIXES) if path.parent.name.startswith("velodyne")]
    for path in sorted(every, key=lambda path: (rank.get(path.parent.name, len(rank)), path)):
        first = found.setdefault(path.parent.parent / path.stem, path)
        if first != path:
            problems.add(
                Problem("unused_sweep", str(path), f"also {first}", "one sweep of a frame", "nothing, if that is meant")
            )
    return found
