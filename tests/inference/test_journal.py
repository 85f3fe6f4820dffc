"""A journal: nothing is looked at twice, and nothing is taken from it that would be said otherwise now."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import tallymark
from tallymark.api.models import find_preset, open_model
from tallymark.core.problems import BadInput, Problem
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.detector.coders import CODERS
from tallymark.geometry.poses import Poses
from tallymark.inference import journal
from tallymark.inference.journal import Page
from tallymark.inference.pipeline import Candidates
from tallymark.inference.predictor import Predicted, Predictor
from tallymark.inference.session import Session

SMALL = {"tta": 1, "image_size": 64}


class Watched:
    """A wheat model that counts the pictures it is shown, and is interrupted after some."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.model: Predictor = open_model("wheat")
        self.shown, self.patience = 0, 1000
        show = Session.__call__

        def watched(session: Session, pictures: np.ndarray) -> Any:
            if self.shown == self.patience:
                raise KeyboardInterrupt
            self.shown += 1
            return show(session, pictures)

        monkeypatch.setattr(Session, "__call__", watched)

    def predict(self, folder: Path, kept: Path | None, **changes: Any) -> tuple[Predicted, int]:
        """What is found, and how many pictures were looked at."""
        before = self.shown
        return tallymark.predict(self.model, folder, journal=kept, **{**SMALL, **changes}), self.shown - before


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    monkeypatch.setattr(journal, "FIRST", 2)
    monkeypatch.setattr(journal, "EACH", 0.0)
    return Watched(monkeypatch)


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    folder, rng = tmp_path / "photographs", np.random.default_rng(0)
    folder.mkdir()
    for name in "abcde":
        cv2.imwrite(str(folder / f"{name}.png"), rng.integers(0, 255, (64, 64, 3), np.uint8))
    return folder


def test_what_was_interrupted_goes_on_from_there(watched: Watched, photographs: Path, tmp_path: Path) -> None:
    watched.patience = 3
    with pytest.raises(KeyboardInterrupt):
        watched.predict(photographs, tmp_path / "journal", score_threshold=0.0)
    watched.patience = 1000
    resumed, shown = watched.predict(photographs, tmp_path / "journal", score_threshold=0.0)
    plain, _ = watched.predict(photographs, None, score_threshold=0.0)
    assert shown == 2  # the first page had two, the second one
    _assert_same(resumed.raw, plain.raw)
    assert len(plain.found)
    assert resumed.found.items.ids.to_list() == plain.found.items.ids.to_list()


def test_another_cut_takes_no_look(watched: Watched, photographs: Path, tmp_path: Path) -> None:
    watched.predict(photographs, tmp_path / "journal", score_threshold=0.9)
    found, shown = watched.predict(photographs, tmp_path / "journal", score_threshold=0.0, nms_iou=0.3)
    assert shown == 0
    _assert_same(found.found, watched.predict(photographs, None, score_threshold=0.0, nms_iou=0.3)[0].found)


def _other_views(_: Path) -> dict[str, Any]:
    return {"tta": 2}


def _other_picture(folder: Path) -> dict[str, Any]:
    cv2.imwrite(str(folder / "a.png"), np.zeros((64, 64, 3), np.uint8))
    return {}


def _later_picture(folder: Path) -> dict[str, Any]:
    os.utime(folder / "a.png", (1e9, 1e9))
    return {}


def _another_picture(folder: Path) -> dict[str, Any]:
    cv2.imwrite(str(folder / "ab.png"), np.zeros((64, 64, 3), np.uint8))
    return {}


@pytest.mark.parametrize(
    ("change", "shown"), [(_other_views, 10), (_other_picture, 1), (_later_picture, 1), (_another_picture, 1)]
)
def test_what_would_be_said_otherwise_is_looked_at_anew(
    change: Callable[[Path], dict[str, Any]], shown: int, watched: Watched, photographs: Path, tmp_path: Path
) -> None:
    watched.predict(photographs, tmp_path / "journal")
    changes = change(photographs)
    found, looked = watched.predict(photographs, tmp_path / "journal", score_threshold=0.0, **changes)
    assert looked == shown
    _assert_same(found.raw, watched.predict(photographs, None, score_threshold=0.0, **changes)[0].raw)
    assert watched.predict(photographs, tmp_path / "journal", **changes)[1] == 0


def test_a_damaged_page_is_looked_at_anew(watched: Watched, photographs: Path, tmp_path: Path) -> None:
    watched.predict(photographs, tmp_path / "journal")
    pages = sorted((tmp_path / "journal").glob("*/*.npz"))
    assert len(pages) == 4
    pages[0].write_bytes(pages[0].read_bytes()[:100])
    pages[1].write_bytes(b"")
    assert watched.predict(photographs, tmp_path / "journal")[1] > 0
    assert watched.predict(photographs, tmp_path / "journal")[1] == 0


