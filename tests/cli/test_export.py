"""`predict --export` and `convert --to` through the command line, for every challenge that a format fits."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tallymark
from tallymark.core.problems import Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.geometry import Masks
from tallymark.inference.candidates import Candidates
from tallymark.inference.metadata import ModelMetadata
from tallymark.inference.predictor import PredictionResult, Predictor
from tallymark.modalities.image.recipe import ImageRecipe
from tests.cli.running import run
from tests.io.test_georeference import SOUTH_WEST, photograph
from tests.sets import copy_of
from tests.untrained import untrained

FITTING = {
    "wheat": {"coco": "a.json", "yolo": "yolo", "voc": "voc", "csv": "a.csv"},
    "ships": {"coco": "a.json", "yolo": "yolo", "csv": "a.csv"},
    "lyft": {"kitti": "kitti", "nuscenes": "r.json", "csv": "a.csv"},
    "upcalls": {"raven": "raven", "audacity": "audacity", "csv": "a.csv"},
    "food": {"csv": "a.csv"},
}
LOW = {"wheat": 0.05, "ships": 0.05, "lyft": 0.05, "upcalls": 0.05}
"""Score thresholds that an untrained model reaches at times."""


@pytest.mark.parametrize("name", FITTING)
def test_predictions_in_all_formats_that_fit(name: str, sets: Path, tmp_path: Path) -> None:
    model = untrained(name, tmp_path / "model.onnx")
    words: list[object] = ["predict", model, sets / name, "--split", "test"]
    words += [f"score_threshold={LOW[name]}"] if name in LOW else []
    for to, path in FITTING[name].items():
        words += ["--export", f"{to}={tmp_path / path}"]
    printed = run(*words)
    items = len(tallymark.read(name, sets / name).in_split("test"))
    for to, path in FITTING[name].items():
        assert f"written to {tmp_path / path}" in printed
        folder = {"yolo": "labels", "voc": "Annotations", "kitti": "label_2"}.get(to, "")
        if (tmp_path / path).is_dir():
            assert len([one for one in (tmp_path / path / folder).rglob("*") if one.is_file()]) == items
    if "coco" in FITTING[name]:
        assert len(json.loads((tmp_path / "a.json").read_text())["images"]) == items
    printed = run(*words, code=2)
    assert "--force" in printed


@pytest.mark.parametrize("name", FITTING)
def test_the_truth_of_a_folder_in_all_formats_that_fit(name: str, sets: Path, tmp_path: Path) -> None:
    catalog = tallymark.read(name, sets / name).with_truth()
    for to, path in FITTING[name].items():
        run("convert", name, sets / name, "--to", to, "--out", tmp_path / path)
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert len(lines) == 1 + len(catalog.truth)


def test_a_format_that_does_not_fit_is_refused_before_any_work(sets: Path, tmp_path: Path) -> None:
    model = untrained("wheat", tmp_path / "model.onnx")
    for given, found in (
        (f"kitti={tmp_path / 'x'}", "choose from: coco, yolo, voc, geojson, photos, csv"),
        (f"cocoo={tmp_path / 'x'}", "did you mean 'coco'"),
        ("coco", "FORMAT=PATH"),
        (f"coco={tmp_path / 'none' / 'x.json'}", "mkdir"),
    ):
        assert found in run("predict", model, sets / "wheat", "--export", given, code=2)
    assert "another output" in run(
        "predict",
        model,
        sets / "wheat",
        "--export",
        f"coco={tmp_path / 'a'}",
        "--export",
        f"csv={tmp_path / 'a'}",
        code=2,
    )
    assert not (tmp_path / "x").exists()


def test_an_image_that_cannot_be_read_is_in_no_export(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "wheat", tmp_path) / "test"
    damaged, *others = sorted(folder.iterdir())
    damaged.write_bytes(b"nothing")
    model = untrained("wheat", tmp_path / "model.onnx")
    printed = run(
        "predict",
        model,
        folder,
        "--export",
        f"coco={tmp_path / 'a.json'}",
        "--export",
        f"yolo={tmp_path / 'y'}",
        code=2,
    )
    assert damaged.stem in printed
    written = json.loads((tmp_path / "a.json").read_text())["images"]
    assert [image["file_name"] for image in written] == [path.name for path in others]
    assert sorted(path.stem for path in (tmp_path / "y" / "labels").iterdir()) == [path.stem for path in others]


def test_a_zipped_data_set_gives_a_folder_of_its_own(sets: Path, tmp_path: Path) -> None:
    shutil.make_archive(str(tmp_path / "wheat"), "zip", sets / "wheat")
    run("convert", "wheat", tmp_path / "wheat.zip", "--to", "yolo", "--out", tmp_path / "yolo")
    images = [path for path in (tmp_path / "yolo" / "images").rglob("*") if path.is_file()]
    assert images
    assert not any(path.is_symlink() for path in images)
    before = tallymark.read("wheat", sets / "wheat").with_truth()
    after = tallymark.read("wheat", tmp_path / "yolo").with_truth()
    assert len(after.truth) == len(before.truth)


def test_scenes_of_several_sizes_become_masks_of_their_own_size_and_polygons_on_the_map(tmp_path: Path) -> None:
    rasterio = pytest.importorskip("rasterio")
    folder = tmp_path / "scenes"
    folder.mkdir()
    sizes = {"wide.tif": (96, 40), "high.TIF": (50, 80)}
    rng = np.random.default_rng(0)
    for at, (name, (width, height)) in enumerate(sizes.items()):
        place = rasterio.Affine(1.5, 0, 500_000 + 1000 * at, 0, -1.5, 5_000_000)
        options = {"width": width, "height": height, "count": 3, "dtype": "uint8", "crs": "EPSG:32633"}
        with rasterio.open(folder / name, "w", driver="GTiff", transform=place, **options) as file:
            file.write(rng.integers(0, 255, (3, height, width), np.uint8))
    result = ship_in_each(tallymark.read("ships", folder), sizes)
    for to, path in (("coco", "a.json"), ("yolo", "yolo"), ("geojson", "a.geojson"), ("csv", "a.csv")):
        assert tallymark.export(result, to, tmp_path / path) == ()
    document = json.loads((tmp_path / "a.json").read_text())
    stated = {image["file_name"]: (image["width"], image["height"]) for image in document["images"]}
    assert stated == sizes
    shapes = {tuple(row["segmentation"]["size"][::-1]) for row in document["annotations"]}
    assert shapes == set(sizes.values()), "masks in both images"
    features = json.loads((tmp_path / "a.geojson").read_text())["features"]
    assert len(features) == len(document["annotations"]) == len((tmp_path / "a.csv").read_text().splitlines()) - 1
    metres = pytest.approx(sorted(row["area"] * 2.25 / 0.9996**2 for row in document["annotations"]), rel=1e-3)
    assert sorted(feature["properties"]["area_m2"] for feature in features) == metres
    for feature in features:  # 96 px are 144 m, and 1000 m lie between the scenes
        east = 1000 * (feature["properties"]["image"] == "high.TIF")
        longitude = [point[0] for point in points_of(feature["geometry"]["coordinates"])]
        assert east - 1 <= (min(longitude) - 15) * 78_850
        assert (max(longitude) - 15) * 78_850 <= east + 146


def ship_in_each(catalog: Catalog, sizes: dict[str, tuple[int, int]]) -> PredictionResult:
    """A mask in the lower right corner of each image, on one canvas that holds them all, as models predict them."""
    size = np.array([sizes[name] for name in catalog.items.ids], float)
    canvas = int(size[:, 1].max()), int(size[:, 0].max())
    bitmaps = np.zeros((len(catalog), *canvas), bool)
    for bitmap, (width, height) in zip(bitmaps, size.astype(int).tolist(), strict=True):
        bitmap[height - 6 : height, width - 20 : width] = True
    masks = Masks.of(list(bitmaps), canvas)
    score = np.linspace(0.5, 0.9, len(catalog))
    found = Annotations.from_rows(catalog.items, np.arange(len(catalog)), masks, score=score)
    recipe = ImageRecipe().replace(task="masks")
    candidates = Candidates(found, size, np.ones(len(catalog)))
    return PredictionResult(found, candidates, recipe, Problems(), catalog, ModelMetadata("ships", recipe))


def points_of(coordinates: list[Any]) -> list[list[float]]:
    """The points of nested lists of rings."""
    nested = isinstance(coordinates[0], list)
    return [point for part in coordinates for point in points_of(part)] if nested else [coordinates]


def test_counts_have_the_positions_of_photographs(tmp_path: Path) -> None:
    folder = tmp_path / "photographs"
    folder.mkdir()
    photograph(folder / "a.jpg", SOUTH_WEST)
    photograph(folder / "b.jpg", {})
    model = untrained("wheat", tmp_path / "model.onnx")
    run("predict", model, folder, "--counts", tmp_path / "counts.csv", "--export", f"photos={tmp_path / 'a.geojson'}")
    table = pl.read_csv(tmp_path / "counts.csv")
    assert table.select("item", "latitude", "longitude", "altitude_m").rows() == [
        ("a", -33.51, -70.0025, 540.2),
        ("b", None, None, None),
    ]
    [feature] = json.loads((tmp_path / "a.geojson").read_text())["features"]
    assert feature["properties"]["count"] == table["count"][0]


@pytest.mark.parametrize("to", ["photos", "geojson"])
def test_photographs_without_a_position_are_refused_before_inference(
    to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rasterio")
    folder = tmp_path / "photographs"
    folder.mkdir()
    for name in ("a.jpg", "b.jpg"):
        photograph(folder / name, {})
    model = untrained("wheat", tmp_path / "model.onnx")

    def predict(*given: object, **named: object) -> None:
        raise AssertionError("inference has begun")

    monkeypatch.setattr(Predictor, "predict", predict)
    printed = run("predict", model, folder, "--export", f"{to}={tmp_path / 'a.geojson'}", "--json", code=2)
    [problem] = json.loads(printed)["problems"]
    assert problem["kind"] == "nothing_to_write"
    assert problem["found"].startswith("2 of 2 images have no ")
    assert problem["found"].endswith(": a, b")


def test_files_of_an_earlier_export_are_named(sets: Path, tmp_path: Path) -> None:
    folder = tmp_path / "photographs"
    folder.mkdir()
    for name in ("a.jpg", "b.jpg"):
        photograph(folder / name, {})
    model = untrained("wheat", tmp_path / "model.onnx")
    command = ["predict", model, folder, "--export", f"voc={tmp_path / 'voc'}"]
    run(*command)
    assert "before" not in run(*command, "--force")
    (folder / "b.jpg").unlink()
    note = f"2 files in {tmp_path / 'voc'} of before, no part of this export: Annotations/b.xml, JPEGImages/b.jpg"
    assert note in json.loads(run(*command, "--force", "--json"))["notes"]


def test_clips_have_no_times_to_write(sets: Path, tmp_path: Path) -> None:
    (tmp_path / "clips.csv").write_text("clip,probability\na.aiff,0.5\n")
    assert "times of events" in run(
        "convert", "upcalls", tmp_path / "clips.csv", "--to", "raven", "--out", tmp_path / "r", code=2
    )


def test_sweeps_without_a_calibration_are_read_back(tmp_path: Path) -> None:
    """Predictions in the frame of a lidar without poses: the axes are exchanged, and back."""
    folder = tmp_path / "sweeps"
    folder.mkdir()
    np.random.default_rng(0).normal(0, 10, (500, 4)).astype(np.float32).tofile(folder / "a.bin")
    text = "0.5 4 -7 0.25 1.5 4.5 2 0.75 car 0.25 -9 3 1 0.5 1.75 1.5 -3 bicycle"
    (tmp_path / "s.csv").write_text(f"Id,PredictionString\na,{text}\n")
    run("convert", "lyft", tmp_path / "s.csv", "--to", "kitti", "--media", folder, "--out", tmp_path / "kitti")
    truth = tallymark.read("lyft", tmp_path / "kitti").truth
    assert truth is not None
    assert [truth.classes[label] for label in truth.labels] == ["car", "bicycle"]
    rows = np.column_stack(truth.shapes.columns)
    np.testing.assert_allclose(rows, [[4, -7, 0.25, 1.5, 4.5, 2, 0.75], [-9, 3, 1, 0.5, 1.75, 1.5, -3]], atol=1e-6)
