"""Encoders: grids pass, points become a grid."""

from __future__ import annotations

import pytest
import torch

from tallymark.detector.encoders import POINT_FEATURES, GridEncoder, PillarEncoder
from tallymark.modalities.lidar import bev


@pytest.mark.parametrize(("channels", "dtype"), [(3, torch.uint8), (1, torch.float32), (16, torch.float32)])
def test_a_grid_passes_unchanged(channels: int, dtype: torch.dtype) -> None:
    encoder = GridEncoder(channels)
    example = encoder.example()
    assert example.dtype == dtype
    assert example.shape[-1] == encoder.channels == channels
    inputs = torch.randn(2, channels, 8, 8)
    assert encoder(inputs) is inputs


def test_a_pillar_has_the_maximum_over_the_features_of_its_points() -> None:
    encoder = PillarEncoder(16, 4)
    two = [[3, 0.1, 0.2, 0.5, 0, 0.1], [3, -0.4, 0, 0.9, 0, 0.1]]
    another = [200, 0, 0, 0.2, 0, 0.5]
    padding = [-1.0] + [0.0] * 5
    points = torch.tensor([*two, another, padding]).T[None, ..., None]
    grid = encoder(points)
    alone = [encoder(points[:, :, number : number + 1]) for number in range(3)]
    assert grid.shape == (1, 4, 16, 16)
    torch.testing.assert_close(grid[0, :, 0, 3], torch.maximum(alone[0], alone[1])[0, :, 0, 3])
    torch.testing.assert_close(grid[0, :, 12, 8], alone[2][0, :, 12, 8])
    assert int((grid != 0).any(1).sum()) == 2  # padding is in no cell


def test_the_example_is_what_the_encoder_takes() -> None:
    encoder = PillarEncoder(16, 4)
    example = encoder.example()
    assert example.shape[-1] == POINT_FEATURES == bev.POINT_FEATURES
    assert encoder(example.permute(0, 3, 1, 2)).shape == (2, 4, 16, 16)
