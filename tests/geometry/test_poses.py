"""Poses: compared with SciPy, with their inverse, and with a real sample if there is one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import tallymark
from tallymark.geometry import Cuboids
from tallymark.geometry.poses import Poses, quaternion_from_yaw, transform_cuboids, yaw_from_quaternion


def some_poses(count: int, seed: int = 1) -> Poses:
    draw = np.random.default_rng(seed)
    return Poses(draw.normal(size=(count, 4)) * 3, draw.normal(size=(count, 3)) * 100)


def test_matrices_are_those_of_scipy_whatever_the_length_of_the_quaternion() -> None:
    poses = some_poses(50)
    expected = Rotation.from_quat(poses.rotation, scalar_first=True).as_matrix()
    np.testing.assert_allclose(poses.matrices(), expected, atol=1e-12)


def test_a_quarter_turn_to_the_left_brings_x_to_y() -> None:
    turn = Poses.of([np.sqrt(0.5), 0, 0, np.sqrt(0.5)], [10, 20, 30])
    np.testing.assert_allclose(turn.apply(np.array([[1.0, 0, 0]])), [[10, 21, 30]], atol=1e-12)


def test_there_and_back() -> None:
    poses, points = some_poses(20), np.random.default_rng(2).normal(size=(20, 3))
    np.testing.assert_allclose(poses.inverse().apply(poses.apply(points)), points, atol=1e-12)


@pytest.mark.parametrize(("inner", "outer"), [(5, 5), (1, 5), (5, 1), (1, 1)])
def test_two_poses_as_one(inner: int, outer: int) -> None:
    first, second = some_poses(inner, 3), some_poses(outer, 4)
    points = np.random.default_rng(5).normal(size=(5, 3))
    both = first.then(second)
    assert len(both) == max(inner, outer)
    np.testing.assert_allclose(both.apply(points), second.apply(first.apply(points)), atol=1e-9)


def test_an_index_names_the_pose_of_each_point() -> None:
    poses, index = some_poses(3), np.array([2, 0, 2, 1])
    points = np.random.default_rng(6).normal(size=(4, 3))
    expected = [poses.take(np.array([at])).apply(point[None])[0] for at, point in zip(index, points, strict=True)]
    np.testing.assert_allclose(poses.apply(points, index), expected, atol=1e-12)


def test_no_poses_and_no_points() -> None:
    nothing = Poses.of([], [])
    assert nothing.inverse().then(nothing).apply(np.empty((0, 3))).shape == (0, 3)


def test_yaw_there_and_back() -> None:
    yaw = np.linspace(-3.1, 3.1, 40)
    np.testing.assert_allclose(yaw_from_quaternion(quaternion_from_yaw(yaw)), yaw, atol=1e-12)
    np.testing.assert_allclose(yaw_from_quaternion(-2 * quaternion_from_yaw(yaw)), yaw, atol=1e-12)


def test_cuboids_move_with_their_corners() -> None:
    yaw = np.array([0.3, -2.0, 3.0])
    cuboids = Cuboids.of(np.array([[1, 2, 3, 2, 4, 1.5, angle] for angle in yaw]))
    poses = Poses(quaternion_from_yaw(np.array([1.0, 2.0])), np.array([[5.0, 6, 7], [-1, 0, 2]]))
    index = np.array([1, 0, 1])
    moved = transform_cuboids(cuboids, poses, index)
    height = np.broadcast_to(cuboids.z[:, None, None], (3, 4, 1))
    corners = np.concatenate([cuboids.ground.corners, height], axis=2).reshape(-1, 3)
    expected = poses.apply(corners, np.repeat(index, 4)).reshape(3, 4, 3)
    np.testing.assert_allclose(moved.ground.corners, expected[..., :2], atol=1e-9)
    np.testing.assert_allclose(moved.z, expected[:, 0, 2], atol=1e-9)


def test_cuboids_of_one_pose_are_to_the_last_digit_what_they_are_among_others() -> None:
    """Shards differ in size from run to run; their files do not."""
    rng = np.random.default_rng(0)
    cuboids = Cuboids.of(20 * rng.normal(size=(400, 7)))
    poses = Poses.of(rng.normal(size=(8, 4)), 100 * rng.normal(size=(8, 3)))
    index = np.sort(rng.integers(0, 8, 400))
    together = transform_cuboids(cuboids, poses, index)
    for pose in range(8):
        own = np.flatnonzero(index == pose)
        alone = transform_cuboids(cuboids.take(own), poses.take(np.array([pose])), np.zeros(len(own), np.int64))
        for column in ("x", "y", "z", "yaw"):
            np.testing.assert_array_equal(getattr(alone, column), getattr(together, column)[own])


def test_one_pose_applies_to_no_point_at_all() -> None:
    assert Poses.of([1, 0, 0, 0], [1, 2, 3]).apply(np.empty((0, 3))).shape == (0, 3)


def test_a_tilted_pose_keeps_the_heading_on_the_ground() -> None:
    tilt = Rotation.from_euler("ZYX", [40, 12, -7], degrees=True).as_quat(scalar_first=True)
    moved = transform_cuboids(Cuboids.of(np.array([[0, 0, 0, 1, 2, 1, 0.5]])), Poses.of(tilt, [0, 0, 0]))
    east, north, _ = Rotation.from_quat(tilt, scalar_first=True).apply([np.cos(0.5), np.sin(0.5), 0])
    np.testing.assert_allclose(moved.yaw, np.arctan2(north, east), atol=1e-12)


def real_tables() -> Path:
    folder = Path(os.environ.get("TALLYMARK_DATA", "nowhere")) / "lidar" / "lyft"
    if not folder.is_dir():
        pytest.skip("set TALLYMARK_DATA to a folder that has lidar/lyft")
    return folder


def test_a_real_sample() -> None:
    """A real Lyft sample: headings as in its train.csv; world -> vehicle -> lidar as four-by-four matrices give it."""
    folder = real_tables()
    names = ("sample_annotation", "sample_data", "ego_pose", "calibrated_sensor")
    things, data, vehicles, sensors = (
        json.loads((folder / "train_data" / f"{name}.json").read_text()) for name in names
    )
    sweep = next(row for row in data if "lidar1" in row["filename"])
    vehicle = next(row for row in vehicles if row["token"] == sweep["ego_pose_token"])
    sensor = next(row for row in sensors if row["token"] == sweep["calibrated_sensor_token"])

    world = tallymark.read_truth("lyft", folder / "train_from_tables.csv").shapes
    np.testing.assert_allclose(
        yaw_from_quaternion(np.array([thing["rotation"] for thing in things])), world.yaw, atol=1e-12
    )

    lidar = Poses.of(sensor["rotation"], sensor["translation"])
    ego = Poses.of(vehicle["rotation"], vehicle["translation"])
    seen = transform_cuboids(world, lidar.then(ego).inverse())
    for at, thing in enumerate(things):
        matrix = np.linalg.inv(four_by_four(vehicle) @ four_by_four(sensor)) @ four_by_four(thing)
        np.testing.assert_allclose([seen.x[at], seen.y[at], seen.z[at]], matrix[:3, 3], atol=1e-9)
        np.testing.assert_allclose(seen.yaw[at], np.arctan2(matrix[1, 0], matrix[0, 0]), atol=1e-9)
    back = transform_cuboids(seen, lidar.then(ego))
    np.testing.assert_allclose(np.stack(back.columns)[:3], np.stack(world.columns)[:3], atol=1e-9)
    np.testing.assert_allclose(back.yaw, world.yaw, atol=5e-3)  # what the tilt hides from above is lost


def four_by_four(row: dict[str, list[float]]) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_quat(row["rotation"], scalar_first=True).as_matrix()
    matrix[:3, 3] = row["translation"]
    return matrix
