"""Clips with a yes or no as a data set."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import tallymark
from tallymark.datasets import clips


def test_groups_are_stretches_of_clips_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    huge = "9" * 5000  # more digits than Python turns into an integer
    numbers = [0, 2, 3, 10, 11, 100, "0200", huge]
    names = [f"clip{number}.wav" for number in numbers]
    rows = "".join(f"{name},{at % 2}\n" for at, name in enumerate(reversed(names)))
    (tmp_path / "truth.csv").write_text(f"clip_name,label\n{rows}")
    catalog = tallymark.read("upcalls", tmp_path)
    group = dict(zip(catalog.items.ids, catalog.group, strict=True))
    assert [group[name] for name in names] == [f"from {name}" for name in names]
    assert clips._blocks(pl.Series([f"clip{number}" for number in range(2 * clips.BLOCKS)]))[19] == "from clip18"
