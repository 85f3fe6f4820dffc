"""The journal: items are inferred once, and again only when the item, its files, the models or the recipe change."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import tallymark
from tallymark.api.models import find_preset, open_model
from tallymark.core.problems import BadInput
from tallymark.data.annotations import Annotations
from tallymark.detector.coders import CODERS
from tallymark.inference import journal
from tallymark.inference.candidates import Candidates
from tallymark.inference.journal_pages import read_page, write_page
from tallymark.inference.predictor import PredictionResult, Predictor
from tallymark.inference.session import Session

SMALL = {"tta": 1, "image_size": 64}


class CountingModel:
    """The pretrained wheat model, which counts its calls, and is interrupted after `limit` of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.model: Predictor = open_model("wheat")
        self.calls = 0
        self.limit = 1000
        run = Session.__call__

        def counted(session: Session, inputs: np.ndarray) -> Any:
            if self.calls == self.limit:
                raise KeyboardInterrupt
            self.calls += 1
            return run(session, inputs)

        monkeypatch.setattr(Session, "__call__", counted)

    def predict(self, folder: Path, cache: Path | None, **changes: Any) -> tuple[PredictionResult, int]:
        """The result, and the number of inferred images."""
        before = self.calls
        return tallymark.predict(self.model, folder, journal=cache, **{**SMALL, **changes}), self.calls - before


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> CountingModel:
    monkeypatch.setattr(journal, "FIRST_PAGE", 2)
    monkeypatch.setattr(journal, "PAGE_SECONDS", 0.0)
    return CountingModel(monkeypatch)


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name in "abcde":
        cv2.imwrite(str(folder / f"{name}.png"), rng.integers(0, 255, (64, 64, 3), np.uint8))
    return folder


def test_an_interrupted_run_resumes(counting: CountingModel, images: Path, tmp_path: Path) -> None:
    counting.limit = 3
    with pytest.raises(KeyboardInterrupt):
        counting.predict(images, tmp_path / "journal", score_threshold=0.0)
    counting.limit = 1000
    resumed, inferred = counting.predict(images, tmp_path / "journal", score_threshold=0.0)
    plain, _ = counting.predict(images, None, score_threshold=0.0)
    assert inferred == 2  # the first page has two images, the second one
    _assert_same(resumed.candidates, plain.candidates)
    assert len(plain.predictions)
    assert resumed.predictions.items.ids.to_list() == plain.predictions.items.ids.to_list()


def test_changing_a_threshold_needs_no_inference(counting: CountingModel, images: Path, tmp_path: Path) -> None:
    counting.predict(images, tmp_path / "journal", score_threshold=0.9)
    result, inferred = counting.predict(images, tmp_path / "journal", score_threshold=0.0, nms_iou=0.3)
    assert inferred == 0
    plain, _ = counting.predict(images, None, score_threshold=0.0, nms_iou=0.3)
    _assert_same(result.predictions, plain.predictions)


OTHER: dict[str, dict[str, Any]] = {
    "postprocessing": {
        "fusion": "wbf",
        "nms_iou": 0.3,
        "score_threshold": 0.2,
        "class_thresholds": "",
        "image_threshold": 0.1,
        "mask_scale": 1.2,
    },
    "prediction": {"tta": 2, "quality_weight": 0.1, "image_size": 96},
}
"""Another value for every field that may change from one prediction to the next."""


def test_every_field_that_may_change_is_tested() -> None:
    recipe = find_preset("wheat", "small")
    for stage, other in OTHER.items():
        assert list(other) == recipe.names_at(stage)  # type: ignore[arg-type]  # the names of stages


@pytest.mark.parametrize("name", OTHER["postprocessing"])
def test_postprocessing_fields_never_change_the_key(
    name: str, counting: CountingModel, images: Path, tmp_path: Path
) -> None:
    counting.predict(images, tmp_path / "journal")
    _, inferred = counting.predict(images, tmp_path / "journal", **{name: OTHER["postprocessing"][name]})
    assert inferred == 0
    assert len(list((tmp_path / "journal").iterdir())) == 1


@pytest.mark.parametrize("name", OTHER["prediction"])
def test_prediction_fields_change_the_key(name: str, counting: CountingModel, images: Path, tmp_path: Path) -> None:
    counting.predict(images, tmp_path / "journal")
    _, inferred = counting.predict(images, tmp_path / "journal", **{name: OTHER["prediction"][name]})
    assert inferred >= 5
    assert len(list((tmp_path / "journal").iterdir())) == 2


def _other_tta(_: Path) -> dict[str, Any]:
    return {"tta": 2}


def _other_content(folder: Path) -> dict[str, Any]:
    cv2.imwrite(str(folder / "a.png"), np.zeros((64, 64, 3), np.uint8))
    return {}


def _other_time(folder: Path) -> dict[str, Any]:
    os.utime(folder / "a.png", (1e9, 1e9))
    return {}


def _new_image(folder: Path) -> dict[str, Any]:
    cv2.imwrite(str(folder / "ab.png"), np.zeros((64, 64, 3), np.uint8))
    return {}


