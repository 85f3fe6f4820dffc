"""Scans: the points of an item around the vehicle."""

from __future__ import annotations

import numpy as np
import pytest

from tallymark.modalities.lidar.sweeps import estimate_ground_height


def test_a_point_far_below_the_ground_is_no_ground() -> None:
    """Nor does it ask for a level for every decimetre down to it."""
    x, y = np.meshgrid(np.arange(-20.0, 20), np.arange(-20.0, 20))
    road = np.column_stack([x.ravel() + 0.5, y.ravel() + 0.5, np.full(x.size, -1.9), np.zeros(x.size)])
    road[7, 2] = -1e12
    assert estimate_ground_height(road) == pytest.approx(-1.9)
