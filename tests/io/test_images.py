"""Images are decoded at reduced size, and look like the whole image made smaller."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from tallymark.io import images
from tallymark.io.ground_resolution import GPS_IFD
from tallymark.io.images import (
    EXIF_ORIENTATION,
    image_size,
    inspect_image,
    read_at_least,
    read_grey,
    read_image,
    read_reduced,
)
from tallymark.io.media import BadMedia


@pytest.mark.parametrize(
    ("ending", "width"), [("jpg", 320), ("jpg", 700), ("jpg", 1024), ("jpg", 2100), ("png", 1024), ("webp", 700)]
)
def test_a_reduced_image_is_the_image_made_smaller(ending: str, width: int, tmp_path: Path) -> None:
    coarse = np.random.default_rng(0).integers(0, 255, (5, 8, 3)).astype(np.uint8)
    path = tmp_path / f"a.{ending}"
    Image.fromarray(coarse).resize((width, width // 2), Image.Resampling.BICUBIC).save(path)
    reduced, size = read_reduced(path, 512)
    assert size == (width, width // 2)
    assert reduced.shape[1] == width if width < 512 else 384 <= reduced.shape[1] <= 512
    whole = cv2.resize(read_image(path), reduced.shape[1::-1], interpolation=cv2.INTER_AREA)
    assert np.abs(whole.astype(int) - reduced).mean() < 3


@pytest.mark.parametrize("mode", ["L", "CMYK", "RGBA", "P"])
def test_every_mode_is_reduced_to_rgb(mode: str, tmp_path: Path) -> None:
    path = tmp_path / ("a.jpg" if mode in ("L", "CMYK") else "a.png")
    Image.new("RGB", (900, 600), (200, 40, 90)).convert(mode).save(path)
    reduced, size = read_reduced(path, 400)
    assert size == (900, 600)
    assert 300 <= reduced.shape[1] <= 400
    assert reduced.shape[2] == 3
    assert (np.ptp(reduced.reshape(-1, 3), axis=0) < 40).all()


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_a_fourth_band_does_not_change_the_colours(suffix: str, tmp_path: Path) -> None:
    """GDAL writes red, green, blue and infrared so: the fourth band is said to be the opacity."""
    bands = np.random.default_rng(0).integers(0, 255, (60, 90, 4)).astype(np.uint8)
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(bands).save(path)
    np.testing.assert_array_equal(read_image(path), bands[..., :3])
    np.testing.assert_array_equal(read_at_least(path, lambda *size: size)[0], bands[..., :3])
    grey = cv2.resize(cv2.cvtColor(bands[..., :3], cv2.COLOR_RGB2GRAY), (48, 48), interpolation=cv2.INTER_AREA)
    assert np.abs(inspect_image(path).thumbnail.astype(int) - grey).max() <= 1


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_a_tiff_of_which_no_range_is_known_is_refused(dtype: type, tmp_path: Path) -> None:
    """OpenCV takes 0.7 for 0: a radar image would be black."""
    path = tmp_path / "a.tif"
    Image.fromarray(np.full((60, 90), 0.7).astype(dtype)).save(path)
    for read in (read_image, image_size, inspect_image, lambda file: read_at_least(file, lambda *size: size)):
        with pytest.raises(BadMedia, match="a TIFF image with bands of 32 bits"):
            read(path)


@pytest.mark.parametrize("suffix", [".tif", ".png"])
@pytest.mark.parametrize("shape", [(60, 90), (60, 90, 3)])
@pytest.mark.parametrize(
    ("brightest", "refused"), [(4095, True), (900, True), (65535, False), (16383, False), (0, False)]
)
def test_twelve_bits_in_sixteen_are_refused(
    brightest: int, refused: bool, shape: tuple[int, ...], suffix: str, tmp_path: Path
) -> None:
    """In all functions alike, whether an image is read whole, reduced or in grey."""
    path = tmp_path / f"a{suffix}"
    pixels = np.full(shape, brightest // 5, np.uint16)
    pixels[10, 20] = brightest
    cv2.imwrite(str(path), pixels)
    for read in (read_image, read_grey, inspect_image, lambda file: read_reduced(file, 30)):
        if not refused:
            read(path)
            continue
        with pytest.raises(BadMedia, match="16 bits per band, of which 12 or fewer are used") as caught:
            read(path)
        assert caught.value.kind == "dark_image"


def test_a_tiff_with_bands_that_are_not_read_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    cv2.imwrite(str(path), np.zeros((60, 90, 3), np.float32))
    with pytest.raises(BadMedia, match="a TIFF image that is damaged, or with bands that are not read") as caught:
        read_image(path)
    assert caught.value.remedy == "write red, green and blue in 8 bits"


def saved(path: Path, width: int, height: int, orientation: int = 1) -> Path:
    """An image with smooth colours, in a file that is to be turned for showing."""
    coarse = np.random.default_rng(0).integers(0, 255, (5, 8, 3)).astype(np.uint8)
    exif = Image.Exif()
    exif[EXIF_ORIENTATION] = orientation
    Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC).save(path, exif=exif)
    return path


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
@pytest.mark.parametrize(
    ("wanted", "decoded"), [(512, 512), (511, 512), (400, 512), (256, 256), (100, 128), (513, 1023)]
)
def test_a_jpeg_is_decoded_with_no_fewer_pixels_than_wanted(
    wanted: int, decoded: int, orientation: int, tmp_path: Path
) -> None:
    path = saved(tmp_path / "a.jpg", 1023, 767, orientation)
    pixels, size = read_at_least(path, lambda width, height: (wanted * width // 1023, wanted * height // 1023))
    whole = read_image(path)
    assert size == whole.shape[1::-1]
    assert max(pixels.shape) == decoded
    shrunk = cv2.resize(whole, pixels.shape[1::-1], interpolation=cv2.INTER_AREA)
    assert np.abs(shrunk.astype(int) - pixels).mean() < 3


def test_both_sides_of_a_jpeg_have_the_pixels_that_are_wanted(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.jpg", 1024, 256)
    assert read_at_least(path, lambda width, height: (256, 256))[0].shape == (256, 1024, 3)
    assert read_at_least(path, lambda width, height: (256, 64))[0].shape == (64, 256, 3)


def test_images_other_than_jpegs_are_decoded_whole(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.png", 640, 480)
    pixels, size = read_at_least(path, lambda width, height: (80, 60))
    assert size == (640, 480)
    np.testing.assert_array_equal(pixels, read_image(path))


@pytest.mark.parametrize(
    "options", [{}, {"progressive": True}, {"comment": b"of a camera"}, {"icc_profile": b"0" * 99}]
)
def test_the_size_of_a_usual_jpeg_is_read_without_pillow(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jpg"
    Image.new("RGB", (90, 60), (200, 40, 90)).save(path, **options)
    turned = saved(tmp_path / "turned.jpg", 90, 60, orientation=6)
    monkeypatch.setattr(images, "_read_size", lambda data: (1, 1))
    assert read_at_least(path, lambda *size: size)[1] == (90, 60)
    assert read_at_least(turned, lambda *size: size)[1] == (1, 1)


def test_a_heic_photograph_with_another_suffix_has_its_size_and_position(tmp_path: Path) -> None:
    """Also where it is the first of all: that another one was read before must not decide."""
    heif = pytest.importorskip("pillow_heif")
    exif = Image.Exif()
    exif.get_ifd(GPS_IFD).update({1: "N", 2: (54.0, 30.0, 0.0), 3: "E", 4: (9.0, 0.0, 0.0)})
    photograph = heif.from_pillow(Image.new("RGB", (96, 64)))
    photograph.save(tmp_path / "phone.jpg", format="HEIF", exif=exif.tobytes())
    script = """