@pytest.mark.parametrize(
    ("change", "expected"), [(_other_tta, 10), (_other_content, 1), (_other_time, 1), (_new_image, 1)]
)
def test_changed_and_new_items_are_inferred(
    change: Callable[[Path], dict[str, Any]], expected: int, counting: CountingModel, images: Path, tmp_path: Path
) -> None:
    counting.predict(images, tmp_path / "journal")
    changes = change(images)
    result, inferred = counting.predict(images, tmp_path / "journal", score_threshold=0.0, **changes)
    assert inferred == expected
    plain, _ = counting.predict(images, None, score_threshold=0.0, **changes)
    _assert_same(result.candidates, plain.candidates)
    assert counting.predict(images, tmp_path / "journal", **changes)[1] == 0


def test_items_of_a_damaged_page_are_inferred_again(counting: CountingModel, images: Path, tmp_path: Path) -> None:
    counting.predict(images, tmp_path / "journal")
    pages = sorted((tmp_path / "journal").glob("*/*.page"))
    assert len(pages) == 4
    pages[0].write_bytes(pages[0].read_bytes()[:100])
    pages[1].write_bytes(b"")
    assert counting.predict(images, tmp_path / "journal")[1] > 0
    assert counting.predict(images, tmp_path / "journal")[1] == 0


def test_unreadable_items_are_never_journalled(counting: CountingModel, images: Path, tmp_path: Path) -> None:
    (images / "b.png").write_bytes(b"not an image")
    first, _ = counting.predict(images, tmp_path / "journal")
    second, inferred = counting.predict(images, tmp_path / "journal")
    assert inferred == 0
    assert [problem.item for problem in first.problems] == ["b"]
    assert list(second.problems) == list(first.problems)
    np.testing.assert_array_equal(second.candidates.size, first.candidates.size)
    cv2.imwrite(str(images / "b.png"), np.zeros((64, 64, 3), np.uint8))
    repaired, inferred = counting.predict(images, tmp_path / "journal")
    assert (repaired.problems.total, inferred) == (0, 1)


def test_pages_take_about_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0
    monkeypatch.setattr("time.monotonic", lambda: clock)
    sizes = []
    for batch in journal._batches(np.arange(1000)):
        sizes.append(len(batch))
        clock += 2.0 * len(batch) if sum(sizes) < 500 else 0.5 * len(batch)
    assert sizes[:3] == [8, 15, 15]  # at two seconds per item
    assert max(sizes) == 60
    assert sum(sizes) == 1000
    assert [batch.tolist() for batch in journal._batches(np.empty(0, int))] == [[]]


def test_an_empty_catalog_has_no_page(counting: CountingModel, images: Path, tmp_path: Path) -> None:
    catalog = tallymark.read("wheat", images).select(np.empty(0, np.int64))
    for _ in range(2):
        result = counting.model.predict(catalog, journal=tmp_path / "journal")
        assert len(result.predictions) == len(result.candidates.size) == 0
    assert not list((tmp_path / "journal").glob("*/*.page"))


def test_items_on_two_pages_count_once(counting: CountingModel, images: Path, tmp_path: Path) -> None:
    first, _ = counting.predict(images, tmp_path / "journal", score_threshold=0.0)
    for page in list((tmp_path / "journal").glob("*/*.page")):
        page.with_name(f"0{page.name}").write_bytes(page.read_bytes())
    second, inferred = counting.predict(images, tmp_path / "journal", score_threshold=0.0)
    assert inferred == 0
    _assert_same(second.candidates, first.candidates)


def test_a_journal_must_be_a_folder(counting: CountingModel, images: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput) as caught:
        counting.predict(images, tmp_path / "file")
    (problem,) = caught.value.problems
    assert (problem.kind, problem.file, problem.found) == ("bad_path", str(tmp_path / "file"), "a file")
    assert "a folder" in problem.expected


@pytest.mark.parametrize("name", ["wheat", "ships", "upcalls", "lyft", "food"])
def test_a_page_is_read_as_it_was_written(name: str, sets: Path, tmp_path: Path) -> None:
    catalog = tallymark.read(name, sets / name).select(np.arange(3))
    recipe = find_preset(name, "small")
    coder = CODERS[recipe.task]
    rng = np.random.default_rng(0)
    classes = ("one", "two")
    shapes = coder.decode(rng.random(4), rng.random(4), rng.random((4, coder.values)))
    objects: Any = Annotations.from_rows(
        catalog.items,
        np.array([0, 0, 2, 2]),
        shapes,
        label=np.array([1, 0, 0, 1]),
        score=rng.random(4),
        classes=classes,
    )
    size = np.array([[4.0, 3.0], [2.0, 1.0], [5.0, np.nan]])
    candidates = Candidates(objects, size, rng.random(3))
    write_page(tmp_path / "a.page", candidates)
    page = read_page(tmp_path / "a.page", recipe, classes)
    assert page is not None
    _assert_same(page, candidates)
    assert page.items.ids.to_list() == candidates.items.ids.to_list()


def _assert_same(one: Any, other: Any) -> None:
    """Compare every column of candidates or annotations."""
    for part in fields(one):
        own, its = getattr(one, part.name), getattr(other, part.name)
        if part.name in ("objects", "shapes"):
            _assert_same(own, its)
        elif isinstance(own, np.ndarray):
            np.testing.assert_array_equal(own, its)
        elif part.name not in ("items", "number", "line"):
            assert own == its
