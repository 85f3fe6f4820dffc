"""Charts as inline SVG: histograms, small multiples, columns, lines, bars, intervals and heat maps.

Colours are set by the style sheet of the page. All text is escaped here, so that the SVG can be used as it is.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tallymark.core.humanize import abbreviate, count, number, percentage
from tallymark.core.problems import escape_direction
from tallymark.drawing.axes import Axis, round_ticks

WIDTH, HEIGHT = 360, 190
LEFT, RIGHT, TOP, BOTTOM = 42, 8, 14, 34
ENDS = 15
"""How many of the largest and of the smallest bars a long bar chart shows."""
BARS_WIDTH = 420
"""Width of bars and intervals: names are legible where a phone shows it all."""
HEAT_SIDE = 300
"""Width and maximum height of a heat map."""
LETTER = 6.4
"""Width of a letter, about."""
NAME_LENGTH = 30
"""Letters of a name that a bar chart shows."""


@dataclass(frozen=True)
class Table:
    """Column names and rows of cells."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True)
class Chart:
    """A drawing with its title, unit and a note, or a table in place of it.

    layout: "" for a card among others, "broad" for the whole width, "bars" for a row of its own.
    table: the values of the chart; beside a drawing it is folded, under `table_title`.
    """

    title: str
    svg: str = ""
    unit: str = ""
    note: str = ""
    layout: str = ""
    table: Table | None = None
    table_title: str = ""


def histogram(values: np.ndarray, title: str, unit: str = "", axis: Axis | None = None) -> Chart | None:
    """How often values occur; the dashed line is the median. None without finite values."""
    values = _finite(values)
    if not len(values):
        return None
    axis = axis or Axis.fit(values)
    low, median, high = np.percentile(values, [5, 50, 95])
    note = (
        f"{count(len(values))} values, median {number(median)}, 5th to 95th percentile {number(low)} to {number(high)}"
    )
    return Chart(title, _histogram_svg(values, axis, unit, WIDTH, HEIGHT), note=note)


def small_multiples(
    groups: Mapping[str, np.ndarray], title: str, unit: str = "", *, note: str = "all on the same axis"
) -> Chart | None:
    """A small histogram for each group, all on the same axis."""
    finite = {name: _finite(values) for name, values in groups.items()}
    finite = {name: values for name, values in finite.items() if len(values)}
    if not finite:
        return None
    axis = Axis.fit(np.concatenate(list(finite.values())), bins=16)
    histograms = "".join(
        f"<div>{_histogram_svg(values, axis, unit, 180, 110, f'{name} ({count(len(values))})')}</div>"
        for name, values in finite.items()
    )
    return Chart(title, f'<div class="many">{histograms}</div>', unit, note, "broad")


def columns(
    labels: Sequence[str], values: Sequence[float | None], title: str, unit: str = "", note: str = ""
) -> Chart | None:
    """Vertical bars for labels in their own order, e.g. hours or days. Unknown values have no bar.

    As many labels are shown as there is room for. None if every value is 0 or unknown.
    """
    known = [value for value in values if value is not None]
    if not any(known):
        return None
    plot = _Plot(WIDTH, HEIGHT, max(known), whole=all(value == round(value) for value in known))
    step = plot.inner_width / len(labels)
    labelled = math.ceil((max(map(len, labels)) + 1) * LETTER / step)
    for index, (label, value) in enumerate(zip(labels, values, strict=True)):
        if value is not None:
            plot.add_bar(index * step + step * 0.1, step * 0.8, value, f"{label}: {number(value)} {unit}")
        if index % labelled == 0:
            plot.add_label(index * step + step / 2, label)
    return Chart(title, plot.svg(title), unit, note)


