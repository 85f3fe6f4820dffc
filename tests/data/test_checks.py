"""Checks of a data set: each fault is reported by kind and file, and the rest is still read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import polars as pl
import pytest
import soundfile

import tallymark
from tallymark.core.problems import Problem
from tallymark.io.audio import read_header
from tests.made import NAMES
from tests.sets import copy_of

SHIPS, CALLS = "train_ship_segmentations_v2.csv", "annotations_train.csv"
Damage = Callable[[Path], tuple[str, str]]
"""Damages a folder; returns a part of the file's name, and the item (or "") that the report must name."""


def found(name: str, folder: Path, **options: object) -> list[Problem]:
    return list(tallymark.check(name, folder, **options).problems)


@pytest.mark.parametrize("name", NAMES)
def test_a_sound_set_has_no_faults(name: str, sets: Path) -> None:
    odd = {"shared_scene"} if name == "ships" else set()  # neighbouring chips are meant to be there
    assert {problem.kind for problem in found(name, sets / name)} <= odd


def first(folder: Path, pattern: str) -> Path:
    return sorted(folder.glob(pattern))[0]


def cut(pattern: str, keep: float = 0.6, item: str = "name") -> Damage:
    def damage(folder: Path) -> tuple[str, str]:
        path = first(folder, pattern)
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * keep) // 4 * 4 + 4])
        return path.name, _item(path, item)

    return damage


def overwrite(pattern: str, data: bytes, item: str = "name") -> Damage:
    def damage(folder: Path) -> tuple[str, str]:
        path = first(folder, pattern)
        path.write_bytes(data)
        return path.name, _item(path, item)

    return damage


def remove(pattern: str, table: str, item: str = "name") -> Damage:
    def damage(folder: Path) -> tuple[str, str]:
        path = first(folder, pattern)
        path.unlink()
        return table, _item(path, item)

    return damage


def _item(path: Path, how: str) -> str:
    return {"name": path.name, "stem": path.stem, "day": f"{path.parent.name}/{path.name}", "": ""}[how]


def add(source: str, target: str) -> Damage:
    def damage(folder: Path) -> tuple[str, str]:
        path = folder / target
        path.write_bytes(first(folder, source).read_bytes()[:-2] + b"\0\xff\xd9")
        return path.name, path.name

    return damage


def resize(pattern: str, item: str) -> Damage:
    def damage(folder: Path) -> tuple[str, str]:
        path = first(folder, pattern)
        picture = cv2.imread(str(path))
        cv2.imwrite(str(path), cv2.resize(picture, None, fx=0.5, fy=0.5))
        return path.name, _item(path, item)

    return damage


def row(table: str, make: Callable[[pl.DataFrame], dict[str, str]]) -> Damage:
    """Add a row to a table; its first column names the item."""

    def damage(folder: Path) -> tuple[str, str]:
        path = folder / table
        frame = pl.read_csv(path, infer_schema=False)
        new = make(frame)
        frame = pl.concat([frame, pl.DataFrame([{**dict.fromkeys(frame.columns, ""), **new}])])
        frame.write_csv(path)
        return table, next(iter(new.values()))

    return damage


def box(text: str) -> Damage:
    return row("train.csv", lambda t: {**t.row(0, named=True), "bbox": text})


def mask(text: str | None = None) -> Damage:
    return row(SHIPS, lambda t: t.drop_nulls().row(0, named=True) | ({} if text is None else {"EncodedPixels": text}))


def call(start: str, end: str) -> Damage:
    return row(CALLS, lambda t: {**t.row(0, named=True), "start": start, "end": end})


def same_bytes(folder: Path) -> tuple[str, str]:
    a, b = sorted((folder / "train").glob("*.jpg"))[:2]
    b.write_bytes(a.read_bytes())
    return "jpg", ""


