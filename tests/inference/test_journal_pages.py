"""Pages of a journal: read as they were written, and as good as none if they are not."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tallymark
from tallymark.api.models import find_preset
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.detector.coders import CODERS
from tallymark.inference import journal_pages
from tallymark.inference.candidates import Candidates
from tallymark.inference.journal_pages import read_page, write_page
from tests.inference.counting_model import CountingModel, assert_same, counting, images

__all__ = ["counting", "images"]


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
    assert_same(page, candidates)
    assert page.items.ids.to_list() == candidates.items.ids.to_list()


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
    assert_same(found.candidates.load(), expected.candidates.load())
    assert counting.predict(images, tmp_path / "journal")[1] == 0


def _fail(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Let the system fail to read pages."""
    read = journal_pages.read_regular
    left = iter(range(times))

    def failing(path: Path) -> bytes:
        if next(left, None) is not None:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return read(path)

    monkeypatch.setattr(journal_pages, "read_regular", failing)


def test_pages_that_a_disk_fails_to_read_for_a_moment_are_read(
    counting: CountingModel, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting.predict(images, tmp_path / "journal")
    _fail(monkeypatch, 1)
    assert counting.predict(images, tmp_path / "journal")[1] == 0


def test_a_page_that_cannot_be_read_back_is_named_with_the_reason(
    counting: CountingModel, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fail(monkeypatch, 99)
    with pytest.raises(tallymark.BadInput, match=r"\.page.*input/output error") as caught:
        counting.predict(images, tmp_path / "journal")
    assert caught.value.problems.counts == {"damaged_page": 1}


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
    assert_same(again.candidates.load(), expected.candidates.load())
    twice, inferred = counting.predict(images, tmp_path / "journal", tta=2, score_threshold=0.0)
    assert inferred == 0
    plain, _ = counting.predict(images, None, tta=2, score_threshold=0.0)
    assert_same(twice.candidates.load(), plain.candidates.load())


def test_items_on_two_pages_count_once(counting: CountingModel, images: Path, tmp_path: Path) -> None:
    first, _ = counting.predict(images, tmp_path / "journal", score_threshold=0.0)
    for page in list((tmp_path / "journal").glob("*/*.page")):
        page.with_name(f"0{page.name}").write_bytes(page.read_bytes())
    second, inferred = counting.predict(images, tmp_path / "journal", score_threshold=0.0)
    assert inferred == 0
    assert_same(second.candidates.load(), first.candidates.load())
