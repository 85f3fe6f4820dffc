"""Point clouds: cuboids move with their points, and nothing is pasted onto other objects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallymark.geometry import Cuboids
from tallymark.geometry.points_in_boxes import count_points_in_cuboids, points_in_cuboids
from tallymark.geometry.rotated_boxes import intersection_area
from tallymark.modalities.lidar.augmentation import (
    MIN_GAP,
    ObjectBank,
    PointCloud,
    _collides,
    augment_cloud,
    concat_clouds,
    crop_cloud,
    expand,
    transform_cloud,
)
from tallymark.modalities.lidar.recipe import LidarRecipe
from tallymark.modalities.lidar.sweeps import bev_input

STILL = LidarRecipe().replace(rotate_degrees=0, scale_jitter=1, hflip=0, vflip=0, point_dropout=0, gt_paste=0)
"""A recipe that changes nothing."""
GROUND = -1.8

seeds = st.integers(0, 2**32 - 1)


def corners(cuboids: Cuboids) -> np.ndarray:
    """(n, 8, 3): front left, rear left, rear right, front right; at the bottom, then at the top."""
    flat = np.tile(cuboids.ground.corners, (1, 2, 1))
    bottom, top = cuboids.z - cuboids.height / 2, cuboids.z + cuboids.height / 2
    return np.concatenate([flat, np.repeat(np.stack([bottom, top], 1), 4, axis=1)[..., None]], axis=2)


def points_of(rng: np.random.Generator, cuboids: Cuboids, each: int) -> np.ndarray:
    """So many points in each cuboid, clear of its faces so that rounding does not carry them out."""
    u, v, w = rng.uniform(-0.47, 0.47, (3, len(cuboids), each))
    along, across = u * cuboids.length[:, None], v * cuboids.width[:, None]
    cos, sin = np.cos(cuboids.yaw)[:, None], np.sin(cuboids.yaw)[:, None]
    x = cuboids.x[:, None] + along * cos - across * sin
    y = cuboids.y[:, None] + along * sin + across * cos
    z = cuboids.z[:, None] + w * cuboids.height[:, None]
    place = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    return np.column_stack([place, rng.uniform(0, 1, (len(place), 2))]).astype(np.float32)


def street(rng: np.random.Generator, count: int = 6, each: int = 20, floor: int = 3000) -> PointCloud:
    """Volumes on flat ground, each in a slot of its own, with points in them and on the ground between them."""
    slot = rng.choice(64, count, replace=False)
    x, y = (slot % 8 - 3.5) * 10 + rng.uniform(-1, 1, count), (slot // 8 - 3.5) * 10 + rng.uniform(-1, 1, count)
    size = rng.uniform(1, 4, (3, count))
    cuboids = Cuboids(x, y, GROUND + 0.2 + size[2] / 2, *size, rng.uniform(-np.pi, np.pi, count))
    ground = np.column_stack([rng.uniform(-60, 60, (floor, 2)), rng.normal(GROUND, 0.02, floor), np.zeros((floor, 2))])
    points = np.concatenate([points_of(rng, cuboids, each), ground.astype(np.float32)])
    return PointCloud(points, cuboids, rng.integers(0, 3, count))


@given(
    seeds,
    st.floats(0, 180),
    st.floats(1, 1.3),
    st.sampled_from([(0, 0), (1, 0), (0, 1), (1, 1)]),
)
def test_corners_and_points_go_the_same_way(seed: int, turn: float, scale: float, mirrors: tuple[int, int]) -> None:
    rng = np.random.default_rng(seed)
    made = street(rng)
    # The corners are points like any other, so they show where the change takes what is at a corner.
    carried = np.column_stack([corners(made.cuboids).reshape(-1, 3), np.zeros((8 * len(made.cuboids), 2))])
    cloud = replace(made, points=np.concatenate([made.points, carried.astype(np.float32)]))
    recipe = STILL.replace(rotate_degrees=turn, scale_jitter=scale, hflip=mirrors[0], vflip=mirrors[1])
    moved = augment_cloud(rng, cloud, recipe)
    wanted = moved.points[len(made.points) :, :3].reshape(-1, 8, 3)
    if mirrors[0] != mirrors[1]:  # left and right change places
        wanted = wanted[:, [3, 2, 1, 0, 7, 6, 5, 4]]
    np.testing.assert_allclose(corners(moved.cuboids), wanted, atol=2e-4)
    assert np.array_equal(moved.points[:, 3:], cloud.points[:, 3:])
    counts = count_points_in_cuboids(moved.points[: len(made.points)], moved.cuboids)
    assert counts.tolist() == count_points_in_cuboids(made.points, made.cuboids).tolist()
    assert (counts >= 20).all()
    assert moved.label is made.label


def test_a_mirror_swaps_left_and_right_and_a_flip_front_and_back() -> None:
    one = PointCloud(
        np.array([[10, 2, 1, 7, 0.2]], np.float32), Cuboids.of([[10, 2, 1, 2, 4, 1.5, 0.3]]), np.array([1])
    )
    rng = np.random.default_rng(0)
    mirrored = augment_cloud(rng, one, STILL.replace(hflip=1))
    assert np.allclose(mirrored.points, [[10, -2, 1, 7, 0.2]])
    assert np.allclose(np.concatenate(mirrored.cuboids.columns), [10, -2, 1, 2, 4, 1.5, -0.3])
    flipped = augment_cloud(rng, one, STILL.replace(vflip=1))
    assert np.allclose(flipped.points, [[-10, 2, 1, 7, 0.2]])
    assert np.allclose(np.concatenate(flipped.cuboids.columns), [-10, 2, 1, 2, 4, 1.5, np.pi - 0.3])


def test_changes_stay_within_the_recipe_and_reach_its_ends() -> None:
    one = PointCloud(np.empty((0, 5), np.float32), Cuboids.of([[10, 0, 0, 2, 4, 1, 0]]), np.array([0]))
    recipe = STILL.replace(rotate_degrees=30, scale_jitter=1.1)
    moved = [augment_cloud(np.random.default_rng(k), one, recipe).cuboids for k in range(300)]
    yaw, length = np.degrees([v.yaw[0] for v in moved]), np.array([v.length[0] for v in moved]) / 4
    assert -30 <= yaw.min() < -25
    assert 25 < yaw.max() <= 30
    assert 1 / 1.1 <= length.min() < 0.93
    assert 1.07 < length.max() <= 1.1


def test_points_are_dropped_at_random() -> None:
    cloud = street(np.random.default_rng(0), floor=5000)
    left = [
        len(augment_cloud(np.random.default_rng(k), cloud, STILL.replace(point_dropout=0.4)).points) for k in range(60)
    ]
    share = 1 - np.array(left) / len(cloud.points)
    assert share.min() < 0.1
    assert 0.3 < share.max() < 0.43


def test_nothing_changes_without_a_reason() -> None:
    cloud = street(np.random.default_rng(1))
    same = augment_cloud(np.random.default_rng(2), cloud, STILL)
    assert np.array_equal(same.points, cloud.points)
    np.testing.assert_allclose(corners(same.cuboids), corners(cloud.cuboids), atol=1e-12)


def test_a_bank_keeps_cuboids_with_enough_points() -> None:
    rng = np.random.default_rng(3)
    rich, poor = street(rng, count=5, each=12), street(rng, count=5, each=9)
    assert len(ObjectBank.of([rich, poor])) == 5
    assert len(ObjectBank.of([rich, poor], least=5)) == 10
    assert len(ObjectBank.of([rich, poor], least=13)) == 0
    alike = replace(rich, label=np.zeros(5, np.int64))
    assert len(ObjectBank.of([alike, alike], most=7)) == 7
    bank = ObjectBank.of([rich])
    assert sorted(np.concatenate(bank.by_class).tolist()) == list(range(5))
    assert all(
        count_points_in_cuboids(one.points, one.cuboids).tolist() == [12] == [len(one.points)] for one in bank.clouds
    )


@given(seeds)
def test_pasted_cuboids_overlap_no_others_and_have_their_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bank = ObjectBank.of([street(rng) for _ in range(2)])
    cloud = street(rng, count=8)
    made = bank.paste(rng, cloud, STILL.replace(gt_paste=6))
    old, new = len(cloud.cuboids), len(made.cuboids)
    assert old <= new <= old + 6
    np.testing.assert_array_equal(made.label[:old], cloud.label)
    assert all(np.array_equal(a[:old], b) for a, b in zip(made.cuboids.columns, cloud.cuboids.columns, strict=True))
    for at in range(old, new):
        others = np.delete(np.arange(new), at)
        mine = made.cuboids.take(np.full(len(others), at)).ground
        assert (intersection_area(mine, made.cuboids.take(others).ground) == 0).all()
    # A pasted cuboid has its twenty points and none of the cloud's; the others lose none.
    counts = count_points_in_cuboids(made.points, made.cuboids)
    assert (counts[old:] == 20).all()
    assert counts[:old].tolist() == count_points_in_cuboids(cloud.points, cloud.cuboids).tolist()
    distance = np.sort([np.hypot(one.cuboids.x[0], one.cuboids.y[0]) for one in bank.clouds])
    for x, y in zip(made.cuboids.x[old:], made.cuboids.y[old:], strict=True):
        assert np.abs(distance - np.hypot(x, y)).min() < 1e-9


def one_car(distance: float = 15.0, ground: float = GROUND) -> PointCloud:
    """A car straight ahead whose points are on the side that is turned to the sensor, on ground of its own."""
    rng = np.random.default_rng(7)
    cuboids = Cuboids.of([[distance, 0, ground + 0.8, 1.8, 4.2, 1.6, 0.4]])
    back = np.column_stack(
        [np.full(40, distance - 0.4), rng.uniform(-0.4, 0.4, 40), rng.uniform(ground + 0.2, ground + 1.5, 40)]
    )
    floor = np.column_stack(
        [rng.uniform(distance - 6, distance + 6, 400), rng.uniform(-6, 6, 400), np.full(400, ground)]
    )
    floor = floor[np.abs(floor[:, 1]) > 1.5]
    points = np.concatenate([back, floor])
    return PointCloud(np.column_stack([points, np.zeros((len(points), 2))]).astype(np.float32), cuboids, np.array([2]))


def plane(slope: float = 0.0, ground: float = GROUND) -> PointCloud:
    """Ground and nothing else, rising along x."""
    x, y = (grid.ravel() for grid in np.meshgrid(np.arange(-40, 40, 0.7), np.arange(-40, 40, 0.7)))
    points = np.column_stack([x, y, ground + slope * x, np.zeros((len(x), 2))]).astype(np.float32)
    return PointCloud(points, Cuboids.of(np.empty((0, 7))), np.empty(0, np.int64))


@given(seeds)
def test_the_sensor_sees_the_same_side(seed: int) -> None:
    bank = ObjectBank.of([one_car()])
    made = bank.paste(np.random.default_rng(seed), plane(), STILL.replace(gt_paste=1))
    assert len(made.cuboids) == 1
    own = made.points[points_in_cuboids(made.points, made.cuboids)[0]]
    assert np.allclose(np.hypot(own[:, 0], own[:, 1]).mean(), 14.6, atol=0.02)
    bearing = np.arctan2(made.cuboids.y[0], made.cuboids.x[0])
    assert np.isclose(np.exp(1j * (made.cuboids.yaw[0] - bearing)), np.exp(0.4j))


@pytest.mark.parametrize(("ground", "lift"), [(GROUND, 0.0), (GROUND + 1, 1.0), (GROUND - 1, -1.0)])
def test_a_pasted_cuboid_is_put_on_the_local_ground(ground: float, lift: float) -> None:
    made = ObjectBank.of([one_car()]).paste(np.random.default_rng(0), plane(ground=ground), STILL.replace(gt_paste=1))
    assert np.isclose(made.cuboids.z[0], GROUND + 0.8 + lift, atol=0.02)
    assert count_points_in_cuboids(made.points, made.cuboids)[0] >= 40


def test_nothing_is_pasted_onto_a_roof_a_wall_or_unknown_ground() -> None:
    bank, recipe = ObjectBank.of([one_car()]), STILL.replace(gt_paste=4)
    rng = np.random.default_rng(0)
    assert len(bank.paste(rng, plane(ground=GROUND + 3), recipe).cuboids) == 0
    nothing = replace(plane(), points=np.empty((0, 5), np.float32))
    assert len(bank.paste(rng, nothing, recipe).cuboids) == 0
    wall = plane().points
    wall = np.concatenate([wall + np.float32([0, 0, step, 0, 0]) for step in (0, 0.5, 1.0, 1.4)])
    assert len(bank.paste(rng, replace(plane(), points=wall), recipe).cuboids) == 0
    assert len(bank.paste(rng, plane(), recipe).cuboids) >= 1


def test_a_front_view_stays_one() -> None:
    bank, rng = ObjectBank.of([one_car()]), np.random.default_rng(0)
    made = [bank.paste(rng, plane(), STILL.replace(gt_paste=1, fov_degrees=40)).cuboids for _ in range(100)]
    bearing = np.degrees([np.arctan2(one.y[0], one.x[0]) for one in made])
    assert np.abs(bearing).max() <= 40
    assert np.ptp(bearing) > 70


def test_rare_classes_are_as_likely_as_common_ones() -> None:
    common = [replace(one_car(distance), label=np.array([0])) for distance in np.linspace(10, 30, 19)]
    bank, rng = ObjectBank.of([*common, one_car(20.0)]), np.random.default_rng(0)
    label = [int(bank.paste(rng, plane(), STILL.replace(gt_paste=1)).label[0]) for _ in range(200)]
    assert 70 < label.count(2) < 130


def test_an_empty_bank_pastes_nothing() -> None:
    cloud = street(np.random.default_rng(0))
    assert ObjectBank.of([]).paste(np.random.default_rng(0), cloud, STILL.replace(gt_paste=5)) is cloud
    assert ObjectBank.of([one_car()]).paste(np.random.default_rng(0), cloud, STILL) is cloud


def test_clouds_are_joined() -> None:
    first, second = street(np.random.default_rng(0)), one_car()
    both = concat_clouds([first, transform_cloud(second, np.eye(2), lift=0.5)])
    assert len(both.points) == len(first.points) + len(second.points)
    assert both.cuboids.z[-1] == second.cuboids.z[0] + 0.5
    assert both.label.tolist() == [*first.label.tolist(), 2]
    with pytest.raises(ValueError, match="do not fit"):
        PointCloud(first.points, first.cuboids, second.label)


@pytest.mark.parametrize("seed", range(20))
def test_cuboids_collide_where_their_footprints_intersect(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = rng.uniform(0.5, 6, (3, 40))
    others = Cuboids(*rng.uniform(-25, 25, (2, 40)), np.zeros(40), *size, rng.uniform(-np.pi, np.pi, 40))
    for index in range(40):
        one, rest = others.take(np.array([index])), others.take(np.delete(np.arange(40), index))
        footprint = expand(one, MIN_GAP).ground.take(np.zeros(39, np.int64))
        assert _collides(one, rest) == bool((intersection_area(footprint, rest.ground) > 0).any())


def test_points_beyond_a_crop_make_no_difference_to_its_grid() -> None:
    """Without them, the grid is that of all the points moved as the crop is."""
    rng = np.random.default_rng(2)
    cuboids = Cuboids.of(np.array([[0, 0, 0, 2, 4, 1, 0], [20, -15, 0, 2, 4, 1, 0]]))
    points = np.zeros((20_000, 5), np.float32)
    points[:, :2] = rng.uniform(-32, 32, (len(points), 2)).round(2)  # many on the edges of cells
    points[:, 2] = rng.uniform(-2, 4, len(points))
    recipe = LidarRecipe().replace(bev_range=32, voxel_size=0.25)
    view = recipe.replace(bev_range=8)
    for seed in range(20):
        crop = crop_cloud(np.random.default_rng(seed), PointCloud(points, cuboids, np.zeros(2)), recipe, 8)
        moved = points + np.array([crop.cuboids.x[0], crop.cuboids.y[0], 0, 0, 0], np.float32)
        assert len(crop.points) < len(points) / 4
        np.testing.assert_array_equal(bev_input(crop.points, view), bev_input(moved, view))
