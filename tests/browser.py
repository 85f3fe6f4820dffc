"""A real browser for the tests of pages: Debian's chromium, driven by playwright.

A page of `browser` fails its test on an error in the console, an uncaught error, or a request that leaves the machine.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

WIDE = (1280, 900)
PHONE = (390, 844)
LOCAL = ("file:", "data:", "blob:")
FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",  # a page that counts as hidden gets no frames
    "--disable-renderer-backgrounding",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]

OpenPage = Callable[..., "Page"]
"""`open_page(path, size=WIDE, fragment="", **context_options)`: a file in a fresh profile."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One chromium for all tests of a worker."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("needs chromium: `make browser` installs it")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: `make venv` installs it")
    with playwright.sync_playwright() as driver:
        environment: dict[str, Any] = {**os.environ, "LANG": "C.UTF-8"}
        browser = driver.chromium.launch(executable_path=program, headless=True, args=FLAGS, env=environment)
        yield browser
        browser.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[OpenPage]:
    """Opens files as pages, each in a fresh profile; what they did wrong fails the test at its end."""
    complaints = list[str]()
    with contextlib.ExitStack() as contexts:

        def open_page(path: Path, size: tuple[int, int] = WIDE, fragment: str = "", **options: Any) -> Page:
            viewport = {"width": size[0], "height": size[1]}
            context = contexts.enter_context(chromium.new_context(viewport=viewport, accept_downloads=True, **options))
            page = context.new_page()
            page.set_default_timeout(30_000)  # frames are drawn by the CPU, beside other tests
            watch(page, complaints)
            page.goto(path.as_uri() + fragment)
            return page

        yield open_page
    assert not complaints, "\n".join(complaints)


def until(page: Page, holds: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for something to hold. The policy of pages forbids the expressions of `wait_for_function`."""
    stop = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < stop, "does not come to hold"
        page.wait_for_timeout(20)


def watch(page: Page, complaints: list[str]) -> None:
    """Collect errors and requests of a page as sentences."""

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(f"console: {message.text}")

    def on_request(request: Request) -> None:
        if not request.url.startswith(LOCAL):
            complaints.append(f"request: {request.url[:200]}")

    page.on("console", on_console)
    page.on("pageerror", lambda error: complaints.append(f"uncaught: {error}"))
    page.on("request", on_request)
    page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss())[-1])
