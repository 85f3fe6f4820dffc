"""Ground sampling distances that files state."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from tallymark.io.ground_resolution import ground_sampling_distance
from tallymark.io.media import BadMedia

PIXELS = Image.fromarray(np.zeros((30, 40, 3), np.uint8))
TIFF_DOUBLE, TIFF_SHORT = 12, 3


def geotiff(path: Path, side: float, keys: dict[int, int], latitude: float = 0.0) -> Path:
    tags = ImageFileDirectory_v2()
    listed = [1, 1, 0, len(keys), *(number for key, value in keys.items() for number in (key, 0, 1, value))]
    columns = {
        33550: ((side, side, 0.0), TIFF_DOUBLE),
        33922: ((0.0, 0.0, 0.0, 9.0, latitude, 0.0), TIFF_DOUBLE),
        34735: (tuple(listed), TIFF_SHORT),
    }
    for tag, (values, kind) in columns.items():
        tags.tagtype[tag] = kind
        tags[tag] = values
    PIXELS.save(path, tiffinfo=tags)
    return path


@pytest.mark.parametrize(
    ("side", "keys", "latitude", "expected"),
    [
        (1.5, {1024: 1, 3076: 9001}, 0.0, 1.5),
        (1.5, {1024: 1}, 0.0, 1.5),
        (2.0, {1024: 1, 3076: 9002}, 0.0, 0.6096),
        (2.0, {1024: 1, 3076: 9999}, 0.0, None),
        (1e-5, {1024: 2}, 60.0, 1.11195 * math.sqrt(0.5)),
        (2.0, {1024: 1, 3072: 3857, 3076: 9001}, 8_399_737.89, 1.0),  # at 60 degrees north
        (2.0, {1024: 1, 3072: 32633, 3076: 9001}, 8_399_737.89, 2.0),
        (0.0, {1024: 1}, 0.0, None),
    ],
)
def test_the_pixel_scale_of_a_geotiff(
    side: float, keys: dict[int, int], latitude: float, expected: float | None, tmp_path: Path
) -> None:
    found = ground_sampling_distance(geotiff(tmp_path / "a.tif", side, keys, latitude))
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-6))


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ({0x9206: 2.0, 0xA405: 50}, 2 * math.hypot(36, 24) / (50 * 50)),
        ({0x9206: 2.0, 0x920A: 8.0, 0xA20E: 1000.0, 0xA210: 3, 0xA002: 80}, 2 * 2 / (100 * 8)),
        ({0x9206: 2.0}, None),
        ({0x9206: 4294967295.0, 0xA405: 50}, None),
        ({0xA405: 50}, None),
    ],
)
def test_the_optics_in_exif(tags: dict[int, float], expected: float | None, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif.get_ifd(0x8769).update(tags)
    PIXELS.save(tmp_path / "a.jpg", exif=exif)
    found = ground_sampling_distance(tmp_path / "a.jpg")
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-3))


def test_other_files_state_nothing(tmp_path: Path) -> None:
    PIXELS.save(tmp_path / "a.png")
    assert ground_sampling_distance(tmp_path / "a.png") is None
    (tmp_path / "b.jpg").write_bytes(b"not an image")
    assert ground_sampling_distance(tmp_path / "b.jpg") is None
    with pytest.raises(BadMedia, match="no such file"):
        ground_sampling_distance(tmp_path / "no.jpg")


def test_images_in_archives_state_it_too(tmp_path: Path) -> None:
    image = geotiff(tmp_path / "a.tif", 0.5, {1024: 1})
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.write(image, "a.tif")
    assert ground_sampling_distance(tmp_path / "a.zip" / "a.tif") == ground_sampling_distance(image) == 0.5