def recompressed(folder: Path) -> tuple[str, str]:
    a, b = sorted((folder / "train_set").glob("*.jpg"))[:2]
    cv2.imwrite(str(b), cv2.imread(str(a)), [cv2.IMWRITE_JPEG_QUALITY, 50])
    return b.name, b.name


def leaked(folder: Path) -> tuple[str, str]:
    train, test = first(folder, "train/*.jpg"), first(folder, "test/*.jpg")
    cv2.imwrite(str(test), cv2.imread(str(train)), [cv2.IMWRITE_JPEG_QUALITY, 60])
    return train.name, train.stem


def leaked_shifted(folder: Path) -> tuple[str, str]:
    """A test chip that shows a part of a training chip, moved by a third."""
    train = max((folder / "train_v2").glob("*.jpg"), key=lambda path: cv2.imread(str(path)).std())
    test = first(folder, "test_v2/*.jpg")
    cv2.imwrite(str(test), np.roll(cv2.imread(str(train)), (256, 256), (0, 1)), [cv2.IMWRITE_JPEG_QUALITY, 80])
    return train.name, train.name


def sweep(change: Callable[[np.ndarray], np.ndarray]) -> Damage:
    def damage(folder: Path) -> tuple[str, str]:
        path = first(folder, "train_lidar/*.bin")
        change(np.fromfile(path, np.float32).copy()).tofile(path)
        shots = json.loads((folder / "train_data" / "sample_data.json").read_text())
        return path.name, next(shot["sample_token"] for shot in shots if path.name in shot["filename"])

    return damage


def lost_sweep(folder: Path) -> tuple[str, str]:
    np.zeros(50, np.float32).tofile(folder / "train_lidar" / "lost.bin")
    return "lost.bin", ""


def not_finite(floats: np.ndarray) -> np.ndarray:
    floats[7] = np.nan
    return floats


def table(name: str, change: Callable[[list[dict[str, object]]], None]) -> Damage:
    def damage(folder: Path) -> tuple[str, str]:
        path = folder / "train_data" / f"{name}.json"
        rows = json.loads(path.read_text())
        change(rows)
        path.write_text(json.dumps(rows))
        return path.name, ""

    return damage


def volume(change: Callable[[str], str]) -> Damage:
    def damage(folder: Path) -> tuple[str, str]:
        path = folder / "train.csv"
        rows = pl.read_csv(path)
        at = int(rows["PredictionString"].str.len_bytes().fill_null(0).arg_max() or 0)
        text = rows["PredictionString"].to_list()
        text[at] = change(text[at])
        rows.with_columns(pl.Series("PredictionString", text)).write_csv(path)
        return path.name, rows["Id"][at]

    return damage


def repeated(text: str) -> str:
    return " ".join([text, *text.split()[:8]])


@dataclass
class Case:
    """A kind of damage, what must be reported, and what follows from it."""

    name: str
    kind: str
    damage: Damage
    also: tuple[str, ...] = ()