def test_what_could_not_be_read_is_said_again(watched: Watched, photographs: Path, tmp_path: Path) -> None:
    (photographs / "b.png").write_bytes(b"no picture")
    first, _ = watched.predict(photographs, tmp_path / "journal")
    again, shown = watched.predict(photographs, tmp_path / "journal")
    assert shown == 0
    assert [problem.item for problem in first.problems] == ["b"]
    assert list(again.problems) == list(first.problems)
    np.testing.assert_array_equal(again.raw.size, first.raw.size)
    cv2.imwrite(str(photographs / "b.png"), np.zeros((64, 64, 3), np.uint8))
    mended, shown = watched.predict(photographs, tmp_path / "journal")
    assert (mended.problems.total, shown) == (0, 1)


def test_pages_take_about_as_long_as_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0
    monkeypatch.setattr("time.monotonic", lambda: clock)
    sizes = []
    for lot in journal._lots(np.arange(1000)):
        sizes.append(len(lot))
        clock += 2.0 * len(lot) if sum(sizes) < 500 else 0.5 * len(lot)
    assert sizes[:3] == [8, 15, 15]  # of two seconds an item
    assert max(sizes) == 60
    assert sum(sizes) == 1000
    assert [lot.tolist() for lot in journal._lots(np.empty(0, int))] == [[]]


def test_a_folder_without_pictures_is_no_page_more(watched: Watched, photographs: Path, tmp_path: Path) -> None:
    catalog = tallymark.read("wheat", photographs).select(np.empty(0, np.int64))
    for _ in range(2):
        predicted = watched.model.predict(catalog, journal=tmp_path / "journal")
        assert len(predicted.found) == len(predicted.raw.size) == 0
    assert len(list((tmp_path / "journal").glob("*/*.npz"))) == 1


def test_what_two_pages_tell_counts_once(watched: Watched, photographs: Path, tmp_path: Path) -> None:
    first, _ = watched.predict(photographs, tmp_path / "journal", score_threshold=0.0)
    for page in list((tmp_path / "journal").glob("*/*.npz")):
        page.with_name(f"0{page.name}").write_bytes(page.read_bytes())
    again, shown = watched.predict(photographs, tmp_path / "journal", score_threshold=0.0)
    assert shown == 0
    _assert_same(again.raw, first.raw)


def test_a_journal_is_a_folder(watched: Watched, photographs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="a folder, there or new"):
        watched.predict(photographs, tmp_path / "file")


@pytest.mark.parametrize("name", ["wheat", "ships", "upcalls", "lyft", "food"])
def test_a_page_holds_all_that_was_said(name: str, sets: Path, tmp_path: Path) -> None:
    catalog, recipe, rng = tallymark.read(name, sets / name), find_preset(name, "small"), np.random.default_rng(0)
    catalog, classes = catalog.select(np.arange(3)), ("one", "two")
    size = np.array([[4.0, 3.0], [np.nan, np.nan], [5.0, np.nan]])
    said = (("key", Problem("missing_media", "é.wav", "no file", "a recording", item="é")),)
    if recipe.task == "labels":
        raw = Candidates(catalog.items, size, chances=rng.random((3, 2)))
    else:
        code, item, label = CODERS[recipe.task], np.array([0, 0, 2, 2]), np.array([1, 0, 0, 1])
        shapes = code.decode(rng.random(4), rng.random(4), rng.random((4, code.values)))
        found: Any = Annotations.from_rows(
            catalog.items, item, shapes, label=label, score=rng.random(4), classes=classes
        )
        raw = Candidates(catalog.items, size, found=found, presence=rng.random(3))
    journal._write(tmp_path / "page.npz", Page(raw, said))
    page = journal._read(tmp_path / "page.npz", recipe, classes)
    assert page is not None
    _assert_same(page.raw, raw)
    assert page.raw.items.ids.to_list() == raw.items.ids.to_list()
    assert page.problems == said


def test_a_page_of_sweeps_depends_on_where_they_were_taken(sets: Path) -> None:
    catalog, recipe = tallymark.read("lyft", sets / "lyft"), find_preset("lyft", "small")
    drive = catalog.drive
    assert drive is not None
    moved = Poses(drive.vehicle.rotation, drive.vehicle.translation + 1e-3)
    traces = [journal._trace(one, 0, recipe) for one in (catalog, _driven(catalog, moved), catalog)]
    assert traces[0] == traces[2] != traces[1]
    counts = [len(drive.sweep_rows(item, sweeps=3)) for item in range(len(catalog))]
    stacked = int(np.argmax(counts))
    assert len(str(journal._trace(catalog, stacked, recipe.replace(sweeps=3))).split(".bin")) == counts[stacked] + 1 > 2


def _driven(catalog: Catalog, vehicle: Poses) -> Catalog:
    assert catalog.drive is not None
    return replace(catalog, drive=replace(catalog.drive, vehicle=vehicle))


def _assert_same(one: Any, other: Any) -> None:
    """Every column of what was said, or found."""
    for part in fields(one):
        own, its = getattr(one, part.name), getattr(other, part.name)
        if part.name in ("found", "shapes") and own is not None:
            _assert_same(own, its)
        elif isinstance(own, np.ndarray):
            np.testing.assert_array_equal(own, its)
        elif part.name not in ("items", "number", "line"):
            assert own == its
