"""Photographs and chips: their size, their pixels, and a look at a file."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError
from PIL.TiffImagePlugin import IMAGELENGTH, IMAGEWIDTH, TiffImageFile

from tallymark.io.folders import IMAGE_SUFFIXES
from tallymark.io.media import THUMBNAIL, BadMedia, Inspection, Medium, digest, read_bytes

warnings.filterwarnings("ignore", module=r"PIL\.")  # odd metadata and large pictures are read all the same
cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)  # what it cannot decode is reported by us
JPEG, JPEG_END = b"\xff\xd8", b"\xff\xd9"
TRAILER = 1 << 12
"""Bytes that cameras may put after the end of a JPEG."""
UNREADABLE = (OSError, ValueError, SyntaxError, KeyError, Image.DecompressionBombError)
"""What Pillow raises for pictures that it cannot read."""
REDUCED = {8: cv2.IMREAD_REDUCED_GRAYSCALE_8, 4: cv2.IMREAD_REDUCED_GRAYSCALE_4, 2: cv2.IMREAD_REDUCED_GRAYSCALE_2}


def read_image(path: Path) -> np.ndarray:
    """The pixels as (height, width, 3) RGB bytes, turned upright as its EXIF data says."""
    data = read_bytes(path)
    pixels = _decode(data, cv2.IMREAD_COLOR_RGB)
    return _by_pillow(data).copy() if pixels is None else pixels


def image_size(path: Path) -> tuple[int, int]:
    """Width and height from the header alone, upright."""
    try:
        with Image.open(path) as picture:
            return _upright(picture)
    except UNREADABLE as error:
        raise _refused(error) from None


def inspect_image(path: Path) -> Inspection:
    """Decode a picture to its end. JPEGs are decoded small: all of the file is read, at a third of the cost."""
    data = read_bytes(path)
    try:
        with Image.open(io.BytesIO(data)) as picture:
            width, height = _upright(picture)
    except UNREADABLE as error:
        raise _refused(error) from None
    if data.startswith(JPEG) and JPEG_END not in data[-TRAILER:]:
        raise BadMedia("truncated_media", "a JPEG without its end")
    small = next((flag for by, flag in REDUCED.items() if min(width, height) >= by * THUMBNAIL), cv2.IMREAD_GRAYSCALE)
    grey = _decode(data, small)
    if grey is None:
        grey = cv2.cvtColor(_by_pillow(data), cv2.COLOR_RGB2GRAY)
    thumbnail = cv2.resize(grey, (THUMBNAIL, THUMBNAIL), interpolation=cv2.INTER_AREA)
    return Inspection((width, height), thumbnail, digest(data))


def _decode(data: bytes, flag: int) -> np.ndarray | None:
    try:
        return cv2.imdecode(np.frombuffer(data, np.uint8), flag)
    except cv2.error:  # more pixels than it takes
        return None


def _by_pillow(data: bytes) -> np.ndarray:
    """For the formats that OpenCV does not know, and for a word on why a file cannot be read."""
    try:
        with Image.open(io.BytesIO(data)) as picture:
            return np.asarray(ImageOps.exif_transpose(picture).convert("RGB"))
    except UNREADABLE as error:
        raise _refused(error) from None


def _upright(picture: Image.Image) -> tuple[int, int]:
    width, height = picture.size
    if isinstance(picture, TiffImageFile):  # Pillow turns the size of these itself, in some versions
        width, height = int(picture.tag_v2[IMAGEWIDTH]), int(picture.tag_v2[IMAGELENGTH])
    turned = picture.getexif().get(0x0112, 1) in (5, 6, 7, 8)
    return (height, width) if turned else (width, height)


def _refused(error: Exception) -> BadMedia:
    if isinstance(error, UnidentifiedImageError):
        return BadMedia("corrupt_media", "not a picture")
    kind = "truncated_media" if "truncated" in str(error) else "corrupt_media"
    return BadMedia(kind, str(error) or type(error).__name__)


IMAGE = Medium("image", "image", frozenset(IMAGE_SUFFIXES), inspect_image)
