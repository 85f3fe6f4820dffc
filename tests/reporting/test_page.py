"""Pages are composed of blocks, and templates escape everything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import soundfile

from tallymark.core.problems import DIRECTION
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
from tests.browser import PHONE, OpenPage, until

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


def test_short_texts_stay_on_a_line_and_long_ones_keep_a_width(browser: OpenPage, tmp_path: Path) -> None:
    words = "a prediction that overlaps a missed truth too little is moved onto it"
    rows = [("2009-03-28", "NOPP6_EST", words, *range(6))]
    (tmp_path / "page.html").write_text(rendered(*table(["day", "recorder", "what", *"abcdef"], rows)))
    page = browser(tmp_path / "page.html", PHONE)
    day, what = (page.locator("td").nth(at).bounding_box() for at in (0, 2))
    assert day is not None
    assert what is not None
    assert what["width"] > 150
    texts = [page.locator("td").nth(at).evaluate("one => getComputedStyle(one).whiteSpace") for at in (0, 1, 2)]
    assert texts == ["nowrap", "nowrap", "normal"]


def test_empty_blocks_and_sections_are_omitted() -> None:
    assert table(["n"], []) == charts([None]) == figure(None) == gallery("t", []) == []
    text = render_page("t", "", [], [Section("Empty", []), Section("Full", [Paragraph("here")])])
    assert "Empty" not in text
    assert 'href="#full"' in text


def page_of(word: str) -> str:
    """A page with every block, whose texts are all this word."""
    tile = Tile.make(np.zeros((4, 4, 3), np.uint8), word, [word], word, audio=f"{word}.wav")
    blocks: list[Block] = [
        Paragraph(word),
        Legend([(word, (1, 2, 3))]),
        Details(word, table([word], [[word]])),
        SideBySide([*figure(bars({word: 1.0}, word, word)), *charts([histogram(np.ones(3), word, word)])]),
        *gallery(word, [tile]),
    ]
    return render_page(word, word, [(word, word)], [Section(word, blocks, word)])


def test_marks_that_turn_the_direction_of_a_text_are_visible() -> None:
    """They would turn what stands beside an id, too."""
    text = page_of("a\u202eb\u2066\u200f\u061c")
    assert not DIRECTION.search(text)
    assert text.count("a\\u202eb\\u2066\\u200f\\u061c") > 15
    assert "\u0628" in page_of("\u0628")  # a letter of a language that is written from the right stays


def test_text_is_escaped_everywhere() -> None:
    text = page_of(HOSTILE)
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
