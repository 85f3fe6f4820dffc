"""A watch that goes on while files arrive, its report, and what it writes of each medium."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import soundfile
from PIL import Image

from tallymark.api.predict import predict
from tallymark.api.watch import watch
from tallymark.core.recipe import Recipe
from tallymark.data.catalog import Catalog
from tallymark.inference.predictor import Predictor
from tallymark.io.ground_resolution import EXIF_IFD, FOCAL_LENGTH_35MM, SUBJECT_DISTANCE, ground_sampling_distance
from tallymark.modalities.base import InputPlan
from tests.api.camera import THRESHOLD, Camera, photograph
from tests.untrained import untrained


class Running:
    """A watch in a thread, until the test ends."""

    def __init__(self, camera: Camera, **options: Any) -> None:
        self.stop = threading.Event()
        self.result: dict[str, int] = {}
        options = {"once": False, "poll": 0.01, "settle": 0.02, "stop": self.stop} | options
        self._thread = threading.Thread(target=lambda: self.result.update(camera.watch(**options)))
        self._thread.start()

    def end(self) -> dict[str, int]:
        self.stop.set()
        self._thread.join()
        return self.result


def wait_for(happened: Callable[[], bool]) -> None:
    for _ in range(500):
        if happened():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen within 10 s")


def test_what_arrives_is_predicted_until_the_watch_ends(camera: Camera) -> None:
    running = Running(camera, report_every=0)
    camera.take("a.png", 1)
    wait_for(lambda: (camera.out / "report.html").exists())
    partial = camera.take("new/b.png", 2).rename(camera.folder / "new" / "b.png.part")
    camera.take("c.png", 3)
    wait_for(lambda: len(camera.versions) == 2)
    partial.rename(camera.folder / "new" / "b.png")
    wait_for(lambda: len(camera.versions) == 3)
    assert running.end()["predicted"] == 3
    assert [item for item, _ in camera.versions] == ["a.png", "c.png", "new/b.png"]
    assert "last 3 of 3 files" in (camera.out / "report.html").read_text()


def test_a_share_that_is_away_is_waited_for_and_mentioned_once(camera: Camera) -> None:
    camera.take("a.png", 1)
    running = Running(camera)
    wait_for(lambda: (camera.out / "counts.csv").exists())
    away = camera.folder.rename(camera.folder.with_name("away"))
    wait_for(lambda: "out of reach" in camera.told[-1])
    time.sleep(0.1)
    photograph(away / "b.png", 2)
    away.rename(camera.folder)
    wait_for(lambda: len(camera.versions) == 2)
    running.end()
    assert [text.split(" ", 1)[1][:10] for text in camera.told if str(camera.folder) in text][1:] == [
        "is out of ",
        "is back",
    ]


def test_the_report_is_about_the_last_files_also_after_a_restart(camera: Camera) -> None:
    for seed in range(3):
        camera.take(f"{seed}.png", seed)
    camera.watch(report_items=2)
    camera.take("3.png", 3)
    (camera.folder / "1.png").unlink()  # a camera makes room
    (camera.out / "report.html").unlink()
    camera.watch(report_items=2)
    page = (camera.out / "report.html").read_text()
    assert "last 2 of 4 files" in page
    assert "3.png" in page
    assert "1.png" not in page
    (camera.out / "report.html").unlink()
    camera.watch(report_items=2)
    assert "last 2 of 4 files" in (camera.out / "report.html").read_text()
    for page_of in (camera.out / "recent").iterdir():
        page_of.write_bytes(b"PAR1 damaged")
    camera.watch(report_items=2)


def test_the_first_image_of_a_size_decides_about_the_scale_of_all(
    camera: Camera, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[str] = []

    def plan_inputs(self: Predictor, catalog: Catalog, gsd: float | None, recipe: Recipe | None = None) -> InputPlan:
        planned.extend(catalog.items.ids)
        clear = catalog.items.ids[0] != "0 night.png"
        return InputPlan([self.metadata.recipe.replace(image_size=96)], (), {}, frozenset({0} if clear else ()))

    monkeypatch.setattr(Predictor, "plan_inputs", plan_inputs)
    for seed, name in enumerate(("0 night.png", "1.png", "2.png")):
        camera.take(name, seed)
    camera.watch()
    assert set(planned) == {"0 night.png", "1.png"}
    assert [line.get("scale") for line in camera.ledger] == [None, ["64 x 64", 96], ["64 x 64", 96]]
    camera.take("3.png", 3)
    camera.watch()
    assert "3.png" not in planned
    told = [text for text in camera.told if "longer side of 96 px" in text]
    assert len(told) == 2  # by each call
    shown = predict(camera.model, camera.folder / "3.png", image_size=96, **THRESHOLD)
    assert camera.table("counts.csv")["count"][3] == shown.counted.counts[0]
    planned.clear()
    watch(camera.model, camera.folder, camera.out.with_name("fixed"), once=True, settle=0, image_size=64)
    assert planned == []


def test_a_distance_in_the_metadata_does_not_matter_to_a_model_that_knows_none(
    camera: Camera, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scale of such photographs is estimated, and kept for all of them as for others."""
    monkeypatch.setattr(
        Predictor,
        "plan_inputs",
        lambda self, *_: InputPlan([self.metadata.recipe.replace(image_size=96)], (), {}, frozenset({0})),
    )
    exif = Image.Exif()
    exif.get_ifd(EXIF_IFD).update({SUBJECT_DISTANCE: 2.0, FOCAL_LENGTH_35MM: 35})
    for name in ("0.jpg", "1.jpg"):
        Image.new("RGB", (64, 64)).save(camera.folder / name, exif=exif)
    assert ground_sampling_distance(camera.folder / "0.jpg") is not None
    camera.watch()
    assert [line.get("scale") for line in camera.ledger] == [["64 x 64", 96]] * 2


