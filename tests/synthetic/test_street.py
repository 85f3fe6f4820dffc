"""Streets in lidar: the official files of the lyft challenge, and whether truth and points and pictures agree."""

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
    made = tmp_path_factory.mktemp("lyft")
    write(made, 9, 7, SMALL)
    return made


@pytest.fixture(scope="module")
def tables(folder: Path) -> dict[str, dict[str, Any]]:
    return {name: {row["token"]: row for row in load(folder, name)} for name in TABLES}


def load(folder: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((folder / "train_data" / f"{name}.json").read_text())
    return rows


def test_the_seed_decides_every_byte(folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "again", 9, 7, SMALL)
    write(tmp_path / "other", 9, 8, SMALL)
    first, other = contents(folder), contents(tmp_path / "other")
    assert contents(tmp_path / "again") == first
    assert len(first) == 11 + 13 + 2 * 9 + 2 + 3
    assert not {first[name] for name in first if name.endswith("bin")} & set(other.values())


def test_a_sample_does_not_depend_on_how_many_there_are(folder: Path, tmp_path: Path) -> None:
    write(tmp_path, 2, 7, SMALL)
    few, many = contents(tmp_path), contents(folder)
    files = [name for name in few if "_lidar" in name or "_images" in name]
    assert len(files) == 4
    assert all(few[name] == many[name] for name in files)


def test_the_official_readers_are_content(folder: Path) -> None:
    train, solution = (tallymark.read_truth("lyft", folder / name) for name in ("train.csv", "solution.csv"))
    assert (len(train.items), len(solution.items)) == (8, 1)
    assert not tallymark.check("lyft", folder / "sample_submission.csv", against=folder).problems
    assert train.shapes.x.min() > 700
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


def test_chains_lead_from_the_first_to_the_last(tables: dict[str, dict[str, Any]]) -> None:
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


def test_train_csv_says_what_the_tables_say(folder: Path, tables: dict[str, dict[str, Any]]) -> None:
    train = tallymark.read_truth("lyft", folder / "train.csv")
    said = {(train.items.ids[item], x) for item, x in zip(train.item.tolist(), train.shapes.x.tolist(), strict=True)}
    assert said == {(row["sample_token"], row["translation"][0]) for row in tables["sample_annotation"].values()}


def test_returns_lie_in_the_volumes(folder: Path, tables: dict[str, dict[str, Any]]) -> None:
    """From the files alone: sensor to vehicle to world. Volumes that are moved by a little hold far fewer."""
    train = tallymark.read_truth("lyft", folder / "train.csv")
    held = np.zeros(3)
    for row in tables["sample_data"].values():
        if row["fileformat"] == "bin":
            sensor, ego = (tables[name][row[f"{name}_token"]] for name in ("calibrated_sensor", "ego_pose"))
            pose = Poses.of(sensor["rotation"], sensor["translation"])
            pose = pose.then(Poses.of(ego["rotation"], ego["translation"]))
            points = np.fromfile(folder / f"train_{row['filename']}", "<f4").reshape(-1, 5)
            assert (points[:, 3] == 100).all()
            item = list(train.items.ids).index(row["sample_token"])
            here = train.shapes.take(np.flatnonzero(train.item == item))
            seen = pose.apply(points[:, :3].astype(float))
            counts = [inside(seen, replace(here, x=here.x + by)) for by in (0, 1.0, -1.0)]
            assert (counts[0] >= 4).all()
            held += [count.sum() for count in counts]
    assert held[1:].max() < 0.8 * held[0]


def inside(points: np.ndarray, volumes: Cuboids, slack: float = 0.05) -> np.ndarray:
    """How many of the points (m, 3) each volume holds, grown by `slack` on all sides."""
    x, y, z = (points[:, axis] - middle[:, None] for axis, middle in enumerate((volumes.x, volumes.y, volumes.z)))
    cos, sin = np.cos(volumes.yaw)[:, None], np.sin(volumes.yaw)[:, None]
    own = (cos * x + sin * y, cos * y - sin * x, z)
    halves = (side[:, None] / 2 + slack for side in (volumes.length, volumes.width, volumes.height))
    return np.all([np.abs(part) <= half for part, half in zip(own, halves, strict=True)], axis=0).sum(axis=1)


@pytest.fixture(scope="module")
def street() -> Street:
    return make_street(stream(5), 20)


def test_nearly_all_returns_of_a_thing_lie_in_its_volume(street: Street) -> None:
    pose, volumes = ROOF.then(street.pose(1.0)), street.volumes(1.0)
    points, owner = Lidar().sweep(street.solids(1.0), street.road.meet, pose, stream(6))
    seen = pose.apply(points[:, :3].astype(float))
    near = np.flatnonzero(np.bincount(owner[owner >= 0], minlength=len(volumes)) > 100)
    assert len(near) > 4
    for thing in near:
        own = seen[owner == thing]
        assert inside(own, volumes.take(np.array([thing])))[0] > 0.98 * len(own)
    beneath = street.road.height(seen[:, 0], seen[:, 1]) - seen[:, 2]
    assert np.quantile(beneath, 0.99) < 0.1


def test_windows_lose_no_ray(street: Street) -> None:
    lidar, solids, pose = Lidar(48, 256), street.solids(2.0), ROOF.then(street.pose(2.0))
    origin = pose.translation[0]
    rays = np.tensordot(pose.matrices()[0], lidar.directions, 1).astype(np.float32)
    floor = street.road.meet(origin, rays)
    everywhere = np.tile([0, 48, 0, 256], (len(solids), 1))
    expected, _ = cast(solids, origin, rays, everywhere, floor, None)
    windows = lidar.windows(solids, pose)
    twice, _ = cast(solids, origin, np.tile(rays, (1, 1, 2)), windows, np.tile(floor, (1, 2)), None)
    np.testing.assert_allclose(np.minimum(twice[:, :256], twice[:, 256:]), expected, rtol=1e-5)


def test_a_thing_shows_in_the_picture_where_its_volume_is(street: Street) -> None:
    """Take the nearest vehicle ahead away, and the picture changes there and nowhere else."""
    camera, pose = Camera(320, 180), WINDSCREEN.then(street.pose(0.0))
    solids, volumes = street.solids(0.0), street.volumes(0.0)
    corners = np.concatenate([volumes.ground.corners, np.zeros((len(volumes), 4, 1))], axis=2).repeat(2, axis=1)
    corners[..., 2] = volumes.z[:, None] + volumes.height[:, None] / 2 * np.tile([-1, 1], 4)
    pixels, ahead = camera.project(pose.inverse().apply(corners.reshape(-1, 3)).reshape(-1, 8, 3))
    low, high = pixels.min(axis=1), pixels.max(axis=1)
    shown = (ahead.min(axis=1) > 2) & (low.min(axis=1) > 3) & (high < [317, 177]).all(axis=1)
    thing = np.flatnonzero(shown)[ahead.mean(axis=1)[shown].argmin()]
    with_it = camera.picture(solids, street.road, pose, stream(9))
    without = camera.picture(solids.take(np.flatnonzero(solids.owner != thing)), street.road, pose, stream(9))
    rows, columns = np.nonzero((with_it != without).any(axis=2))
    blur = 2
    assert ((columns >= low[thing, 0] - blur) & (columns <= high[thing, 0] + blur)).all()
    assert ((rows >= low[thing, 1] - blur) & (rows <= high[thing, 1] + blur)).all()
    assert columns.max() - columns.min() > 0.6 * (high - low)[thing, 0]


def test_bodies_fill_their_volumes() -> None:
    for design in (design for designs in DESIGNS.values() for design in designs):
        middle, half = (np.array([getattr(part, name) for part in design.parts]) for name in ("middle", "half"))
        np.testing.assert_allclose((middle + half).max(axis=0), 1, atol=0.05)
        np.testing.assert_allclose((middle - half).min(axis=0), -1, atol=0.05)


def test_nothing_runs_into_anything() -> None:
    for seed in range(4):
        street = make_street(stream(seed, 1), 30)
        for time in (0.0, 3.0, 5.8):
            volumes, one = street.volumes(time), np.zeros(len(street.size), int)
            assert len(volumes.pairs(volumes, one, one).first) == len(volumes)


def test_most_are_cars_and_the_rare_are_there() -> None:
    kinds = np.concatenate([make_street(stream(seed, 2), 5).things.kind for seed in range(30)])
    share = dict(zip(CLASSES, np.bincount(kinds, minlength=9) / len(kinds), strict=True))
    assert share["car"] > 0.5
    assert 0.05 < share["pedestrian"] < 0.3
    assert all(0.002 < value < 0.1 for name, value in share.items() if name not in ("car", "pedestrian"))


def test_too_much_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="beams"):
        write(tmp_path, 2, 1, replace(SMALL, beams=10_000))
    assert not list(tmp_path.iterdir())
