"""Files with names that no table can hold, that lead elsewhere, or that are too long, through the commands."""

from __future__ import annotations

import csv
import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tallymark
from tallymark.cli.main import app
from tallymark.core.problems import printable
from tallymark.io.names import output_paths, safe_name
from tests.cli.running import run
from tests.untrained import untrained

UNUSABLE = [b"caf\xe9", b"a\nb", b"c\rd", b"t\tb", b"   ", b"a ", b" b", b"\x1b[31mred", b"\x7f", "\u2028".encode()]
"""Names, without suffixes, that cannot be ids."""
ODD = ["x" * 240, "\u65e5" * 80, "\u202etxt", "-rf", "=1+1", "a,b", 'q"u', "x...", "#%20?", "<b>", "[red]x", "a b"]
"""Names that can."""


def write_odd(folder: Path, good: Path) -> None:
    """Copies of a file under odd names, and under some that cannot be ids, one of them in a folder."""
    folder.mkdir(parents=True)
    for name in [*UNUSABLE, *map(os.fsencode, ODD), b"good", b"Icon\r"]:
        suffix = b"" if name.startswith(b"Icon") else os.fsencode(good.suffix)
        shutil.copy(good, os.fsencode(folder) + b"/" + name + suffix)
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff")).mkdir()
    shutil.copy(good, os.fsencode(folder) + b"/\xff/inside" + os.fsencode(good.suffix))


