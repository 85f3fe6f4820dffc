"""Watching a folder: what arrives is predicted once it is complete, and never twice."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import polars as pl
import pytest
import soundfile

from tallymark.api import watch as api_watch
from tallymark.api.models import open_model
from tallymark.api.predict import predict
from tallymark.api.watch import watch
from tallymark.core.locks import FolderLock
from tallymark.core.problems import BadInput
from tallymark.core.recipe import Recipe
from tallymark.data.catalog import Catalog
from tallymark.inference.predictor import Predictor
from tallymark.modalities.base import InputPlan
from tests.untrained import untrained

THRESHOLD = {"score_threshold": 0.1}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return open_model(untrained("wheat", tmp_path_factory.mktemp("model") / "model.onnx"))


def photograph(path: Path, seed: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 255, (64, 64, 3), np.uint8)
    path.write_bytes(cv2.imencode(path.suffix, pixels)[1].tobytes())
    return path


class Camera:
    """A folder that photographs arrive in, and the output of watching it."""

    def __init__(self, folder: Path, model: Predictor) -> None:
        self.folder, self.out, self.model = folder / "camera", folder / "out", model
        self.folder.mkdir()
        self.told: list[str] = []

    def take(self, name: str, seed: int = 0) -> Path:
        return photograph(self.folder / name, seed)

    def watch(self, **options: Any) -> dict[str, int]:
        options = {"once": True, "settle": 0, **THRESHOLD} | options
        return watch(self.model, self.folder, self.out, tell=self.told.append, **options)

    def table(self, name: str) -> pl.DataFrame:
        return pl.read_csv(self.out / name)

    @property
    def versions(self) -> list[tuple[str, int]]:
        return self.table("counts.csv").select("item", "version").rows()

    @property
    def ledger(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.out / "state.jsonl").read_text().splitlines()][1:]


@pytest.fixture
def camera(tmp_path: Path, model: Predictor) -> Camera:
    return Camera(tmp_path, model)


def test_rows_are_those_of_predict_and_no_file_is_predicted_twice(camera: Camera) -> None:
    for seed, name in enumerate(("a.png", "b.png", "day 2/CAM_20240501_120000, x.png")):
        camera.take(name, seed)
    assert camera.watch()["predicted"] == 3
    assert camera.watch() == {
        "predicted": 0,
        "objects": 0,
        "damaged": 0,
        "touched": 0,
        "waiting": 0,
        "unread": 0,
        "known": 3,
    }
    camera.take("c.png", 3)
    assert camera.watch()["predicted"] == 1
    counts, objects = camera.table("counts.csv"), camera.table("objects.csv")
    alone = [predict(camera.model, camera.folder / name, **THRESHOLD) for name in counts["item"]]
    assert counts["count"].to_list() == [int(one.counted.counts[0]) for one in alone]
    assert counts["count"].sum() == len(objects) > 0
    assert objects["item"].unique(maintain_order=True).to_list() == counts["item"].to_list()
    np.testing.assert_allclose(
        objects["x"],
        np.concatenate([one.counted.shapes.x for one in alone])
        + np.concatenate([one.counted.shapes.width for one in alone]) / 2,
        atol=0.001,
    )
    assert [line["objects"] for line in camera.ledger] == counts["count"].to_list()
    assert counts["time"].to_list() == [None, None, "2024-05-01T12:00:00", None]
    assert "last 4 of 4 files" in (camera.out / "report.html").read_text()


def test_a_file_that_changes_is_a_new_version_and_no_row_is_lost(camera: Camera) -> None:
    path = camera.take("a.png", 1)
    camera.watch()
    before = (camera.out / "objects.csv").read_bytes()
    camera.take("a.png", 2)
    os.utime(path, (0, 0))  # a clock that went back
    assert camera.watch()["predicted"] == 1
    assert camera.versions == [("a.png", 1), ("a.png", 2)]
    assert (camera.out / "objects.csv").read_bytes().startswith(before)
    assert [line["version"] for line in camera.ledger] == [1, 2]
    assert "last 1 of 1 file" in (camera.out / "report.html").read_text()


def test_a_file_of_another_time_with_the_same_bytes_is_not_predicted_again(camera: Camera) -> None:
    path = camera.take("a.png")
    camera.watch()
    os.utime(path, (1, 1))  # as by a change of the time zone, or a copy without times
    assert camera.watch()["touched"] == 1
    assert camera.watch()["touched"] == 0
    assert camera.versions == [("a.png", 1)]


def test_damaged_files_are_listed_once_and_retried_when_they_change(camera: Camera) -> None:
    whole = camera.take("a.png").read_bytes()
    (camera.folder / "a.png").write_bytes(whole[:500])
    (camera.folder / "empty.png").touch()
    (camera.folder / os.fsdecode(b"odd\xff.png")).write_bytes(whole)
    assert camera.watch()["damaged"] == 3
    assert camera.watch()["damaged"] == 0
    problems = camera.table("problems.csv")
    assert dict(problems.select("item", "kind").rows()) == {
        "a.png": "truncated_media",
        "empty.png": "corrupt_media",
        "odd\\xff.png": "bad_name",
    }
    assert not (camera.out / "counts.csv").exists()
    (camera.folder / "a.png").write_bytes(whole)
    assert camera.watch()["predicted"] == 1
    assert camera.versions == [("a.png", 2)]


def test_once_waits_for_new_files_and_leaves_those_that_still_change(
    camera: Camera, monkeypatch: pytest.MonkeyPatch
) -> None:
    camera.take("a.png")
    growing = camera.take("b.png")

    class Growth(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            assert timeout == 0.05
            with growing.open("ab") as file:
                file.write(b"more")
            time.sleep(0.05)
            return False

    found = camera.watch(settle=0.05, stop=Growth())
    assert found["predicted"] == found["waiting"] == 1
    assert camera.versions == [("a.png", 1)]


def test_a_file_that_vanishes_before_it_is_read_is_forgotten(camera: Camera, monkeypatch: pytest.MonkeyPatch) -> None:
    camera.take("a.png")
    listed = api_watch.list_arrivals

    def vanishing(*given: Any) -> Iterator[Any]:
        yield from listed(*given)
        (camera.folder / "a.png").unlink()

    monkeypatch.setattr(api_watch, "list_arrivals", vanishing)
    found = camera.watch()
    assert found["predicted"] == found["damaged"] == found["waiting"] == found["unread"] == 0
    assert camera.ledger == []


def test_a_file_that_changes_while_it_is_read_is_waited_for(camera: Camera, monkeypatch: pytest.MonkeyPatch) -> None:
    path = camera.take("a.png", 1)
    predict_once = Predictor.predict

    def overwritten(self: Predictor, *given: Any, **options: Any) -> Any:
        result = predict_once(self, *given, **options)
        camera.take("a.png", 2)
        os.utime(path, (5, 5))
        return result

    with monkeypatch.context() as patch:
        patch.setattr(Predictor, "predict", overwritten)
        found = camera.watch()
    assert (found["predicted"], found["waiting"], found["unread"]) == (0, 1, 0)
    assert camera.watch()["predicted"] == 1
    assert camera.versions == [("a.png", 1)]


def test_a_file_that_the_system_fails_to_read_is_tried_again(camera: Camera, monkeypatch: pytest.MonkeyPatch) -> None:
    camera.take("a.png")
    camera.take("b.png")
    read = api_watch.FilePrediction._digest

    def failing(self: Any, path: str, found: Any) -> bytes:
        if path == "a.png":
            raise api_watch.NotReadable("input/output error")
        return read(self, path, found)

    with monkeypatch.context() as patch:
        patch.setattr(api_watch.FilePrediction, "_digest", failing)
        assert camera.watch()["unread"] == 1
    assert "a.png: input/output error; it will be tried again" in camera.told
    assert camera.watch()["predicted"] == 1
    assert camera.versions == [("b.png", 1), ("a.png", 1)]


def test_other_settings_are_refused_and_so_is_a_second_watch(camera: Camera) -> None:
    camera.take("a.png")
    camera.watch()
    for options in ({"score_threshold": 0.2}, {"gsd": 0.01}, {"time_zone": "UTC"}):
        with pytest.raises(BadInput, match="other_settings"):
            camera.watch(**options)
    lock = FolderLock(camera.out)
    with pytest.raises(BadInput, match="in_use"):
        camera.watch()
    lock.release()
    camera.watch()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"settle": -1}, "settle=-1"),
        ({"poll": float("nan")}, "poll=nan"),
        ({"report_items": 0}, "report_items=0"),
        ({"width": 8}, "width=8"),
        ({"time_zone": "Mars"}, "a time zone"),
        ({"gsd": -1.0}, "gsd"),
    ],
)
def test_options_that_cannot_be_are_refused(camera: Camera, options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        camera.watch(**options)
    assert not camera.out.exists()


def test_a_folder_must_be_there_at_the_start_and_hold_no_linked_tables(tmp_path: Path, model: Predictor) -> None:
    with pytest.raises(BadInput, match="no_folder"):
        watch(model, tmp_path / "nothing", tmp_path / "out", once=True)
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "sample.json").write_text("[]")
    sweeps = open_model(untrained("lyft", tmp_path / "lyft.onnx"))
    with pytest.raises(BadInput, match="linked_items"):
        watch(sweeps, tmp_path, tmp_path / "out", once=True)


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
