"""Charts as files for papers and slides: SVG with its style inside, and PNG drawn from it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from tallymark.core.outputs import make_folder, write_bytes, write_text
from tallymark.core.problems import BadInput, Problem
from tallymark.drawing.charts import Chart
from tallymark.io.names import safe_name

ZOOM = 4
"""Pixels of a PNG for each unit of its SVG: 300 dpi at the width of a column."""
STYLE = """
text{font:11px "DejaVu Sans","Helvetica Neue",Arial,sans-serif;fill:#5c6773}.strong{fill:#1b2027}
.bar{fill:#0072b2}.grid{stroke:#dfe3e8;stroke-width:1}.axis{stroke:#5c6773;stroke-width:1}
.mark{stroke:#c75300;stroke-width:1.5;stroke-dasharray:4 3}.marked{fill:#c75300}
.line{fill:none;stroke:#0072b2;stroke-width:2;stroke-linejoin:round}.second{stroke:#c75300}
.third{stroke:#5c6773;stroke-dasharray:5 3}.dot{fill:#0072b2;fill-opacity:.45}
"""
"""The colours of a light page."""
LONGEST_NAME = 100
SVG = re.compile(r'<svg viewBox="0 0 ([\d.]+) ([\d.]+)"')


def check_figures() -> None:
    """Raise `BadInput` if figures cannot be drawn, before any work is done."""
    if find_spec("resvg_py") is None:
        found, remedy = "no resvg-py", "pip install 'tallymark[figures]'"
        raise BadInput(Problem("not_installed", "figures", found, "the package that draws PNG files", remedy))
    if not has_fonts():
        remedy = "install one, e.g. apt-get install fonts-dejavu-core"
        raise BadInput(Problem("not_installed", "figures", "no font on this system", "a font for labels", remedy))


def write_figures(charts: Iterable[Chart], folder: Path) -> list[Path]:
    """Write each chart that has a drawing as SVG and as PNG; returns the paths. A chart of many parts is omitted."""
    make_folder(folder)
    written = []
    for chart in charts:
        svg = standalone(chart)
        if svg is None:
            continue
        path = folder / safe_name(re.sub(r"\W+", "-", chart.title.lower()).strip("-"), LONGEST_NAME)
        write_text(path.with_name(f"{path.name}.svg"), svg)
        write_bytes(path.with_name(f"{path.name}.png"), _png(svg))
        written += [path.with_name(f"{path.name}{suffix}") for suffix in (".svg", ".png")]
    return written


def standalone(chart: Chart) -> str | None:
    """The drawing of a chart as a file of its own; None if it is not one SVG."""
    found = SVG.match(chart.svg)
    if found is None or chart.svg.count("<svg") > 1:
        return None
    width, height = found.groups()
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    )
    return opening + chart.svg[found.end() :].replace(">", f"><style>{STYLE}</style>", 1) + "\n"


def _png(svg: str) -> bytes:
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=svg, background="#ffffff", zoom=ZOOM))


def has_fonts() -> bool:
    """Whether text in the style of the charts is drawn at all: without such a font it would silently be missing."""
    blank, word = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><style>{STYLE}</style>{inner}</svg>'
        for inner in ("", '<text x="2" y="15">Ab</text>')
    )
    return _png(blank) != _png(word)
