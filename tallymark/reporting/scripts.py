"""The scripts of pages, and the policy by which a browser runs these alone and requests nothing."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

TEMPLATES = Path(__file__).parent / "templates"
FIRST_LINE, LAST_LINE = "(() => {\n'use strict';\n", "\n})();\n"


@cache
def script(name: str) -> str:
    """A script in `templates`. Templates write it as it is, `<script>{{ script("a.js") | safe }}</script>`: a line
    more or less has another hash, and the browser refuses it."""
    return (TEMPLATES / name).read_text()


@cache
def report_script() -> str:
    """The script of a report: the files in `templates/report` in one scope.

    Files declare, in any order; only `start.js` does something, so it comes last.
    """
    files = sorted((TEMPLATES / "report").glob("*.js"), key=lambda path: (path.name == "start.js", path.name))
    return FIRST_LINE + "\n".join(path.read_text() for path in files) + LAST_LINE


@cache
def report_style() -> str:
    """The style of a report: all style sheets in `templates/report`."""
    return "\n".join(path.read_text() for path in sorted((TEMPLATES / "report").glob("*.css")))


@cache
def content_policy() -> str:
    """The Content-Security-Policy of every page.

    No script but ours, by hash; images and sounds only from inside the page. Sounds may also be files beside it, since
    clips are: `'self'` where the page comes from a server, `file:` where it is opened from a disk.
    """
    scripts = [*(script(path.name) for path in sorted(TEMPLATES.glob("*.js"))), report_script()]
    hashes = " ".join(f"'sha256-{_digest(one)}'" for one in scripts)
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {hashes}",
            "style-src 'unsafe-inline'",
            "img-src data: blob:",
            "media-src 'self' file: data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
