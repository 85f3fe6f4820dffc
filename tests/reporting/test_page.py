"""Pages are composed of blocks, and templates escape everything."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from tallymark.drawing.charts import bars, histogram
from tallymark.reporting.blocks import (
    Block,
    Details,
    Legend,
    Paragraph,
    Section,
    SideBySide,
    Tile,
    charts,
    figure,
    gallery,
    table,
)
from tallymark.reporting.page import render_page

HOSTILE = '<script>alert("1")</script>'


def rendered(*blocks: Block) -> str:
    return render_page("A title", "", [], [Section("Blocks", blocks)])


def test_long_tables_are_folded() -> None:
    assert "<details>" not in rendered(*table(["n"], [[at] for at in range(25)]))
    assert "5 more rows" in rendered(*table(["n"], [[at] for at in range(30)]))


def test_columns_of_numbers_are_aligned_right() -> None:
    text = rendered(*table(["name", "share", "mean"], [("a", "5%", 0.12345), ("b", "-", None)]))
    assert '<th>name</th><th class="n">share</th><th class="n">mean</th>' in text
    assert '<tr><td>a</td><td class="n">5%</td><td class="n">0.123</td></tr>' in text
    assert '<tr><td>b</td><td class="n">-</td><td class="n">-</td></tr>' in text


def test_empty_blocks_and_sections_are_omitted() -> None:
    assert table(["n"], []) == charts([None]) == figure(None) == gallery("t", []) == []
    text = render_page("t", "", [], [Section("Empty", []), Section("Full", [Paragraph("here")])])
    assert "Empty" not in text
    assert 'href="#full"' in text


def test_text_is_escaped_everywhere() -> None:
    tile = Tile.make(np.zeros((4, 4, 3), np.uint8), HOSTILE, [HOSTILE], HOSTILE, audio=f"{HOSTILE}.wav")
    values = {HOSTILE: 1.0}
    blocks: list[Block] = [
        Paragraph(HOSTILE),
        Legend([(HOSTILE, (1, 2, 3))]),
        Details(HOSTILE, table([HOSTILE], [[HOSTILE]])),
        SideBySide([*figure(bars(values, HOSTILE, HOSTILE)), *charts([histogram(np.ones(3), HOSTILE, HOSTILE)])]),
        *gallery(HOSTILE, [tile]),
    ]
    text = render_page(HOSTILE, HOSTILE, [(HOSTILE, HOSTILE)], [Section(HOSTILE, blocks, HOSTILE)])
    assert text.count("<script") == 1
    assert "alert(&#34;" in text or "alert(&quot;" in text


def test_the_template_engine_is_imported_when_a_page_is_rendered() -> None:
    code = "import sys, tallymark.reporting.explore; assert 'jinja2' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
