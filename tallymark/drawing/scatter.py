"""Scatter plots as inline SVG: points of two numbers each, and the line of those that no other point beats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tallymark.core.humanize import abbreviate, number
from tallymark.drawing.axes import Axis
from tallymark.drawing.charts import Chart, escape, svg_element, svg_text

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 28, 40
MARGIN = 0.06
"""Share of each axis that stays free around the points."""


class Point(NamedTuple):
    """A named point; those that are marked are joined by a line, in the order of x."""

    name: str
    x: float
    y: float
    marked: bool


def scatter(points: Sequence[Point], title: str, units: tuple[str, str], note: str = "") -> Chart | None:
    """Points with x on a logarithmic axis. units: of x and of y. None for less than two different x."""
    x, y = (np.array([point[at] for point in points], float) for at in (1, 2))
    if len(points) < 2 or x.min() == x.max():
        return None
    across, down = _axis(x, log=True), _axis(y, log=False)
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(point: Point) -> tuple[float, float]:
        return (
            LEFT + float(across.position(point.x)) * width,
            TOP + (1 - float(down.position(point.y))) * height,
        )

    elements = [*_grid(across, down, width, height)]
    front = sorted((point for point in points if point.marked), key=lambda point: point.x)
    path = " ".join(f"{left:.1f},{top:.1f}" for left, top in map(place, front))
    elements.append(f'<polyline class="line" points="{path}"/>' if len(front) > 1 else "")
    for point in points:
        left, top = place(point)
        text = f"{point.name}: {point.y:.4g} {units[1]} at {number(point.x)} {units[0]}"
        elements.append(
            f'<circle class="{"marked" if point.marked else "bar"}" cx="{left:.1f}" cy="{top:.1f}" '
            f'r="{5 if point.marked else 3.5}"><title>{escape(text)}</title></circle>'
        )
    elements += [svg_text(LEFT, TOP - 12, units[1], "start"), svg_text(WIDTH - RIGHT, HEIGHT - 4, units[0], "end")]
    return Chart(title, svg_element(WIDTH, HEIGHT, "".join(elements), title), note=note, layout="broad")


def _axis(values: np.ndarray, *, log: bool) -> Axis:
    low, high = float(values.min()), float(values.max())
    if log:
        factor = (high / low) ** MARGIN
        return Axis(np.array([low / factor, high * factor]), log=True)
    room = (high - low) * MARGIN or 0.01
    return Axis(np.array([low - room, high + room]))


def _grid(across: Axis, down: Axis, width: float, height: float) -> list[str]:
    """Lines and numbers at the ticks of both axes."""
    elements = []
    for tick in down.ticks():
        y = TOP + (1 - float(down.position(tick))) * height
        elements.append(f'<line class="grid" x1="{LEFT}" x2="{LEFT + width}" y1="{y:.1f}" y2="{y:.1f}"/>')
        elements.append(svg_text(LEFT - 6, y + 4, abbreviate(tick), "end"))
    for tick in across.ticks(8):
        x = LEFT + float(across.position(tick)) * width
        elements.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{TOP + height}"/>')
        elements.append(svg_text(x, TOP + height + 15, abbreviate(tick), "middle"))
    return elements
