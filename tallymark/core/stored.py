"""Values that were stored as JSON by this package, and may come back as anything: checked before they are used."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf
from typing import Any

from tallymark.core.problems import shorten

LARGEST = 1e300
"""Whole numbers in JSON may be larger than any float."""


def a_number(value: object, low: float = -inf) -> float:
    """The value, if it is a finite number from `low` on; else a ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not max(low, -LARGEST) <= value < LARGEST:
        raise ValueError(f"{_shown(value)} in place of a number")
    return value


def a_number_or_none(value: object, low: float = -inf) -> float | None:
    """The same; None may stand for a number that is not known."""
    return None if value is None else a_number(value, low)


def a_text(value: object) -> str:
    """The value, if it is a text; else a ValueError."""
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"{_shown(value)} in place of a text")
    return value


def a_list(value: object) -> list[Any]:
    """The value, if it is a list; else a ValueError."""
    if not isinstance(value, list | tuple):
        raise ValueError(f"{_shown(value)} in place of a list")
    return list(value)


def a_mapping(value: object, names: Collection[str] | None = None, optional: Collection[str] = ()) -> dict[str, Any]:
    """The value, if it is a mapping with exactly these names, of which the optional ones may be missing."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{_shown(value)} in place of named values")
    if names is not None:
        missing = [name for name in names if name not in value and name not in optional]
        unknown = [name for name in value if name not in names]
        if missing or unknown:
            raise ValueError(f"no {missing[0]}" if missing else f"unknown {_shown(unknown[0])}")
    return dict(value)


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "named values"
    return "a list" if isinstance(value, list | tuple) else shorten(repr(value), 40)
