"""Scenes of images: reduced, and with outlines where the objects are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.geometry import Boxes, Geometry, Labels, Masks, RotatedBoxes
from tallymark.geometry.affine import transform_points
from tallymark.io.images import IMAGE
from tallymark.io.media import BadMedia
from tallymark.modalities.image.render import RENDERER
from tallymark.modalities.scene import SCENE_SIDE
from tests.drawing.svg import filled, iou
from tests.io.test_large_media import png
from tests.reporting.sets import catalog_of

WHITE = slice(400, 700), slice(300, 1100)
"""Rows and columns of a white rectangle in the image of `painted`."""


def catalog_with(root: Path, name: str, shapes: Geometry) -> Catalog:
    """One labelled item with these shapes."""
    return catalog_of(root, IMAGE, [name, None], shapes, [0] * len(shapes))


def annotations(catalog: Catalog, shapes: Geometry) -> Annotations[Any]:
    return Annotations.from_rows(catalog.items, np.zeros(len(shapes), np.int64), shapes)


@pytest.fixture(params=["jpg", "png"])
def painted(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    """An image of 1600 x 900 pixels with a white rectangle."""
    image = np.zeros((900, 1600, 3), np.uint8)
    image[WHITE] = 255
    cv2.imwrite(str(tmp_path / f"a.{request.param}"), image)
    return catalog_with(tmp_path, f"a.{request.param}", Boxes.of(np.empty((0, 4))))


def shapes_of_the_rectangle() -> list[Geometry]:
    bitmap = np.zeros((900, 1600), bool)
    bitmap[WHITE] = True
    larger = np.zeros((1000, 2000), bool)  # images of several sizes share a canvas
    larger[WHITE] = True
    return [
        Boxes.of(np.array([[300, 400, 800, 300]])),
        RotatedBoxes.of(np.array([[700, 550, 300, 800, np.pi / 2]])),
        Masks.of([bitmap], bitmap.shape),
        Masks.of([larger], larger.shape),
    ]


@pytest.mark.parametrize("shapes", shapes_of_the_rectangle(), ids=["box", "rotated", "mask", "canvas"])
def test_a_path_is_where_the_object_is(shapes: Geometry, painted: Catalog) -> None:
    scene = RENDERER.scene(painted, 0)
    assert max(scene.image.shape) <= SCENE_SIDE
    (path,) = RENDERER.paths(scene, annotations(painted, shapes))
    assert iou(filled(path, scene.image.shape[:2]), scene.image[..., 0] > 127) > 0.99


def test_pixels_of_a_scene_lead_to_those_of_the_file(painted: Catalog) -> None:
    scene = RENDERER.scene(painted, 0)
    height, width = scene.image.shape[:2]
    corners = np.array([[0, 0], [width, 0], [width, height]])
    np.testing.assert_allclose(transform_points(scene.to_item, corners), [[0, 0], [1600, 0], [1600, 900]])
    np.testing.assert_allclose(transform_points(scene.from_item, np.array([[1600, 900]])), [[width, height]])


@pytest.mark.parametrize("turn", range(1, 9))
def test_the_exif_orientation_is_applied(turn: int, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = turn
    image = np.zeros((1000, 1500, 3), np.uint8)
    image[:100, :300] = 255
    Image.fromarray(image).save(tmp_path / "a.jpg", exif=exif)
    scene = RENDERER.scene(catalog_with(tmp_path, "a.jpg", Boxes.of(np.empty((0, 4)))), 0)
    upright = turn < 5
    assert (scene.image.shape[1] > scene.image.shape[0]) == upright
    height, width = scene.image.shape[:2]
    whole = transform_points(scene.to_item, np.array([width, height]))
    np.testing.assert_allclose(whole, (1500, 1000) if upright else (1000, 1500))


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        ((64, 48), (64, 48)),
        ((641, 10), (640, 10)),
        ((6000, 3), (640, 1)),
        ((3, 6000), (1, 640)),
        ((960, 960), (480, 480)),
    ],
)
def test_sizes_are_limited(size: tuple[int, int], shown: tuple[int, int], tmp_path: Path) -> None:
    Image.new("RGB", size).save(tmp_path / "a.jpg")
    scene = RENDERER.scene(catalog_with(tmp_path, "a.jpg", Labels(np.array([0]))), 0)
    assert scene.image.shape == (*shown[::-1], 3)
    assert scene.image.dtype == np.uint8
    smaller = RENDERER.scene(catalog_with(tmp_path, "a.jpg", Labels(np.array([0]))), 0, side=40)
    assert max(smaller.image.shape) <= 40


def test_labels_have_no_outline_and_images_no_windows(painted: Catalog) -> None:
    scene = RENDERER.scene(painted, 0)
    labels = annotations(painted, Labels(np.array([3, 1])))
    assert RENDERER.paths(scene, labels) == ["", ""]
    assert RENDERER.windows(painted, 0, labels) == [None]
    assert RENDERER.cuboids(scene, labels).shape == (0, 7)
    assert scene.cameras == ()


def test_images_that_cannot_be_read_are_bad_media(tmp_path: Path) -> None:
    (tmp_path / "text.jpg").write_text("no image")
    (tmp_path / "huge.png").write_bytes(png(32_000, 32_000))
    none = Labels(np.empty(0, np.int64))
    for name, kind in (("text.jpg", "corrupt_media"), ("huge.png", "image_too_large"), ("gone.jpg", "read_failed")):
        with pytest.raises(BadMedia) as raised:
            RENDERER.scene(catalog_with(tmp_path, name, none), 0)
        assert raised.value.kind == kind
    with pytest.raises(BadMedia):
        RENDERER.scene(catalog_with(tmp_path, "text.jpg", none), 1)
