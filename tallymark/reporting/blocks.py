"""The blocks that a page is composed of. Each is plain data, rendered by the template that it names."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol
from urllib.parse import quote

import cv2
import numpy as np

from tallymark.core.humanize import number
from tallymark.drawing.charts import Chart, Table
from tallymark.drawing.colors import Color

JPEG_QUALITY = 80
NUMBER = re.compile(r"-|.*%|[+-]\d+|[+-]?\d+\.\d+", re.DOTALL)
"""Texts that are aligned as numbers are: nothing, a share, a difference, a decimal number."""
LONG_TEXT = 30
"""Letters of a cell from which on its column is wrapped; shorter ones, such as dates, stay on one line."""
OPEN_ROWS = 25
"""Rows of a table that are visible; the rest is folded."""


class Block(Protocol):
    """A part of a page; `template` is the file in `templates` that renders it as `block`."""

    template: ClassVar[str]


@dataclass(frozen=True)
class Section:
    """A heading, a sentence below it, and its blocks. A section without blocks is not shown."""

    title: str
    blocks: Sequence[Block]
    note: str = ""

    @property
    def anchor(self) -> str:
        """The id that the navigation links to."""
        return "".join(letter if letter.isalnum() else "-" for letter in self.title.lower())


@dataclass(frozen=True)
class TableBlock:
    """A table; numbers are aligned right, and rows after the first few are folded."""

    template: ClassVar[str] = "table.html.jinja"
    table: Table

    @property
    def styles(self) -> list[str]:
        """The style of each column: n for numbers, t for long texts, else none."""
        return [_column_style([row[at] for row in self.table.rows]) for at in range(len(self.table.columns))]

    @property
    def open_rows(self) -> Sequence[Sequence[object]]:
        return self.table.rows[:OPEN_ROWS]

    @property
    def folded_rows(self) -> Sequence[Sequence[object]]:
        return self.table.rows[OPEN_ROWS:]


@dataclass(frozen=True)
class Charts:
    """Charts side by side, as many as there is room for."""

    template: ClassVar[str] = "charts.html.jinja"
    charts: Sequence[Chart]


@dataclass(frozen=True)
class Figure:
    """One chart."""

    template: ClassVar[str] = "figure.html.jinja"
    chart: Chart


@dataclass(frozen=True)
class Tile:
    """An image with its name, a line of facts, and the reason why it is shown.

    source: the image as a data URI. audio, link: URLs of a sound and of a page, relative to this one.
    review: what a verdict on it is about, for `corrections.json`: item, number, shape, score, start and stop.
    """

    source: str
    width: int
    height: int
    name: str
    facts: str
    reason: str
    audio: str
    link: str = ""
    review: Mapping[str, str] | None = None

    @classmethod
    def make(
        cls,
        image: np.ndarray,
        name: str,
        facts: Sequence[str],
        reason: str = "",
        *,
        audio: str = "",
        link: str = "",
        review: Mapping[str, str] | None = None,
    ) -> Tile:
        """From an RGB image; empty facts are omitted. `audio` and `link` are paths of files, relative to the page."""
        height, width = image.shape[:2]
        line = " · ".join(fact for fact in facts if fact)
        return cls(data_uri(image), width, height, name, line, reason, quote(audio), quote(link), review)


@dataclass(frozen=True)
class Gallery:
    """Tiles below a small heading; `wide` for spectrograms."""

    template: ClassVar[str] = "gallery.html.jinja"
    title: str
    tiles: Sequence[Tile]
    wide: bool = False


@dataclass(frozen=True)
class Legend:
    """Names and their colours."""

    template: ClassVar[str] = "legend.html.jinja"
    entries: Sequence[tuple[str, Color]]


@dataclass(frozen=True)
class Paragraph:
    """A sentence in place of something that is missing."""

    template: ClassVar[str] = "paragraph.html.jinja"
    text: str


@dataclass(frozen=True)
class Review:
    """A bar that saves the verdicts on the tiles of the page as `corrections.json`; count: of these tiles."""

    template: ClassVar[str] = "review.html.jinja"
    challenge: str
    geometry: str
    count: int


@dataclass(frozen=True)
class Details:
    """Blocks that a click unfolds."""

    template: ClassVar[str] = "details.html.jinja"
    summary: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class SideBySide:
    """Blocks in a row where there is room, else below one another."""

    template: ClassVar[str] = "side_by_side.html.jinja"
    blocks: Sequence[Block]


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[Block]:
    """A table as a block; none without rows."""
    listed = list(rows)
    return [TableBlock(Table(columns, listed))] if listed else []


def charts(drawn: Iterable[Chart | None]) -> list[Block]:
    """Charts as a block; none without a chart."""
    listed = [chart for chart in drawn if chart is not None]
    return [Charts(listed)] if listed else []


def figure(drawn: Chart | None) -> list[Block]:
    """One chart as a block; none without a chart."""
    return [] if drawn is None else [Figure(drawn)]


def gallery(title: str, tiles: Sequence[Tile], *, wide: bool = False) -> list[Block]:
    """A gallery as a block; none without tiles."""
    return [Gallery(title, tiles, wide)] if tiles else []


def data_uri(image: np.ndarray) -> str:
    """An RGB image as a JPEG embedded in the page."""
    bgr = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
    _, data = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY, cv2.IMWRITE_JPEG_OPTIMIZE, 1])
    return "data:image/jpeg;base64," + base64.b64encode(data.tobytes()).decode()


def cell_text(value: object) -> str:
    """A cell of a table: a number to a few digits, '-' for nothing."""
    if value is None:
        return "-"
    return number(value) if isinstance(value, int | float) else str(value)


def _column_style(values: Sequence[object]) -> str:
    if all(_is_numeric(value) for value in values):
        return "n"
    return "t" if max(len(str(value)) for value in values) >= LONG_TEXT else ""


def _is_numeric(value: object) -> bool:
    return isinstance(value, int | float | None) or NUMBER.fullmatch(str(value)) is not None
