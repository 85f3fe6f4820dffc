"""Exports of predictions: each writes its files from Python, and refuses models that it does not suit."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import polars as pl
import pytest

import tallymark
from tallymark.api.exports import Exports
from tallymark.core.problems import BadInput, Problems
from tallymark.data.annotations import Annotations
from tallymark.drawing.colors import ANNOTATION
from tallymark.geometry import Boxes, Events, Labels
from tallymark.inference.candidates import Candidates
from tallymark.inference.metadata import ModelMetadata
from tallymark.inference.predictor import PredictionResult
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.image.recipe import ImageRecipe
from tests.drawing.pixels import has_color


@pytest.fixture
def calls(sets: Path) -> PredictionResult:
    """Two predictions in every test recording, with scores from 0.1 to 0.9."""
    catalog = tallymark.read("upcalls", sets / "upcalls").in_split("test")
    item = np.repeat(np.arange(len(catalog)), 2)
    score = np.linspace(0.1, 0.9, len(item))
    events = Events(5.0 + np.arange(len(item)))
    objects = Annotations.from_rows(catalog.items, item, events, score=score)
    size = np.tile([25.0, np.nan], (len(catalog), 1))
    recipe = AudioRecipe().replace(score_threshold=0.5)
    predictions = objects.filter(objects.scores >= 0.5)
    metadata = ModelMetadata("upcalls", recipe)
    candidates = Candidates(objects, size, np.ones(len(catalog)))
    return PredictionResult(predictions, candidates, recipe, Problems(), catalog, metadata)


@pytest.fixture
def boxes(tmp_path: Path) -> PredictionResult:
    """Two boxes in one image of 200 x 100 px."""
    folder = tmp_path / "images"
    folder.mkdir()
    cv2.imwrite(str(folder / "a.jpg"), np.zeros((100, 200, 3), np.uint8))
    catalog = tallymark.read("wheat", folder)
    shapes = Boxes.of(np.array([[10, 10, 20, 30], [50, 50, 40, 10]]))
    objects = Annotations.from_rows(catalog.items, np.zeros(2, np.int64), shapes, score=np.array([0.9, 0.6]))
    candidates = Candidates(objects, np.array([[200.0, 100.0]]), np.ones(1))
    recipe = ImageRecipe()
    return PredictionResult(objects, candidates, recipe, Problems(), catalog, ModelMetadata("wheat", recipe))


def test_counts_and_objects_of_images(boxes: PredictionResult, tmp_path: Path) -> None:
    counts = tallymark.export_counts(boxes, tmp_path / "counts.csv", gsd=0.1)
    assert counts.select("item", "count", "square_metres", "per_square_metre").rows() == [("a", 2, 200.0, 0.01)]
    objects = tallymark.export_objects(boxes, tmp_path / "objects.csv", gsd=0.1)
    assert objects["area_m2"].to_list() == [6.0, 4.0]
    for table, name in ((counts, "counts.csv"), (objects, "objects.csv")):
        assert pl.read_csv(tmp_path / name).rows() == table.rows()
    summary = tallymark.summarize(boxes, gsd=0.1)
    assert (summary["items"], summary["count"]) == (1, 2)


def test_tables_and_page_of_recordings(calls: PredictionResult, tmp_path: Path) -> None:
    counts = tallymark.export_counts(calls, tmp_path / "hours.csv")
    days = tallymark.export_days(calls, tmp_path / "days.csv")
    objects = tallymark.export_objects(calls, tmp_path / "calls.csv")
    tallymark.export_plot(calls, tmp_path / "page.html")
    assert counts["count"].sum() == days["count"].sum() == len(objects) == len(calls.predictions)
    assert "score of at least 0.5" in (tmp_path / "page.html").read_text()
    assert tallymark.summarize(calls)["count"] == len(calls.predictions)


def test_files_of_other_tools(calls: PredictionResult, tmp_path: Path) -> None:
    for export in (tallymark.export_raven, tallymark.export_audacity):
        folder = tmp_path / export.__name__
        folder.mkdir()
        paths = export(calls, folder)
        assert len(paths) == len(calls.catalog)
        rows = sum(len(path.read_text().splitlines()) for path in paths)
        assert rows >= len(calls.predictions)


def test_clips_are_candidates_around_the_threshold(calls: PredictionResult, tmp_path: Path) -> None:
    table = tallymark.export_clips(calls, tmp_path / "clips", per_kind=1)
    assert 0 < len(table) <= 4
    assert all((tmp_path / "clips" / file).exists() for file in table["file"])


@pytest.mark.parametrize("name", ["days", "plot", "raven", "audacity", "clips"])
def test_exports_of_events_refuse_images(name: str, boxes: PredictionResult, tmp_path: Path) -> None:
    export: Callable[[PredictionResult, Path], object] = getattr(tallymark, f"export_{name}")
    with pytest.raises(BadInput, match="a model of events in recordings"):
        export(boxes, tmp_path / name)
    with pytest.raises(BadInput, match=f"--{name}"):
        Exports(**{name: tmp_path / name}).check(boxes.recipe)
    assert not (tmp_path / name).exists()


def test_a_ground_sampling_distance_needs_images(calls: PredictionResult, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--gsd"):
        tallymark.export_counts(calls, tmp_path / "counts.csv", gsd=0.1)


def test_recordings_are_drawn_as_spectrograms_of_windows_with_predictions(
    calls: PredictionResult, tmp_path: Path
) -> None:
    exports = Exports(draw=tmp_path / "drawn")
    exports.check(calls.recipe)
    exports.write(calls)
    drawn = sorted((tmp_path / "drawn").rglob("*.png"))
    with_predictions = int((calls.predictions.counts > 0).sum())
    assert with_predictions <= len(drawn) <= len(calls.predictions)
    assert all(re.search(r"_\d{6}\.\ds\.png$", path.name) for path in drawn)
    plot = cv2.imread(str(drawn[0]))[..., ::-1]
    assert has_color(plot[:20], ANNOTATION).any()  # the bracket above the spectrogram


def test_class_labels_are_not_counted(boxes: PredictionResult, tmp_path: Path) -> None:
    recipe = ImageRecipe().replace(task="labels")
    with pytest.raises(BadInput, match="a model that detects objects"):
        Exports(counts=tmp_path / "counts.csv").check(recipe)
    labels = Annotations.from_rows(boxes.catalog.items, np.zeros(3, np.int64), Labels(np.arange(3)))
    result = PredictionResult(labels, boxes.candidates, recipe, Problems(), boxes.catalog, boxes.metadata)
    assert tallymark.summarize(result) == {"items": 1}


def test_exports_are_checked_before_prediction(calls: PredictionResult, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "clip.wav").touch()
    for wrong in (
        Exports(counts=tmp_path / "no" / "counts.csv"),
        Exports(raven=tmp_path / "file"),
        Exports(clips=tmp_path / "full"),
    ):
        with pytest.raises(BadInput):
            wrong.check(calls.recipe)
    exports = Exports(counts=tmp_path / "counts.csv", days=tmp_path / "days.csv", audacity=tmp_path / "tracks")
    exports.check(calls.recipe)
    exports.write(calls)
    assert all(path.exists() for path in exports.paths.values())