STRANGE = {"img_name": "new.jpg", "label": "77"}
UP = "train/*/*.wav"
LOST = {"token": "x", "ego_pose_token": "?", "instance_token": "?"}
FLAT = {"token": "y", "rotation": [1, 0], "translation": [0, 0, 0]}
CASES = [
    Case("wheat", "truncated_media", cut("train/*.jpg", item="stem")),
    Case("wheat", "corrupt_media", overwrite("train/*.jpg", b"these are not pixels", "stem")),
    Case("wheat", "corrupt_media", overwrite("test/*.jpg", b"", "stem")),
    Case("wheat", "size_mismatch", resize("train/*.jpg", "stem")),
    Case("wheat", "out_of_bounds", box("[180.0, 100.0, 40.0, 30.0]")),
    Case("wheat", "out_of_bounds", box("[-3.0, 100.0, 40.0, 30.0]")),
    Case("wheat", "tiny_box", box("[20.0, 30.0, 0.5, 30.0]")),
    Case("wheat", "giant_box", box("[5.0, 5.0, 150.0, 160.0]")),
    Case("wheat", "duplicate_box", row("train.csv", lambda t: t.row(0, named=True))),
    Case("wheat", "duplicate_media", same_bytes),
    Case("wheat", "leak", leaked),
    Case("wheat", "bad_bbox", box("[1, 2, 3]")),
    Case("ships", "truncated_media", cut("train_v2/*.jpg")),
    Case("ships", "missing_media", remove("train_v2/*.jpg", SHIPS)),
    Case("ships", "orphan_media", add("train_v2/*.jpg", "train_v2/0rphan000.jpg"), ("near_duplicate",)),
    Case("ships", "size_mismatch", resize("train_v2/*.jpg", "name")),
    Case("ships", "overlapping_masks", mask()),
    Case("ships", "multi_part_mask", mask("1 30 769 30 20000 30 20768 30")),
    Case("ships", "tiny_mask", mask("1 3")),
    Case("ships", "giant_mask", mask("1 100000")),
    Case("ships", "leak", leaked_shifted),
    Case("food", "corrupt_media", overwrite("val_set/*.jpg", b"\xff\xd8\xff\xe0 nothing \xff\xd9")),
    Case("food", "missing_media", remove("train_set/*.jpg", "train_labels.csv")),
    Case("food", "orphan_media", add("train_set/*.jpg", "train_set/zzz.jpg"), ("near_duplicate",)),
    Case("food", "near_duplicate", recompressed),
    Case("food", "unknown_class", row("val_labels.csv", lambda t: STRANGE), ("missing_media",)),
    Case("upcalls", "truncated_media", cut(UP, item="day")),
    Case("upcalls", "corrupt_media", overwrite(UP, b"RIFF nothing at all", "day")),
    Case("upcalls", "missing_media", row(CALLS, lambda t: {"filename": "gone.wav", "start": "1", "end": "2"})),
    Case("upcalls", "empty_call", call("3", "3")),
    Case("upcalls", "overlong_call", call("3", "13")),
    Case("upcalls", "call_past_end", call("24.5", "25.5")),
    Case("upcalls", "call_before_start", call("-1", "0.5")),
    Case("upcalls", "duplicate_call", row(CALLS, lambda t: t.row(0, named=True))),
    Case("upcalls", "negative_duration", call("5", "4")),
    Case("lyft", "ragged_sweep", sweep(lambda floats: floats[:-2])),
    Case("lyft", "not_finite", sweep(not_finite)),
    Case("lyft", "missing_media", remove("train_images/*.jpeg", ".jpeg", "")),
    Case("lyft", "orphan_media", lost_sweep),
    Case("lyft", "truncated_media", cut("train_images/*.jpeg", item="")),
    Case("lyft", "dangling_token", table("sample_annotation", lambda rows: rows[0].update(LOST)), ("tables_disagree",)),
    Case("lyft", "dangling_token", table("sample_data", lambda rows: rows.append(rows[0] | LOST))),
    Case("lyft", "duplicate_token", table("ego_pose", lambda rows: rows.append(rows[0]))),
    Case("lyft", "bad_row", table("ego_pose", lambda rows: rows.append(FLAT))),
    Case("lyft", "unknown_class", volume(lambda text: text.rsplit(" ", 1)[0] + " spaceship"), ("tables_disagree",)),
    Case("lyft", "duplicate_cuboid", volume(repeated), ("tables_disagree",)),
    Case("lyft", "tables_disagree", volume(repeated), ("duplicate_cuboid",)),
    Case("lyft", "implausible_cuboid", volume(lambda text: " ".join([*text.split()[:3], "90", *text.split()[4:]]))),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{case.kind}")
def test_damage_is_named(case: Case, sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, case.name, tmp_path)
    whole = tallymark.check(case.name, folder)
    place, item = case.damage(folder)
    damaged = tallymark.check(case.name, folder)
    reported = [problem for problem in damaged.problems if problem.kind == case.kind]
    assert reported, damaged.problems.counts
    assert any(place in problem.file and item in f"{problem.item} {problem.found}" for problem in reported)
    assert all(problem.expected and problem.remedy for problem in reported)
    assert damaged.items >= whole.items - 1
    assert damaged.objects >= whole.objects - 1
    assert set(damaged.problems.counts) - set(whole.problems.counts) == {case.kind, *case.also}


def test_silent_and_empty_recordings(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "silent.wav", np.zeros(4000), 2000)
    soundfile.write(tmp_path / "empty.wav", np.zeros(0), 2000)
    assert {p.kind for p in found("upcalls", tmp_path)} == {"silent_recording", "empty_recording"}


@pytest.mark.parametrize("ending", ["wav", "flac", "aiff"])
def test_recordings_of_every_format_are_decoded_to_their_end(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{ending}"
    soundfile.write(path, np.random.default_rng(0).normal(0, 0.1, 20000), 8000)
    assert not found("upcalls", tmp_path)
    path.write_bytes(path.read_bytes()[:-3000])
    assert [p.kind for p in found("upcalls", tmp_path)] == ["truncated_media"]


def test_a_bare_sweep_with_a_float_too_few(tmp_path: Path) -> None:
    points = np.column_stack([np.random.default_rng(0).normal(0, 20, (50, 3)), np.full(50, 100), np.ones(50)])
    points.astype(np.float32).ravel()[:-2].tofile(tmp_path / "host-a011_lidar1_1.bin")
    [problem] = found("lyft", tmp_path)
    assert (problem.kind, problem.found) == ("ragged_sweep", "248 floats, not divisible by 5")


def test_files_of_radars_are_not_missed(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "lyft", tmp_path)
    added = {
        "sensor": {"token": "radar", "channel": "RADAR_FRONT", "modality": "radar"},
        "calibrated_sensor": {"token": "calibrated", "sensor_token": "radar", "camera_intrinsic": []},
        "sample_data": {"token": "echo", "calibrated_sensor_token": "calibrated", "filename": "samples/echo.pcd"},
    }
    for name, row in added.items():
        path = folder / "train_data" / f"{name}.json"
        rows = json.loads(path.read_text())
        path.write_text(json.dumps([*rows, rows[0] | row]))
    assert not found("lyft", folder)


def test_bad_json_says_where(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "lyft", tmp_path)
    path = folder / "train_data" / "log.json"
    path.write_text(path.read_text()[:-20])
    assert "bad_json" in {p.kind for p in found("lyft", folder)}
    (folder / "train_data" / "scene.json").unlink()
    assert {"bad_json", "missing_table"} <= {p.kind for p in found("lyft", folder)}


def test_the_list_of_problems_is_a_fix_list(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "wheat", tmp_path)
    for damage in (cut("train/*.jpg", item="stem"), box("[5.0, 5.0, 150.0, 160.0]")):
        damage(folder)
    checked = tallymark.check("wheat", folder)
    assert set(checked.problems.counts) == {"truncated_media", "giant_box"}
    checked.table.write_csv(tmp_path / "problems.csv")
    again = tallymark.check("wheat", folder, exclude=tmp_path / "problems.csv")
    assert not again.problems
    assert again.items == checked.items - 1
    train = tallymark.read("wheat", folder, exclude=tmp_path / "problems.csv")
    assert len(train) == again.items
    assert train.truth is not None
    assert len(train.truth) == again.objects


def test_a_fix_list_of_another_set_is_noted(sets: Path, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("item,number\nnobody,\nno one,2\n")
    problems = found("wheat", sets / "wheat", exclude=tmp_path / "list.csv")
    assert [problem.kind for problem in problems] == ["unused_exclusion"] * 2


def test_a_bad_fix_list(sets: Path, tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("id\nx\n")
    with pytest.raises(tallymark.BadInput, match="bad_header"):
        tallymark.read("wheat", sets / "wheat", exclude=path)
    path.write_text("item,number\nx,zero\n")
    with pytest.raises(tallymark.BadInput, match="bad_number"):
        tallymark.read("wheat", sets / "wheat", exclude=path)


def test_numbers_stay_after_an_exclusion(sets: Path, tmp_path: Path) -> None:
    """A second list of problems names the same objects as the first would have done."""
    folder = copy_of(sets, "wheat", tmp_path)
    for text in ("[5.0, 5.0, 150.0, 160.0]", "[6.0, 6.0, 149.0, 161.0]"):
        box(text)(folder)
    checked = tallymark.check("wheat", folder).table.filter(kind="giant_box")
    first, second = checked["number"].to_list()
    checked.head(1).write_csv(tmp_path / "list.csv")
    [left] = found("wheat", folder, exclude=tmp_path / "list.csv")
    assert (left.kind, left.number) == ("giant_box", second)
    assert second == first + 1


def test_an_excluded_item_may_be_unreadable(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "wheat", tmp_path)
    _, item = box("[1, 2, 3]")(folder)
    with pytest.raises(tallymark.BadInput, match="bad_bbox"):
        tallymark.read("wheat", folder)
    (tmp_path / "list.csv").write_text(f"item\n{item}\n")
    assert item not in tallymark.read("wheat", folder, exclude=tmp_path / "list.csv").items.ids


@pytest.mark.parametrize(("size", "kinds"), [(0xFFFFFFFF, []), (0x7FFFF024, []), (1 << 20, ["truncated_media"])])
def test_a_recording_from_a_pipe_is_not_truncated(size: int, kinds: list[str], tmp_path: Path) -> None:
    """Its header was written before its end was known: all ones, or what SoX takes for long enough."""
    soundfile.write(tmp_path / "a.wav", np.random.default_rng(0).normal(0, 0.1, 4000), 8000)
    data = bytearray((tmp_path / "a.wav").read_bytes())
    data[4:8], at = size.to_bytes(4, "little"), data.index(b"data")
    data[at + 4 : at + 8] = max(size - 36, 0).to_bytes(4, "little")
    (tmp_path / "a.wav").write_bytes(data)
    assert [problem.kind for problem in found("upcalls", tmp_path)] == kinds
    assert kinds or read_header(tmp_path / "a.wav").frames == 4000


@pytest.mark.parametrize(("spare", "kinds"), [(1, []), (8, []), (20, ["truncated_media"])])
def test_a_header_may_count_itself(spare: int, kinds: list[str], tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, np.random.default_rng(0).normal(0, 0.1, 4000), 8000)
    data = path.read_bytes()
    path.write_bytes(data[:4] + (len(data) - 8 + spare).to_bytes(4, "little") + data[8:])
    assert [p.kind for p in found("upcalls", tmp_path)] == kinds


def test_a_fix_list_may_have_been_through_a_data_frame(tmp_path: Path) -> None:
    """Where some numbers are missing, it writes the others as 1.0."""
    (tmp_path / "train").mkdir()
    for name in "ab":
        cv2.imwrite(str(tmp_path / "train" / f"{name}.jpg"), np.zeros((50, 100, 3), np.uint8))
    rows = [f'{name},100,50,"[{x}, 0, 10, 10]",s' for name in "ab" for x in (0, 20)]
    (tmp_path / "train.csv").write_text("\n".join(["image_id,width,height,bbox,source", *rows]) + "\n")
    (tmp_path / "list.csv").write_text("item,number\na,1.0\nb,\n")
    left = tallymark.read("wheat", tmp_path, exclude=tmp_path / "list.csv")
    assert left.items.ids.to_list() == ["a"]
    assert left.truth is not None
    assert left.truth.shapes.x.tolist() == [20]