def test_recordings_have_a_recorder_a_time_and_calls_per_hour(tmp_path: Path) -> None:
    (tmp_path / "buoy").mkdir()
    rng = np.random.default_rng(0)
    soundfile.write(tmp_path / "buoy" / "B1_20240501_101500.wav", rng.normal(0, 0.1, 20_000), 2000)
    header = (tmp_path / "buoy" / "B1_20240501_101500.wav").read_bytes()[:1000]
    (tmp_path / "buoy" / "B1_20240501_104500.wav").write_bytes(header)  # the recorder still writes, or lost its power
    run = untrained("upcalls", tmp_path / "model.onnx")
    found = watch(run, tmp_path / "buoy", tmp_path / "out", once=True, settle=0, time_zone="UTC", score_threshold=0.01)
    assert (found["predicted"], found["damaged"]) == (1, 1)
    counts = pl.read_csv(tmp_path / "out" / "counts.csv")
    assert counts.row(0) == ("B1_20240501_101500.wav", 1, "B1", "2024-05-01T10:15:00", 0.002778, 5, 1800.0)
    objects = pl.read_csv(tmp_path / "out" / "objects.csv")
    assert objects.columns == ["item", "version", "number", "score", "timestamp", "clock", "utc"]
    assert pl.read_csv(tmp_path / "out" / "problems.csv")["kind"].to_list() == ["truncated_media"]


def test_labels_are_not_counted_and_single_sweeps_can_arrive(tmp_path: Path) -> None:
    photograph(tmp_path / "dishes" / "a.jpg", 0)
    watch(untrained("food", tmp_path / "food.onnx"), tmp_path / "dishes", tmp_path / "labels", once=True, settle=0)
    assert pl.read_csv(tmp_path / "labels" / "objects.csv")["number"].to_list() == [1, 2, 3]
    assert not (tmp_path / "labels" / "counts.csv").exists()
    (tmp_path / "sweeps").mkdir()
    np.random.default_rng(0).normal(0, 5, (500, 4)).astype("<f4").tofile(tmp_path / "sweeps" / "000001.bin")
    model = untrained("lyft", tmp_path / "lyft.onnx")
    watch(model, tmp_path / "sweeps", tmp_path / "found", once=True, settle=0, score_threshold=0.1)
    assert pl.read_csv(tmp_path / "found" / "counts.csv")["item"].to_list() == ["000001.bin"]


def test_objects_in_georeferenced_images_are_lines_of_geojson(camera: Camera) -> None:
    rasterio = pytest.importorskip("rasterio")
    pixels = np.random.default_rng(0).integers(0, 255, (3, 64, 64), np.uint8)
    place = rasterio.Affine(0.5, 0, 500_000, 0, -0.5, 5_000_000)
    options = {"width": 64, "height": 64, "count": 3, "dtype": "uint8", "crs": "EPSG:32633", "transform": place}
    for name in ("a.tif", "b.tif"):
        with rasterio.open(camera.folder / name, "w", driver="GTiff", **options) as file:
            file.write(pixels)
        camera.take(f"{name}.png")
        camera.watch()
    features = [json.loads(line) for line in (camera.out / "objects.geojsonl").read_text().splitlines()]
    objects = camera.table("objects.csv").filter(pl.col("item").str.ends_with(".tif"))
    assert len(features) == len(objects) > 0
    assert {one["properties"]["image"] for one in features} == {"a.tif", "b.tif"}
    assert all(one["properties"]["version"] == 1 and one["geometry"]["type"] == "Polygon" for one in features)
