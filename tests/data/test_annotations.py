"""Annotations of different items as one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tallymark.data.annotations import Annotations, concat_items
from tallymark.data.items import Items
from tests.made import NAMES, annotations, columns_of


def parts_of(name: str, count: int) -> list[Annotations[Any]]:
    """Some random annotations, no item of which is in two."""
    made = [annotations(name, seed) for seed in range(count)]
    return [replace(one, items=Items.of([f"{at} {id_}" for id_ in one.items.ids])) for at, one in enumerate(made)]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("name", NAMES)
def test_what_was_joined_is_found_again(name: str, count: int) -> None:
    parts = parts_of(name, count)
    joined = concat_items(parts)
    assert joined.items.ids.to_list() == [id_ for part in parts for id_ in part.items.ids]
    for part in parts:
        own = joined.reindex(part.items)
        assert own.offsets.tolist() == part.offsets.tolist()
        assert all(map(np.array_equal, columns_of(own.shapes), columns_of(part.shapes)))
        for column in ("label", "score"):
            assert np.array_equal(getattr(own, column), getattr(part, column))


def test_a_column_that_one_lacks_is_dropped() -> None:
    first, second = parts_of("wheat", 2)
    assert concat_items([first, second]).score is not None
    assert concat_items([first, replace(second, score=None)]).score is None
