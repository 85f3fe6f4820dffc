"""Scenes of sweeps: points, cuboids, pixels and camera images agree on where things are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tallymark
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.geometry import Cuboids
from tallymark.geometry.affine import transform_points
from tallymark.geometry.points_in_boxes import count_points_in_cuboids
from tallymark.io.media import BadMedia
from tallymark.modalities.gallery import annotations_of
from tallymark.modalities.lidar.cameras import camera_views
from tallymark.modalities.lidar.render import RENDERER
from tallymark.modalities.lidar.scene import CAMERA_WIDTH, MAX_POINTS, read_points, thin_out
from tallymark.modalities.scene import SCENE_SIDE
from tests.drawing.svg import filled, lines_of
from tests.reporting.sets import lidar


@pytest.fixture(scope="module")
def drive(sets: Path) -> Catalog:
    """Synthetic samples with poses, a map and a camera; the first has most cuboids."""
    catalog = tallymark.read("lyft", sets / "lyft")
    assert catalog.truth is not None
    return catalog.select(np.argsort(-catalog.truth.counts)[:2])


def truth_of(catalog: Catalog, item: int = 0) -> Annotations[Cuboids]:
    truth = annotations_of(catalog, item)
    assert truth is not None
    return truth


def as_cuboids(rows: np.ndarray) -> Cuboids:
    """From x, y, z, length, width, height and yaw."""
    return Cuboids.of(rows[:, [0, 1, 2, 4, 3, 5, 6]])


def test_cuboids_contain_the_points_of_their_objects(drive: Catalog) -> None:
    truth = truth_of(drive)
    scene = RENDERER.scene(drive, 0)
    assert scene.points is not None
    assert drive.drive is not None
    world = drive.drive.points(0, frame="world").astype(float)
    expected = count_points_in_cuboids(world, truth.shapes)
    assert expected.sum() > 100
    found = count_points_in_cuboids(scene.points.astype(float), as_cuboids(RENDERER.cuboids(scene, truth)))
    assert len(scene.points) == len(world)  # few enough to keep all
    np.testing.assert_allclose(found, expected, atol=3, rtol=0.05)  # those on a face are rounded to either side


def test_pixels_lead_to_the_world(drive: Catalog) -> None:
    truth = truth_of(drive)
    scene = RENDERER.scene(drive, 0)
    paths = RENDERER.paths(scene, truth)
    headings = np.array([lines_of(path)[1] for path in paths])
    world = transform_points(scene.to_item, headings)
    cuboids = truth.shapes
    np.testing.assert_allclose(world[:, 0], np.stack([cuboids.x, cuboids.y], axis=1), atol=0.3)
    forward = world[:, 1] - world[:, 0]
    turn = np.arctan2(forward[:, 1], forward[:, 0]) - cuboids.yaw
    large = cuboids.length > 3
    assert np.abs(np.angle(np.exp(1j * turn)))[large].max() < 0.1


def test_a_path_surrounds_the_points_of_its_object(tmp_path: Path) -> None:
    catalog = lidar(tmp_path)
    corner = np.random.default_rng(0).uniform((8.5, 4, 0), (11.5, 6, 1), (4000, 3))
    np.column_stack([corner, np.ones(4000)]).astype("<f4").tofile(tmp_path / "0.bin")
    box = Cuboids.of(np.array([[10, 5, 0.5, 2, 3, 1, 0]]))
    scene = RENDERER.scene(catalog, 0)
    (path,) = RENDERER.paths(scene, Annotations.from_rows(catalog.items, np.zeros(1, np.int64), box))
    inside = filled(path, scene.image.shape[:2])
    pixel = transform_points(scene.from_item, corner[:, :2])
    assert inside[tuple(np.floor(pixel[:, ::-1]).astype(int).T)].mean() > 0.9
    assert scene.image[inside].mean() > 3 * scene.image[~inside].mean()
    np.testing.assert_allclose(transform_points(scene.to_item, pixel), corner[:, :2])


def test_a_scene_without_poses_is_in_the_frame_of_the_lidar(tmp_path: Path) -> None:
    catalog = lidar(tmp_path)
    truth = truth_of(catalog)
    scene = RENDERER.scene(catalog, 0)
    assert scene.image.shape == (SCENE_SIDE, SCENE_SIDE, 3)
    assert scene.cameras == ()
    assert scene.cameras == ()
    assert RENDERER.windows(catalog, 0, truth) == [None]
    np.testing.assert_allclose(RENDERER.cuboids(scene, truth), [[10, 5, 0, 4, 2, 1.5, 0.3]])


def test_objects_far_away_are_in_the_picture(tmp_path: Path) -> None:
    catalog = lidar(tmp_path)
    far = Cuboids.of(np.array([[70, -60, 0, 2, 4, 1.5, 0]]))
    around = Annotations.from_rows(catalog.items, np.zeros(1, np.int64), far)
    scene = RENDERER.scene(catalog, 0, around=around)
    (path,) = RENDERER.paths(scene, around)
    corners = np.concatenate(lines_of(path))
    assert (corners > 0).all()
    assert (corners < SCENE_SIDE).all()


def test_cuboids_are_projected_into_reduced_camera_images(drive: Catalog) -> None:
    truth = truth_of(drive)
    scene = RENDERER.scene(drive, 0)
    (view,) = camera_views(drive, 0)
    (camera,) = scene.cameras
    (paths,) = (camera.paths(truth) for camera in scene.cameras)
    assert camera.name == view.channel
    assert max(camera.image.shape) <= CAMERA_WIDTH
    pixels, visible = view.project(truth.shapes)
    assert [bool(path) for path in paths] == visible.tolist()
    assert visible.any()
    scale = camera.image.shape[1] / view.image.shape[1]
    for at in np.flatnonzero(visible).tolist():
        np.testing.assert_allclose(np.concatenate(lines_of(paths[at])[:2]), pixels[at] * scale, atol=0.06)


def test_a_scene_of_a_drive_without_images_has_no_cameras(drive: Catalog) -> None:
    assert drive.drive is not None
    rows = drive.drive.sample_data
    without = replace(drive.drive, sample_data=rows.with_columns(file=rows["file"].replace(rows["filename"], None)))
    lost = replace(drive, drive=replace(without, intrinsic=np.zeros_like(without.intrinsic)))
    assert RENDERER.scene(lost, 0).cameras == ()


@pytest.mark.parametrize("values", [[], [np.nan] * 8], ids=["none", "nan"])
def test_a_sweep_without_points_is_drawn(values: list[float], tmp_path: Path) -> None:
    catalog = lidar(tmp_path)
    np.array(values or [np.inf] * 4, "<f4").tofile(tmp_path / "0.bin")
    scene = RENDERER.scene(catalog, 0)
    assert scene.points is not None
    assert scene.points.shape == (0, 3)
    assert scene.image.shape == (SCENE_SIDE, SCENE_SIDE, 3)
    assert RENDERER.paths(scene, truth_of(catalog))[0]


@pytest.mark.filterwarnings("error")
def test_stray_points_and_cuboids_do_no_harm(tmp_path: Path) -> None:
    catalog = lidar(tmp_path)
    points = np.random.default_rng(0).uniform(-30, 30, (500, 4)).astype("<f4")
    points[::100] = 3e38
    points.tofile(tmp_path / "0.bin")
    rows = np.array([[10, 5, 0, 2, 4, 1.5, 0.3], [np.nan, 0, 0, 1, 1, 1, 0], [1e30, 0, 0, 2, 4, 1, 0]])
    shown = Annotations.from_rows(catalog.items, np.zeros(3, np.int64), Cuboids.of(rows))
    scene = RENDERER.scene(catalog, 0, around=shown)
    assert scene.points is not None
    assert len(scene.points) == 495
    there, nowhere, far = RENDERER.paths(scene, shown)
    assert (np.concatenate(lines_of(there)) < SCENE_SIDE).all()
    assert nowhere == ""
    assert "e" not in far


def test_sweeps_that_cannot_be_read_are_bad_media(tmp_path: Path, drive: Catalog) -> None:
    catalog = lidar(tmp_path)
    (tmp_path / "0.bin").write_bytes(b"abc")
    with pytest.raises(BadMedia):
        RENDERER.scene(catalog, 0)
    assert drive.drive is not None
    lost = replace(drive, drive=replace(drive.drive, samples=np.full(2, -1)), files=drive.files.clear(2))
    with pytest.raises(BadMedia):
        RENDERER.scene(lost, 0)


def test_dense_points_are_dropped_first() -> None:
    rng = np.random.default_rng(0)
    near = rng.uniform(-10, 10, (150_000, 3)) * (1, 1, 0.1)
    far = np.array([[60.0, 5, 1]]) + rng.uniform(-1, 1, (30, 3))
    stray = np.array([[0, 0, 1e20], [900, 0, 0]])
    points = np.concatenate([near, far, stray]).astype(np.float32)
    kept = thin_out(points)
    assert len(kept) == MAX_POINTS
    assert (thin_out(points) == kept).all()
    rows = {tuple(row) for row in points.tolist()}
    assert all(tuple(row) in rows for row in kept.tolist())
    assert (kept[:, 0] > 50).sum() == 30
    assert np.abs(kept).max() < 100
    quarter = np.histogram2d(kept[:, 0], kept[:, 1], bins=4, range=[[-10, 10]] * 2)[0]
    assert quarter.min() > 0.8 * quarter.max()


def test_few_points_are_all_kept_in_their_order(tmp_path: Path) -> None:
    catalog = lidar(tmp_path)
    points, pose = read_points(catalog, 1)
    assert pose is None
    assert np.array_equal(thin_out(points[:, :3]), points[:, :3])
