"""The sweeps that are learned from: read once, kept while memory lasts, bad ones noted and passed over."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.geometry import Cuboids
from tallymark.geometry.points_in_boxes import count_points_in_cuboids
from tallymark.geometry.poses import transform_cuboids
from tallymark.inference.pipeline import Model
from tallymark.io.media import BadMedia
from tallymark.modalities.lidar.augmentation import ObjectBank, PointCloud, augment_cloud
from tallymark.modalities.lidar.recipe import LidarRecipe
from tallymark.modalities.lidar.sweeps import ALL_ROUND, bev_grid, bev_input, in_field_of_view, read_scan
from tallymark.modalities.sample import Sample

KEPT = 4 << 30
"""Bytes of points that are kept."""
BANKED = 400
"""Samples that volumes to be pasted are taken from, at most."""


class LidarDataset:
    """The labelled samples of a catalog, seen from the vehicle."""

    def __init__(self, catalog: Catalog, recipe: LidarRecipe) -> None:
        truth = catalog.truth
        if truth is None or not len(catalog):
            found, remedy = f"{len(catalog)} samples with truth", "name the folder that has the tables too"
            raise BadInput(Problem("no_truth", str(catalog.root), found, "samples to learn from", remedy))
        self.catalog, self.recipe = catalog, recipe
        self.side = bev_grid(recipe).side
        self.truth: Cuboids = truth.shapes
        self.offsets, self.label = truth.offsets, truth.labels
        self.holders = [np.unique(truth.item[truth.labels == kind]) for kind in np.unique(truth.labels)]
        self.problems = Problems(EVERY)
        self.state: Any = None
        self._bad: set[int] = set()
        self._kept: dict[int, PointCloud] = {}
        self._room, self._lock, self._banking = KEPT, threading.Lock(), threading.Lock()

    def __len__(self) -> int:
        return len(self.catalog)

    def window(self, rng: np.random.Generator, item: int, calm: bool) -> Sample:
        """A sample from above, changed at random; more often than it is there, one with a rare class in it."""
        recipe = self.recipe
        if self.holders and rng.random() < recipe.class_balance:
            item = int(rng.choice(self.holders[int(rng.integers(len(self.holders)))]))
        cloud = self.load(item)
        if recipe.gt_paste and not calm:
            cloud = self._bank().paste(rng, cloud, recipe)
        cloud = augment_cloud(rng, cloud, recipe)
        seen = bev_input(cloud.points, self._all_round, rng)
        volumes: Any = _on_grid(cloud.cuboids, recipe)
        return Sample(seen, volumes, cloud.label, np.ones(len(cloud.label)), side=self.side)

    def mine_hard_negatives(self, model: Model) -> None:
        """All samples are looked at alike."""

    def load(self, item: int) -> PointCloud:
        """A sample; in place of one that cannot be read, the next that can."""
        for step in range(len(self)):
            cloud = self._read((item + step) % len(self))
            if cloud is not None:
                return cloud
        raise BadInput(self.problems)

    @cached_property
    def _all_round(self) -> LidarRecipe:
        """What lies outside of the front is left out when a sample is read; after that, it may be turned anywhere."""
        return self.recipe.replace(fov_degrees=ALL_ROUND)

    def _bank(self) -> ObjectBank:
        with self._banking:  # threads wait for the first of them
            return self._filled

    @cached_property
    def _filled(self) -> ObjectBank:
        """Volumes of samples with as many classes as possible."""
        kinds = np.bincount(np.concatenate([np.empty(0, np.int64), *self.holders]), minlength=len(self))
        chosen = np.argsort(-kinds, kind="stable")[:BANKED]
        read = (self._read(item) for item in chosen.tolist())
        return ObjectBank.of(cloud for cloud in read if cloud is not None)

    def _read(self, item: int) -> PointCloud | None:
        """A sample with those of its volumes that have points in them: from nothing, nothing can be learned."""
        if item in self._bad:
            return None
        if item in self._kept:
            return self._kept[item]
        try:
            scan = read_scan(self.catalog, item, self.recipe.sweeps)
        except BadMedia as bad:
            self._note(item, bad)
            return None
        rows = np.arange(self.offsets[item], self.offsets[item + 1])
        volumes = transform_cuboids(self.truth.take(rows), scan.stand.inverse())
        points = scan.points[in_field_of_view(scan.points, self.recipe.fov_degrees)]
        seen = np.flatnonzero(count_points_in_cuboids(points, volumes) > 0)
        cloud = PointCloud(points, volumes.take(seen), self.label[rows[seen]])
        with self._lock:
            if item not in self._kept and points.nbytes <= self._room:
                self._kept[item] = cloud
                self._room -= points.nbytes
        return cloud

    def _note(self, item: int, bad: BadMedia) -> None:
        with self._lock:
            if item not in self._bad:
                self._bad.add(item)
                place, name = self.catalog.place(item), self.catalog.items.ids[item]
                self.problems.add(Problem(bad.kind, place, bad.found, "a sweep", bad.remedy, item=name))


def _on_grid(volumes: Cuboids, recipe: LidarRecipe) -> Cuboids:
    """Volumes in cells from the corner of what is seen."""
    return replace(volumes, x=volumes.x + recipe.bev_range, y=volumes.y + recipe.bev_range).scale(1 / recipe.voxel_size)
