"""GeoJSON: polygons on the map that are the same masks again, and photographs with their counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import shapely

import tallymark
from tallymark.core.problems import BadInput
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.formats.coco_segmentation import rasterize, union
from tallymark.geometry import Boxes, Masks
from tests.io.test_georeference import SOUTH_WEST, photograph

rasterio = pytest.importorskip("rasterio")
SHAPE = (48, 64)
UTM = "EPSG:32633"


def scene(path: Path, turned: float = 0.0) -> Any:
    """A GeoTIFF of 2 m per pixel on the central meridian of its zone."""
    cos, sin = 2 * np.cos(np.radians(turned)), 2 * np.sin(np.radians(turned))
    affine = rasterio.Affine(cos, sin, 500_000, sin, -cos, 5_000_000)
    options = {"width": SHAPE[1], "height": SHAPE[0], "count": 3, "dtype": "uint8", "crs": UTM, "transform": affine}
    with rasterio.open(path, "w", driver="GTiff", **options) as file:
        file.write(np.full((3, *SHAPE), 60, np.uint8))
    return affine


def ships(names: list[str]) -> Annotations[Masks]:
    """In each image a ship of 20 x 4 px along x, and a mask with a hole and a second part."""
    plain, odd = np.zeros((2, *SHAPE), bool)
    plain[10:14, 5:25] = True
    odd[20:30, 30:40] = True
    odd[24:26, 34:36] = False
    odd[35:37, 50:53] = True
    masks = Masks.of([plain, odd] * len(names), SHAPE)
    return Annotations.from_rows(Items.of(names), np.repeat(np.arange(len(names)), 2), masks)


def submitted(folder: Path, names: list[str]) -> Path:
    tallymark.write("ships", ships(names), folder / "submission.csv", shape="48x64")
    return folder / "submission.csv"


@pytest.mark.parametrize("turned", [0.0, 30.0])
def test_masks_on_the_map_are_the_same_masks(turned: float, tmp_path: Path) -> None:
    from rasterio.warp import transform

    (tmp_path / "in").mkdir()
    affine = scene(tmp_path / "in" / "a.tif", turned)
    path, out = submitted(tmp_path, ["a.tif"]), tmp_path / "ships.geojson"
    assert tallymark.convert("ships", path, out, to="geojson", media=tmp_path / "in", shape="48x64") == ()
    collection = json.loads(out.read_text())
    assert collection["type"] == "FeatureCollection"
    expected = ships(["a.tif"]).shapes
    for at, feature in enumerate(collection["features"]):
        assert shapely.geometry.shape(feature["geometry"]).is_valid
        assert feature["properties"]["image"] == "a.tif"
        parts = feature["geometry"]["coordinates"]
        rings = [ring for part in ([parts] if feature["geometry"]["type"] == "Polygon" else parts) for ring in part]
        filled = []
        for ring in rings:
            longitude, latitude = np.array(ring[:-1]).T
            assert ring[0] == ring[-1]
            x, y = transform("EPSG:4326", UTM, longitude, latitude)
            matrix = np.array(affine).reshape(3, 3)
            corners = np.linalg.solve(matrix[:2, :2], np.array([x, y]) - matrix[:2, 2:]).T.round(4)
            filled.append(rasterize(corners, SHAPE))
        odd = np.zeros(SHAPE, bool)
        for start, length in (union([one]) for one in filled):
            odd ^= Masks(start, length, np.array([0, len(start)]), SHAPE).bitmap(0)
        assert (odd == expected.bitmap(at)).all()
    ship = collection["features"][0]["properties"]
    assert ship["length_m"] == pytest.approx(40 / 0.9996, rel=1e-4)
    assert ship["width_m"] == pytest.approx(8 / 0.9996, rel=1e-4)
    assert ship["area_m2"] == pytest.approx(320 / 0.9996**2, rel=1e-4)
    assert ship["heading"] == pytest.approx(90 - turned, abs=0.01)
    # RFC 7946: outer rings counter-clockwise, holes clockwise
    outer, hole = collection["features"][1]["geometry"]["coordinates"][0]
    assert shapely.LinearRing(outer).is_ccw
    assert not shapely.LinearRing(hole).is_ccw


@pytest.mark.parametrize(("crs", "left"), [("EPSG:4326", 179.9985), ("EPSG:4326", -180.0015), ("EPSG:3832", None)])
def test_an_object_across_the_date_line_is_in_one_piece(crs: str, left: float | None, tmp_path: Path) -> None:
    """EPSG:3832 is a projection of the Pacific, with 180 degrees east inside of it."""
    from rasterio.warp import transform

    degree, folder = 1e-4, tmp_path / "in"
    folder.mkdir()
    if left is None:
        [left], [top] = transform("EPSG:4326", crs, [179.9985], [10])
        step = transform("EPSG:4326", crs, [179.9985 + degree], [10])[0][0] - left
    else:
        top, step = 10, degree
    options = {"width": SHAPE[1], "height": SHAPE[0], "count": 3, "dtype": "uint8", "crs": crs}
    affine = rasterio.Affine(step, 0, left, 0, -step, top)
    with rasterio.open(folder / "a.tif", "w", driver="GTiff", transform=affine, **options) as file:
        file.write(np.full((3, *SHAPE), 60, np.uint8))
    path, out = submitted(tmp_path, ["a.tif"]), tmp_path / "ships.geojson"
    tallymark.convert("ships", path, out, to="geojson", media=folder, shape="48x64")
    across, beyond = json.loads(out.read_text())["features"]
    west, _, east, _ = shapely.geometry.shape(across["geometry"]).bounds
    assert [west % 360, east % 360] == pytest.approx([179.999, 180.001], abs=1e-6)
    assert east - west == pytest.approx(20 * degree, abs=1e-6)
    west, _, east, _ = shapely.geometry.shape(beyond["geometry"]).bounds
    assert [west, east] == pytest.approx([-179.9985, -179.9962], abs=1e-6)


def test_boxes_on_the_map(tmp_path: Path) -> None:
    scene(tmp_path / "a.tif")
    (tmp_path / "a.txt").write_text("0 0.5 0.5 0.25 0.5\n")
    tallymark.convert("wheat", tmp_path, tmp_path / "boxes.geojson", to="geojson")
    [feature] = json.loads((tmp_path / "boxes.geojson").read_text())["features"]
    assert feature["properties"]["length_m"] == pytest.approx(48 / 0.9996, rel=1e-4)
    assert "heading" not in feature["properties"]
    assert shapely.geometry.shape(feature["geometry"]).exterior.is_ccw


def test_images_without_a_georeference_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    scene(folder / "a.tif")
    cv2.imwrite(str(folder / "b.png"), np.zeros((*SHAPE, 3), np.uint8))
    path, out = submitted(tmp_path, ["a.tif", "b.png"]), tmp_path / "out.geojson"
    [note] = tallymark.convert("ships", path, out, to="geojson", media=folder, shape="48x64")
    assert "1 of 2 images have no georeference: b.png" in note
    (folder / "a.tif").unlink()
    cv2.imwrite(str(folder / "a.tif"), np.zeros((*SHAPE, 3), np.uint8))
    with pytest.raises(BadInput, match=r"a\.tif, b\.png.*world file"):
        tallymark.convert("ships", path, tmp_path / "none.geojson", to="geojson", media=folder, shape="48x64")
    assert not (tmp_path / "none.geojson").exists()


def test_photographs_on_the_map(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    photograph(folder / "a.jpg", SOUTH_WEST)
    photograph(folder / "b.jpg", {})
    boxes = Boxes.of(np.array([[1.0, 2, 3, 4], [5, 6, 7, 8]]))
    found = Annotations.from_rows(Items.of(["a", "b"]), np.array([0, 0]), boxes, score=np.array([0.5, 0.9]))
    tallymark.write("wheat", found, tmp_path / "submission.csv")
    out = tmp_path / "photos.geojson"
    [note] = tallymark.convert("wheat", tmp_path / "submission.csv", out, to="photos", media=folder, gsd=0.01)
    assert "1 of 2 images have no GPS position: b" in note
    [feature] = json.loads(out.read_text())["features"]
    assert feature["geometry"] == {"type": "Point", "coordinates": [-70.0025, -33.51]}
    expected = {"image": "a.jpg", "count": 2, "altitude_m": 540.25, "per_square_metre": round(2 / 0.12, 4)}
    assert feature["properties"] == expected
