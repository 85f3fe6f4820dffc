"""Augmentation of lidar samples: rotation, scaling and flips of points and cuboids, and ground-truth pasting.

The origin of the coordinate frame is at the sensor, or close to it, so that a rotation about it changes no line of
sight. Pasting follows "SECOND: Sparsely Embedded Convolutional Detection" (Yan, Mao and Li 2018), but an object is
rotated about the sensor: its points stay on the side that faces the sensor, with the density of their distance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tallymark.geometry import Cuboids
from tallymark.geometry.points_in_boxes import in_cuboid, points_in_cuboids
from tallymark.geometry.rotated_boxes import intersection_area
from tallymark.modalities.lidar.bev import select_points
from tallymark.modalities.lidar.recipe import LidarRecipe

GROUND_MARGIN = 2.0
"""Metres around a cuboid in which the height of its ground is estimated."""
MIN_GROUND_POINTS = 5
"""Points below which the height of the ground is unknown."""
GROUND_THICKNESS = 0.3
"""Metres within which points belong to the ground."""
MAX_LIFT = 1.5
"""Metres that a pasted object may be lifted or lowered; a larger difference is a roof or a pit."""
MIN_GAP = 0.1
"""Metres between a pasted cuboid and any other."""
EDGE = 0.1
"""Metres beyond the edge of a crop in which points are kept."""
MAX_OBSTACLE_POINTS = 10
"""Points above the ground in a pasted cuboid; more are a wall, a tree or an unlabelled car."""


@dataclass(frozen=True, eq=False)
class PointCloud:
    """Points (n, 5 or more) float32 of x, y, z, intensity, seconds before the sample, and painted columns.

    Column by column in memory they are augmented in less time, which is how the functions here leave them.
    cuboids, label: the cuboids, and the class of each.
    """

    points: np.ndarray
    cuboids: Cuboids
    label: np.ndarray

    def __post_init__(self) -> None:
        if self.points.ndim != 2 or self.points.shape[1] < 5 or len(self.cuboids) != len(self.label):
            raise ValueError(
                f"points {self.points.shape}, {len(self.cuboids)} cuboids, {len(self.label)} labels do not fit together"
            )


def augment_cloud(rng: np.random.Generator, cloud: PointCloud, recipe: LidarRecipe) -> PointCloud:
    """A randomly rotated, scaled and flipped cloud with some of its points dropped, as the recipe says."""
    angle = np.radians(rng.uniform(-recipe.rotate_degrees, recipe.rotate_degrees))
    scale = float(np.exp(rng.uniform(-1, 1) * np.log(recipe.scale_jitter)))
    flip_y, flip_x = (-1.0 if rng.random() < probability else 1.0 for probability in (recipe.hflip, recipe.vflip))
    cos, sin = np.cos(angle), np.sin(angle)
    matrix = np.array([[cos, -sin], [sin, cos]]) @ np.diag([flip_x, flip_y])
    if recipe.point_dropout:
        kept = rng.random(len(cloud.points)) >= rng.uniform(0, recipe.point_dropout)
        cloud = replace(cloud, points=select_points(cloud.points, kept))
    return transform_cloud(cloud, matrix, scale)


def transform_cloud(cloud: PointCloud, matrix: np.ndarray, scale: float = 1.0, lift: float = 0.0) -> PointCloud:
    """The cloud under a (2, 2) matrix that rotates or reflects x and y, then scaled, then lifted by metres."""
    columns = np.array(cloud.points.T, order="C")
    columns[:2] = (scale * matrix).astype(np.float32) @ columns[:2]
    columns[2] = columns[2] * np.float32(scale) + np.float32(lift)
    old = cloud.cuboids
    x, y = scale * matrix @ np.stack([old.x, old.y])
    # The heading is transformed as a direction, because a reflection reverses its angle.
    along, across = matrix @ np.stack([np.cos(old.yaw), np.sin(old.yaw)])
    width, length, height = (side * scale for side in (old.width, old.length, old.height))
    moved = Cuboids(x, y, old.z * scale + lift, width, length, height, np.arctan2(across, along))
    return PointCloud(columns.T, moved, cloud.label)


def crop_cloud(
    rng: np.random.Generator, cloud: PointCloud, recipe: LidarRecipe, half: float, label: int | None = None
) -> PointCloud:
    """The points of a random crop within `bev_range`, of `half` metres to each side, and all cuboids.

    They are moved so that the middle of the crop is at the origin. An object lies in its middle half, of class `label`
    if there is any. Points a little beyond the edge are kept: the grid decides which cell they are in.
    """
    most = recipe.bev_range - half
    old = cloud.cuboids
    inside = np.maximum(np.abs(old.x), np.abs(old.y)) < recipe.bev_range
    of_class = inside & (cloud.label == label)
    chosen = np.flatnonzero(of_class if of_class.any() else inside)
    middle = rng.uniform(-half / 2, half / 2, 2)
    if len(chosen):
        one = int(chosen[rng.integers(len(chosen))])
        middle += (old.x[one], old.y[one])
    x, y = np.clip(middle, -most, most).tolist()
    moved = [cloud.points[:, axis] - np.float32(by) for axis, by in enumerate((x, y))]
    kept = np.maximum(np.abs(moved[0]), np.abs(moved[1])) <= half + EDGE
    points = select_points(cloud.points, kept)
    points[:, 0], points[:, 1] = (column[kept] for column in moved)
    return PointCloud(points, replace(old, x=old.x - x, y=old.y - y), cloud.label)


def concat_clouds(clouds: Sequence[PointCloud]) -> PointCloud:
    """The points and cuboids of all clouds, which share a coordinate frame."""
    cuboids = clouds[0].cuboids
    for cloud in clouds[1:]:
        cuboids = cuboids.concat(cloud.cuboids)
    points = np.concatenate([cloud.points.T for cloud in clouds], axis=1).T
    label = np.concatenate([cloud.label for cloud in clouds])
    return PointCloud(points, cuboids, label)


def expand(cuboids: Cuboids, margin: float) -> Cuboids:
    """The cuboids, larger by a margin in metres on every side."""
    x, y, z, width, length, height, yaw = cuboids.columns
    return Cuboids(x, y, z, width + 2 * margin, length + 2 * margin, height + 2 * margin, yaw)


@dataclass(frozen=True, eq=False)
class ObjectBank:
    """Objects to paste: clouds of one cuboid and its points, the ground height of each, and indices by class."""

    clouds: tuple[PointCloud, ...]
    ground: np.ndarray
    by_class: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, clouds: Iterable[PointCloud], least: int = 10, most: int = 2000) -> ObjectBank:
        """The objects of the clouds with at least `least` points; of each class only the first `most`."""
        kept: list[PointCloud] = []
        ground: list[float] = []
        counts_by_class: dict[int, int] = {}
        for cloud in clouds:
            point, cuboid = points_in_cuboids(cloud.points, cloud.cuboids)
            x, y = cloud.points[:, 0], cloud.points[:, 1]
            counts = np.bincount(cuboid, minlength=len(cloud.cuboids))
            starts = np.cumsum(counts) - counts
            for index in np.flatnonzero(counts >= max(least, 1)).tolist():
                label = int(cloud.label[index])
                counts_by_class[label] = counts_by_class.get(label, 0) + 1
                if counts_by_class[label] <= most:
                    own = point[starts[index] : starts[index] + counts[index]]
                    one = cloud.cuboids.take(np.array([index]))
                    kept.append(PointCloud(cloud.points[own], one, cloud.label[[index]]))
                    around = np.setdiff1d(_near(x, y, one), own)
                    ground.append(_ground_height(cloud.points[around], float(one.z[0] - one.height[0] / 2)))
        labels = np.array([int(one.label[0]) for one in kept], np.int64)
        by_class = tuple(np.flatnonzero(labels == label) for label in np.unique(labels))
        return cls(tuple(kept), np.array(ground), by_class)

    def __len__(self) -> int:
        return len(self.clouds)

    def paste(self, rng: np.random.Generator, cloud: PointCloud, recipe: LidarRecipe) -> PointCloud:
        """The cloud with up to `recipe.gt_paste` more objects, each of which is tried once.

        All classes are equally likely. An object is rotated about the sensor to a random direction within
        `recipe.fov_degrees` of straight ahead, and put on the ground there. It is skipped where another cuboid or an
        obstacle is, or where no ground is visible. Points of the cloud inside its cuboid are removed.
        """
        remaining = np.ones(len(cloud.points), bool)
        x, y = cloud.points[:, 0], cloud.points[:, 1]
        cuboids = cloud.cuboids
        pasted: list[PointCloud] = []
        for _ in range(recipe.gt_paste if len(self) else 0):
            of_class = self.by_class[int(rng.integers(len(self.by_class)))]
            index = int(of_class[rng.integers(len(of_class))])
            half_view = np.radians(recipe.fov_degrees)
            one = _rotate_to(self.clouds[index], float(rng.uniform(-half_view, half_view)))
            if _collides(one.cuboids, cuboids):
                continue
            near = _near(x, y, one.cuboids)
            around = cloud.points[near]
            ground = _ground_height(around, np.nan)
            lift = ground - self.ground[index]
            if not abs(lift) <= MAX_LIFT:  # also true of nan, where there is no ground
                continue
            one = transform_cloud(one, np.eye(2), lift=lift)
            replaced = in_cuboid(around, one.cuboids, 0)
            if np.count_nonzero(around[replaced, 2] > ground + GROUND_THICKNESS) > MAX_OBSTACLE_POINTS:
                continue
            remaining[near[replaced]] = False
            cuboids = cuboids.concat(one.cuboids)
            pasted.append(one)
        if not pasted:
            return cloud
        return concat_clouds([replace(cloud, points=select_points(cloud.points, remaining)), *pasted])


def _rotate_to(one: PointCloud, bearing: float) -> PointCloud:
    """A cloud of one cuboid rotated about the sensor, so that the cuboid lies in this direction."""
    angle = bearing - np.arctan2(one.cuboids.y[0], one.cuboids.x[0])
    cos, sin = np.cos(angle), np.sin(angle)
    return transform_cloud(one, np.array([[cos, -sin], [sin, cos]]))


def _collides(one: Cuboids, others: Cuboids) -> bool:
    """Whether a cuboid is closer than `MIN_GAP` to any other on the ground."""
    larger = expand(one, MIN_GAP)
    reach = (np.hypot(larger.length, larger.width) + np.hypot(others.length, others.width)) / 2
    close = np.flatnonzero(np.hypot(others.x - one.x, others.y - one.y) <= reach)  # most are far away
    if not len(close):
        return False
    footprint = larger.ground.take(np.zeros(len(close), np.int64))
    return bool((intersection_area(footprint, others.ground.take(close)) > 0).any())


def _near(x: np.ndarray, y: np.ndarray, one: Cuboids) -> np.ndarray:
    """The indices of the points around a cuboid, at any height."""
    reach = np.float32(np.hypot(one.length[0], one.width[0]) / 2 + GROUND_MARGIN)
    near = np.flatnonzero(np.abs(x - np.float32(one.x[0])) < reach)
    return near[np.abs(y[near] - np.float32(one.y[0])) < reach]


def _ground_height(points: np.ndarray, unknown: float) -> float:
    """The height of the ground among points of a small area: the median of the lowest layer."""
    height = points[:, 2]
    if len(height) < MIN_GROUND_POINTS:
        return unknown
    lowest = np.partition(height, 2)[2]  # one or two may be reflections from below
    return float(np.median(height[(height >= lowest) & (height <= lowest + GROUND_THICKNESS)]))
