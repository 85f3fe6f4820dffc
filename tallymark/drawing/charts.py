"""Charts as inline SVG: bars, lines, histograms, small multiples and heat maps. Colours come from the page's style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tallymark.core.humanize import count, number, share, short
from tallymark.reporting.page import folded, table, text

WIDTH, HEIGHT = 360, 190
LEFT, RIGHT, TOP, BOTTOM = 42, 8, 14, 34
BINS = 24
LONG_TAIL = 6
"""Where the largest value is this many times the median, the axis is logarithmic."""
ENDS = 15
"""How many of the largest and of the smallest bars a long bar chart shows."""


def histogram(values: np.ndarray, title: str, unit: str = "", axis: Axis | None = None) -> str:
    """How often values occur; the dashed line is the median. Empty without values."""
    values = _finite(values)
    if not len(values):
        return ""
    axis = axis or Axis.of(values)
    low, middle, high = np.percentile(values, [5, 50, 95])
    note = f"{count(len(values))} values, median {number(middle)}, nine in ten between {number(low)} and {number(high)}"
    return _framed(title, "", _columns(values, axis, unit, WIDTH, HEIGHT), note)


def multiples(
    groups: Mapping[str, np.ndarray], title: str, unit: str = "", *, note: str = "on the same axis everywhere"
) -> str:
    """A small histogram for each group, all on the same axis."""
    filled = {name: _finite(values) for name, values in groups.items()}
    filled = {name: values for name, values in filled.items() if len(values)}
    if not filled:
        return ""
    axis = Axis.of(np.concatenate(list(filled.values())), bins=16)
    small = "".join(
        f"<div>{_columns(values, axis, unit, 180, 110, f'{name} ({count(len(values))})')}</div>"
        for name, values in filled.items()
    )
    return _framed(title, unit, f'<div class="many">{small}</div>', note, kind="broad")


def columns(labels: Sequence[str], values: Sequence[float | None], title: str, unit: str = "", note: str = "") -> str:
    """Upright bars for labels in their own order, of which as many are shown as there is room for: hours, days.

    Where nothing is known there is no bar, not even one of no height.
    """
    known = [value for value in values if value is not None]
    if not any(known):
        return ""
    draw = _Frame(WIDTH, HEIGHT, max(known), whole=all(value == round(value) for value in known))
    step = draw.across / len(labels)
    shown = max(1, round(len(labels) * max(map(len, labels)) / 24))
    for at, (label, value) in enumerate(zip(labels, values, strict=True)):
        if value is not None:
            draw.bar(at * step + step * 0.1, step * 0.8, value, f"{label}: {number(value)} {unit}")
        if at % shown == 0:
            draw.label(at * step + step / 2, label)
    return _framed(title, unit, draw.svg(title), note)


def line(
    x: np.ndarray, y: np.ndarray, title: str, units: tuple[str, str], note: str = "", *, marked: int | None = None
) -> str:
    """Shares from 0 to 1 against amounts above 0, in order, on a logarithmic axis. `marked` is a point to point out."""
    if len(x) < 2 or x.min() == x.max():
        return ""
    axis = Axis(np.array([x.min(), x.max()]), log=True)
    draw = _Frame(WIDTH, HEIGHT, 1.0, whole=False)
    across, down = LEFT + axis.place(x) * draw.across, TOP + draw.up * (1 - y)
    for tick in axis.ticks():
        draw.label(float(axis.place(tick)) * draw.across, short(tick))
    points = list(zip(across.tolist(), down.tolist(), x.tolist(), y.tolist(), strict=True))
    path = " ".join(f"{left:.1f},{top:.1f}" for left, top, _, _ in points)
    dots = "".join(
        f'<circle class="{"marked" if at == marked else "bar"}" cx="{left:.1f}" cy="{top:.1f}" '
        f'r="{4 if at == marked else 2}"><title>{number(value)} {text(units[1])} at {number(amount)} '
        f"{text(units[0])}</title></circle>"
        for at, (left, top, amount, value) in enumerate(points)
    )
    below = _text(WIDTH - RIGHT, HEIGHT - 3, units[0], "end")
    return _framed(title, "", draw.svg(title, f'<polyline class="line" points="{path}"/>{dots}{below}'), note)


def bars(amounts: Mapping[str, float], title: str, unit: str = "", *, ends: int = ENDS) -> str:
    """Lying bars, the longest first. Of many only both ends are drawn; the whole is a table to unfold."""
    ranked = sorted(amounts.items(), key=lambda pair: (-pair[1], pair[0]))
    if not ranked:
        return ""
    if len(ranked) <= 2 * ends + 2:
        return _framed(title, unit, _lying(ranked, ranked, unit), kind="bars")
    hidden = f"{count(len(ranked) - 2 * ends)} between them"
    drawing = _lying([*ranked[:ends], (hidden, -1), *ranked[-ends:]], ranked, unit)
    total = sum(amounts.values())
    rows = [(at + 1, name, value, share(value, total)) for at, (name, value) in enumerate(ranked)]
    whole = folded(f"all {count(len(ranked))}", table(["rank", "name", unit or "number", "share"], rows))
    return _framed(title, unit, drawing + whole, kind="bars")


def heat(
    grid: np.ndarray,
    title: str,
    note: str = "",
    edges: tuple[str, str, str, str] = ("", "", "", ""),
    *,
    power: float = 1.0,
    drawn: np.ndarray | None = None,
    names: tuple[Sequence[str], Sequence[str]] | None = None,
) -> str:
    """A map of how many things lie where: row 0 on top. `edges` name the top, right, bottom and left side.

    Shades follow the numbers to this power. `drawn` are the cells that are shown even if there is nothing in them.
    `names` are those of the rows and of the columns, which cells tell with their number.
    """
    if not grid.any():
        return ""
    rows, across = grid.shape
    wide = 300 / across
    tall = min(wide, 300 / rows)
    left, top = (WIDTH - across * wide) / 2, 16.0
    shade = np.where(grid > 0, np.maximum(0.12, (grid / grid.max()) ** power), 0.05)
    cells = [
        f'<rect class="bar" x="{left + x * wide:.2f}" y="{top + y * tall:.2f}" width="{wide:.2f}" height="{tall:.2f}" '
        f'fill-opacity="{shade[y, x]:.2f}"><title>'
        f"{text(f'{names[0][y]}, {names[1][x]}: ' if names else '')}{number(float(grid[y, x]))}</title></rect>"
        for y, x in np.argwhere((grid > 0) | (False if drawn is None else drawn)).tolist()
    ]
    right, bottom = left + across * wide, top + rows * tall
    frame = (
        f'<rect x="{left:.1f}" y="{top}" width="{across * wide:.1f}" height="{rows * tall:.1f}" fill="none" '
        'class="grid"/>'
    )
    middle_x, middle_y = (left + right) / 2, (top + bottom) / 2
    words = (
        _text(middle_x, top - 5, edges[0], "middle")
        + _text(right + 4, middle_y, edges[1], "start")
        + _text(middle_x, bottom + 13, edges[2], "middle")
        + _text(left - 4, middle_y, edges[3], "end")
    )
    return _framed(title, "", _svg(WIDTH, bottom + 18, frame + "".join(cells) + words, title), note)


@dataclass(frozen=True)
class Axis:
    """The edges of a histogram's bins. `log` bins grow by a constant factor, those of `whole` numbers by about that."""

    edges: np.ndarray
    log: bool = False
    whole: bool = False

    @classmethod
    def of(cls, values: np.ndarray, bins: int = BINS) -> Axis:
        """Bins that suit the values: one each for few whole numbers, growing ones for a long tail."""
        low, high = float(values.min()), float(values.max())
        whole = bool((values == np.round(values)).all())
        if low == high:
            return cls(np.array([low - 0.5, low + 0.5]), whole=whole)
        if low > 0 and high > LONG_TAIL * np.median(values):
            if whole:  # a bin between two whole numbers would be a gap where nothing is missing
                return cls(np.unique(np.round(np.geomspace(low, high + 1, bins + 1))) - 0.5, log=True, whole=True)
            return cls(np.geomspace(low, high * 1.0001, bins + 1), log=True)
        if whole:
            step = max(1, int(np.ceil((high - low + 1) / bins)))
            return cls(np.arange(low, high + step + 1, step) - 0.5, whole=True)
        return cls(np.linspace(low, high, bins + 1))

    def place(self, value: np.ndarray | float) -> np.ndarray:
        """Where values lie on the axis, 0 to 1."""
        first, last = self.edges[[0, -1]]
        if self.log:
            return np.log(np.asarray(value) / first) / np.log(last / first)
        return (np.asarray(value) - first) / (last - first)

    def bin(self, at: int) -> str:
        """The values of a bin in words."""
        low, high = self.edges[at : at + 2].tolist()
        if self.whole:
            low, high = low + 0.5, high - 0.5
        return number(low) if low == high else f"{number(low)} to {number(high)}"

    def ticks(self, most: int = 6) -> list[float]:
        first, last = self.edges[[0, -1]].tolist()
        if not self.log:
            return _ticks(first, last, most)
        powers = [10.0**k for k in range(int(np.floor(np.log10(first))), int(np.ceil(np.log10(last))) + 1)]
        within = [power for power in powers if first <= power <= last]
        if len(within) > most:
            return within[:: -(-len(within) // most)]
        found: list[float] = []
        for steps in ((1,), (1, 3), (1, 2, 5)):
            finer = [power * step for power in powers for step in steps if first <= power * step <= last]
            if len(finer) > most:
                break
            found = finer
        return found if len(found) > 1 else _ticks(first, last, most)


class _Frame:
    """The plot of upright bars while it is being drawn: a scale on the left, marks below."""

    def __init__(self, width: float, height: float, most: float, *, whole: bool = True) -> None:
        self.width, self.height = width, height
        self.across, self.up = width - LEFT - RIGHT, height - TOP - BOTTOM
        ticks = _ticks(0, most, 5 if height > 150 else 3)
        ticks = [tick for tick in ticks if tick == round(tick) or not whole]
        self.top = max(most, ticks[-1])
        self.parts: list[str] = []
        for tick in ticks:
            y = self.level(tick)
            self.parts.append(
                f'<line class="grid" x1="{LEFT}" x2="{width - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
                + _text(LEFT - 6, y + 4, short(tick), "end")
            )

    def level(self, value: float) -> float:
        return TOP + self.up * (1 - value / self.top)

    def bar(self, x: float, width: float, value: float, said: str) -> None:
        """The title is also there for bars too low to point at: an unseen rectangle of full height carries it."""
        y = self.level(value)
        said = f"<title>{text(said.strip())}</title>"
        self.parts.append(
            f'<rect class="bar" x="{LEFT + x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" '
            f'height="{TOP + self.up - y:.1f}">{said}</rect>'
        )

    def label(self, x: float, name: str) -> None:
        self.parts.append(_text(LEFT + x, TOP + self.up + 15, name, "middle"))

    def svg(self, title: str, above: str = "") -> str:
        y = TOP + self.up
        axis = f'<line class="axis" x1="{LEFT}" x2="{self.width - RIGHT}" y1="{y}" y2="{y}"/>'
        return _svg(self.width, self.height, "".join(self.parts) + axis + above, title)


def _columns(values: np.ndarray, axis: Axis, unit: str, width: float, height: float, heading: str = "") -> str:
    amounts, _ = np.histogram(values, axis.edges)
    draw = _Frame(width, height, float(max(amounts.max(), 1)))
    places = axis.place(axis.edges) * draw.across
    for at, amount in enumerate(amounts.tolist()):
        if amount:
            said = f"{axis.bin(at)} {unit}: {amount}"
            draw.bar(places[at] + 0.5, places[at + 1] - places[at] - 1, amount, said)
    for tick in axis.ticks(6 if width > 200 else 4):
        draw.label(float(axis.place(tick)) * draw.across, short(tick))
    middle = LEFT + float(axis.place(float(np.median(values)))) * draw.across
    mark = f'<line class="mark" x1="{middle:.1f}" x2="{middle:.1f}" y1="{TOP}" y2="{TOP + draw.up}"/>'
    named = f'<text class="strong" x="{LEFT}" y="9">{text(heading)}</text>' if heading else ""
    below = "" if heading else _text(width - RIGHT, height - 3, unit, "end")
    return draw.svg(heading, mark + named + below)


def _lying(shown: Sequence[tuple[str, float]], ranked: Sequence[tuple[str, float]], unit: str) -> str:
    """Rows of name, bar and number. A negative amount is a gap with its name alone."""
    width, row = 540, 20
    names = 12 + 6.4 * max(len(_cut(name, 30)) for name, value in shown if value >= 0)
    most = max(value for _, value in ranked) or 1
    parts = []
    for at, (name, value) in enumerate(shown):
        y = at * row
        if value < 0:
            parts.append(_text(names + 2, y + 14, f"… {name} …", "start"))
            continue
        length = (width - names - 60) * value / most
        parts.append(
            f"<g><title>{text(name)}: {number(value)} {text(unit)}</title>"
            f'<text class="strong" x="{names - 8:.1f}" y="{y + 14}" text-anchor="end">{text(_cut(name, 30))}</text>'
            f'<rect class="bar" x="{names:.1f}" y="{y + 4}" width="{max(length, 1):.1f}" height="{row - 7}" rx="2"/>'
            f'<text x="{names + length + 6:.1f}" y="{y + 14}">{number(value)}</text></g>'
        )
    return _svg(width, len(shown) * row + 2, "".join(parts), "bars")


def _framed(title: str, unit: str, drawing: str, note: str = "", *, kind: str = "") -> str:
    of = f" <small>{text(unit)}</small>" if unit and unit not in title.lower() else ""
    below = f"<small>{text(note)}</small>" if note else ""
    return (
        f'<figure class="{f"chart {kind}".strip()}"><figcaption>{text(title)}{of}</figcaption>{drawing}{below}</figure>'
    )


def _svg(width: float, height: float, parts: str, title: str) -> str:
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{text(title)}">{parts}</svg>'


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text(words)}</text>' if words else ""


def _ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers from low to high, about `most` of them."""
    rough = (high - low) / max(most - 1, 1)
    if rough <= 0:
        return [low]
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(float(step * power) for step in (1, 2, 2.5, 5, 10) if step * power >= rough * 0.999)
    first = np.ceil(low / step - 1e-9)
    return [round(float(k * step), 10) + 0.0 for k in np.arange(first, np.floor(high / step + 1e-9) + 1)]


def _cut(name: str, most: int) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _finite(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values, float)
    return values[np.isfinite(values)]
