"""Sweeps: the points of an item around the vehicle, and the height of its ground."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tallymark
from tallymark.modalities.lidar.modality import MODALITY
from tallymark.modalities.lidar.recipe import LidarRecipe
from tallymark.modalities.lidar.sweeps import GROUND_RANGE, bev_input, estimate_ground_height, in_field_of_view


def test_previous_sweeps_that_no_table_links_are_missing(sets: Path) -> None:
    catalog, recipe = tallymark.read("lyft", sets / "lyft"), LidarRecipe().replace(sweeps=3)
    assert MODALITY.missing_inputs(catalog, recipe) == {}
    alone = replace(catalog, drive=None)
    assert MODALITY.missing_inputs(alone, recipe) == {"previous sweep": len(catalog)}
    assert MODALITY.missing_inputs(alone, LidarRecipe()) == {}


def test_a_point_far_below_the_ground_does_not_count() -> None:
    """Nor does it need memory for every bin of the histogram down to it."""
    x, y = np.meshgrid(np.arange(-20.0, 20), np.arange(-20.0, 20))
    road = np.column_stack([x.ravel() + 0.5, y.ravel() + 0.5, np.full(x.size, -1.9), np.zeros(x.size)])
    road[7, 2] = -1e12
    assert estimate_ground_height(road) == pytest.approx(-1.9)


def test_the_ground_is_below_what_stands_on_it() -> None:
    rng = np.random.default_rng(0)
    road = np.column_stack([rng.uniform(-20, 20, (3000, 2)), rng.normal(-1.9, 0.02, 3000)])
    roof = np.column_stack([rng.uniform(-1, 1, (9000, 2)), np.full(9000, 0.4)])  # its own, hit by most of the beams
    assert estimate_ground_height(np.concatenate([road, roof])) == pytest.approx(-1.9, abs=0.1)
    assert estimate_ground_height(np.empty((0, 4))) == 0


@pytest.mark.parametrize("axis", [0, 1])
def test_the_ground_is_estimated_with_a_point_at_the_very_edge_of_its_range(axis: int) -> None:
    """In single precision, 25 m more than the number just below 25 are 50."""
    points = np.full((9, 4), 24.5, np.float32)
    points[:, 2] = -1.9
    points[-1, axis] = np.nextafter(np.float32(GROUND_RANGE), np.float32(0))
    assert estimate_ground_height(points) == pytest.approx(-1.9)


def test_a_field_of_view_leaves_points_ahead() -> None:
    points = np.array([[10, 0, 0, 0, 0], [0, 10, 0, 0, 0], [-10, 0.1, 0, 0, 0], [5, -5.1, 0, 0, 0]], np.float32)
    recipe = LidarRecipe().replace(bev_range=32, voxel_size=0.5)
    assert in_field_of_view(points, 45).tolist() == [True, False, False, False]
    assert in_field_of_view(points, 180).all()
    assert np.count_nonzero(bev_input(points, recipe.replace(fov_degrees=45))[..., -2]) == 1
    assert np.count_nonzero(bev_input(points, recipe)[..., -2]) == 4
