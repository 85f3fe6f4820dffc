"""Sweeps of a lidar, turned, grown and mirrored together with the volumes in them, and volumes pasted from elsewhere.

The frame is one whose origin is the sensor, or nearly so: what turns about it is seen as before. Pasting is after
"SECOND: Sparsely Embedded Convolutional Detection" (Yan, Mao and Li 2018); but a volume turns about the sensor, so that
its points lie on the side that is seen, and are as dense as they must be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tallymark.geometry import Cuboids
from tallymark.geometry.points_in_boxes import inside, members
from tallymark.geometry.rotated_boxes import intersection_area
from tallymark.modalities.lidar.recipe import LidarRecipe

AROUND = 2.0
"""Metres round a volume in which its ground is looked for."""
FEW = 5
"""Points below which nothing is known of the ground."""
THICK = 0.3
"""Metres within which points belong to the ground."""
STEEP = 1.5
"""Metres that a volume may be lifted or lowered at most; more is a roof or a pit."""
GAP = 0.1
"""Metres between a pasted volume and any other, at least."""
STANDING = 10
"""Points above the ground that are a wall, a tree or an unlabelled car."""


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points (n, 5) float32 of x, y, z, intensity and seconds before the sample; volumes, and the class of each."""

    points: np.ndarray
    volumes: Cuboids
    label: np.ndarray

    def __post_init__(self) -> None:
        if self.points.ndim != 2 or self.points.shape[1] != 5 or len(self.volumes) != len(self.label):
            raise ValueError(
                f"points {self.points.shape}, {len(self.volumes)} volumes, {len(self.label)} labels do not fit together"
            )


def change_cloud(rng: np.random.Generator, cloud: Cloud, recipe: LidarRecipe) -> Cloud:
    """The same street, turned, grown, mirrored, and with some of its points lost, as the recipe says."""
    angle = np.radians(rng.uniform(-recipe.rotate_degrees, recipe.rotate_degrees))
    scale = float(np.exp(rng.uniform(-1, 1) * np.log(recipe.scale_jitter)))
    mirror, flip = (-1.0 if rng.random() < share else 1.0 for share in (recipe.hflip, recipe.vflip))
    cos, sin = np.cos(angle), np.sin(angle)
    matrix = np.array([[cos, -sin], [sin, cos]]) @ np.diag([flip, mirror])
    if recipe.point_dropout:
        kept = rng.random(len(cloud.points)) >= rng.uniform(0, recipe.point_dropout)
        cloud = replace(cloud, points=cloud.points[kept])
    return move_cloud(cloud, matrix, scale)


def move_cloud(cloud: Cloud, matrix: np.ndarray, scale: float = 1.0, lift: float = 0.0) -> Cloud:
    """All of a cloud by a matrix (2, 2) that turns or mirrors the ground, then grown by `scale`, then lifted."""
    points = cloud.points.copy()
    points[:, :2] = points[:, :2] @ (scale * matrix.T).astype(np.float32)
    points[:, 2] = points[:, 2] * np.float32(scale) + np.float32(lift)
    old = cloud.volumes
    x, y = scale * matrix @ np.stack([old.x, old.y])
    # The heading goes through the matrix as a direction does, so a mirror turns its angle round.
    along, across = matrix @ np.stack([np.cos(old.yaw), np.sin(old.yaw)])
    width, length, height = (side * scale for side in (old.width, old.length, old.height))
    moved = Cuboids(x, y, old.z * scale + lift, width, length, height, np.arctan2(across, along))
    return Cloud(points, moved, cloud.label)


def join_clouds(clouds: Sequence[Cloud]) -> Cloud:
    """What is in all of them, in one frame."""
    volumes = clouds[0].volumes
    for cloud in clouds[1:]:
        volumes = volumes.concat(cloud.volumes)
    points, label = (np.concatenate([getattr(cloud, name) for cloud in clouds]) for name in ("points", "label"))
    return Cloud(points, volumes, label)


def expand(volumes: Cuboids, grow: float) -> Cuboids:
    """The volumes, larger by so many metres on every side."""
    x, y, z, width, length, height, yaw = volumes.columns
    return Cuboids(x, y, z, width + 2 * grow, length + 2 * grow, height + 2 * grow, yaw)


