"""The execution plan: one thread per tile side by side, or all threads on one tile."""

from __future__ import annotations

import pytest

from tallymark.inference.execution import MAX_CONCURRENT, Execution, plan_execution
from tallymark.modalities import modality


@pytest.mark.parametrize("cores", [1, 2, 7, 64])
def test_a_tile_of_an_image_gets_all_cores(cores: int) -> None:
    plan = plan_execution(modality("image"), cores)
    assert (plan.tile_threads, plan.concurrent_tiles) == (cores, 1)


@pytest.mark.parametrize("name", ["audio", "lidar"])
@pytest.mark.parametrize(("cores", "tiles"), [(1, 1), (2, 2), (MAX_CONCURRENT, MAX_CONCURRENT), (64, MAX_CONCURRENT)])
def test_small_tiles_are_inferred_side_by_side(name: str, cores: int, tiles: int) -> None:
    plan = plan_execution(modality(name), cores)
    assert (plan.tile_threads, plan.concurrent_tiles) == (1, tiles)


def test_items_are_read_ahead_by_every_plan() -> None:
    for plan in (Execution(1, 1), plan_execution(modality("image"), 4), plan_execution(modality("audio"), 4)):
        assert plan.prefetch >= plan.readers >= 1
