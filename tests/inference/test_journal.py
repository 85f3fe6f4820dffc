"""The journal: items are inferred once, and again only when the item, its files, the models or the recipe change."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from dataclasses import fields
from io import BytesIO
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import tallymark
from tallymark.api.models import find_preset, open_model
from tallymark.core.outputs import cannot_write
from tallymark.core.problems import BadInput, Problem, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.detector.coders import CODERS
from tallymark.inference import journal, journal_pages
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


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda page: b"",
    "cut": lambda page: page[: len(page) // 2],
    "cut at its end": lambda page: page[:-1],
    "a damaged header": lambda page: bytes(60) + page[60:],
    "a flipped bit": lambda page: page[:-500] + bytes([page[-500] ^ 1]) + page[-499:],
    "more at its end": lambda page: page + b"more",
    "two pages": lambda page: page + page,
    "a text": lambda page: b"item,score\n",
    "an archive of NumPy": lambda page: page[len(journal_pages.MARK) + 32 :],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_pages_are_inferred_again(damage: str, counting: CountingModel, images: Path, tmp_path: Path) -> None:
    expected, _ = counting.predict(images, tmp_path / "journal", score_threshold=0.0)
    pages = sorted((tmp_path / "journal").glob("*/*.page"))
    pages[0].write_bytes(DAMAGE[damage](pages[0].read_bytes()))
    found, inferred = counting.predict(images, tmp_path / "journal", score_threshold=0.0)
    assert 1 <= inferred <= 2
    _assert_same(found.candidates, expected.candidates)
    assert counting.predict(images, tmp_path / "journal")[1] == 0


def _drop(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda columns: columns.pop(name)


def _change(name: str, change: Callable[[np.ndarray], object]) -> Callable[[dict[str, Any]], object]:
    return lambda columns: columns.update({name: np.asarray(change(columns[name]))})


FORGED: dict[str, Callable[[dict[str, Any]], object]] = {
    **{f"no {name}": _drop(name) for name in ("keys", "size", "presence", "offsets", "label", "score", "shape_width")},
    **{f"{name} with another axis": _change(name, lambda old: old[..., None]) for name in ("keys", "offsets", "label")},
    **{f"{name} twice": _change(name, lambda old: np.concatenate([old, old])) for name in ("offsets", "presence")},
    "one coordinate for all": _change("shape_x", lambda old: 1.0),
    "fewer scores": _change("score", lambda old: old[:-1]),
    "fewer coordinates": _change("shape_width", lambda old: old[:-1]),
    "scores as text": _change("score", lambda old: old.astype(str)),
    "scores that are no numbers": _change("score", lambda old: old * np.nan),
    "an unknown class": _change("label", lambda old: old + 7),
    "classes as fractions": _change("label", lambda old: old + 0.5),
    "offsets that go back": _change("offsets", lambda old: old[::-1]),
    "one key twice": _change("keys", lambda old: np.repeat(old[:1], len(old))),
    "keys as numbers": _change("keys", lambda old: np.arange(len(old))),
    "sizes in one column": _change("size", lambda old: old[:, 0]),
    "an item that was not read": _change("size", lambda old: old * np.nan),
    "a single number": _change("presence", lambda old: 1.0),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_pages_with_other_columns_are_not_read(forgery: str, tmp_path: Path) -> None:
    """Even with a right checksum; and what is not read is inferred again."""
    recipe = find_preset("wheat", "small")
    items = Items.of(["one", "two"])
    shapes = CODERS[recipe.task].decode(np.ones(3), np.ones(3), np.zeros((3, 4)))
    objects: Any = Annotations.from_rows(
        items, np.array([0, 0, 1]), shapes, label=np.zeros(3, np.int64), score=np.full(3, 0.5)
    )
    page = tmp_path / "a.page"
    write_page(page, Candidates(objects, np.ones((2, 2)), np.ones(2)))
    assert read_page(page, recipe, ()) is not None
    with np.load(BytesIO(page.read_bytes()[len(journal_pages.MARK) + 32 :])) as stored:
        columns = dict(stored)
    FORGED[forgery](columns)
    content = BytesIO()
    np.savez(content, **columns)
    page.write_bytes(journal_pages.MARK + journal_pages._checksum(page, content.getvalue()) + content.getvalue())
    assert read_page(page, recipe, ()) is None


def test_a_page_that_would_take_all_memory_is_not_read(
    counting: CountingModel, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting.predict(images, tmp_path / "journal")
    page = next((tmp_path / "journal").glob("*/*.page"))
    content = BytesIO()
    np.savez_compressed(content, keys=np.zeros(1 << 24, np.uint8))
    page.write_bytes(journal_pages.MARK + journal_pages._checksum(page, content.getvalue()) + content.getvalue())
    monkeypatch.setattr(np, "load", lambda *given, **named: pytest.fail("it is expanded"))
    recipe = counting.model.metadata.recipe
    assert read_page(page, recipe, ()) is None


def test_pages_of_other_models_and_earlier_versions_are_passed_over(
    counting: CountingModel, images: Path, tmp_path: Path
) -> None:
    expected, _ = counting.predict(images, tmp_path / "journal", score_threshold=0.0)
    counting.predict(images, tmp_path / "journal", tta=2)
    one, other = sorted({page.parent for page in (tmp_path / "journal").glob("*/*.page")})
    for page in list(one.iterdir()):
        shutil.copy(page, other / f"0{page.name}")
    np.savez(one / "0.npz", keys=np.array(["a"]))
    os.mkfifo(one / "0.page")
    (one / "1.page").mkdir()
    again, inferred = counting.predict(images, tmp_path / "journal", score_threshold=0.0)
    assert inferred == 0
    _assert_same(again.candidates, expected.candidates)
    twice, inferred = counting.predict(images, tmp_path / "journal", tta=2, score_threshold=0.0)
    assert inferred == 0
    plain, _ = counting.predict(images, None, tta=2, score_threshold=0.0)
    _assert_same(twice.candidates, plain.candidates)


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
    _assert_same(found.candidates, expected.candidates)
    assert not list((tmp_path / "journal").glob("*/*.page"))


def test_a_disk_that_is_full_later_costs_the_pages_only(
    counting: CountingModel, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, _ = counting.predict(images, None, score_threshold=0.0)

    def full(path: Path, candidates: Candidates) -> None:
        raise BadInput(cannot_write(path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))

    with monkeypatch.context() as changed:
        changed.setattr(journal, "write_page", full)
        found, _ = counting.predict(images, tmp_path / "journal", score_threshold=0.0)
    _assert_same(found.candidates, expected.candidates)
    (problem,) = found.problems
    assert (problem.kind, problem.found) == ("journal_unwritten", "no space left on device")
    assert "5 items are not kept" in problem.expected
    assert "free some space" in problem.remedy


def test_pages_are_written_when_the_disk_has_room_again(
    counting: CountingModel, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = 2

    def full_at_first(path: Path, candidates: Candidates) -> None:
        nonlocal failures
        failures -= 1
        if failures >= 0:
            raise BadInput(cannot_write(path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
        shutil.rmtree(path.parent) if failures == -2 else None  # somebody deletes the folder
        path.parent.mkdir(exist_ok=True)
        write_page(path, candidates)

    monkeypatch.setattr(journal, "write_page", full_at_first)
    found, _ = counting.predict(images, tmp_path / "journal")
    assert not found.problems


def test_a_folder_that_cannot_be_written_to_is_refused_first(
    counting: CountingModel, images: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file" / "journal", Path("/proc/journal")):
        with pytest.raises(BadInput) as caught:
            counting.predict(images, folder)
        assert str(folder) in str(caught.value)
    assert counting.calls == 0


def test_two_processes_may_share_a_journal(counting: CountingModel, images: Path, tmp_path: Path) -> None:
    """Each infers what the other has not finished yet; what both have, they write to the same page."""
    expected, _ = counting.predict(images, None, score_threshold=0.0)
    other = list[PredictionResult]()
    work = Session.__call__
    with pytest.MonkeyPatch.context() as patched:

        def begin_another(session: Session, inputs: np.ndarray) -> Any:
            if not other:
                patched.setattr(Session, "__call__", work)
                other.append(counting.predict(images, tmp_path / "journal", score_threshold=0.0)[0])
            return work(session, inputs)

        patched.setattr(Session, "__call__", begin_another)
        found, _ = counting.predict(images, tmp_path / "journal", score_threshold=0.0)
    for result in (found, *other):
        _assert_same(result.candidates, expected.candidates)
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


def test_items_that_were_read_in_part_are_never_journalled(
    counting: CountingModel, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recording that is cut has candidates up to there, and a problem."""
    infer = journal.infer_items

    def in_part(catalog: Catalog, sessions: Any, recipe: Any, problems: Problems, *more: Any) -> Candidates:
        if "b" in catalog.items.ids:
            problems.add(Problem("truncated_media", "b.png", "half of it", "all of it", item="b"))
        return infer(catalog, sessions, recipe, problems, *more)

    with monkeypatch.context() as patched:
        patched.setattr(journal, "infer_items", in_part)
        counting.predict(images, tmp_path / "journal")
    _, inferred = counting.predict(images, tmp_path / "journal")
    assert inferred == 1


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
