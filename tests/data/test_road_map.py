"""Road maps: places in the world on images of the ground."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from tallymark.data.road_map import NO_ROAD, ROAD, SIDEWALK, RoadMap, read_road_map
from tallymark.io.media import BadMedia


def city() -> np.ndarray:
    """A map of 40 x 20 m: a road to the north at x = 10 to 16 m, and a sidewalk to its right, up to y = 12 m."""
    grey = np.full((200, 400), 255, np.uint8)
    grey[80:, 100:160] = 128
    grey[80:, 160:200] = 211
    return grey


def test_the_lower_left_corner_is_the_origin_of_the_world() -> None:
    x = np.array([5, 12, 18, 12, 12, 12, -1, 41, 12])
    y = np.array([5, 5, 5, 11.5, 12.5, 0.1, 5, 5, 21])
    expected = [NO_ROAD, ROAD, SIDEWALK, ROAD, NO_ROAD, ROAD, NO_ROAD, NO_ROAD, NO_ROAD]
    assert RoadMap.of(city()).at(x, y).tolist() == expected


def test_a_white_mask_on_black_is_a_road() -> None:
    mask = np.where(city() == 255, 0, 255).astype(np.uint8)
    assert RoadMap.of(mask).at(np.array([5, 12, 18]), np.full(3, 5)).tolist() == [NO_ROAD, ROAD, ROAD]


def test_a_map_is_read_once_and_a_damaged_one_is_bad_media(tmp_path: Path) -> None:
    path = tmp_path / "map.png"
    cv2.imwrite(str(path), cv2.cvtColor(city(), cv2.COLOR_GRAY2BGR))
    assert read_road_map(path) is read_road_map(path)
    (tmp_path / "damaged.png").write_bytes(path.read_bytes()[:50])
    with pytest.raises(BadMedia):
        read_road_map(tmp_path / "damaged.png")
