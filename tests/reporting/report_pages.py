"""What the tests of report pages do with a page: write it, read its cards and corrections, find places on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallymark.reporting.blocks import Section
from tallymark.reporting.page import write_html
from tallymark.reporting.report_page import LiveReport
from tests.reporting.report_data import Json

if TYPE_CHECKING:
    from playwright.sync_api import Page


def write(folder: Path, data: Json) -> Path:
    page = folder / "report.html"
    write_html(page, data["title"], "", [], [Section("Gallery", [LiveReport(data)])])
    return page


def score_of(page: Page) -> float:
    return float(page.evaluate("window.tallymark.score() ?? NaN"))


def cards(page: Page) -> list[str]:
    """Keys of the cards that are shown, in their order."""
    return page.eval_on_selector_all(".scene:not([hidden])", "all => all.map(one => one.dataset.key)")


def corrections(page: Page) -> Any:
    with page.expect_download() as download:
        page.get_by_role("button", name="Download corrections").click()
    assert download.value.suggested_filename == "corrections.json"
    return json.loads(Path(download.value.path()).read_text())


def close(page: Page) -> None:
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog.viewer:not([open])", state="attached")


def on_screen(page: Page, x: float, y: float) -> tuple[float, float]:
    """Where a pixel of the scene is in the window."""
    place = page.evaluate(
        "place => { const matrix = document.querySelector('.stage-svg').getScreenCTM();"
        "const {x, y} = new DOMPoint(...place).matrixTransform(matrix); return [x, y] }",
        [x, y],
    )
    return place[0], place[1]
