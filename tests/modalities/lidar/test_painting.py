"""Point painting: surfaces of the map and colours of camera images at the points of a sweep."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tallymark
from tallymark.data.catalog import Catalog
from tallymark.data.road_map import ROAD
from tallymark.io.images import read_image
from tallymark.modalities.lidar.dataset import LidarDataset
from tallymark.modalities.lidar.modality import MODALITY
from tallymark.modalities.lidar.painting import paint, painting_files, unpainted_items
from tallymark.modalities.lidar.recipe import LidarRecipe

BOTH = LidarRecipe().replace(point_painting="both", bev_range=16, voxel_size=0.5, height_bins=4, max_points=500)


@pytest.fixture
def catalog(sets: Path) -> Catalog:
    return tallymark.read("lyft", sets / "lyft").in_split("train")


def test_points_on_the_road_and_in_view_of_a_camera_are_painted(catalog: Catalog) -> None:
    drive = catalog.drive
    assert drive is not None
    points = drive.points(0, frame="ego")
    painted = paint(points, drive, 0, BOTH)
    assert painted.shape == (len(points), 10)
    np.testing.assert_array_equal(painted[:, :5], points)
    road = drive.surface(0, points[:, :2]) == ROAD
    np.testing.assert_array_equal(painted[:, 5] == 1, road)
    assert road[np.hypot(points[:, 0], points[:, 1]) < 4].mean() > 0.8
    seen = painted[:, 9] == 1
    bearing = np.degrees(np.arctan2(points[:, 1], points[:, 0] - 1.55))
    assert 0.05 < seen.mean() < 0.5
    assert (np.abs(bearing[seen]) < 45).all()  # the camera looks ahead, with a field of view of 80 degrees
    assert not painted[~seen, 6:9].any()
    file = painting_files(drive, 0, BOTH)[1]
    assert file is not None
    colors = {tuple(color) for color in read_image(file).reshape(-1, 3).tolist()}
    assert {tuple(color) for color in np.round(painted[seen, 6:9] * 255).astype(int).tolist()} <= colors


@pytest.mark.parametrize(("encoder", "shape"), [("bins", (64, 64, 13)), ("pillars", (500, 1, 11))])
def test_the_network_is_given_painted_points(catalog: Catalog, encoder: str, shape: tuple[int, ...]) -> None:
    recipe = BOTH.replace(bev_encoder=encoder)
    sample = LidarDataset(catalog, recipe).sample(np.random.default_rng(0), 0, mix=True)
    assert sample.data.shape == shape
    assert sample.data[..., -5].max() == 1  # the road
    (tile,) = MODALITY.open(catalog, 0, recipe).tiles
    assert MODALITY.rasterizer(recipe)(tile.data).shape == shape
    assert MODALITY.encoder(recipe).example().shape[-1] == shape[-1]
    plain = MODALITY.fingerprint(catalog, 0, recipe.replace(point_painting="none"))
    assert len(MODALITY.fingerprint(catalog, 0, recipe)) == len(plain) + 2


def test_the_fingerprint_of_a_painted_sample_depends_on_the_calibration_of_its_cameras(catalog: Catalog) -> None:
    drive = catalog.drive
    assert drive is not None
    shots = drive.cameras(0)
    moved = drive.sensor.translation.copy()
    moved[shots] += 0.1
    sensor = replace(drive.sensor, translation=moved)
    for other in (replace(drive, intrinsic=drive.intrinsic * 2), replace(drive, sensor=sensor)):
        recalibrated = replace(catalog, drive=other)
        for recipe, same in ((BOTH, False), (BOTH.replace(point_painting="map"), True)):
            before, after = (MODALITY.fingerprint(one, 0, recipe) for one in (catalog, recalibrated))
            assert (before == after) is same


def test_items_without_a_map_or_an_image_are_counted(catalog: Catalog) -> None:
    drive = catalog.drive
    assert drive is not None
    assert unpainted_items(catalog, BOTH) == {}
    blind = drive.sample_data.with_columns(file=pl.when(pl.col("modality") == "lidar").then("file"))
    bare = replace(catalog, drive=replace(drive, maps={}, sample_data=blind))
    assert unpainted_items(bare, BOTH) == {"map": len(catalog), "camera": len(catalog)}
    assert unpainted_items(replace(catalog, drive=None), BOTH.replace(point_painting="map")) == {"map": len(catalog)}
    assert unpainted_items(bare, BOTH.replace(point_painting="none")) == {}
    points = drive.points(0, frame="ego")
    assert not paint(points, bare.drive, 0, BOTH)[:, 5:].any()
    assert not paint(points, None, 0, BOTH)[:, 5:].any()
