"""Pages are composed of blocks, and templates escape everything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import soundfile

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
from tallymark.reporting.page import render_page, write_html
from tests.browser import OpenPage, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser

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


def test_pages_play_sounds_beside_them_and_nothing_else(browser: OpenPage, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a clip.wav", np.zeros(4000), 8000)
    tile = Tile.make(np.zeros((40, 40, 3), np.uint8), "clip", [], audio="a clip.wav")
    out = tmp_path / "index.html"
    write_html(out, "Clips", "", [], [Section("Clips", gallery("clips", [tile]))])
    page = browser(out)
    page.evaluate("document.querySelector('audio').load()")
    page.evaluate("document.querySelector('audio').preload = 'auto'")
    until(page, lambda: page.evaluate("document.querySelector('audio').duration") == 0.5)
    page.locator(".tile img").click()
    assert page.locator("dialog.enlarged img").is_visible()


def test_pages_run_no_other_script_and_request_nothing(chromium: Browser, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    more = "<script>document.title = 'hacked'</script><img src='https://example.invalid/x.png' onerror='hacked()'>"
    out.write_text(rendered(Paragraph("here")).replace("</main>", f"{more}</main>"))
    with chromium.new_context() as context:
        page = context.new_page()
        stopped = list[tuple[str, str | None]]()
        page.on("requestfailed", lambda request: stopped.append((request.url, request.failure)))
        page.goto(out.as_uri())
        assert page.title() == "A title"
        assert stopped == [("https://example.invalid/x.png", "csp")]


def test_the_template_engine_is_imported_when_a_page_is_rendered() -> None:
    code = "import sys, tallymark.reporting.explore; assert 'jinja2' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
