"""Items: which lists of ids are the same."""

from __future__ import annotations

import polars as pl
import pytest

from tallymark.data import items as items_module
from tallymark.data.items import Items


@pytest.mark.parametrize(
    ("ids", "same"), [("abcde", True), ("abcdf", False), ("abcd", False), ("abcdef", False), ("abdce", False)]
)
def test_ids_are_compared_in_every_block(ids: str, same: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items_module, "BLOCK", 2)
    parts = [pl.Series("id", list(part), dtype=pl.String) for part in (ids[:3], ids[3:])]
    assert Items.of(list("abcde")).are(pl.concat(parts, rechunk=False)) == same


def test_no_ids_are_no_ids() -> None:
    assert Items.of([]).are(pl.Series("id", [], dtype=pl.String))
