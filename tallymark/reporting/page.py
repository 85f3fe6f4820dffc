"""One page in one file: its skeleton, its style, and the parts that it is put together from.

Every function here gives HTML. What comes from files is escaped on the way in: `text`, cells of tables, captions.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import cv2
import numpy as np

from tallymark.core.humanize import count, number
from tallymark.reporting.style import CSS, SCRIPT

QUALITY = 80
ROWS = 25
"""Rows of a table that are open to view; the rest is folded away."""


@dataclass(frozen=True)
class Section:
    """A heading, a sentence below it, and its content as HTML."""

    title: str
    content: str
    note: str = ""

    @property
    def anchor(self) -> str:
        return "".join(letter if letter.isalnum() else "-" for letter in self.title.lower())


def page(title: str, lead: str, facts: Sequence[tuple[str, str]], sections: Sequence[Section]) -> str:
    """The whole document. `facts` are pairs of a number and what it counts, shown large at the top."""
    shown = [section for section in sections if section.content]
    links = "".join(f'<a href="#{part.anchor}">{text(part.title)}</a>' for part in shown)
    large = "".join(f"<div><b>{text(value)}</b><span>{text(what)}</span></div>" for value, what in facts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{text(title)}</title>\n<style>{CSS}</style>\n</head>\n"
        f'<body>\n<header>\n<h1>{text(title)}</h1>\n<p class="lead">{text(lead)}</p>\n'
        f'<div class="facts">{large}</div>\n<nav>{links}</nav>\n</header>\n<main>\n'
        + "\n".join(map(_section, shown))
        + f'\n</main>\n<dialog aria-label="enlarged picture"></dialog>\n<script>{SCRIPT}</script>\n</body>\n</html>\n'
    )


def text(value: object) -> str:
    """Text that cannot become markup."""
    return html.escape(str(value), quote=True)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; numbers stand right. Rows after the first few are folded away."""
    rows = [list(row) for row in rows]
    if not rows:
        return ""
    right = [all(_numeric(row[at]) for row in rows) for at in range(len(columns))]
    first = _table(columns, rows[:ROWS], right)
    if len(rows) <= ROWS:
        return first
    return first + folded(f"{count(len(rows) - ROWS)} more rows", _table(columns, rows[ROWS:], right))


def folded(summary: str, content: str) -> str:
    """Content that a click opens."""
    return f"<details><summary>{text(summary)}</summary>{content}</details>"


def cards(contents: Iterable[str]) -> str:
    """Charts side by side, as many as there is room for."""
    filled = [content for content in contents if content]
    return f'<div class="cards">{"".join(filled)}</div>' if filled else ""


def beside(*contents: str) -> str:
    """Contents in a row where there is room, else below one another."""
    filled = [content for content in contents if content]
    return f'<div class="beside">{"".join(filled)}</div>' if len(filled) > 1 else "".join(filled)


def tile(picture: np.ndarray, name: str, facts: Sequence[str], why: str = "", sound: str = "") -> str:
    """A picture with its name, a line of facts and what is remarkable about it; `sound` is a file beside the page."""
    height, width = picture.shape[:2]
    reason = f'<span class="why">{text(why)}</span>' if why else ""
    line = text(" · ".join(fact for fact in facts if fact))
    player = f'<audio controls preload="none" src="{text(quote(sound))}"></audio>' if sound else ""
    return (
        f'<figure class="tile"><img src="{data_uri(picture)}" width="{width}" height="{height}" loading="lazy" '
        f'alt="{text(name)}">{player}'
        f'<figcaption>{reason}<b title="{text(name)}">{text(name)}</b><span>{line}</span></figcaption></figure>'
    )


def gallery(title: str, tiles: Sequence[str], *, wide: bool = False) -> str:
    """Tiles under a small heading; wide ones for spectrograms."""
    if not tiles:
        return ""
    return f'<h3>{text(title)}</h3><div class="tiles{" wide" if wide else ""}">{"".join(tiles)}</div>'


def legend(entries: Sequence[tuple[str, tuple[int, int, int]]]) -> str:
    """Which colour stands for what."""
    marks = "".join(f'<span><i style="background:rgb{colour}"></i>{text(name)}</span>' for name, colour in entries)
    return f'<p class="legend">{marks}</p>' if entries else ""


def data_uri(picture: np.ndarray) -> str:
    """An RGB picture as a JPEG that stands in the page itself."""
    bgr = cv2.cvtColor(picture, cv2.COLOR_RGB2BGR)
    _, data = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, QUALITY, cv2.IMWRITE_JPEG_OPTIMIZE, 1])
    return "data:image/jpeg;base64," + base64.b64encode(data.tobytes()).decode()


def _section(section: Section) -> str:
    note = f"<p>{text(section.note)}</p>" if section.note else ""
    return f'<section id="{section.anchor}">\n<h2>{text(section.title)}</h2>\n{note}{section.content}\n</section>'


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]], right: Sequence[bool]) -> str:
    kinds = ['class="n"' if side else "" for side in right]
    head = "".join(f"<th {kind}>{text(name)}</th>" for name, kind in zip(columns, kinds, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td {kind}>{_cell(value)}</td>" for value, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _numeric(value: object) -> bool:
    return isinstance(value, int | float | None) or str(value).endswith("%") or value == "-"


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return number(value) if isinstance(value, int | float) else text(value)
