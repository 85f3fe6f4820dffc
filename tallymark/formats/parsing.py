"""The error of an object that cannot be used, and numbers in texts."""

from __future__ import annotations

from pathlib import Path

from tallymark.core.problems import Problem


class ParseError(Exception):
    """An object that cannot be used: the kind of problem, what was found, what was expected, and a remedy."""

    def __init__(self, kind: str, found: str, expected: str, remedy: str) -> None:
        super().__init__(found)
        self.kind = kind
        self.found = found
        self.expected = expected
        self.remedy = remedy

    def at(self, file: Path, line: int | None, item: str | None = None) -> Problem:
        """This error as a problem with its file, line and item."""
        return Problem(self.kind, str(file), self.found, self.expected, self.remedy, line=line, item=item)


def parse_float(text: str) -> float:
    """The number in a text; nan if it is not a number. Underscores, as in `1_000`, are not accepted."""
    try:
        return float(text) if "_" not in text else float("nan")
    except ValueError:
        return float("nan")