import sys
from pathlib import Path
from tallymark.io.ground_resolution import gps_position
from tallymark.io.images import image_size
path = Path(sys.argv[1])
print(gps_position(path) if sys.argv[2] == "position" else image_size(path))
"""
    for asked, expected in (("size", "(96, 64)"), ("position", "latitude=54.5, longitude=9.0")):
        command = [sys.executable, "-c", script, tmp_path / "phone.jpg", asked]
        assert expected in subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("progressive", [False, True])
def test_a_photograph_with_a_film_behind_it_is_whole(progressive: bool, tmp_path: Path) -> None:
    """A motion photo, with a preview in its metadata, which has an end of its own."""
    noise = np.random.default_rng(0).integers(0, 255, (300, 400, 3)).astype(np.uint8)
    preview, whole = io.BytesIO(), io.BytesIO()
    Image.fromarray(noise[:40, :60]).save(preview, "JPEG")
    metadata = b"Exif\0\0MM\0*\0\0\0\x08" + bytes(6) + preview.getvalue()
    Image.fromarray(noise).save(whole, "JPEG", exif=metadata, progressive=progressive)
    photograph, film = whole.getvalue(), b"\0\0\0\x18ftypmp42" + bytes(100_000)
    path = tmp_path / "a.jpg"
    path.write_bytes(photograph + film)
    assert inspect_image(path).extent == (400, 300)
    for cut in (photograph[:-2], photograph[: len(photograph) // 2], photograph[: len(photograph) // 2] + film):
        path.write_bytes(cut)
        with pytest.raises(BadMedia, match="a JPEG without its end"):
            inspect_image(path)
