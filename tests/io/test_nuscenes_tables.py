"""Damaged nuScenes tables: each fault is reported once, and the other rows are read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tallymark
from tallymark.core.problems import Problems
from tallymark.io.media import BadMedia
from tallymark.io.nuscenes_tables import read_tables
from tests.sets import copy_of

Rows = list[dict[str, Any]]


def damaged(folder: Path, table: str, change: Callable[[Rows], Rows | None]) -> None:
    path = folder / "train_data" / f"{table}.json"
    rows = json.loads(path.read_bytes())
    path.write_text(json.dumps(change(rows) or rows))


def setting(column: str, value: object) -> Callable[[Rows], None]:
    return lambda rows: rows[0].update({column: value})


@pytest.mark.parametrize(
    "value",
    [["1", "2", "3"], [1, 2], [float("nan"), 2, 3], {"x": 1}, "here", None, [1, None, 3], [True, 2, 3]],
    ids=str,
)
def test_one_bad_value_costs_one_row(value: object, sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "lyft", tmp_path)
    damaged(folder, "ego_pose", setting("translation", value))
    problems = tallymark.check("lyft", folder).problems
    assert problems.counts == {"bad_row": 1, "dangling_token": 1, "missing_media": 1}
    [row] = [problem for problem in problems if problem.kind == "bad_row"]
    assert row.found.startswith("no valid translation in row")


@pytest.mark.parametrize("data", [b"", b"null", b"{}", b"hello", b"[1, 2]", b"[null]"])
def test_a_table_that_is_none_is_said_once(data: bytes, sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "lyft", tmp_path)
    (folder / "train_data" / "log.json").write_bytes(data)
    assert tallymark.check("lyft", folder).problems.counts == {"bad_json": 1, "empty_table": 1}


@pytest.mark.parametrize("between", [True, False])
def test_rows_before_a_truncation_are_kept(between: bool, sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "lyft", tmp_path)
    path = folder / "train_data" / "sample_annotation.json"
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(b"{")].rstrip(b", ") if between else data[:-30])
    counts = tallymark.check("lyft", folder).problems.counts
    assert counts == {"bad_json": 1, "tables_disagree": 1}


def test_texts_may_hold_anything(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "lyft", tmp_path)
    name = 'a}, {"b": [ü] \\ {'
    damaged(folder, "log", setting("logfile", name))
    path = folder / "train_data" / "log.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    catalog = tallymark.read("lyft", folder)
    assert name in catalog.group.to_list()
    assert tallymark.check("lyft", folder).problems.counts == {}


def test_one_file_of_truth_for_several_sets_of_tables(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "lyft", tmp_path)
    first, second = folder / "train_data", folder / "train_more"
    shutil.copytree(first, second)
    tokens = [row["token"] for row in json.loads((first / "sample.json").read_bytes())][:3]
    for table, column in (("sample", "token"), ("sample_data", "sample_token"), ("sample_annotation", "sample_token")):
        rows = json.loads((first / f"{table}.json").read_bytes())
        (first / f"{table}.json").write_text(json.dumps([row for row in rows if row[column] in tokens]))
        (second / f"{table}.json").write_text(json.dumps([row for row in rows if row[column] not in tokens]))
    whole, parted = tallymark.read("lyft", sets / "lyft"), tallymark.read("lyft", folder)
    assert sorted(parted.items.ids) == sorted(whole.items.ids)
    assert parted.truth is not None
    assert whole.truth is not None
    assert len(parted.truth) == len(whole.truth)
    assert not parted.notes


def test_the_sweep_of_a_sample_is_its_key_frame(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "lyft", tmp_path)

    def earlier(rows: Rows) -> Rows:
        shot = next(row for row in rows if row["filename"].endswith(".bin"))
        name = f"lidar/before_{Path(shot['filename']).name}"
        shutil.copy(folder / "train_lidar" / Path(shot["filename"]).name, folder / "train_lidar" / Path(name).name)
        late = {"token": "before", "timestamp": shot["timestamp"] - 100_000, "is_key_frame": False, "filename": name}
        return [shot | late, *rows]

    damaged(folder, "sample_data", earlier)
    catalog = tallymark.read("lyft", folder)
    assert catalog.files.equals(tallymark.read("lyft", sets / "lyft").files)
    assert catalog.drive is not None
    longest = max(range(len(catalog)), key=lambda item: len(catalog.drive.points(item, sweeps=9)))
    assert len(catalog.drive.points(longest, sweeps=9)) > len(catalog.drive.points(longest))


def test_a_sample_without_a_sweep_has_no_points(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "lyft", tmp_path)
    lost: list[str] = []

    def without(rows: Rows) -> Rows:
        lost.append(rows[0]["sample_token"])
        return [row for row in rows if row["sample_token"] != lost[0] or not row["filename"].endswith(".bin")]

    damaged(folder, "sample_data", without)
    catalog = tallymark.read("lyft", folder)
    assert catalog.drive is not None
    item = catalog.items.ids.to_list().index(lost[0])
    for ask in (catalog.drive.points, catalog.drive.pose):
        with pytest.raises(BadMedia, match="no lidar sweep of"):
            ask(item)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("camera_intrinsic", [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]),
        ("camera_intrinsic", [[1, 0, 0], [0, 1, 0]]),
        ("camera_intrinsic", [[1, 0, 0], None, [0, 0, 1]]),
        ("translation", [10**400, 0, 0]),
    ],
)
def test_a_sensor_that_cannot_be_used_is_a_problem(column: str, value: object, tmp_path: Path) -> None:
    """As a camera with a matrix for projecting, of four columns: then no table of shots could be made."""
    good = {"sensor_token": "s", "rotation": [1, 0, 0, 0], "translation": [0, 0, 1]}
    matrix = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    rows = [{"token": "a", **good, "camera_intrinsic": []}, {"token": "b", **good, "camera_intrinsic": matrix}]
    rows.append({"token": "c", **good, "camera_intrinsic": matrix, column: value})
    (tmp_path / "calibrated_sensor.json").write_text(json.dumps(rows))
    problems = Problems()
    tables = read_tables(tmp_path, problems, annotated=False)
    assert tables["calibrated_sensor"]["token"].to_list() == ["a", "b"]
    [problem] = [problem for problem in problems if problem.kind == "bad_row"]
    assert problem.found == f"no valid {column} in row 'c'"


def test_lines_of_many_faulty_rows_are_not_counted_from_the_beginning(
    sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    monkeypatch.setattr("tallymark.io.json_text.line_at", lambda text, position: counted.append(position))
    tables = copy_of(sets, "lyft", tmp_path) / "train_data"
    rows = [f'{{"token": "{number}", "name": "a", "name": "b"}}' for number in range(50)]
    (tables / "attribute.json").write_text("[\n" + ",\n".join(rows) + "\n]")
    problems = Problems()
    read_tables(tables, problems, annotated=True)
    assert [problem.line for problem in problems if problem.kind == "bad_json"] == list(range(2, 52))
    assert not counted