@pytest.fixture
def photos(sets: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    write_odd(folder, sorted((sets / "wheat" / "test").glob("*.jpg"))[0])
    return folder


def tables(folder: Path) -> list[list[str]]:
    return [[row[0] for row in csv.reader(path.read_text().splitlines())][1:] for path in sorted(folder.glob("*.csv"))]


def test_names_that_cannot_be_ids_are_named_and_left_out(photos: Path, tmp_path: Path) -> None:
    checked = json.loads(run("check", "wheat", photos, "--json", "--out", tmp_path / "problems.csv", code=2))
    assert checked["items"] == len(ODD) + 1
    assert checked["counts"]["bad_name"] == len(UNUSABLE) + 1
    assert "caf\\xe9.jpg" in (tmp_path / "problems.csv").read_text()
    run("explore", "wheat", photos, "--out", tmp_path / "page.html")
    assert "bad_name" in (tmp_path / "page.html").read_text()
    printed = run("check", "wheat", photos, code=2)
    assert printed.replace("\n", "").isprintable()


def test_predictions_of_odd_names_are_complete(photos: Path, tmp_path: Path) -> None:
    model = untrained("wheat", tmp_path / "model.onnx")
    out = tmp_path / "tables"
    out.mkdir()
    words = ["--out", out / "submission.csv", "--counts", out / "counts.csv", "--objects", tmp_path / "objects.csv"]
    printed = run("predict", model, photos, *words, "--draw", tmp_path / "drawn", "score_threshold=0.3")
    assert "bad_name" in printed
    assert printed.replace("\n", "").isprintable()
    expected = sorted([*ODD, "good"])
    assert [sorted(ids) for ids in tables(out)] == [expected, expected]
    assert "valid" in run("check", "wheat", out / "submission.csv", "--against", photos)
    drawn = [path for path in (tmp_path / "drawn").rglob("*") if path.is_file()]
    assert len(drawn) == len(expected)
    assert {path.name for path in tmp_path.iterdir()} == {"photos", "tables", "model.onnx", "drawn", "objects.csv"}


def test_recordings_of_odd_names(sets: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sounds"
    write_odd(folder, sorted((sets / "upcalls").glob("test*/**/*.wav"))[0])
    model = untrained("upcalls", tmp_path / "model.onnx")
    words = ["--raven", tmp_path / "raven", "--audacity", tmp_path / "audacity", "--clips", tmp_path / "clips"]
    run("predict", model, folder, "--out", tmp_path / "out.csv", *words, "score_threshold=0.2")
    for name in ("raven", "audacity"):
        assert len(list((tmp_path / name).iterdir())) == len(ODD) + 1
    assert len(list((tmp_path / "clips").glob("*.wav"))) > 0
    assert "valid" in run("check", "upcalls", tmp_path / "out.csv")


def test_odd_names_in_an_archive(photos: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        for path in sorted(photos.iterdir()):
            if path.is_file() and "\udce9" not in path.name:
                archive.write(path, path.name)
        archive.write(photos / "good.jpg", "../../out.jpg")
    checked = json.loads(run("check", "wheat", tmp_path / "photos.zip", "--json", code=2))
    assert checked["items"] == len(ODD) + 1
    assert checked["counts"]["bad_name"] == len(UNUSABLE) - 1
    assert checked["counts"]["unsafe_member"] == 1


def test_training_and_folds_leave_bad_names_out(sets: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(sets / "wheat", tmp_path / "data")
    good = sorted((folder / "train").iterdir())[0]
    shutil.copy(good, os.fsencode(folder) + b"/train/caf\xe9.jpg")
    made = json.loads(run("folds", "wheat", folder, "--out", tmp_path / "folds.csv", "--json"))
    assert made["notes"]["counts"] == {"bad_name": 1}
    assert len(made["folds"]) == len(tallymark.folds("wheat", sets / "wheat").table)


WORDS = ["..", ".", "../../x", "/etc/x", "a/../../b", "C:/x", "-x", "=1", "\x1b[31m", "/", "\u202e", "\\", "a" * 5000]


@pytest.mark.parametrize(
    ("name", "header", "row"),
    [
        ("wheat", "image_id,PredictionString", "0.5 1 2 3 4"),
        ("food", "image_name,pred1,pred2,pred3", "1,2,3"),
        ("ships", "ImageId,EncodedPixels", "1 3"),
        ("upcalls", "filename,timestamp", "12.5"),
    ],
)
def test_odd_ids_in_a_table_are_no_bug(name: str, header: str, row: str, sets: Path, tmp_path: Path) -> None:
    """Ids are text: whatever they look like, a table of them is read, and no file outside is looked for."""
    path = tmp_path / "submission.csv"
    path.write_text("\n".join([header, *(f"{word},{row}" for word in WORDS)]) + "\n")
    for command in (
        ["check", name, path],
        ["check", name, path, "--against", sets / name],
        ["score", name, path, path],
        ["repair", name, path, "--out", tmp_path / "repaired.csv"],
    ):
        ended = CliRunner().invoke(app, list(map(str, command)))
        assert ended.exit_code in (0, 2), (command, ended.exception)
        assert ended.output.replace("\n", "").isprintable(), command


def test_ids_of_json_that_no_table_can_hold_are_left_out(photos: Path, tmp_path: Path) -> None:
    folder = tmp_path / "coco"
    folder.mkdir()
    names = [
        "good.jpg",
        "other.jpg",
        "a\nb.jpg",
        " c.jpg",
        "\x1b[2J.jpg",
        "..",
        "../../x.jpg",
        "/etc/hostname",
        "y" * 300,
    ]
    for name in names[:2]:
        shutil.copy(photos / "good.jpg", folder / name)
    images = [{"id": at, "file_name": name, "width": 192, "height": 192} for at, name in enumerate(names)]
    objects = [{"id": at, "image_id": at, "category_id": 1, "bbox": [1, 2, 30, 40]} for at in range(len(names))]
    document = {"images": images, "annotations": objects, "categories": [{"id": 1, "name": "\x1b[31mhead"}]}
    (folder / "instances.json").write_text(json.dumps(document))
    checked = json.loads(run("check", "wheat", folder, "--json", code=2))
    assert checked["counts"]["bad_name"] == 3
    model = untrained("wheat", tmp_path / "model.onnx")
    words = ["--out", tmp_path / "out.csv", "--draw", tmp_path / "drawn", "--split", "all"]
    printed = run("predict", model, folder, *words)
    assert printed.replace("\n", "").isprintable()
    assert sorted(path.name for path in (tmp_path / "drawn").iterdir()) == ["good.jpg", "other.jpg"]
    assert "valid" in run("check", "wheat", tmp_path / "out.csv")


def test_an_odd_root_is_named(sets: Path, tmp_path: Path) -> None:
    root = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xe9"))
    shutil.copytree(sets / "wheat" / "test", root)
    for command in (["check", "wheat", root], ["explore", "wheat", root, "--out", tmp_path / "page.html"]):
        assert "bad_name" in run(*command, code=2)
    assert not (tmp_path / "page.html").exists()


def test_output_paths_stay_in_their_folder_and_differ() -> None:
    ids = [
        "..",
        ".",
        "/",
        "",
        "../a.wav",
        "a.wav",
        "/a.flac",
        "C:\\a.wav",
        "x/../../b",
        "y" * 300,
        "y" * 301,
        "z/" * 900,
    ]
    ids += ["\x1b", "\x1c", "caf\udce9", "\u65e5" * 100, "a/b.wav", "a/b.flac"]
    folder = Path("/out")
    for ending in ("", ".Table.1.selections.txt"):
        paths = output_paths(folder, ids, ending)
        assert len(set(paths)) == len(ids)
        for path in paths:
            assert folder in path.parents
            assert ".." not in path.parts
            assert all(len(os.fsencode(part)) <= 255 for part in path.parts)
            assert len(os.fsencode(path)) < 2000
            assert printable(path.name) == path.name
    assert output_paths(folder, ["d/a.wav", "b.wav", "b.flac"], ".txt") == [
        folder / "d" / "a.txt", folder / "b.wav.txt", folder / "b.flac.txt",
    ]  # fmt: skip
    assert output_paths(folder, ["a.b", "a.c", "2026.01.02", "plot.JPG"], ".xml") == [
        folder / "a.b.xml", folder / "a.c.xml", folder / "2026.01.02.xml", folder / "plot.xml",
    ]  # fmt: skip


def test_safe_names_are_one_part() -> None:
    assert safe_name("CAM/../x") == "CAM_.._x"
    assert safe_name("..") == "_"
    assert len(safe_name("\u65e5" * 50, 60).encode()) <= 60
