"""Recordings and tables of their events, of which there may be one for each recording."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tallymark.core.problems import Problems
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.datasets import audio_dataset
from tallymark.geometry import Events, Geometry
from tallymark.io.audio import RECORDING
from tallymark.io.finder import Finder
from tallymark.io.folders import Folder


def test_recordings_are_sorted_by_name_once_for_all_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Finder] = []

    def find(paths: list[Path], root: Path) -> Finder:
        made.append(Finder(paths, root))
        return made[-1]

    def read(table: Path) -> Annotations[Geometry]:
        number = int(table.stem)
        items = Items.of([f"{table.stem}.wav"])
        return Annotations.from_rows(items, np.zeros(number, int), Events(np.arange(number, dtype=float)))

    monkeypatch.setattr(audio_dataset, "Finder", find)
    listed = Folder(tmp_path, tuple(tmp_path / f"{number}.wav" for number in range(1, 8)))
    tables = [tmp_path / f"{number}.csv" for number in range(1, 8)]
    problems = Problems()
    catalog = audio_dataset.read_audio_dataset(listed, RECORDING, tables, read, problems)
    assert catalog is not None
    assert catalog.truth is not None
    counts = dict(zip(catalog.items.ids, catalog.truth.counts.tolist(), strict=True))
    assert counts == {f"{number}.wav": number for number in range(1, 8)}
    assert len(made) == 1
    assert not problems
