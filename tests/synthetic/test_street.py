"""Synthetic streets: the official files of the lyft challenge, and agreement of truth, point clouds and images."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tallymark
from tallymark.challenges.lyft.synth import SceneOptions, write
from tallymark.core.problems import BadInput
from tallymark.geometry import Cuboids
from tallymark.geometry.poses import Poses
from tallymark.synthetic.streams import stream
from tallymark.synthetic.street.bodies import CLASSES, DESIGNS
from tallymark.synthetic.street.camera import Camera
from tallymark.synthetic.street.raycast import Lidar, cast
from tallymark.synthetic.street.tables import TABLES
from tallymark.synthetic.street.world import Street, make_street
from tests.sets import contents

SMALL = SceneOptions(samples_per_scene=3, beams=32, columns=512, cameras="front", image_width=96)
ROOF = Poses.of([0.0063, -0.0113, 0, 0.99993], [1.2, 0, 1.83])
WINDSCREEN = Poses.of([0.5, -0.5, 0.5, -0.5], [1.5, 0, 1.66])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lyft")
    write(path, 9, 7, SMALL)
    return path


@pytest.fixture(scope="module")
def tables(folder: Path) -> dict[str, dict[str, Any]]:
    return {name: {row["token"]: row for row in load(folder, name)} for name in TABLES}


def load(folder: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((folder / "train_data" / f"{name}.json").read_text())
    return rows


def test_the_same_seed_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "again", 9, 7, SMALL)
    write(tmp_path / "other", 9, 8, SMALL)
    first, other = contents(folder), contents(tmp_path / "other")
    assert contents(tmp_path / "again") == first
    assert len(first) == 11 + 13 + 2 * 9 + 2 + 3
    assert not {first[name] for name in first if name.endswith("bin")} & set(other.values())


def test_a_sample_does_not_depend_on_the_number_of_samples(folder: Path, tmp_path: Path) -> None:
    write(tmp_path, 2, 7, SMALL)
    few, many = contents(tmp_path), contents(folder)
    files = [name for name in few if "_lidar" in name or "_images" in name]
    assert len(files) == 4
    assert all(few[name] == many[name] for name in files)


def test_the_layout_is_the_official_one(folder: Path) -> None:
    train, solution = (tallymark.read_truth("lyft", folder / name) for name in ("train.csv", "solution.csv"))
    assert (len(train.items), len(solution.items)) == (8, 1)
    assert not tallymark.check("lyft", folder / "sample_submission.csv", against=folder).problems
    assert 0 < train.shapes.x.min() < train.shapes.x.max() < 1000  # the origin is the lower left corner of the map
    assert -30 < train.shapes.z.min() < train.shapes.z.max() < -5


def test_all_tokens_resolve(tables: dict[str, dict[str, Any]]) -> None:
    names = {f"{name}_token": name for name in TABLES} | {f"{name}_tokens": name for name in TABLES}
    names |= {"first_sample_token": "sample", "last_sample_token": "sample"}
    names |= {"first_annotation_token": "sample_annotation", "last_annotation_token": "sample_annotation"}
    for table, rows in tables.items():
        for row in rows.values():
            assert len(row["token"]) == 64 or table == "visibility"
            for column, value in row.items():
                named = table if column in ("prev", "next") else names.get(column)
                if named:
                    assert all(token in tables[named] for token in np.atleast_1d(value) if token)


def test_linked_lists_run_from_the_first_to_the_last_row(tables: dict[str, dict[str, Any]]) -> None:
    owners = [("scene", "sample", "sample", "nbr_samples")]
    owners += [("instance", "sample_annotation", "annotation", "nbr_annotations")]
    for owner, table, word, count in owners:
        for row in tables[owner].values():
            chain, token = [], row[f"first_{word}_token"]
            while token:
                chain.append(tables[table][token])
                assert chain[-1][f"{owner}_token"] == row["token"]
                token = chain[-1]["next"]
            assert chain[-1]["token"] == row[f"last_{word}_token"]
            assert len(chain) == row[count]
            assert [step["prev"] for step in chain] == ["", *(step["token"] for step in chain[:-1])]


def test_train_csv_equals_the_annotation_table(folder: Path, tables: dict[str, dict[str, Any]]) -> None:
    train = tallymark.read_truth("lyft", folder / "train.csv")
    stated = {(train.items.ids[item], x) for item, x in zip(train.item.tolist(), train.shapes.x.tolist(), strict=True)}
    assert stated == {(row["sample_token"], row["translation"][0]) for row in tables["sample_annotation"].values()}


def test_points_are_inside_the_cuboids(folder: Path, tables: dict[str, dict[str, Any]]) -> None:
    """Transformed from sensor to vehicle to world by the files only. Shifted cuboids contain far fewer points."""
    train = tallymark.read_truth("lyft", folder / "train.csv")
    contained = np.zeros(3)
    for row in tables["sample_data"].values():
        if row["fileformat"] == "bin":
            sensor, ego = (tables[name][row[f"{name}_token"]] for name in ("calibrated_sensor", "ego_pose"))
            pose = Poses.of(sensor["rotation"], sensor["translation"])
            pose = pose.then(Poses.of(ego["rotation"], ego["translation"]))
            points = np.fromfile(folder / f"train_{row['filename']}", "<f4").reshape(-1, 5)
            assert (points[:, 3] == 100).all()
            item = list(train.items.ids).index(row["sample_token"])
            here = train.shapes.take(np.flatnonzero(train.item == item))
            world = pose.apply(points[:, :3].astype(float))
            counts = [inside(world, replace(here, x=here.x + by)) for by in (0, 1.0, -1.0)]
            assert (counts[0] >= 4).all()
            contained += [count.sum() for count in counts]
    assert contained[1:].max() < 0.8 * contained[0]


def inside(points: np.ndarray, cuboids: Cuboids, slack: float = 0.05) -> np.ndarray:
    """The number of points (m, 3) inside each cuboid, enlarged by `slack` metres on all sides."""
    x, y, z = (points[:, axis] - middle[:, None] for axis, middle in enumerate((cuboids.x, cuboids.y, cuboids.z)))
    cos = np.cos(cuboids.yaw)[:, None]
    sin = np.sin(cuboids.yaw)[:, None]
    own = (cos * x + sin * y, cos * y - sin * x, z)
    halves = (side[:, None] / 2 + slack for side in (cuboids.length, cuboids.width, cuboids.height))
    return np.all([np.abs(part) <= half for part, half in zip(own, halves, strict=True)], axis=0).sum(axis=1)


@pytest.fixture(scope="module")
def street() -> Street:
    return make_street(stream(5), 20)


def test_nearly_all_points_of_an_object_are_inside_its_cuboid(street: Street) -> None:
    pose = ROOF.then(street.pose(1.0))
    cuboids = street.cuboids(1.0)
    points, owner = Lidar().sweep(street.solids(1.0), street.road.intersect, pose, stream(6))
    world = pose.apply(points[:, :3].astype(float))
    near = np.flatnonzero(np.bincount(owner[owner >= 0], minlength=len(cuboids)) > 100)
    assert len(near) > 4
    for object_id in near:
        own = world[owner == object_id]
        assert inside(own, cuboids.take(np.array([object_id])))[0] > 0.98 * len(own)
    beneath = street.road.height(world[:, 0], world[:, 1]) - world[:, 2]
    assert np.quantile(beneath, 0.99) < 0.1


def test_windows_contain_all_hits(street: Street) -> None:
    lidar = Lidar(48, 256)
    solids = street.solids(2.0)
    pose = ROOF.then(street.pose(2.0))
    origin = pose.translation[0]
    rays = np.tensordot(pose.matrices()[0], lidar.directions, 1).astype(np.float32)
    floor = street.road.intersect(origin, rays)
    everywhere = np.tile([0, 48, 0, 256], (len(solids), 1))
    expected, _ = cast(solids, origin, rays, everywhere, floor, None)
    windows = lidar.windows(solids, pose)
    twice, _ = cast(solids, origin, np.tile(rays, (1, 1, 2)), windows, np.tile(floor, (1, 2)), None)
    np.testing.assert_allclose(np.minimum(twice[:, :256], twice[:, 256:]), expected, rtol=1e-5)


def test_an_object_is_rendered_where_its_cuboid_projects(street: Street) -> None:
    """Without the nearest vehicle ahead, the image changes inside the projection of its cuboid and nowhere else."""
    camera = Camera(320, 180)
    pose = WINDSCREEN.then(street.pose(0.0))
    solids = street.solids(0.0)
    cuboids = street.cuboids(0.0)
    corners = np.concatenate([cuboids.ground.corners, np.zeros((len(cuboids), 4, 1))], axis=2).repeat(2, axis=1)
    corners[..., 2] = cuboids.z[:, None] + cuboids.height[:, None] / 2 * np.tile([-1, 1], 4)
    pixels, ahead = camera.project(pose.inverse().apply(corners.reshape(-1, 3)).reshape(-1, 8, 3))
    low = pixels.min(axis=1)
    high = pixels.max(axis=1)
    visible = (ahead.min(axis=1) > 2) & (low.min(axis=1) > 3) & (high < [317, 177]).all(axis=1)
    object_id = np.flatnonzero(visible)[ahead.mean(axis=1)[visible].argmin()]
    with_it = camera.render(solids, street.road, pose, stream(9))
    without = camera.render(solids.take(np.flatnonzero(solids.owner != object_id)), street.road, pose, stream(9))
    rows, columns = np.nonzero((with_it != without).any(axis=2))
    blur = 2
    assert ((columns >= low[object_id, 0] - blur) & (columns <= high[object_id, 0] + blur)).all()
    assert ((rows >= low[object_id, 1] - blur) & (rows <= high[object_id, 1] + blur)).all()
    assert columns.max() - columns.min() > 0.6 * (high - low)[object_id, 0]


def test_bodies_fill_their_cuboids() -> None:
    for design in (design for designs in DESIGNS.values() for design in designs):
        middle, half = (np.array([getattr(part, name) for part in design.parts]) for name in ("middle", "half"))
        np.testing.assert_allclose((middle + half).max(axis=0), 1, atol=0.05)
        np.testing.assert_allclose((middle - half).min(axis=0), -1, atol=0.05)


def test_road_users_do_not_collide() -> None:
    for seed in range(4):
        street = make_street(stream(seed, 1), 30)
        for time in (0.0, 3.0, 5.8):
            cuboids = street.cuboids(time)
            one = np.zeros(len(street.size), int)
            assert len(cuboids.pairs(cuboids, one, one).first) == len(cuboids)


def test_class_frequencies() -> None:
    labels = np.concatenate([make_street(stream(seed, 2), 5).objects.label for seed in range(30)])
    frequency = dict(zip(CLASSES, np.bincount(labels, minlength=9) / len(labels), strict=True))
    assert frequency["car"] > 0.5
    assert 0.05 < frequency["pedestrian"] < 0.3
    assert all(0.002 < value < 0.1 for name, value in frequency.items() if name not in ("car", "pedestrian"))


def test_options_out_of_range_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="beams"):
        write(tmp_path, 2, 1, replace(SMALL, beams=10_000))
    assert not list(tmp_path.iterdir())
