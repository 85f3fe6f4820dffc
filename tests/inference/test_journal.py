"""The journal: items are inferred once, and again only when the item, its files, the models or the recipe change."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import polars as pl
import pytest

import tallymark
from tallymark.api.models import find_preset
from tallymark.core.engines.local import LocalEngine
from tallymark.core.problems import Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.inference import infer_catalog, job
from tallymark.inference.candidates import Candidates
from tallymark.inference.session import Session
from tallymark.io.images import IMAGE
from tallymark.modalities.base import InputPlan
from tests.inference.counting_model import CountingModel, assert_same, counting, images

__all__ = ["counting", "images"]


def test_an_interrupted_run_resumes(counting: CountingModel, images: Path, tmp_path: Path) -> None:
    counting.limit = 3
    with pytest.raises(KeyboardInterrupt):
        counting.predict(images, tmp_path / "journal", score_threshold=0.0)
    counting.limit = 1000
    resumed, inferred = counting.predict(images, tmp_path / "journal", score_threshold=0.0)
    plain, _ = counting.predict(images, None, score_threshold=0.0)
    assert inferred == 2  # the first page has two images, the second one
    assert_same(resumed.candidates.load(), plain.candidates.load())
    assert len(plain.predictions)
    assert resumed.predictions.items.ids.to_list() == plain.predictions.items.ids.to_list()


def test_changing_a_threshold_needs_no_inference(counting: CountingModel, images: Path, tmp_path: Path) -> None:
    counting.predict(images, tmp_path / "journal", score_threshold=0.9)
    result, inferred = counting.predict(images, tmp_path / "journal", score_threshold=0.0, nms_iou=0.3)
    assert inferred == 0
    plain, _ = counting.predict(images, None, score_threshold=0.0, nms_iou=0.3)
    assert_same(result.predictions, plain.predictions)


OTHER: dict[str, dict[str, Any]] = {
    "postprocessing": {
        "fusion": "wbf",
        "nms_iou": 0.3,
        "score_threshold": 0.2,
        "class_thresholds": "",
        "image_threshold": 0.1,
        "mask_scale": 1.2,
        "temperature": 2.0,
    },
    "prediction": {"tta": 2, "quality_weight": 0.1, "image_size": 96, "resolution": 0.5, "tta_scales": 2},
}
"""Another value for every field that may change from one prediction to the next."""


def test_every_field_that_may_change_is_tested() -> None:
    recipe = find_preset("wheat", "small")
    for stage, other in OTHER.items():
        assert list(other) == recipe.names_at(stage)


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
    assert_same(result.candidates.load(), plain.candidates.load())
    assert counting.predict(images, tmp_path / "journal", **changes)[1] == 0


def test_a_file_that_changes_while_it_is_predicted_is_not_kept(
    counting: CountingModel, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Session.__call__

    def change(session: Session, inputs: np.ndarray) -> Any:
        os.utime(images / "a.png", (1e9, 1e9))
        return work(session, inputs)

    with monkeypatch.context() as changing:
        changing.setattr(Session, "__call__", change)
        counting.predict(images, tmp_path / "journal")
    assert counting.predict(images, tmp_path / "journal")[1] == 1
    assert counting.predict(images, tmp_path / "journal")[1] == 0


def test_a_file_that_comes_back_is_predicted_but_not_kept_under_the_key_of_a_missing_one(
    counting: CountingModel, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, _ = counting.predict(images, None, score_threshold=0.0)

    def gone(path: Path) -> tuple[int, int]:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))

    with monkeypatch.context() as away:
        away.setattr("tallymark.modalities.base.file_status", gone)
        found, inferred = counting.predict(images, tmp_path / "journal", score_threshold=0.0)
    assert inferred == 5
    assert_same(found.candidates.load(), expected.candidates.load())
    assert not list((tmp_path / "journal").glob("*/*.page"))


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


def test_items_that_were_read_in_part_are_never_journalled(
    counting: CountingModel, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recording that is cut has candidates up to there, and a problem."""
    infer = job.infer_items

    def in_part(catalog: Catalog, sessions: Any, recipe: Any, problems: Problems, *more: Any) -> Candidates:
        if "b" in catalog.items.ids:
            problems.add(Problem("truncated_media", "b.png", "half of it", "all of it", item="b"))
        return infer(catalog, sessions, recipe, problems, *more)

    with monkeypatch.context() as patched:
        patched.setattr(job, "infer_items", in_part)
        counting.predict(images, tmp_path / "journal")
    _, inferred = counting.predict(images, tmp_path / "journal")
    assert inferred == 1


def test_an_empty_catalog_has_no_page(counting: CountingModel, images: Path, tmp_path: Path) -> None:
    catalog = tallymark.read("wheat", images).select(np.empty(0, np.int64))
    for _ in range(2):
        result = counting.model.predict(catalog, journal=tmp_path / "journal")
        assert len(result.predictions) == len(result.candidates.size) == 0
    assert not list((tmp_path / "journal").glob("*/*.page"))


def sizes_of_shards(items: int, seconds: Callable[[int], float], workers: int, patch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of shards where item number n takes so many seconds of a worker."""
    clock = 0.0
    patch.setattr("time.monotonic", lambda: clock)
    catalog = Catalog(
        root=Path(),
        medium=IMAGE,
        items=Items.of([str(item) for item in range(items)]),
        files=pl.Series([None] * items, dtype=pl.String),
        split=pl.Series(["test"] * items),
        labelled=np.zeros(items, bool),
        tables=pl.Series([None] * items, dtype=pl.String),
    )
    names = catalog.items.ids.to_list()
    shards = infer_catalog.Shards(catalog, InputPlan(), names, names, np.arange(items), LocalEngine(workers))
    sizes = list[int]()
    for shard in shards:
        assert shard.names == names[sum(sizes) : sum(sizes) + len(shard)]
        clock += sum(seconds(sum(sizes) + at) for at in range(len(shard))) / workers
        shards.measure(len(shard))
        sizes.append(len(shard))
    return sizes


def test_shards_take_about_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = sizes_of_shards(1000, lambda item: 2.0 if item < 500 else 0.5, 1, monkeypatch)
    assert sizes[:3] == [8, 15, 15]  # at two seconds per item
    assert 15 < max(sizes) <= 60
    assert sum(sizes) == 1000
    assert sizes_of_shards(0, lambda item: 1.0, 1, monkeypatch) == []


def test_the_last_shards_are_small_so_that_all_workers_end_together(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = sizes_of_shards(1000, lambda item: 0.1, 2, monkeypatch)
    assert sizes[0] == 8
    assert max(sizes) <= 300
    assert sizes[-1] <= 2
    assert sum(sizes) == 1000