@dataclass(frozen=True, eq=False)
class Bank:
    """Clouds of one volume and its points each, the height of the ground they stand on, and their numbers by class."""

    clouds: tuple[Cloud, ...]
    ground: np.ndarray
    by_class: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, clouds: Iterable[Cloud], least: int = 10, most: int = 2000) -> Bank:
        """Every volume of the clouds with at least so many points, but of each class only the first `most`."""
        kept: list[Cloud] = []
        ground: list[float] = []
        full: dict[int, int] = {}
        for cloud in clouds:
            point, volume = inside(cloud.points, cloud.volumes)
            counts = np.bincount(volume, minlength=len(cloud.volumes))
            starts = np.cumsum(counts) - counts
            for at in np.flatnonzero(counts >= max(least, 1)).tolist():
                kind = int(cloud.label[at])
                full[kind] = full.get(kind, 0) + 1
                if full[kind] <= most:
                    own, one = point[starts[at] : starts[at] + counts[at]], cloud.volumes.take(np.array([at]))
                    kept.append(Cloud(cloud.points[own], one, cloud.label[[at]]))
                    around = _near(cloud.points, one)
                    around[own] = False
                    ground.append(_ground(cloud.points[around], float(one.z[0] - one.height[0] / 2)))
        label = np.array([int(one.label[0]) for one in kept], np.int64)
        return cls(tuple(kept), np.array(ground), tuple(np.flatnonzero(label == kind) for kind in np.unique(label)))

    def __len__(self) -> int:
        return len(self.clouds)

    def paste(self, rng: np.random.Generator, cloud: Cloud, recipe: LidarRecipe) -> Cloud:
        """The cloud with up to `recipe.paste` volumes more, which are tried once each.

        All classes are equally likely. A volume turns about the sensor to anywhere within `recipe.front` degrees of
        straight ahead, and is put on the ground there. It is left out where another volume is, where something
        stands, or where no ground is seen. Points of the cloud that it takes the place of are gone.
        """
        left, volumes, pasted = np.ones(len(cloud.points), bool), cloud.volumes, []
        for _ in range(recipe.gt_paste if len(self) else 0):
            number = int(rng.choice(self.by_class[int(rng.integers(len(self.by_class)))]))
            front = np.radians(recipe.fov_degrees)
            one = _turn_to(self.clouds[number], float(rng.uniform(-front, front)))
            if _meets(one.volumes, volumes):
                continue
            near = np.flatnonzero(_near(cloud.points, one.volumes))
            around = cloud.points[near]
            ground = _ground(around, np.nan)
            lift = ground - self.ground[number]
            if not abs(lift) <= STEEP:  # also where there is no ground
                continue
            one = move_cloud(one, np.eye(2), lift=lift)
            hidden = members(around, one.volumes, 0)
            if np.count_nonzero(around[hidden, 2] > ground + THICK) > STANDING:
                continue
            left[near[hidden]] = False
            volumes = volumes.concat(one.volumes)
            pasted.append(one)
        return join_clouds([replace(cloud, points=cloud.points[left]), *pasted]) if pasted else cloud


def _turn_to(one: Cloud, bearing: float) -> Cloud:
    """A cloud of one volume turned about the sensor, so that the volume comes to lie in this direction."""
    angle = bearing - np.arctan2(one.volumes.y[0], one.volumes.x[0])
    cos, sin = np.cos(angle), np.sin(angle)
    return move_cloud(one, np.array([[cos, -sin], [sin, cos]]))


def _meets(one: Cuboids, others: Cuboids) -> bool:
    """Whether a volume overlaps any other on the ground, or nearly so."""
    mine = expand(one, GAP).ground.take(np.zeros(len(others), np.int64))
    return bool((intersection_area(mine, others.ground) > 0).any())


def _near(points: np.ndarray, one: Cuboids) -> np.ndarray:
    """Which points are round a volume, whatever their height."""
    reach = np.hypot(one.length[0], one.width[0]) / 2 + AROUND
    near: np.ndarray = np.abs(points[:, 0] - np.float32(one.x[0])) < reach
    near &= np.abs(points[:, 1] - np.float32(one.y[0])) < reach
    return near


def _ground(points: np.ndarray, unknown: float) -> float:
    """The height of the ground among points of a small place: the middle of its lowest layer."""
    height = points[:, 2]
    if len(height) < FEW:
        return unknown
    lowest = np.partition(height, 2)[2]  # one or two may be reflections from below
    return float(np.median(height[(height >= lowest) & (height <= lowest + THICK)]))