def line(
    x: np.ndarray, y: np.ndarray, title: str, units: tuple[str, str], note: str = "", *, marked: int | None = None
) -> Chart | None:
    """Shares from 0 to 1 against amounts above 0 on a logarithmic axis.

    units: of x and of y. marked: index of a highlighted point. None for less than two different amounts.
    """
    if len(x) < 2 or x.min() == x.max():
        return None
    axis = Axis(np.array([x.min(), x.max()]), log=True)
    plot = _Plot(WIDTH, HEIGHT, 1.0, whole=False)
    left, top = LEFT + axis.position(x) * plot.inner_width, TOP + plot.inner_height * (1 - y)
    for tick in axis.ticks():
        plot.add_label(float(axis.position(tick)) * plot.inner_width, abbreviate(tick))
    points = list(zip(left.tolist(), top.tolist(), x.tolist(), y.tolist(), strict=True))
    path = " ".join(f"{across:.1f},{down:.1f}" for across, down, _, _ in points)
    dots = "".join(
        f'<circle class="{"marked" if index == marked else "bar"}" cx="{across:.1f}" cy="{down:.1f}" '
        f'r="{4 if index == marked else 2}"><title>{number(share)} {escape(units[1])} at {number(amount)} '
        f"{escape(units[0])}</title></circle>"
        for index, (across, down, amount, share) in enumerate(points)
    )
    axis_name = svg_text(WIDTH - RIGHT, HEIGHT - 3, units[0], "end")
    return Chart(title, plot.svg(title, f'<polyline class="line" points="{path}"/>{dots}{axis_name}'), note=note)


def bars(amounts: Mapping[str, float], title: str, unit: str = "", *, ends: int = ENDS) -> Chart | None:
    """Horizontal bars, the longest first. Of many only both ends are drawn, and all are in the table."""
    ranked = sorted(amounts.items(), key=lambda pair: (-pair[1], pair[0]))
    if not ranked:
        return None
    if len(ranked) <= 2 * ends + 2:
        return Chart(title, _bars_svg(ranked, ranked, unit), unit, layout="bars")
    omitted = f"{count(len(ranked) - 2 * ends)} between them"
    svg = _bars_svg([*ranked[:ends], (omitted, -1), *ranked[-ends:]], ranked, unit)
    total = sum(amounts.values())
    rows = [(rank, name, value, percentage(value, total)) for rank, (name, value) in enumerate(ranked, 1)]
    table = Table(["rank", "name", unit or "number", "share"], rows)
    return Chart(title, svg, unit, layout="bars", table=table, table_title=f"all {count(len(ranked))}")


