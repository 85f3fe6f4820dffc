"""The execution plan: tiles side by side with a thread each."""

from __future__ import annotations

import pytest

from tallymark.inference.execution import MAX_CONCURRENT, Execution, plan_execution


@pytest.mark.parametrize(("cores", "tiles"), [(1, 1), (2, 2), (MAX_CONCURRENT, MAX_CONCURRENT), (64, MAX_CONCURRENT)])
def test_tiles_are_inferred_side_by_side_with_a_thread_each(cores: int, tiles: int) -> None:
    plan = plan_execution(cores)
    assert (plan.tile_threads, plan.concurrent_tiles) == (1, tiles)


def test_items_are_read_ahead_by_every_plan() -> None:
    for plan in (Execution(1, 1), plan_execution(1), plan_execution(4)):
        assert plan.prefetch >= plan.readers >= 1
