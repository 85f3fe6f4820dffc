"""A browser for the tests of the viewers, with the names and the manners of the common fixtures, which replace it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

OpenPage = Callable[..., "Page"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("needs chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[OpenPage]:
    complaints = list[str]()
    with contextlib.ExitStack() as contexts:

        def open_page(path: Path, size: tuple[int, int] = (1280, 900), **options: Any) -> Page:
            viewport: Any = {"width": size[0], "height": size[1]}
            page = contexts.enter_context(chromium.new_context(viewport=viewport, **options)).new_page()
            page.set_default_timeout(10_000)
            page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("request", lambda request: complaints.append(request.url[:80]) if _leaves(request.url) else None)
            page.goto(path.as_uri())
            return page

        yield open_page
    assert not complaints, "\n".join(complaints)


def _leaves(url: str) -> bool:
    return not url.startswith(("file:", "data:", "blob:"))
