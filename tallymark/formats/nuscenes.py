"""nuScenes results: one JSON file of detections by sample, in world coordinates, as its detection task hands them in.

A detection has `translation` (the middle, in metres), `size` (width, length, height), `rotation` (a quaternion
w, x, y, z), `velocity`, `detection_name`, `detection_score` and `attribute_name`. Volumes here are upright: of a
rotation only the heading is kept, and velocities and attributes are neither known nor read.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from tallymark.core.problems import Problem, Problems, clip, nearest
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.formats.gathered import read_text
from tallymark.geometry import Cuboids
from tallymark.geometry.poses import quaternion_from_yaw, yaw_from_quaternion

META = {"use_camera": False, "use_lidar": True, "use_radar": False, "use_map": False, "use_external": False}
"""What the detections were made from."""
NUMBERS = 11
"""Three of the place, three of the size, four of the rotation, and the score."""
EXPECTED = {
    "bad_record": ("translation, size, rotation, detection_name and detection_score", "write every detection in full"),
    "not_a_number": ("finite numbers, and a rotation", "write plain numbers (no NaN, no Infinity)"),
    "nonpositive_size": ("width, length and height above 0", "mend or drop the volume"),
    "unknown_class": ("a class of the challenge", ""),
}
"""What each kind of problem asks for, and what to do."""


def write_nuscenes(annotations: Annotations[Cuboids], path: str | Path) -> None:
    """Write volumes as a file of results, a sample to a line; classes keep their names."""
    shapes, names = annotations.shapes, annotations.classes or ("object",)
    place = np.stack([shapes.x, shapes.y, shapes.z], 1).tolist()
    size = np.stack([shapes.width, shapes.length, shapes.height], 1).tolist()
    rotation, score = quaternion_from_yaw(shapes.yaw).tolist(), annotations.scores.tolist()
    kind, offsets = annotations.labels.tolist(), annotations.offsets.tolist()
    lines = []
    for at, token in enumerate(annotations.items.ids):
        rows = [
            {
                "sample_token": token,
                "translation": place[row],
                "size": size[row],
                "rotation": rotation[row],
                "velocity": [0.0, 0.0],
                "detection_name": names[kind[row]],
                "detection_score": score[row],
                "attribute_name": "",
            }
            for row in range(offsets[at], offsets[at + 1])
        ]
        lines.append(f"{json.dumps(token, ensure_ascii=False)}: {json.dumps(rows, ensure_ascii=False)}")
    text = f'{{"meta": {json.dumps(META)},\n"results": {{\n' + ",\n".join(lines) + "\n}}\n"
    Path(path).write_text(text, "utf-8", newline="\n")


def read_nuscenes(
    path: str | Path, classes: tuple[str, ...], problems: Problems, *, keep_unknown: bool = False
) -> Annotations[Cuboids] | None:
    """The volumes in a file of results. Each that cannot be used is a problem, and the rest is read.

    keep_unknown: names that are not in `classes` become classes behind these, instead of problems.
    """
    results = _results(Path(path), problems)
    if results is None:
        return None
    item, number, values, words = [], [], [], []
    for at, (token, rows) in enumerate(results.items()):
        for row, detection in enumerate(rows, start=1):
            numbers = _numbers(detection)
            if numbers is None:
                problems.add(_problem(path, token, row, "bad_record", json.dumps(detection)))
                continue
            item.append(at)
            number.append(row)
            values.append(numbers)
            words.append(detection["detection_name"])
    known = (*classes, *sorted(set(words) - set(classes))) if keep_unknown else classes
    place = {name: kind for kind, name in enumerate(known)}
    label = np.array([place.get(word, -1) for word in words], np.int64)
    table, tokens = np.array(values, float).reshape(-1, NUMBERS), list(results)
    fault = _faults(table, label)
    for at in np.flatnonzero(fault != "").tolist():
        found = words[at] if fault[at] == "unknown_class" else " ".join(f"{value:g}" for value in values[at])
        problems.add(_problem(path, tokens[item[at]], number[at], str(fault[at]), found, nearest(words[at], known)))
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
    """What is wrong with each row of numbers and its class: a kind of problem, or nothing."""
    unreal = ~np.isfinite(table).all(axis=1) | (table[:, 6:10] == 0).all(axis=1)
    flat = table[:, 3:6].min(axis=1, initial=1) <= 0
    return np.select([unreal, flat, label < 0], ["not_a_number", "nonpositive_size", "unknown_class"], "")


def _results(path: Path, problems: Problems) -> dict[str, list[Any]] | None:
    """The lists of detections by sample; None, with a problem, if there are none."""
    text = read_text(path, problems)
    if text is None:
        return None
    repeated: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):  # the last of each name has been kept
            repeated.extend(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        return made

    expected, remedy = "JSON", "write the file again: it may be cut off"
    try:
        whole = json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        problems.add(Problem("bad_json", str(path), error.msg.lower(), expected, remedy, line=error.lineno))
        return None
    except RecursionError:
        problems.add(Problem("bad_json", str(path), "lists nested too deep", expected, remedy))
        return None
    results = whole.get("results") if isinstance(whole, dict) else None
    if isinstance(results, dict) and all(isinstance(rows, list) for rows in results.values()):
        for name in filter(results.__contains__, repeated):
            found, told, remedy = f"{clip(name)} again", "each sample once", "put all its detections in one list"
            problems.add(Problem("duplicate_id", str(path), found, told, remedy, item=name))
        return results
    expected, remedy = '"results": a list of detections for each sample', "write the form of nuScenes' detection task"
    problems.add(Problem("bad_json", str(path), clip(text.strip()), expected, remedy))
    return None


def _numbers(detection: Any) -> list[float] | None:
    """The numbers of a detection, None if it lacks what it must have; a number that is none stays for later."""
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
    return Problem(kind, str(path), clip(found), expected, remedy or hint, item=token, number=number)
