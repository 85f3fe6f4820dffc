"""Charts of one quantity against another, as inline SVG: curves over a linear axis, and scatter plots."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tallymark.core.humanize import abbreviate, number
from tallymark.drawing.axes import Axis, round_ticks
from tallymark.drawing.charts import Chart, escape, svg_element, svg_text

WIDTH, HEIGHT = 360, 230
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 24, 40
LETTER = 6.2
"""Width of a letter of a legend, about."""
STYLES = ("line", "line second", "line third")
"""Classes of the curves in a chart, in order."""


def curves(
    x: np.ndarray,
    lines: Mapping[str, np.ndarray],
    title: str,
    x_name: str,
    note: str = "",
    *,
    marked: float | None = None,
    diagonal: bool = False,
) -> Chart | None:
    """Lines over one axis; values that are not finite are gaps.

    marked: a position on the x axis with a dashed line. diagonal: draw where y equals x. None without two points.
    """
    finite = {name: np.asarray(y, float) for name, y in lines.items() if np.isfinite(y).sum() > 1}
    if len(x) < 2 or x.min() == x.max() or not finite:
        return None
    frame = _Frame(x, np.concatenate([y[np.isfinite(y)] for y in finite.values()]), x_name)
    drawn = [frame.diagonal()] if diagonal else []
    for (name, y), style in zip(finite.items(), STYLES, strict=False):
        drawn += [frame.polyline(x[part], y[part], style, name) for part in _runs(np.isfinite(y))]
    if marked is not None:
        across = frame.left(marked)
        drawn.append(f'<line class="mark" x1="{across:.1f}" x2="{across:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
    drawn.append(_legend(list(finite)) if len(finite) > 1 else "")
    return Chart(title, frame.svg("".join(drawn), title), note=note)


def _legend(names: list[str]) -> str:
    """The names of lines in a row above the plot."""
    across = float(LEFT)
    entries = []
    for name, style in zip(names, STYLES, strict=False):
        entries.append(
            f'<line class="{style}" x1="{across:.1f}" x2="{across + 16:.1f}" y1="8" y2="8"/>'
            + svg_text(across + 20, 12, name, "start")
        )
        across += 32 + LETTER * len(name)
    return "".join(entries)


def scatter(
    x: np.ndarray, y: np.ndarray, title: str, names: tuple[str, str], note: str = "", *, diagonal: bool = True
) -> Chart | None:
    """A dot for each pair of values; dots at the same place are darker. None without a pair."""
    known = np.isfinite(x) & np.isfinite(y)
    if not known.any():
        return None
    x, y = x[known].astype(float), y[known].astype(float)
    both = np.concatenate([x, y, [0.0, 1.0]])
    frame = _Frame(both, both, names[0])
    dots = "".join(
        f'<circle class="dot" cx="{frame.left(across):.1f}" cy="{frame.top(down):.1f}" r="3"><title>'
        f"{number(across)} {escape(names[0])}, {number(down)} {escape(names[1])}</title></circle>"
        for across, down in zip(x.tolist(), y.tolist(), strict=True)
    )
    line = frame.diagonal() if diagonal else ""
    return Chart(title, frame.svg(line + dots + svg_text(LEFT, 12, names[1], "start"), title), note=note)


class _Frame:
    """Axes around values, and positions in them."""

    def __init__(self, x: np.ndarray, y: np.ndarray, x_name: str) -> None:
        self.x = Axis(np.array([float(x.min()), float(x.max())]))
        low, high = min(0.0, float(y.min())), float(y.max())
        ticks = round_ticks(low, high if high > low else low + 1, 5)
        self.y = Axis(np.array([low, max(high, ticks[-1])]))
        self.elements = [svg_text(WIDTH - RIGHT, HEIGHT - 4, x_name, "end")]
        for tick in ticks:
            down = self.top(tick)
            self.elements.append(
                f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{down:.1f}" y2="{down:.1f}"/>'
                + svg_text(LEFT - 6, down + 4, abbreviate(tick), "end")
            )
        for tick in self.x.ticks():
            self.elements.append(svg_text(self.left(tick), HEIGHT - BOTTOM + 15, abbreviate(tick), "middle"))

    def left(self, x: float) -> float:
        return LEFT + float(self.x.position(x)) * (WIDTH - LEFT - RIGHT)

    def top(self, y: float) -> float:
        return TOP + (1 - float(self.y.position(y))) * (HEIGHT - TOP - BOTTOM)

    def polyline(self, x: np.ndarray, y: np.ndarray, style: str, name: str) -> str:
        points = " ".join(
            f"{self.left(across):.1f},{self.top(down):.1f}" for across, down in zip(x.tolist(), y.tolist(), strict=True)
        )
        return f'<polyline class="{style}" points="{points}"><title>{escape(name)}</title></polyline>'

    def diagonal(self) -> str:
        low = max(self.x.edges[0], self.y.edges[0])
        high = min(self.x.edges[-1], self.y.edges[-1])
        return (
            f'<line class="mark" x1="{self.left(low):.1f}" x2="{self.left(high):.1f}" y1="{self.top(low):.1f}" '
            f'y2="{self.top(high):.1f}"/>'
        )

    def svg(self, drawn: str, title: str) -> str:
        base = HEIGHT - BOTTOM
        axis = f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>'
        return svg_element(WIDTH, HEIGHT, "".join(self.elements) + axis + drawn, title)


def _runs(finite: np.ndarray) -> list[slice]:
    """Where values are finite, without a gap."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], finite, [False]]).astype(int)))
    return [slice(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]
