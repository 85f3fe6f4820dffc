"""Readers: what a backbone is given. Pictures, levels and bins are grids already; of points, a grid is learned."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tallymark.core.recipe import Recipe
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.lidar.bev import LISTED
from tallymark.modalities.lidar.recipe import LidarRecipe
from tallymark.modalities.lidar.sweeps import BLOCK, bev_grid


class GridEncoder(nn.Module):
    """What is a grid already, as it is: pictures as bytes, or any number of channels."""

    opset = 17

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = channels

    def forward(self, seen: Tensor) -> Tensor:
        return seen

    def example(self) -> Tensor:
        """What a model file is shown, (n, height, width, channels), with nothing on it."""
        return torch.zeros(2, 2 * BLOCK, 3 * BLOCK, self.channels, dtype=torch.uint8 if self.channels == 3 else None)


class PillarEncoder(nn.Module):
    """Points as a list to a grid: each is described by itself, and a cell by the strongest of its points.

    After PointPillars (Lang et al. 2019), in plain operations that a model file can have too.
    """

    opset = 18
    """The first in which the strongest of several can be put into one place."""

    def __init__(self, side: int, channels: int) -> None:
        super().__init__()
        self.side, self.channels = side, channels
        self.describe = nn.Sequential(
            nn.Linear(LISTED - 1, channels), nn.LayerNorm(channels), nn.ReLU(),
            nn.Linear(channels, channels), nn.LayerNorm(channels), nn.ReLU(),
        )  # fmt: skip

    def forward(self, seen: Tensor) -> Tensor:
        """(n, 6, points, 1), of which the first number is the cell, to (n, channels, side, side)."""
        listed, cells = seen[..., 0], self.side**2
        cell = listed[:, 0].long()
        cell = torch.where(cell < 0, cells, cell)[:, None]  # what is no point goes to a cell beyond the last
        told = self.describe(listed[:, 1:].transpose(1, 2)).transpose(1, 2)
        empty = told.new_zeros(seen.shape[0], self.channels, cells + 1)
        filled = empty.scatter_reduce(2, cell.expand(-1, self.channels, -1), told, "amax")
        return filled[..., :cells].reshape(seen.shape[0], self.channels, self.side, self.side)

    def example(self) -> Tensor:
        listed = torch.zeros(2, 3 * BLOCK, 1, LISTED)
        listed[..., 0] = torch.arange(3 * BLOCK)[:, None]
        return listed


def make_encoder(recipe: Recipe) -> GridEncoder | PillarEncoder:
    """What stands before the backbone of a recipe."""
    if isinstance(recipe, LidarRecipe):
        bird = bev_grid(recipe)
        return GridEncoder(bird.channels) if recipe.bev_encoder == "bins" else PillarEncoder(bird.side, recipe.width)
    return GridEncoder(1 if isinstance(recipe, AudioRecipe) else 3)
