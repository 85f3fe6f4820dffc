"""The page of suspected label errors: one file, escaped, with every suspect, whether its image is there or not."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tallymark
from tallymark.data.catalog import Catalog
from tallymark.drawing.text import placeholder
from tallymark.inference.label_errors import find_label_errors
from tallymark.io.images import read_image
from tallymark.io.media import BadMedia
from tallymark.modalities.render import renderer_of
from tallymark.reporting.blocks import data_uri
from tallymark.reporting.label_errors import confusions, write_label_errors
from tests.reporting.sets import HOSTILE, food
from tests.reporting.test_explore import Reader


def suspects_of(catalog: Catalog, label: list[int], predicted: list[int]) -> pl.DataFrame:
    """The first items as suspects, by class ids."""
    assert catalog.truth is not None
    classes = catalog.truth.classes
    count = len(label)
    probability = 0.9 - 0.1 * np.arange(count)
    return pl.DataFrame(
        {
            "item": catalog.items.ids[:count],
            "kind": pl.repeat("wrong_label", count, eager=True),
            "label": label,
            "label_name": [classes[at] for at in label],
            "predicted": predicted,
            "predicted_name": [classes[at] for at in predicted],
            "label_probability": np.full(count, 0.04),
            "predicted_probability": probability,
            "margin": 0.04 - probability,
        }
    )


def written_page(catalog: Catalog, suspects: pl.DataFrame, folder: Path, shown: int = 100) -> str:
    """The text of the page, after checking what holds for every page."""
    out = folder / "suspects.html"
    write_label_errors(catalog, suspects, out, title="Suspects <of> a set", shown=shown)
    text = out.read_text("utf-8")
    reader = Reader()
    reader.feed(text)
    assert not reader.open
    assert all(place.startswith(("data:image/jpeg;base64,", "#")) for place in reader.refers)
    assert not re.search(r"https?://|@import|url\(", text)
    assert reader.scripts == 1
    return text


def captions(text: str) -> list[tuple[str, ...]]:
    """The caption of each tile: predicted class, name, label."""
    return re.findall(r'<span class="why">(.*?)</span><b title=".*?">(.*?)</b><span>(.*?)</span>', text)


def test_a_page_shows_every_suspect(tmp_path: Path) -> None:
    catalog = food(tmp_path / "data")
    text = written_page(catalog, suspects_of(catalog, [0, 1, 1], [1, 0, 2]), tmp_path)
    assert captions(text) == [
        ("&lt;b&gt;cake&lt;/b&gt;? 90%", "&lt;script&gt;alert(1)&lt;/script&gt;", "labelled soup: 4.0% · wrong label"),
        ("soup? 80%", "item1", "labelled &lt;b&gt;cake&lt;/b&gt;: 4.0% · wrong label"),
        ("crème? 70%", "item2", "labelled &lt;b&gt;cake&lt;/b&gt;: 4.0% · wrong label"),
    ]
    assert text.count("<img") == 3
    assert HOSTILE not in text
    assert "<b>cake</b>" not in text
    assert "Suspects &lt;of&gt; a set" in text
    assert "<b>3</b><span>suspected label errors</span>" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "suspects.html"]


def test_the_number_of_tiles_is_limited(tmp_path: Path) -> None:
    catalog = food(tmp_path)
    suspects = suspects_of(catalog, [0, 1, 1, 2], [1, 0, 2, 0])
    text = written_page(catalog, suspects, tmp_path, shown=2)
    assert [name for _, name, _ in captions(text)] == ["&lt;script&gt;alert(1)&lt;/script&gt;", "item1"]
    assert "The 2 most likely of 4" in text
    assert "<img" not in written_page(catalog, suspects, tmp_path, shown=0)


def test_confusions_are_counted_in_both_directions(tmp_path: Path) -> None:
    catalog = food(tmp_path)
    suspects = suspects_of(catalog, [0, 1, 1, 2, 1], [1, 0, 2, 0, 0])
    assert confusions(suspects).rows() == [
        ("<b>cake</b>", "soup", 2, 1),
        ("soup", "<b>cake</b>", 1, 2),
        ("<b>cake</b>", "crème", 1, 0),
        ("crème", "soup", 1, 0),
    ]
    text = written_page(catalog, suspects, tmp_path)
    assert '<td>&lt;b&gt;cake&lt;/b&gt;</td><td>soup</td><td class="n">2</td><td class="n">1</td>' in text


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("gone", "its file is missing"),
        ("unlisted", "its file is missing"),
        ("unreadable", ""),
        ("unknown", "not in this data set"),
    ],
)
def test_a_suspect_without_a_readable_image_has_a_placeholder(damage: str, message: str, tmp_path: Path) -> None:
    catalog = food(tmp_path)
    suspects = suspects_of(catalog, [0, 1, 1], [1, 0, 2])
    path = catalog.path(1)
    assert path is not None
    whole = written_page(catalog, suspects, tmp_path)
    if damage == "gone":
        path.unlink()
    elif damage == "unreadable":
        path.write_bytes(b"not an image")
        with pytest.raises(BadMedia) as raised:
            read_image(path)
        message = f"cannot be read: {raised.value.found}"
    elif damage == "unlisted":
        catalog = replace(catalog, files=pl.Series(["0.png", None, *catalog.files[2:]], dtype=pl.String))
    else:
        catalog = catalog.select(np.array([0, 2]))
    text = written_page(catalog, suspects, tmp_path)
    assert captions(text) == captions(whole)
    before, after = (re.findall(r"data:image/jpeg;base64,[^\"]+", page) for page in (whole, text))
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, True]
    assert after[1] == data_uri(placeholder(message, renderer_of(catalog).thumbnail_size))


def test_a_page_without_suspects(tmp_path: Path) -> None:
    catalog = food(tmp_path)
    text = written_page(catalog, suspects_of(catalog, [0], [1]).clear(), tmp_path)
    assert "No label is suspected to be wrong." in text
    assert "<img" not in text
    assert "Confused" not in text


def test_the_page_is_deterministic(tmp_path: Path) -> None:
    catalog = food(tmp_path)
    suspects = suspects_of(catalog, [0, 1, 1, 2, 1], [1, 0, 2, 0, 0])
    assert written_page(catalog, suspects, tmp_path) == written_page(catalog, suspects, tmp_path)


def test_suspects_are_found_shown_and_excluded(tmp_path: Path) -> None:
    """Three labels of a synthetic set are changed; they are shown, and the list excludes them."""
    folder = tmp_path / "set"
    tallymark.synth("food", folder, items=24)
    catalog = tallymark.read("food", folder).in_split("train")
    truth = catalog.truth
    assert truth is not None
    true = truth.labels
    classes = len(truth.classes)
    probabilities = np.full((len(true), classes), 0.2 / classes)
    probabilities[np.arange(len(true)), true] += 0.8
    label = true.copy()
    planted = np.flatnonzero(np.isin(true, np.flatnonzero(np.bincount(true) > 1)))[:3]
    label[planted] = (true[planted] + 1) % classes
    suspects = find_label_errors(probabilities, label, catalog.items, truth.classes)
    assert set(suspects["item"]) <= set(catalog.items.ids[planted])
    assert not suspects.is_empty()
    assert {name for _, name, _ in captions(written_page(catalog, suspects, tmp_path))} == set(suspects["item"])
    suspects.write_csv(tmp_path / "suspects.csv")
    left = tallymark.read("food", folder, exclude=tmp_path / "suspects.csv").in_split("train")
    assert set(left.items.ids) == set(catalog.items.ids) - set(suspects["item"])
