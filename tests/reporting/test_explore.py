"""The page of a data set: one self-contained file, escaped, also where media cannot be read."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tallymark.core.problems import Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.io.media import BadMedia
from tallymark.modalities.render import renderer_of
from tallymark.reporting.explore import write_page
from tests.reporting.sets import HOSTILE, MAKERS, wheat

VOID = {"meta", "img"}


class Reader(HTMLParser):
    """Records what a page refers to, and whether its elements are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.refers: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.refers += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]
        self.scripts += tag == "script"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.refers += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def written_page(catalog: Catalog, folder: Path, **options: object) -> str:
    """The text of the page, after checking what holds for every page."""
    out = folder / "page.html"
    write_page(catalog, "A set <of> things", out, **options)
    text = out.read_text("utf-8")
    reader = Reader()
    reader.feed(text)
    assert not reader.open
    assert all(place.startswith(("data:image/jpeg;base64,", "#")) for place in reader.refers)
    assert not re.search(r"https?://|@import|url\(", text)
    assert reader.scripts == 1
    assert len(text) < 6e6
    return text


@pytest.mark.parametrize("name", MAKERS)
def test_a_page_is_one_complete_file(name: str, tmp_path: Path) -> None:
    catalog = MAKERS[name](tmp_path / "data")
    text = written_page(catalog, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "page.html"]
    assert f"<b>{len(catalog)}</b><span>{catalog.medium.noun}s</span>" in text
    assert catalog.truth is not None
    assert f"<b>{len(catalog.truth)}</b><span>" in text
    assert "<b>0</b><span>files missing</span>" in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert HOSTILE not in text
    assert "land &amp; air" in text
    assert "A set &lt;of&gt; things" in text


def test_class_names_are_escaped_and_counted(tmp_path: Path) -> None:
    text = written_page(MAKERS["food"](tmp_path), tmp_path)
    assert "&lt;b&gt;cake&lt;/b&gt;: 2 labels" in text
    assert "<b>cake</b>" not in text


def test_extremes_are_shown_with_their_reason(tmp_path: Path) -> None:
    text = written_page(wheat(tmp_path), tmp_path)
    assert "most boxes: 2 (median 1)" in text
    assert "no boxes" in text
    assert "largest box: 80 × 60 px, area 4,800" in text
    assert "smallest box: 2 × 3 px, area 6" in text
    assert "brightest" in text
    assert "darkest" in text


def test_other_empty_items_are_counted(tmp_path: Path) -> None:
    catalog = wheat(tmp_path)
    text = written_page(replace(catalog, labelled=np.ones(len(catalog), bool)), tmp_path)
    assert "no boxes, as 1 other" in text
    assert "1 others" not in text


def test_the_same_seed_gives_the_same_page(tmp_path: Path) -> None:
    catalog = wheat(tmp_path)
    assert written_page(catalog, tmp_path, seed=3) == written_page(catalog, tmp_path, seed=3)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("kind", ["no truth", "no files", "one", "none at all", "no gallery"])
def test_unusual_catalogs(name: str, kind: str, tmp_path: Path) -> None:
    whole = MAKERS[name](tmp_path)
    gone = pl.repeat(None, len(whole), dtype=pl.String, eager=True)
    changed = {
        "no truth": replace(whole, truth=None, labelled=np.zeros(len(whole), bool)),
        "no files": replace(whole, files=gone),
        "one": whole.select(np.array([0])),
        "none at all": whole.select(np.empty(0, np.int64)),
        "no gallery": whole,
    }[kind]
    text = written_page(changed, tmp_path, gallery=0 if kind == "no gallery" else 6)
    if kind == "no files":
        assert f"<b>{len(whole)}</b><span>files missing</span>" in text
        assert "<img" not in text
    assert ("<img" in text) == (kind in ("no truth", "one"))


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("damage", [b"", b"not a medium at all", b"version https://git-lfs.github.com/spec/v1"])
def test_unreadable_media_become_a_tile_and_a_problem(name: str, damage: bytes, tmp_path: Path) -> None:
    catalog = MAKERS[name](tmp_path)
    broken = catalog.path(1)
    assert broken is not None
    broken.write_bytes(damage)
    text = written_page(catalog, tmp_path)
    assert "<b>1</b><span>files unreadable</span>" in text
    assert "Unreadable</h3>" in text
    assert "_media" in text or "ragged_sweep" in text


@pytest.mark.parametrize("name", MAKERS)
def test_media_that_fail_while_they_are_drawn_say_so_in_words(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = MAKERS[name](tmp_path)

    def fail(self: object, catalog: object, item: object) -> None:
        raise BadMedia("read_failed", "input/output error")

    monkeypatch.setattr(type(renderer_of(catalog)), "draw", fail)
    assert "cannot be read: input/output error" in written_page(catalog, tmp_path)


def test_problems_are_counted_by_kind(tmp_path: Path) -> None:
    problems = Problems()
    for line in range(7):
        problems.add(Problem("bad_number", "truth.csv", "<x>", "a number", "correct it", line=line + 2))
    text = written_page(wheat(tmp_path), tmp_path, problems=problems)
    assert "bad_number: the first 5 of 7" in text
    assert "truth.csv:2" in text
    assert "&lt;x&gt;" in text
