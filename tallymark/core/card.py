"""The card of a challenge: a page for people, of which commands print some parts."""

from __future__ import annotations

import re
from pathlib import Path

CARD = "card.md"
TERMS = "Terms"
"""The section with dates, prizes, allowed data, licence and citation, as a table of two columns."""


def terms_of(folder: Path) -> dict[str, str]:
    """The rows of the section on terms, as plain text; empty where a card has none."""
    card = folder / CARD
    if not card.exists():
        return {}
    section = re.search(rf"^## {TERMS}\n(.*?)(?=^## |\Z)", card.read_text(encoding="utf-8"), re.M | re.S)
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", section[1], re.M) if section else []
    return {plain(name): plain(value) for name, value in rows[2:]}  # after the header and the line below it


def plain(text: str) -> str:
    """Markdown as plain text: links and code without their marks."""
    return re.sub(r"\[([^]]+)\]\([^)]+\)|`([^`]+)`", lambda found: found[1] or found[2], text)
