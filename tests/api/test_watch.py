"""Watching a folder: what arrives is predicted once it is complete, and never twice."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tallymark.api import watch as api_watch
from tallymark.api.models import open_model
from tallymark.api.predict import predict
from tallymark.api.watch import watch
from tallymark.core.locks import FolderLock
from tallymark.core.problems import BadInput
from tallymark.inference.predictor import Predictor
from tests.api.camera import THRESHOLD, Camera
from tests.untrained import untrained


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
