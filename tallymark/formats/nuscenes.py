"""nuScenes results: one JSON file of detections by sample, in world coordinates, as its detection task expects.

A detection has `translation` (the centre, in metres), `size` (width, length, height), `rotation` (a quaternion
w, x, y, z), `velocity`, `detection_name`, `detection_score` and `attribute_name`. 3D boxes are upright: only the yaw
of a rotation is kept. Velocities and attributes are not read, and written as 0 and empty.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tallymark.core.outputs import write_text
from tallymark.core.problems import Problem, Problems, clip, nearest
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Cuboids
from tallymark.geometry.poses import quaternion_from_yaw, yaw_from_quaternion
from tallymark.io.json_text import REMEDY, BadJson, parse_json, read_json_text, show
from tallymark.io.nuscenes_tables import LARGEST, SMALLEST

META = {"use_camera": False, "use_lidar": True, "use_radar": False, "use_map": False, "use_external": False}
"""The sensors that the detections are based on."""
NUMBERS = 11
"""Numbers of a detection: three of the translation, three of the size, four of the rotation, and the score."""
EXPECTED = {
    "bad_record": (
        "translation, size, rotation, detection_name and detection_score",
        "write every detection with all its fields",
    ),
    "not_a_number": ("finite numbers, and a rotation other than 0", "write plain numbers (no NaN, no Infinity)"),
    "nonpositive_size": ("width, length and height above 0", "correct or remove the 3D box"),
    "unknown_class": ("a class of the challenge", ""),
}
"""For each kind of problem: what is expected, and the remedy."""


def write_nuscenes(annotations: Annotations[Cuboids], path: str | Path) -> None:
    """Write 3D boxes as a results file, one sample per line. Classes keep their names."""
    shapes = annotations.shapes
    names = annotations.classes or ("object",)
    translation = np.stack([shapes.x, shapes.y, shapes.z], 1).tolist()
    size = np.stack([shapes.width, shapes.length, shapes.height], 1).tolist()
    rotation = quaternion_from_yaw(shapes.yaw).tolist()
    score = annotations.scores.tolist()
    label = annotations.labels.tolist()
    offsets = annotations.offsets.tolist()
    lines = []
    for at, token in enumerate(annotations.items.ids):
        rows = [
            {
                "sample_token": token,
                "translation": translation[row],
                "size": size[row],
                "rotation": rotation[row],
                "velocity": [0.0, 0.0],
                "detection_name": names[label[row]],
                "detection_score": score[row],
                "attribute_name": "",
            }
            for row in range(offsets[at], offsets[at + 1])
        ]
        lines.append(f"{json.dumps(token, ensure_ascii=False)}: {json.dumps(rows, ensure_ascii=False)}")
    text = f'{{"meta": {json.dumps(META)},\n"results": {{\n' + ",\n".join(lines) + "\n}}\n"
    write_text(path, text)


def read_nuscenes(
    path: str | Path, classes: tuple[str, ...], problems: Problems, *, keep_unknown: bool = False
) -> Annotations[Cuboids] | None:
    """The 3D boxes in a results file. An invalid detection is a problem, and the others are read.

    keep_unknown: append names that are not in `classes` as further classes, instead of reporting them.
    """
    results = _results(Path(path), problems)
    if results is None:
        return None
    item: list[int] = []
    number: list[int] = []
    values: list[list[float]] = []
    names: list[str] = []
    for at, (token, rows) in enumerate(results.items()):
        for row, detection in enumerate(rows, start=1):
            numbers = _numbers(detection)
            if numbers is None:
                problems.add(_problem(path, token, row, "bad_record", show(detection)))
                continue
            item.append(at)
            number.append(row)
            values.append(numbers)
            names.append(detection["detection_name"])
    known = (*classes, *sorted(set(names) - set(classes))) if keep_unknown else classes
    class_number = {name: at for at, name in enumerate(known)}
    label = np.array([class_number.get(name, -1) for name in names], np.int64)
    table = np.array(values, float).reshape(-1, NUMBERS)
    tokens = list(results)
    fault = _faults(table, label)
    hints = {name: nearest(name, known) for name in {names[at] for at in np.flatnonzero(fault == "unknown_class")}}
    for at in np.flatnonzero(fault != "").tolist():
        found = names[at] if fault[at] == "unknown_class" else " ".join(f"{value:g}" for value in values[at])
        hint = hints.get(names[at], "")
        problems.add(_problem(path, tokens[item[at]], number[at], str(fault[at]), clip(found), hint))
    kept = np.flatnonzero(fault == "")
    return Annotations.from_rows(
        Items.of(tokens),
        np.array(item, np.int64)[kept],
        Cuboids.of(np.column_stack([table[kept, :6], yaw_from_quaternion(table[kept, 6:10])])),
        label=label[kept],
        score=table[kept, 10].copy(),
        classes=known,
    )


def _faults(table: np.ndarray, label: np.ndarray) -> np.ndarray:
    """The kind of problem of each row of numbers and its class; empty if there is none."""
    not_finite = ~(np.abs(table) < LARGEST).all(axis=1) | (np.abs(table[:, 6:10]) < SMALLEST).all(axis=1)
    flat = table[:, 3:6].min(axis=1, initial=1) <= 0
    return np.select([not_finite, flat, label < 0], ["not_a_number", "nonpositive_size", "unknown_class"], "")


def _results(path: Path, problems: Problems) -> dict[str, list[Any]] | None:
    """The lists of detections by sample; None, with a problem, if the file has none."""
    text = read_json_text(path, problems)
    if text is None:
        return None
    repeated: list[str] = []
    try:
        document = parse_json(text, repeated)
    except BadJson as bad:
        problems.add(Problem("bad_json", str(path), bad.found, "JSON", REMEDY, line=bad.line))
        return None
    results = document.get("results") if isinstance(document, dict) else None
    if isinstance(results, dict) and all(isinstance(rows, list) for rows in results.values()):
        for name in repeated:
            if name in results:
                found, remedy = f"{clip(name)} again", "put all its detections in one list"
                problems.add(Problem("duplicate_id", str(path), found, "each sample once", remedy, item=name))
            else:
                found, remedy = f"the key {clip(name)} twice in an object", "keep one of the two"
                problems.add(Problem("bad_json", str(path), found, "every key once", remedy))
        return results
    expected = '"results": a list of detections for each sample'
    remedy = "write the results format of nuScenes' detection task"
    problems.add(Problem("bad_json", str(path), clip(text.strip()), expected, remedy))
    return None


def _numbers(detection: Any) -> list[float] | None:
    """The numbers of a detection, which may be nan; None if a field is missing or of the wrong type or length."""
    try:
        parts = [detection[name] for name in ("translation", "size", "rotation")]
        numbers = [*parts[0], *parts[1], *parts[2], detection["detection_score"]]
        lengths = [len(part) for part in parts]
        good = lengths == [3, 3, 4] and isinstance(detection["detection_name"], str)
        good &= all(type(value) in (int, float) for value in numbers)
        return [float(value) for value in numbers] if good else None
    except (KeyError, TypeError, IndexError, OverflowError):
        return None


def _problem(path: str | Path, token: str, number: int, kind: str, found: str, hint: str = "") -> Problem:
    expected, remedy = EXPECTED[kind]
    return Problem(kind, str(path), found, expected, remedy or hint, item=token, number=number)
