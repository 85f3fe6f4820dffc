"""Data sets in zip archives, as they are published: every command reads them without unpacking."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tallymark
from tallymark.cli.main import app
from tallymark.core.problems import Problems
from tallymark.io.folders import open_folder
from tallymark.synthetic.packing import pack
from tests.made import NAMES
from tests.sets import SMALL, copy_of

ARCHIVES = {
    "wheat": ["test.zip", "train.zip"],
    "upcalls": ["recordings.zip"],
    "food": ["test_set.zip", "train_set.zip", "val_set.zip"],
    "lyft": [f"{split}_{part}.zip" for split in ("test", "train") for part in ("data", "images", "lidar", "maps")],
    "ships": ["test_v2.zip", "train_v2.zip"],
}
TINY: dict[str, dict[str, Any]] = {
    "wheat": {"items": 8},
    "food": {"items": 25},
    "ships": {"items": 8, "size": 192, "neighbours": 0},
}
LIST = {"wheat": "train.csv", "food": "train_labels.csv", "lyft": "train.csv", "ships": "sample_submission_v2.csv"}


def run(*words: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "250"})
    assert result.exit_code == code, result.output
    return result.output


def zip_file(path: Path) -> Path:
    """Replace a file by an archive of it, as `train.csv.zip`."""
    packed = path.with_name(f"{path.name}.zip")
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.write(path, path.name)
    path.unlink()
    return packed


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_from_zips_to_a_score(name: str, tmp_path: Path) -> None:
    data, model, submission = tmp_path / "data", tmp_path / "run", tmp_path / "submission.csv"
    options = SMALL[name] | TINY.get(name, {})
    rule = ["--rule", f"shape={options['size']}x{options['size']}"] if name == "ships" else []
    scene = [f"{key}={value}" for key, value in options.items() if key != "items"]
    run("synth", name, data, "--zip", "--items", options["items"], *scene)
    assert sorted(path.name for path in data.glob("*.zip")) == ARCHIVES[name]
    assert not [path for path in data.iterdir() if path.is_dir()]
    if name in LIST:
        zip_file(data / LIST[name])
    before = sorted(data.rglob("*"))
    run("check", name, data, *rule)
    run("explore", name, data, "--out", tmp_path / "page.html", *rule)
    run("train", name, data, "--preset", "tiny", "--out", model, "epochs=1", *rule)
    run("predict", model, data, "--out", submission, *rule)
    run("check", name, submission, "--against", data, *rule)
    run("score", name, data / "solution.csv", submission, *rule)
    assert sorted(data.rglob("*")) == before
    if name == "wheat":  # the sample submission is beside the archive of the test images
        run("predict", model, data / "test.zip", "--out", tmp_path / "again.csv", *rule)
        assert (tmp_path / "again.csv").read_bytes() == submission.read_bytes()
    for archive in data.glob("*.zip"):
        shutil.unpack_archive(archive, tmp_path / "unpacked")
    run("predict", model, tmp_path / "unpacked", "--split", "test", "--out", tmp_path / "plain.csv", *rule)
    assert (tmp_path / "plain.csv").read_bytes() == submission.read_bytes()


def packed_copy(sets: Path, name: str, folder: Path, package: str = "") -> Path:
    copy = copy_of(sets, name, folder)
    pack(copy, package)
    return copy


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("package", ["", "all.zip"])
def test_archives_have_the_same_items_as_folders(name: str, package: str, sets: Path, tmp_path: Path) -> None:
    folder = packed_copy(sets, name, tmp_path, package)
    plain, packed = tallymark.read(name, sets / name), tallymark.read(name, folder / package)
    assert packed.items.ids.to_list() == plain.items.ids.to_list()
    assert packed.group.to_list() == plain.group.to_list()
    assert packed.split.to_list() == plain.split.to_list()
    assert not packed.notes
    assert plain.truth is not None
    assert packed.truth is not None
    assert packed.truth.item.tolist() == plain.truth.item.tolist()
    submission = tmp_path / "submission.csv"
    shutil.copy(sets / name / ("solution.csv" if name == "upcalls" else _sample(name)), submission)
    run("check", name, submission, "--against", folder)


def _sample(name: str) -> str:
    return "sample_submission_v2.csv" if name == "ships" else "sample_submission.csv"


def test_files_of_one_name_get_the_ids_that_they_have_unpacked(sets: Path, tmp_path: Path) -> None:
    photo = next((sets / "food" / "test_set").iterdir())
    for part in ("a", "b"):
        (tmp_path / "data" / part).mkdir(parents=True)
        shutil.copy(photo, tmp_path / "data" / part / "same.jpg")
    plain = tallymark.read("food", tmp_path / "data").items.ids.to_list()
    pack(tmp_path / "data")
    assert tallymark.read("food", tmp_path / "data").items.ids.to_list() == plain == ["a/same.jpg", "b/same.jpg"]


def test_class_folders_in_archives_are_labels(sets: Path, tmp_path: Path) -> None:
    photo = next((sets / "food" / "test_set").iterdir())
    for place in ("train/pie", "train/soup", "val/pie"):
        (tmp_path / "data" / place).mkdir(parents=True)
        shutil.copy(photo, tmp_path / "data" / place / f"{place.replace('/', '-')}.jpg")
    plain = tallymark.read("food", tmp_path / "data")
    pack(tmp_path / "data")
    packed = tallymark.read("food", tmp_path / "data")
    assert packed.truth is not None
    assert plain.truth is not None
    assert packed.items.ids.to_list() == plain.items.ids.to_list()
    assert packed.truth.classes == plain.truth.classes == ("pie", "soup")
    assert packed.truth.labels.tolist() == plain.truth.labels.tolist()


def test_what_is_unpacked_beside_an_archive_is_used(sets: Path, tmp_path: Path) -> None:
    folder = packed_copy(sets, "food", tmp_path)
    shutil.copytree(sets / "food" / "val_set", folder / "val_set")
    found = json.loads(run("check", "food", folder, "--json"))
    assert found["items"] == SMALL["food"]["items"]
    assert [remark.endswith("lie unpacked beside it, and are used instead") for remark in found["remarks"]] == [True]
    listed = open_folder(folder, Problems())
    assert listed is not None
    assert sum("val_set.zip" in str(path) for path in listed.files) == 0
    next((folder / "val_set").iterdir()).unlink()  # half unpacked: the archive has the rest
    assert json.loads(run("check", "food", folder, "--json"))["total"] == 0


def test_bad_archives_and_members_are_rows_and_the_rest_is_read(sets: Path, tmp_path: Path) -> None:
    folder = packed_copy(sets, "food", tmp_path)
    (folder / "train_labels.csv.zip").write_bytes(b"<html>please log in</html>")
    (folder / "test_set.zip").write_bytes((folder / "test_set.zip").read_bytes()[:-100])
    path = folder / "val_set.zip"
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("../outside.jpg", b"1")
        file.writestr("more.zip", b"1")
    data = bytearray(path.read_bytes())
    first, second = zipfile.ZipFile(path).infolist()[:2]
    data[first.header_offset + 500] ^= 0xFF
    data[data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1) + 8] |= 1  # encrypted
    path.write_bytes(data)
    found = json.loads(run("check", "food", folder, "--json", code=2))
    rows = {row["kind"]: row for row in found["problems"]}
    bad = sorted(Path(row["file"]).name for row in found["problems"] if row["kind"] == "bad_archive")
    assert bad == ["test_set.zip", "train_labels.csv.zip"]
    assert "download it again" in rows["bad_archive"]["remedy"]
    assert rows["unsafe_member"]["found"] == "a path that leads out of the archive: ../outside.jpg"
    assert rows["nested_archive"]["found"] == "archives in it: more.zip"
    unread = {row["item"]: row["found"] for row in found["problems"] if row["kind"] == "unreadable_media"}
    assert unread == {
        Path(first.filename).name: "damaged in the archive",
        Path(second.filename).name: "encrypted in the archive",
    }
    assert not (tmp_path / "outside.jpg").exists()


def test_tables_may_be_packed_by_themselves(sets: Path, tmp_path: Path) -> None:
    truth, submission = tmp_path / "solution.csv", tmp_path / "submission.csv"
    shutil.copy(sets / "food" / "solution.csv", truth)
    shutil.copy(sets / "food" / "sample_submission.csv", submission)
    plain = run("score", "food", truth, submission)
    assert run("score", "food", zip_file(truth), zip_file(submission)).splitlines()[0] == plain.splitlines()[0]
    run("check", "food", tmp_path / "submission.csv.zip")


def test_an_archive_with_nothing_to_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "train.zip").write_bytes(b"")
    assert "no list of files at its end" in run("check", "wheat", tmp_path, code=2)
    assert "no list of files at its end" in run("explore", "wheat", tmp_path / "train.zip", code=2)
