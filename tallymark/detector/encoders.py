"""Encoders: from a model's input to the grid that the backbone is given."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn

POINT_FEATURES = 6
"""Numbers per point in the input of `PillarEncoder` at least, the first of which is the cell that it lies in."""
EXAMPLE_SIZE = (64, 96)
"""Height and width of the input that a network is exported with; any multiple of its stride works afterwards."""


class Encoder(nn.Module):
    """What stands before the backbone.

    channels: of its output. opset: the ONNX operator set that it needs.
    """

    channels: int
    opset: int

    @abstractmethod
    def example(self) -> Tensor:
        """An empty batch of two model inputs, (2, height, width, channels of the input), to export the network with."""


class GridEncoder(Encoder):
    """Passes on inputs that are a grid already: images, spectrograms and height bins."""

    opset = 17

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = channels

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs

    def example(self) -> Tensor:
        return torch.zeros(2, *EXAMPLE_SIZE, self.channels, dtype=torch.uint8 if self.channels == 3 else None)


class PillarEncoder(Encoder):
    """A bird's-eye-view grid learned from points: each cell has the maximum over the features of its points.

    Lang et al. 2019: PointPillars: Fast Encoders for Object Detection from Point Clouds. Here, in plain operations
    that ONNX has too.

    side: cells of the grid along x and along y. features: numbers per point.
    """

    opset = 18
    """The first with the reduction `max` in ScatterElements."""

    def __init__(self, side: int, channels: int, features: int = POINT_FEATURES) -> None:
        super().__init__()
        self.side = side
        self.features = features
        self.channels = channels
        self.point_net = nn.Sequential(
            nn.Linear(features - 1, channels), nn.LayerNorm(channels), nn.ReLU(),
            nn.Linear(channels, channels), nn.LayerNorm(channels), nn.ReLU(),
        )  # fmt: skip

    def forward(self, inputs: Tensor) -> Tensor:
        """(n, features, points, 1) to (n, channels, side, side). The first feature is the cell, -1 for padding."""
        points = inputs[..., 0]
        cells = self.side**2
        cell = points[:, 0].long()
        cell = torch.where(cell < 0, cells, cell)[:, None]  # padding goes to a cell beyond the last
        features = self.point_net(points[:, 1:].transpose(1, 2)).transpose(1, 2)
        empty = features.new_zeros(inputs.shape[0], self.channels, cells + 1)
        grid = empty.scatter_reduce(2, cell.expand(-1, self.channels, -1), features, "amax")
        return grid[..., :cells].reshape(inputs.shape[0], self.channels, self.side, self.side)

    def example(self) -> Tensor:
        count = EXAMPLE_SIZE[1]
        points = torch.zeros(2, count, 1, self.features)
        points[..., 0] = torch.arange(count)[:, None]
        return points
