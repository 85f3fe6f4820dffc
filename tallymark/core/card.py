"""Cards: pages for people about a challenge or a pretrained model, of which commands print some parts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

CARD = "card.md"
"""The card of a challenge."""
TERMS = "Terms"
"""The section with dates, prizes, allowed data, licence and citation, as a table of two columns."""
WITHOUT_MODEL = "Pretrained model"
"""The section whose first paragraph says why a challenge has no pretrained model."""
MODEL_CARD = "model.md"
"""The card of a pretrained model, beside its file. It begins with a table of two columns."""


@dataclass(frozen=True)
class ModelCard:
    """The facts in the table of a model's card; empty, or None for the score, where it states nothing.

    network: its architecture and size. data: what it was trained on. score: by the official rule, on the data that
    `evaluated_on` describes. licence: of the model and the data.
    """

    network: str = ""
    data: str = ""
    score: float | None = None
    evaluated_on: str = ""
    licence: str = ""

    @classmethod
    def read(cls, folder: Path) -> ModelCard:
        """From the card in a folder."""
        rows = _rows(_text(folder / MODEL_CARD))
        score = re.match(r"-?\d+(\.\d+)?", rows.get("score", ""))
        texts = (rows.get(name, "") for name in ("network", "data", "evaluated on", "licence"))
        network, data, evaluated_on, licence = texts
        return cls(network, data, float(score[0]) if score else None, evaluated_on, licence)


def terms_of(folder: Path) -> dict[str, str]:
    """The rows of the section on terms, as plain text; empty where a card has none."""
    return _rows(_section(folder, TERMS))


def why_no_model(folder: Path) -> str:
    """Why a challenge has no pretrained model, without a full stop; empty where its card does not say."""
    paragraph = _section(folder, WITHOUT_MODEL).strip().partition("\n\n")[0]
    return plain(" ".join(paragraph.split())).removesuffix(".")


def plain(text: str) -> str:
    """Markdown as plain text: links, code and bold text without their marks."""
    return re.sub(r"\[([^]]+)\]\([^)]+\)|`([^`]+)`|\*\*([^*]+)\*\*", lambda found: found[found.lastindex or 0], text)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _section(folder: Path, title: str) -> str:
    """A section of a challenge's card without its title."""
    section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", _text(folder / CARD), re.M | re.S)
    return section[1] if section else ""


def _rows(text: str) -> dict[str, str]:
    """The rows of the first table of two columns as plain text, below the line that ends its header."""
    table = re.search(r"^\| --- \| --- \|\n((?:\|.*\n?)*)", text, re.M)
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", table[1], re.M) if table else []
    return {plain(name): plain(value) for name, value in rows}