def intervals(
    rows: Sequence[tuple[str, float, float, float]], title: str, note: str = "", *, reference: float | None = None
) -> Chart | None:
    """A dot with its interval for each name, in the order given: rows of name, value, low and high.

    reference: a value that a dashed line marks, such as that of a baseline, unless it is far away. None without rows.
    """
    if not rows:
        return None
    width, row = BARS_WIDTH, 20
    finite = _finite(np.array([values for _, *values in rows]))
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    near = reference is not None and low - (high - low) <= reference <= high + (high - low)
    if reference is not None and near:
        low, high = min(low, reference), max(high, reference)
    room = (high - low) * 0.04 or 0.5
    axis = Axis(np.array([low - room, high + room]))
    start = 12 + LETTER * max(len(_shorten(name)) for name, *_ in rows)

    def across(value: float) -> float:
        return start + float(axis.position(value)) * (width - start - RIGHT)

    bottom = len(rows) * row + 4
    elements = [
        f'<line class="grid" x1="{across(tick):.1f}" x2="{across(tick):.1f}" y1="0" y2="{bottom}"/>'
        + svg_text(across(tick), bottom + 13, abbreviate(tick), "middle")
        for tick in axis.ticks()
    ]
    if reference is not None and near:
        x = across(reference)
        elements.append(f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{bottom}"/>')
    for index, (name, value, least, most) in enumerate(rows):
        y = index * row + row / 2 + 2
        whisker = ""
        if np.isfinite([least, most]).all():
            whisker = f'<line class="line" x1="{across(least):.1f}" x2="{across(most):.1f}" y1="{y}" y2="{y}"/>'
        elements.append(
            f"<g><title>{escape(name)}: {value:.4g}, 95 % interval {least:.4g} to {most:.4g}</title>"
            f'<text class="strong" x="{start - 8:.1f}" y="{y + 4}" text-anchor="end">{escape(_shorten(name))}</text>'
            f'{whisker}<circle class="bar" cx="{across(value):.1f}" cy="{y}" r="4"/></g>'
        )
    return Chart(title, svg_element(width, bottom + 18, "".join(elements), title), note=note, layout="bars")


def heat_map(
    grid: np.ndarray,
    title: str,
    note: str = "",
    edges: tuple[str, str, str, str] = ("", "", "", ""),
    *,
    power: float = 1.0,
    shown: np.ndarray | None = None,
    names: tuple[Sequence[str], Sequence[str]] | None = None,
) -> Chart | None:
    """A grid of counts, row 0 on top. None if all are 0.

    Parameters
    ----------
    edges: text at the top, right, bottom and left side.
    power: exponent of the shades; with 0.5 small counts are easier to see.
    shown: boolean grid of cells that are drawn even if their count is 0.
    names: of the rows and of the columns, for the tooltips.
    """
    if not grid.any():
        return None
    rows, across = grid.shape
    cell_width = HEAT_SIDE / across
    cell_height = min(cell_width, HEAT_SIDE / rows)
    left, top = (WIDTH - across * cell_width) / 2, 16.0
    shade = np.where(grid > 0, np.maximum(0.12, (grid / grid.max()) ** power), 0.05)
    cells = [
        f'<rect class="bar" x="{left + x * cell_width:.2f}" y="{top + y * cell_height:.2f}" '
        f'width="{cell_width:.2f}" height="{cell_height:.2f}" fill-opacity="{shade[y, x]:.2f}"><title>'
        f"{escape(f'{names[0][y]}, {names[1][x]}: ' if names else '')}{number(float(grid[y, x]))}</title></rect>"
        for y, x in np.argwhere((grid > 0) | (False if shown is None else shown)).tolist()
    ]
    right, bottom = left + across * cell_width, top + rows * cell_height
    frame = (
        f'<rect x="{left:.1f}" y="{top}" width="{right - left:.1f}" height="{bottom - top:.1f}" fill="none" '
        'class="grid"/>'
    )
    center_x, center_y = (left + right) / 2, (top + bottom) / 2
    sides = (
        svg_text(center_x, top - 5, edges[0], "middle")
        + svg_text(right + 4, center_y, edges[1], "start")
        + svg_text(center_x, bottom + 13, edges[2], "middle")
        + svg_text(left - 4, center_y, edges[3], "end")
    )
    return Chart(title, svg_element(WIDTH, bottom + 18, frame + "".join(cells) + sides, title), note=note)


class _Plot:
    """The plot of vertical bars or of a line while it is being drawn: ticks on the left, labels below."""

    def __init__(self, width: float, height: float, largest: float, *, whole: bool = True) -> None:
        self.width, self.height = width, height
        self.inner_width, self.inner_height = width - LEFT - RIGHT, height - TOP - BOTTOM
        ticks = round_ticks(0, largest, 5 if height > 150 else 3)
        ticks = [tick for tick in ticks if tick == round(tick) or not whole]
        self.top = max(largest, ticks[-1])
        self.elements: list[str] = []
        for tick in ticks:
            y = self.y(tick)
            self.elements.append(
                f'<line class="grid" x1="{LEFT}" x2="{width - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
                + svg_text(LEFT - 6, y + 4, abbreviate(tick), "end")
            )

    def y(self, value: float) -> float:
        return TOP + self.inner_height * (1 - value / self.top)

    def add_bar(self, x: float, width: float, value: float, tooltip: str) -> None:
        y = self.y(value)
        self.elements.append(
            f'<rect class="bar" x="{LEFT + x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" '
            f'height="{TOP + self.inner_height - y:.1f}"><title>{escape(tooltip.strip())}</title></rect>'
        )

    def add_label(self, x: float, label: str) -> None:
        self.elements.append(svg_text(LEFT + x, TOP + self.inner_height + 15, label, "middle"))

    def svg(self, title: str, more: str = "") -> str:
        y = TOP + self.inner_height
        axis = f'<line class="axis" x1="{LEFT}" x2="{self.width - RIGHT}" y1="{y}" y2="{y}"/>'
        return svg_element(self.width, self.height, "".join(self.elements) + axis + more, title)


def _histogram_svg(values: np.ndarray, axis: Axis, unit: str, width: float, height: float, heading: str = "") -> str:
    """A histogram; with a heading above it, or else the unit below."""
    amounts, _ = np.histogram(values, axis.edges)
    plot = _Plot(width, height, float(max(amounts.max(), 1)))
    edges = axis.position(axis.edges) * plot.inner_width
    for index, amount in enumerate(amounts.tolist()):
        if amount:
            tooltip = f"{axis.bin_name(index)} {unit}: {amount}"
            plot.add_bar(edges[index] + 0.5, edges[index + 1] - edges[index] - 1, amount, tooltip)
    for tick in axis.ticks(6 if width > 200 else 4):
        plot.add_label(float(axis.position(tick)) * plot.inner_width, abbreviate(tick))
    median = LEFT + float(axis.position(float(np.median(values)))) * plot.inner_width
    mark = f'<line class="mark" x1="{median:.1f}" x2="{median:.1f}" y1="{TOP}" y2="{TOP + plot.inner_height}"/>'
    title = f'<text class="strong" x="{LEFT}" y="9">{escape(heading)}</text>' if heading else ""
    axis_name = "" if heading else svg_text(width - RIGHT, height - 3, unit, "end")
    return plot.svg(heading, mark + title + axis_name)


def _bars_svg(shown: Sequence[tuple[str, float]], ranked: Sequence[tuple[str, float]], unit: str) -> str:
    """Rows of name, bar and number. A negative amount is a gap with its name alone."""
    width, row = BARS_WIDTH, 20
    start = 12 + LETTER * max(len(_shorten(name)) for name, value in shown if value >= 0)
    largest = max(value for _, value in ranked) or 1
    elements = []
    for index, (name, value) in enumerate(shown):
        y = index * row
        if value < 0:
            elements.append(svg_text(start + 2, y + 14, f"… {name} …", "start"))
            continue
        length = (width - start - 60) * value / largest
        elements.append(
            f"<g><title>{escape(name)}: {number(value)} {escape(unit)}</title>"
            f'<text class="strong" x="{start - 8:.1f}" y="{y + 14}" text-anchor="end">{escape(_shorten(name))}</text>'
            f'<rect class="bar" x="{start:.1f}" y="{y + 4}" width="{max(length, 1):.1f}" height="{row - 7}" rx="2"/>'
            f'<text x="{start + length + 6:.1f}" y="{y + 14}">{number(value)}</text></g>'
        )
    return svg_element(width, len(shown) * row + 2, "".join(elements), "bars")


def svg_element(width: float, height: float, elements: str, title: str) -> str:
    """An SVG of these elements, which scales to the width of its card."""
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(title)}">{elements}</svg>'


def svg_text(x: float, y: float, words: str, anchor: str) -> str:
    """Words at a place; nothing for none."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>' if words else ""


def escape(value: object) -> str:
    """Text as it may stand in SVG and HTML."""
    return html.escape(escape_direction(str(value)), quote=True)


def _shorten(name: str) -> str:
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"


def _finite(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values, float)
    return values[np.isfinite(values)]
