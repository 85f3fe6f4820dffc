"""KITTI: label_2/, calib/ and velodyne*/ side by side; 3D boxes are transformed from the camera to the lidar frame.

A label has a 3D box in the rectified camera frame (x right, y down, z forward): height, width, length, the centre of
its bottom face, and the rotation about y. The calibration transforms from the lidar frame (x forward, y left, z up).
KITTI labels only the field of view of the front camera: `velodyne_reduced/`, cropped to it, is preferred to whole
sweeps.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from tallymark.core.humanize import plural
from tallymark.core.problems import EVERY, Problem, Problems, clip, nearest
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.formats.entries import Entry, catalog_of, items_of
from tallymark.formats.parsing import ParseError, parse_float
from tallymark.geometry import Cuboids
from tallymark.io.archive_listing import merged
from tallymark.io.archives import is_file
from tallymark.io.folders import Folder, distinct_names, open_folder, split_of_path
from tallymark.io.lidar import SWEEP, inspect_sweep
from tallymark.io.suffixes import LIDAR_SUFFIXES
from tallymark.io.texts import read_lines

COLUMNS = 4
KITTI_SWEEP = replace(SWEEP, inspect=partial(inspect_sweep, columns=COLUMNS))
CALIBRATION_FOLDER = "calib"
LABEL_FOLDER = "label_2"
SWEEP_FOLDERS = ("velodyne_reduced", "velodyne")
FIELDS = (15, 16)
"""Numbers of values in a row; the sixteenth is the confidence of a prediction."""
SYNONYMS = {
    "van": "car",  # one class in nuScenes
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
"""Classes of KITTI and Argoverse, and the class of the challenge for each; riders count as what they ride."""
IGNORED = {"dontcare", "misc", "on_road_obstacle", "other_mover", "stroller"}
"""Valid classes that have no counterpart in the challenge; DontCare marks regions without labels."""


@dataclass(frozen=True, eq=False)
class Frame:
    """The labels of one sweep: class names as written, 3D boxes in the lidar frame, and lines."""

    names: list[str]
    boxes: Cuboids
    line: list[int]


def read_kitti(
    listed: Folder, classes: tuple[str, ...], problems: Problems, *, keep_unknown: bool = False
) -> Catalog | None:
    """Sweeps with 3D boxes of these classes; None if the folder has neither KITTI labels nor KITTI sweeps.

    keep_unknown: other classes are added to these, in place of a problem for each box.
    """
    notes = Problems(EVERY)
    excluded: Counter[str] = Counter()
    sweeps, unused = _sweep_files(listed)
    labels, calibrations = _text_files(listed, LABEL_FOLDER), _text_files(listed, CALIBRATION_FOLDER)
    frames = sorted({*sweeps, *labels})
    if not frames:
        return None
    names = distinct_names(frames, listed.root, lambda frame: frame.name)
    labelled = [
        read_frame(labels[frame], calibrations.get(frame, _missing(frame)), problems) if frame in labels else None
        for frame in frames
    ]
    if keep_unknown:
        known = {_class_name(name) for read in labelled if read is not None for name in read.names}
        classes = (*classes, *sorted(known - {*classes, *IGNORED}))
    entries = []
    no_rows = np.empty(0, np.int64)
    items, labels_of, lines, boxes = [no_rows], [no_rows], [no_rows], [np.empty((0, 7))]
    for at, (frame, read) in enumerate(zip(frames, labelled, strict=True)):
        file = labels.get(frame)
        split = split_of_path(frame, listed.root)
        entries.append(Entry(names[frame], sweeps.get(frame), split, file, labelled=read is not None))
        if read is not None and file is not None:
            numbers = _class_numbers(read, file, names[frame], classes, excluded, problems)
            kept = np.flatnonzero(numbers >= 0)
            items.append(np.full(len(kept), at))
            labels_of.append(numbers[kept])
            lines.append(np.array(read.line, np.int64)[kept])
            boxes.append(np.column_stack(read.boxes.take(kept).columns))
    truth = Annotations.from_rows(
        items_of(entries),
        np.concatenate(items),
        Cuboids.of(np.concatenate(boxes)),
        label=np.concatenate(labels_of),
        classes=classes,
        line=np.concatenate(lines),
    )
    catalog = catalog_of(listed.root, KITTI_SWEEP, entries, truth, notes)
    return replace(catalog, remarks=_remarks(excluded, unused))


def read_frame(label: Path, calibration: Path, problems: Problems) -> Frame | None:
    """The 3D boxes of a label file; None, with a problem, without a calibration. DontCare rows have sizes of -1."""
    rows = read_lines(label, problems, expected="KITTI labels", item=label.stem)
    lidar_to_camera = read_calibration(calibration, problems)
    if rows is None or lidar_to_camera is None:
        return None
    names, values, lines = [], [], []
    for line, text in rows:
        name, *rest = text.split()
        try:
            numbers = _parse_numbers(text, rest)
        except ParseError as bad:
            problems.add(bad.at(label, line, label.stem))
            continue
        names.append(name)
        values.append(numbers)
        lines.append(line)
    camera = np.array(values, float).reshape(-1, 7)
    return Frame(names, _to_lidar(camera, lidar_to_camera), lines)


def _parse_numbers(text: str, tokens: list[str]) -> list[float]:
    """Height, width, length, x, y, z and rotation_y: the last seven of the 14 numbers of a row."""
    if len(tokens) + 1 not in FIELDS:
        expected = "a class and 14 numbers"
        raise ParseError(
            "field_count", f"{len(tokens) + 1} values in {clip(text)}", expected, "correct or remove the row"
        )
    numbers = [parse_float(token) for token in tokens[7:14]]
    if not np.isfinite(numbers).all():
        raise ParseError("not_a_number", clip(text), "finite numbers", "correct or remove the row")
    if text.split()[0].lower() != "dontcare" and min(numbers[:3]) <= 0:
        raise ParseError("not_positive", clip(text), "height, width and length above 0", "correct or remove the row")
    return numbers


def _to_lidar(camera: np.ndarray, lidar_to_camera: np.ndarray) -> Cuboids:
    """3D boxes in the lidar frame, from (n, 7) camera rows of height, width, length, x, y, z, rotation_y."""
    height, width, length, x, y, z, rotation = camera.T
    back = np.linalg.inv(lidar_to_camera)
    centre = np.stack([x, y - height / 2, z], axis=1) @ back[:3, :3].T + back[:3, 3]
    heading = np.stack([np.cos(rotation), np.zeros(len(rotation)), -np.sin(rotation)], axis=1) @ back[:3, :3].T
    yaw = np.arctan2(heading[:, 1], heading[:, 0])
    return Cuboids.of(np.column_stack([centre, width, length, height, yaw]))


def read_calibration(path: Path, problems: Problems) -> np.ndarray | None:
    """The (4, 4) matrix R0_rect @ Tr_velo_to_cam; None, with a problem, if it is missing or invalid."""
    if not is_file(path):
        expected = "the calibration of a labelled sweep"
        remedy = "add the file: 3D boxes cannot be transformed to the lidar frame without it"
        problems.add(Problem("missing_calibration", str(path), "nothing", expected, remedy))
        return None
    rows = {}
    for line, text in read_lines(path, problems, expected="a calibration") or []:
        name, _, values = text.partition(":")
        rows[name.strip()] = line, [parse_float(token) for token in values.split()]
    rotation = _matrix(rows, ("R0_rect", "R_rect"), (3, 3), path, problems)
    transform = _matrix(rows, ("Tr_velo_to_cam", "Tr_velo_cam"), (3, 4), path, problems)
    if rotation is None or transform is None:
        return None
    matrix = np.eye(4)
    matrix[:3] = rotation @ transform
    return matrix


def _matrix(
    rows: dict[str, tuple[int, list[float]]],
    names: tuple[str, ...],
    shape: tuple[int, int],
    path: Path,
    problems: Problems,
) -> np.ndarray | None:
    """The first of the named matrices whose left 3 x 3 part is a rotation; None, with a problem, otherwise."""
    line, values = next((rows[name] for name in names if name in rows), (None, []))
    good = len(values) == shape[0] * shape[1] and bool(np.isfinite(values).all())
    matrix = np.reshape(values, shape) if good else np.zeros(shape)
    if good and abs(np.linalg.det(matrix[:, :3])) > 0.5:  # a rotation has determinant 1
        return matrix
    found = "none" if line is None else "a matrix that is not a rotation" if good else f"{len(values)} values"
    expected = f"{names[0]} with {shape[0]} x {shape[1]} finite numbers"
    remedy = "download the calibration again"
    problems.add(Problem("bad_calibration", str(path), found, expected, remedy, line=line))
    return None


def _class_numbers(
    frame: Frame, label: Path, item: str, classes: tuple[str, ...], excluded: Counter[str], problems: Problems
) -> np.ndarray:
    """The class number of each box; -1 for ignored classes, which are counted, and unknown ones, which are problems."""
    numbers = np.full(len(frame.names), -1)
    for at, (line, written) in enumerate(zip(frame.line, frame.names, strict=True)):
        name = _class_name(written)
        if name in classes:
            numbers[at] = classes.index(name)
        elif name in IGNORED:
            excluded[written] += 1
        else:
            found = clip(written)
            remedy = nearest(name, (*classes, *SYNONYMS))
            problems.add(Problem("unknown_class", str(label), found, "a known class", remedy, line=line, item=item))
    return numbers


def _class_name(written: str) -> str:
    return SYNONYMS.get(written.lower(), written.lower())


def _remarks(excluded: Counter[str], unused: int) -> tuple[str, ...]:
    """What was left out of a valid folder: labels of classes that the challenge does not have, and second sweeps."""
    remarks = []
    if excluded:
        listed = ", ".join(f"{count} {name}" for name, count in sorted(excluded.items()))
        remarks.append(f"excluded labels of classes that the challenge does not have: {listed}")
    if unused:
        remarks.append(f"{plural(unused, 'frame')} with two sweeps: the one in {SWEEP_FOLDERS[0]} was read")
    return tuple(remarks)


def _text_files(listed: Folder, folder: str) -> dict[Path, Path]:
    """Files in folders of this name by frame."""
    return {_frame(path, listed.root): path for path in listed.ending({".txt"}) if path.parent.name == folder}


def calibrations_of(catalog: Catalog) -> dict[int, Path]:
    """The calibration file of each item of a KITTI data set that has one."""
    listed = open_folder(catalog.root, Problems())
    found = {} if listed is None else _text_files(listed, CALIBRATION_FOLDER)
    if not found:
        return {}
    places = {item: catalog.path(item) or catalog.tables[item] for item in range(len(catalog))}
    frames = {item: _frame(Path(place), catalog.root) for item, place in places.items() if place is not None}
    return {item: found[frame] for item, frame in frames.items() if frame in found}


def _frame(path: Path, root: Path) -> Path:
    """What a file belongs to: its path without suffix, beside its folder. Each folder may be an archive of its own."""
    return merged(path.parent.parent / path.stem, root)


def _missing(frame: Path) -> Path:
    """Where the calibration of a frame should be."""
    return frame.parent / CALIBRATION_FOLDER / f"{frame.name}.txt"


def _sweep_files(listed: Folder) -> tuple[dict[Path, Path], int]:
    """Sweeps by frame; of two, the one cropped to the camera's field of view, and how many others there are."""
    found: dict[Path, Path] = {}
    rank = {name: at for at, name in enumerate(SWEEP_FOLDERS)}
    every = [path for path in listed.ending(LIDAR_SUFFIXES) if path.parent.name.startswith("velodyne")]
    for path in sorted(every, key=lambda path: (rank.get(path.parent.name, len(rank)), path)):
        found.setdefault(_frame(path, listed.root), path)
    return found, len(every) - len(found)
