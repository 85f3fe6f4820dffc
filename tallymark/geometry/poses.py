"""Rigid poses: from the coordinate frame of a sensor to that of the vehicle, and from there to the world.

A pose rotates, then translates: a point p of the inner frame is R p + t in the outer one. With the pose of a sensor on
the vehicle and the pose of the vehicle in the world, `sensor.then(vehicle).apply(points)` are world coordinates.

Plain NumPy in place of `scipy.spatial.transform.Rotation`: its products take several times as long, and importing it
would slow down every command.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tallymark.geometry import Cuboids


@dataclass(frozen=True, eq=False)
class Poses:
    """Columns of n poses: `rotation` (n, 4) are quaternions w, x, y, z of any norm but 0, `translation` (n, 3).

    Where two sets of poses, or poses and points, are combined, a single pose is broadcast.
    """

    rotation: np.ndarray
    translation: np.ndarray

    def __len__(self) -> int:
        return len(self.rotation)

    @classmethod
    def of(cls, rotation: object, translation: object) -> Poses:
        """From nested lists or arrays, of one pose or of several."""
        return cls(np.asarray(rotation, float).reshape(-1, 4), np.asarray(translation, float).reshape(-1, 3))

    def take(self, index: np.ndarray) -> Poses:
        return Poses(self.rotation[index], self.translation[index])

    def matrices(self) -> np.ndarray:
        """Rotation matrices (n, 3, 3); the columns are the inner axes in outer coordinates."""
        w, x, y, z = _unit(self.rotation).T
        rows = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
        return np.moveaxis(np.array(rows), -1, 0)

    def apply(self, points: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        """Points (m, 3) from the inner to the outer frame: each by its own pose, or by the pose at `index` (m,).

        Single precision stays single, which is accurate to a tenth of a millimetre within the range of a lidar.
        """
        if index is not None and len(self) > 1:
            return self.take(index).apply(points)
        precision = np.result_type(points, np.float32)
        return rotate(points, self.matrices().astype(precision)) + self.translation.astype(precision)

    @property
    def ground_matrix(self) -> np.ndarray:
        """(2, 3): places on the ground of the first inner frame to x and y of the outer one."""
        return np.column_stack([self.matrices()[0, :2, :2], self.translation[0, :2]])

    def inverse(self) -> Poses:
        """From the outer to the inner frame."""
        conjugate = _unit(self.rotation) * [1, -1, -1, -1]
        rotation = Poses(conjugate, np.zeros_like(self.translation))
        return replace(rotation, translation=-rotation.apply(self.translation))

    def then(self, outer: Poses) -> Poses:
        """The composition: first these poses, then the outer ones."""
        rotation = _product(_unit(outer.rotation), _unit(self.rotation))
        return Poses(rotation, outer.apply(self.translation))


def concat_poses(parts: Sequence[Poses]) -> Poses:
    """Several sets of poses as one."""
    rotation = np.concatenate([part.rotation for part in parts])
    translation = np.concatenate([part.translation for part in parts])
    return Poses(rotation, translation)


def rotate(vectors: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Vectors (m, 3) times one matrix each, or all of them times a single one.

    Written out rather than as a matrix product, whose last digits depend on how many vectors there are: the same object
    would have other coordinates in a shard of another size.
    """
    count = len(vectors) if len(matrices) == 1 else len(matrices)
    rotated = np.empty((3, count), np.result_type(vectors, matrices))
    for axis, column in enumerate(rotated):
        np.multiply(matrices[:, axis, 0], vectors[:, 0], out=column)
        column += matrices[:, axis, 1] * vectors[:, 1]
        column += matrices[:, axis, 2] * vectors[:, 2]
    return rotated.T


def yaw_from_quaternion(rotation: np.ndarray) -> np.ndarray:
    """The yaw of quaternions (n, 4): the heading of the rotated x axis in the xy plane, in radians."""
    w, x, y, z = np.asarray(rotation, float).reshape(-1, 4).T
    return np.arctan2(2 * (x * y + w * z), w * w + x * x - y * y - z * z)


def quaternion_from_yaw(yaw: np.ndarray) -> np.ndarray:
    """Quaternions (n, 4) of rotations by these angles about z."""
    half = np.asarray(yaw, float).reshape(-1) / 2
    return np.stack([np.cos(half), np.zeros_like(half), np.zeros_like(half), np.sin(half)], axis=1)


def transform_cuboids(cuboids: Cuboids, poses: Poses, index: np.ndarray | None = None) -> Cuboids:
    """Cuboids from the inner to the outer frame, each by its own pose or by the one at `index`.

    They stay upright: roll and pitch of a pose move their centres, and the yaw is that of the heading's projection
    to the ground.
    """
    chosen = poses if index is None or len(poses) == 1 else poses.take(index)
    x, y, z = chosen.apply(np.stack([cuboids.x, cuboids.y, cuboids.z], axis=1)).T
    heading = np.stack([np.cos(cuboids.yaw), np.sin(cuboids.yaw), np.zeros(len(cuboids))], axis=1)
    heading_x, heading_y, _ = rotate(heading, chosen.matrices()).T
    return replace(cuboids, x=x, y=y, z=z, yaw=np.arctan2(heading_y, heading_x))


def _unit(rotation: np.ndarray) -> np.ndarray:
    return rotation / np.linalg.norm(rotation, axis=1, keepdims=True)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Quaternion products: first b, then a."""
    w, x, y, z = a.T
    v, i, j, k = b.T
    return np.stack(
        [
            w * v - x * i - y * j - z * k,
            w * i + x * v + y * k - z * j,
            w * j - x * k + y * v + z * i,
            w * k + x * j - y * i + z * v,
        ],
        axis=1,
    )
