"""Scenes of sweeps: the bird's-eye view, a subset of the points to be turned in 3D, and the images of cameras."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.drawing.bev import BEVView, Surface, draw_bev
from tallymark.drawing.paths import ground_paths, projected_paths
from tallymark.geometry import Cuboids
from tallymark.geometry.affine import invert, then
from tallymark.geometry.poses import Poses, transform_cuboids
from tallymark.io.lidar import read_sweep
from tallymark.io.media import BadMedia
from tallymark.modalities.base import path_of
from tallymark.modalities.lidar.cameras import CameraView, camera_views
from tallymark.modalities.scene import SCENE_SIDE, Scene, SceneCamera

MAX_POINTS = 40_000
"""Points of a scene, at most."""
FARTHEST = 200.0
"""Metres from the middle of a sweep beyond which points are no echoes of anything, but errors."""
VOXEL = 0.25
"""Side in metres of the cells that a sweep is thinned out in."""
CAMERA_WIDTH = 480
"""Longer side of a camera's image in pixels."""
NO_CUBOIDS = Cuboids.of(np.empty((0, 7)))


def sweep_scene(catalog: Catalog, item: int, around: Annotations[Cuboids] | None, side: int = SCENE_SIDE) -> Scene:
    """A sweep in bird's-eye view, on the map where there is one; a `BadMedia` if it cannot be read.

    around: objects of the item that should be in the picture, beside the truth. Without poses, points and objects are
    in the frame of the lidar; else points are in that of the vehicle, and objects in the world.
    """
    points, pose = read_points(catalog, item)
    shown = _truth_of(catalog, item)
    shown = shown if around is None else shown.concat(around.shapes)
    view = BEVView.around(points, shown if pose is None else transform_cuboids(shown, pose.inverse()), side)
    image = draw_bev(points, NO_CUBOIDS, np.empty(0, np.int64), view, surface=surface_of(catalog, item))
    to_points = np.array([[0.0, -1 / view.scale, view.x + view.reach], [-1 / view.scale, 0.0, view.y + view.reach]])
    return Scene(
        image=image,
        to_item=to_points if pose is None else then(to_points, pose.ground_matrix),
        points=thin_out(points[:, :3]),
        to_points=to_points,
        pose=pose,
        cameras=tuple(_scene_camera(one) for one in camera_views(catalog, item, CAMERA_WIDTH)),
    )


def read_points(catalog: Catalog, item: int) -> tuple[np.ndarray, Poses | None]:
    """The finite points of an item's sweep, and the pose of their frame in that of the truth if they differ."""
    drive = catalog.drive
    if drive is not None and drive.samples[item] >= 0:
        return drive.points(item, frame="ego"), drive.ego_pose(item)
    points = read_sweep(path_of(catalog, item))
    return points[np.isfinite(points[:, :3]).all(axis=1)], None


def surface_of(catalog: Catalog, item: int) -> Surface | None:
    """The road map around the vehicle; None without a drive."""
    drive = catalog.drive
    if drive is None or drive.samples[item] < 0:
        return None

    def surface(ground: np.ndarray) -> np.ndarray | None:
        try:
            return drive.surface(item, ground)
        except BadMedia as bad:  # `check` reports a damaged map
            if bad.transient:
                raise
            return None

    return surface


def scene_cuboids(scene: Scene, cuboids: Cuboids) -> Cuboids:
    """Cuboids as annotations have them, in the frame of the scene's points."""
    return cuboids if scene.pose is None else transform_cuboids(cuboids, scene.pose.inverse())


def cuboid_rows(scene: Scene, annotations: Annotations[Cuboids]) -> np.ndarray:
    """(n, 7): x, y, z of the centre, length, width, height and yaw of each cuboid in the frame of the points."""
    own = scene_cuboids(scene, annotations.shapes)
    return np.stack([own.x, own.y, own.z, own.length, own.width, own.height, own.yaw], axis=1)


def sweep_paths(scene: Scene, annotations: Annotations[Cuboids]) -> list[str]:
    """The footprint of each cuboid with a line to its front, in the pixels of the scene."""
    assert scene.to_points is not None, "a scene of a sweep"
    return ground_paths(scene_cuboids(scene, annotations.shapes), invert(scene.to_points))


def thin_out(points: np.ndarray, most: int = MAX_POINTS, seed: int = 0) -> np.ndarray:
    """At most `most` of the points (n, 3) as float32, in their order, without stray ones beyond `FARTHEST`.

    Points are dropped where they are dense: one of each cell of `VOXEL` metres, or of larger ones where there are too
    many, is kept first, then a second one, and so on, so that objects far away keep their few points.
    """
    columns = np.ascontiguousarray(points.T, np.float32)  # row by row, the same takes several times as long
    if len(points):
        columns = columns[:, np.all([np.abs(one - np.median(one)) <= FARTHEST for one in columns], axis=0)]
    count = columns.shape[1]
    if count <= most:
        return np.ascontiguousarray(columns.T)
    voxel = VOXEL
    key = _cells(columns, voxel)
    while np.count_nonzero(np.diff(np.sort(key))) >= most // 2:
        voxel *= 2
        key = _cells(columns, voxel)
    shuffled = np.random.default_rng(seed).permutation(count)
    at = np.arange(count)
    cell, by_cell = np.divmod(np.sort(key[shuffled] * count + at), count)  # a stable sort by cell
    begins = np.append(True, np.diff(cell) > 0)
    rank = np.empty(count, np.int64)
    rank[by_cell] = at - np.maximum.accumulate(np.where(begins, at, 0))  # of a point among those in its cell
    chosen = np.sort(rank * count + at)[:most] % count
    return np.ascontiguousarray(columns[:, np.sort(shuffled[chosen])].T)


def _cells(columns: np.ndarray, side: float) -> np.ndarray:
    """The number of the cell of a cubic grid that each point is in, from the columns (3, n) of the points."""
    x, y, z = ((columns - columns.min(axis=1, keepdims=True)) / side).astype(np.int64)
    key: np.ndarray = (x * (y.max() + 1) + y) * (z.max() + 1) + z
    return key


def _truth_of(catalog: Catalog, item: int) -> Cuboids:
    """The cuboids of an item's truth; none if it is not labelled."""
    truth = catalog.truth
    if truth is None or not catalog.labelled[item]:
        return NO_CUBOIDS
    return truth.shapes.take(np.arange(truth.offsets[item], truth.offsets[item + 1]))


def _scene_camera(view: CameraView) -> SceneCamera:
    def paths(annotations: Annotations[Any]) -> list[str]:
        return projected_paths(*view.project(annotations.shapes))

    return SceneCamera(view.channel, view.image, paths)
