"""Lidar sweeps as training samples: read once, then pasted into, augmented and rasterised."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import cached_property

import numpy as np

from tallymark.data.catalog import Catalog
from tallymark.geometry import Cuboids
from tallymark.geometry.points_in_boxes import count_points_in_cuboids
from tallymark.geometry.poses import transform_cuboids
from tallymark.modalities.dataset import CachedDataset
from tallymark.modalities.lidar.augmentation import ObjectBank, PointCloud, augment_cloud, crop_cloud
from tallymark.modalities.lidar.recipe import LidarRecipe
from tallymark.modalities.lidar.sweeps import ALL_ROUND, bev_grid, bev_input, cut_field_of_view, read_scan
from tallymark.modalities.sample import Sample

BANK_ITEMS = 400
"""Items that objects for pasting are taken from, at most."""


class LidarDataset(CachedDataset[PointCloud]):
    """The labelled samples of a catalog, in the frame of the vehicle."""

    def __init__(self, catalog: Catalog, recipe: LidarRecipe) -> None:
        super().__init__(catalog)
        self.recipe = recipe
        self.labels = self.truth.labels
        self.classes = np.unique(self.labels)
        self.items_by_class = [np.unique(self.truth.item[self.labels == label]) for label in self.classes]
        self._view = training_view(recipe)
        self.side = bev_grid(self._view).side
        self._bank_lock = threading.Lock()

    def sample(self, rng: np.random.Generator, item: int, *, mix: bool) -> Sample:
        """A sample from above; with class balancing, one with a rare class more often than there are any."""
        recipe = self.recipe
        rare: int | None = None  # a class that a crop should have
        if self.items_by_class and rng.random() < recipe.class_balance:
            drawn = int(rng.integers(len(self.items_by_class)))
            item = int(rng.choice(self.items_by_class[drawn]))
            rare = int(self.classes[drawn])
        cloud = self.load_cloud(item)
        if recipe.gt_paste and mix:
            cloud = self._bank().paste(rng, cloud, recipe)
        cloud = augment_cloud(rng, cloud, recipe)
        if self._view.bev_range < recipe.bev_range:
            cloud = crop_cloud(rng, cloud, recipe, self._view.bev_range, rare)
        inputs = bev_input(cloud.points, self._view, rng)
        cuboids = to_grid(cloud.cuboids, self._view)
        return Sample(inputs, cuboids, cloud.label, np.ones(len(cloud.label)), side=self.side)

    def load_cloud(self, item: int) -> PointCloud:
        """Points and cuboids of an item; in place of one that cannot be read, the next that can."""
        return self.load_readable(item)[1]

    def decode(self, item: int) -> PointCloud:
        """Points and cuboids of an item; cuboids without any point are dropped, since they cannot be detected."""
        scan = read_scan(self.catalog, item, self.recipe)
        rows = np.arange(self.truth.offsets[item], self.truth.offsets[item + 1])
        cuboids = transform_cuboids(self.truth.shapes.take(rows), scan.pose.inverse())
        points = cut_field_of_view(scan.points, self.recipe.fov_degrees)
        visible = np.flatnonzero(count_points_in_cuboids(points, cuboids) > 0)
        return PointCloud(points, cuboids.take(visible), self.labels[rows[visible]])

    def nbytes(self, decoded: PointCloud) -> int:
        return decoded.points.nbytes

    def _bank(self) -> ObjectBank:
        with self._bank_lock:  # the first thread fills it, others wait
            return self._filled_bank

    @cached_property
    def _filled_bank(self) -> ObjectBank:
        """Objects of the items with the most classes."""
        listed = np.concatenate([np.empty(0, np.int64), *self.items_by_class])
        classes = np.bincount(listed, minlength=len(self))
        chosen = np.argsort(-classes, kind="stable")[:BANK_ITEMS]
        clouds = (self.load(item) for item in chosen.tolist())
        return ObjectBank.of(cloud for cloud in clouds if cloud is not None)


def training_view(recipe: LidarRecipe) -> LidarRecipe:
    """The recipe of the bird's-eye view in training: of the size of a crop, and all around.

    The field of view is cut when a sample is read: afterwards it may be rotated anywhere.
    """
    crop_range = recipe.crop_size * recipe.voxel_size / 2
    return recipe.replace(fov_degrees=ALL_ROUND, bev_range=min(crop_range or recipe.bev_range, recipe.bev_range))


def to_grid(cuboids: Cuboids, recipe: LidarRecipe) -> Cuboids:
    """Cuboids in cells from the corner of the bird's-eye view."""
    moved = replace(cuboids, x=cuboids.x + recipe.bev_range, y=cuboids.y + recipe.bev_range)
    return moved.scale(1 / recipe.voxel_size)
