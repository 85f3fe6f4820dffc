"""Georeferences of images, and GPS positions of photographs."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tallymark.io.georeference import metres_per_degree, read_georeference
from tallymark.io.ground_resolution import gps_position, orientation

rasterio = pytest.importorskip("rasterio")
PIXELS = Image.fromarray(np.zeros((30, 40, 3), np.uint8))
UTM = "EPSG:32633"
"""Its central meridian is 15 degrees east, where x is 500,000 m."""


def geotiff(path: Path, crs: str | None = UTM) -> Path:
    affine = rasterio.Affine(1.5, 0, 500_000, 0, -1.5, 5_000_000)
    shape = {"width": 40, "height": 30, "count": 3, "dtype": "uint8"}
    with rasterio.open(path, "w", driver="GTiff", crs=crs, transform=affine, **shape) as file:
        file.write(np.zeros((3, 30, 40), np.uint8))
    return path


def world_file(folder: Path, name: str = "a.jpg", world: str = "a.jgw", **save: object) -> Path:
    PIXELS.save(folder / name, **save)
    (folder / world).write_text("1.5\n0\n0\n-1.5\n500000.75\n4999999.25\n")
    (folder / "a.prj").write_text(rasterio.crs.CRS.from_string(UTM).to_wkt(version="WKT1_ESRI"))
    return folder / name


def test_a_geotiff_lies_where_its_tags_say(tmp_path: Path) -> None:
    place = read_georeference(geotiff(tmp_path / "a.tif"))
    assert place is not None
    [[longitude, latitude]] = place.lonlat(np.array([[0.0, 0.0]])).tolist()
    assert (longitude, latitude) == (pytest.approx(15, abs=1e-9), pytest.approx(45.153, abs=0.001))
    # on the central meridian, UTM is a little too small, by 0.9996
    np.testing.assert_allclose(place.ground(np.array([[0.0, 0.0]]))[0], np.diag([1.5, -1.5]) / 0.9996, atol=2e-4)


def test_an_archive_has_georeferences_too(tmp_path: Path) -> None:
    geotiff(tmp_path / "a.tif")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(tmp_path / "a.tif", "in/a.tif")
    inside, outside = read_georeference(tmp_path / "a.zip" / "in" / "a.tif"), read_georeference(tmp_path / "a.tif")
    assert inside is not None
    assert outside is not None
    assert (inside.affine == outside.affine).all()


@pytest.mark.parametrize(
    ("name", "world"), [("a.jpg", "a.jgw"), ("a.JPG", "a.JGW"), ("a.png", "a.pngw"), ("a.tif", "a.tfw")]
)
def test_a_world_file_is_about_the_centres_of_pixels(name: str, world: str, tmp_path: Path) -> None:
    place = read_georeference(world_file(tmp_path, name, world))
    expected = read_georeference(geotiff(tmp_path / "other.tif"))
    assert place is not None
    assert expected is not None
    corners = np.array([[0.0, 0], [40, 0], [40, 30]])
    np.testing.assert_allclose(place.lonlat(corners), expected.lonlat(corners), atol=1e-9)


@pytest.mark.parametrize("turn", range(1, 9))
def test_a_turned_photograph_is_georeferenced_as_it_is_stored(turn: int, tmp_path: Path) -> None:
    """A mark in the stored pixels is at the same place, however the image is turned to be shown."""
    exif = Image.Exif()
    exif[0x0112] = turn
    path = world_file(tmp_path, exif=exif)
    stored = np.zeros((30, 40), np.uint8)
    stored[5, 8] = 255
    with Image.fromarray(stored) as marked:
        marked.getexif()[0x0112] = turn
        from PIL import ImageOps

        shown = np.asarray(ImageOps.exif_transpose(marked))
    [row], [column] = np.nonzero(shown)
    place = read_georeference(path)
    assert place is not None
    assert orientation(path) == turn
    x, y = place.affine[:, :2] @ (column + 0.5, row + 0.5) + place.affine[:, 2]
    assert (x, y) == (pytest.approx(500_000 + 8.5 * 1.5), pytest.approx(5_000_000 - 5.5 * 1.5))


def test_without_a_reference_system_there_is_no_georeference(tmp_path: Path) -> None:
    PIXELS.save(tmp_path / "plain.tif")
    assert read_georeference(tmp_path / "plain.tif") is None
    assert read_georeference(geotiff(tmp_path / "local.tif", crs=None)) is None
    path = world_file(tmp_path)
    (tmp_path / "a.prj").write_text("nonsense")
    assert read_georeference(path) is None
    (tmp_path / "a.prj").unlink()
    assert read_georeference(path) is None
    path = world_file(tmp_path)
    (tmp_path / "a.jgw").write_text("1.5\n0\n0\nnan\n0\n0\n")
    assert read_georeference(path) is None


def test_degrees_have_their_length_on_the_ellipsoid() -> None:
    np.testing.assert_allclose(metres_per_degree(np.array([0.0, 60.0])), [[111320, 110574], [55800, 111412]], rtol=1e-4)


def photograph(path: Path, gps: dict[int, object], own: dict[int, object] | None = None, turn: int = 1) -> Path:
    exif = Image.Exif()
    exif[0x0112] = turn
    exif.get_ifd(0x8825).update(gps)
    exif.get_ifd(0x8769).update(own or {})
    PIXELS.save(path, exif=exif)
    return path


SOUTH_WEST = {1: "S", 2: (33.0, 30.0, 36.0), 3: "W", 4: (70.0, 0.0, 9.0), 5: b"\x00", 6: 540.25}


def test_the_gps_position_of_a_photograph(tmp_path: Path) -> None:
    path = photograph(tmp_path / "a.jpg", {**SOUTH_WEST, 7: (9.0, 5.0, 7.5), 29: "2024:05:31"}, turn=6)
    found = gps_position(path)
    assert found is not None
    assert (found.latitude, found.longitude) == (pytest.approx(-33.51), pytest.approx(-70.0025))
    assert found.altitude == pytest.approx(540.25)
    assert found.time == "2024-05-31T09:05:07Z"
    clock = {0x9003: "2024:05:31 11:05:07", 0x9011: "+02:00"}
    found = gps_position(photograph(tmp_path / "b.jpg", {**SOUTH_WEST, 5: b"\x01"}, clock))
    assert found is not None
    assert (found.altitude, found.time) == (pytest.approx(-540.25), "2024-05-31T11:05:07+02:00")


@pytest.mark.parametrize(
    "gps",
    [
        {},
        {1: "N", 2: (0.0, 0.0, 0.0), 3: "E", 4: (0.0, 0.0, 0.0)},
        {1: "N", 2: (91.0, 0.0, 0.0), 3: "E", 4: (1.0, 0.0, 0.0)},
        {1: "N", 2: (1.0, 0.0, 0.0)},
    ],
)
def test_a_photograph_without_a_position(gps: dict[int, object], tmp_path: Path) -> None:
    assert gps_position(photograph(tmp_path / "a.jpg", gps)) is None
    (tmp_path / "b.jpg").write_bytes(b"nothing")
    assert gps_position(tmp_path / "b.jpg") is None
