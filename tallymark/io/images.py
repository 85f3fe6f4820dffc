"""Images: size, pixels, and inspection of a file."""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import BinaryIO

import cv2
import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError
from PIL.TiffImagePlugin import BITSPERSAMPLE, EXTRASAMPLES, IMAGELENGTH, IMAGEWIDTH, TiffImageFile

from tallymark.io.archives import open_file
from tallymark.io.media import THUMBNAIL, BadMedia, Inspection, Medium, digest, read_bytes, unreadable
from tallymark.io.retries import retry
from tallymark.io.suffixes import HEIC_SUFFIXES, IMAGE_SUFFIXES

warnings.filterwarnings("ignore", module=r"PIL\.")  # of malformed metadata and of large images
cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)  # what it cannot decode is reported as BadMedia
MAX_PIXELS = 178_956_970
"""Pixels of the largest image that any command decodes: half a gigabyte. Pillow refuses larger ones too."""
JPEG_START = b"\xff\xd8"
JPEG_END = b"\xff\xd9"
JPEG_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
"""Markers of JPEGs that the height and the width of the image follow."""
JPEG_USUAL_FRAMES = {0xC0, 0xC1, 0xC2}
JPEG_METADATA = 0xE1
"""EXIF or XMP."""
JPEG_SCAN = 0xDA
"""The beginning of the pixels."""
JPEG_SEGMENTS = {0xC4, 0xDB, 0xDD, 0xFE, *range(0xE0, 0xF0)}
"""Markers that the length of what belongs to them follows."""
TRAILER = 1 << 12
"""Bytes that many cameras append to a JPEG; with a film, as in motion photos of phones, they are millions."""
PILLOW_ERRORS = (
    *(OSError, EOFError, ValueError, TypeError, SyntaxError, LookupError, ArithmeticError, MemoryError),
    *(struct.error, zlib.error, Image.DecompressionBombError),
)
"""Exceptions of Pillow for images that it cannot read."""
EXIF_ORIENTATION = 0x0112
TIFF_STARTS = (b"II*\0", b"MM\0*")
TIFF_BITS = 16
"""Most bits of a band: of 32, which are fractions or large numbers, nobody knows what is black and what is white."""
DEEP = 16
"""Bits of a band of which the upper 8 are read."""
DARK = 16
"""The brightest of these 8 bits in images of 12 bits that are stored in 16: nearly black, of 255."""
PNG_START = b"\x89PNG\r\n\x1a\n"
PNG_DEPTH = 24
"""Where a PNG states its bits per band."""
TIFF_REMEDY = "write red, green and blue in 8 bits"
UNASSOCIATED_ALPHA = 2
"""The kind of an extra band that is said to be the opacity: by default, GDAL says so of the fourth, as infrared."""
HEIC_MARK = b"ftyp"
HEIC_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"}
"""What follows the size and the mark at the beginning of a HEIC image, whatever its name."""
REDUCED = {8: cv2.IMREAD_REDUCED_GRAYSCALE_8, 4: cv2.IMREAD_REDUCED_GRAYSCALE_4, 2: cv2.IMREAD_REDUCED_GRAYSCALE_2}
"""Flags that decode an eighth, a quarter or a half of width and height; with that of colours, in colour."""
ENOUGH = 0.75
"""The share of a wanted side that a reduced image must have."""
WantedSize = Callable[[int, int], tuple[int, int]]
"""Width and height of a file's image to the width and height that are wanted of it."""


def read_image(path: Path) -> np.ndarray:
    """The pixels as (height, width, 3) RGB bytes, in the orientation of the EXIF metadata."""
    data = read_bytes(path)
    if _jpeg_size(data) is None:
        _read_size(data)  # a header may promise more pixels than there is memory
    pixels = _decode(data, cv2.IMREAD_COLOR_RGB)
    return _decode_with_pillow(data).copy() if pixels is None else pixels


def read_at_least(path: Path, wanted: WantedSize) -> tuple[np.ndarray, tuple[int, int]]:
    """An image of at least the wanted size as RGB bytes, and the width and height of the file's own.

    JPEGs are decoded at a half, a quarter or an eighth where that leaves the wanted width and height: in half of the
    time or less. Other images, and those that are wanted larger than they are, are decoded whole.
    """
    data = read_bytes(path)
    width, height = _jpeg_size(data, upright=True) or _read_size(data)
    pixels = None
    if data.startswith(JPEG_START):
        across, down = wanted(width, height)
        by = next((by for by in REDUCED if -(-width // by) >= across and -(-height // by) >= down), 1)
        pixels = _decode(data, cv2.IMREAD_COLOR_RGB | REDUCED.get(by, 0))
        if pixels is not None and pixels.shape[1::-1] != (-(-width // by), -(-height // by)):
            pixels = None  # its orientation is not read alike everywhere
    if pixels is None:
        pixels = _decode(data, cv2.IMREAD_COLOR_RGB)
    return (_decode_with_pillow(data).copy() if pixels is None else pixels), (width, height)


def read_reduced(path: Path, side: int) -> tuple[np.ndarray, tuple[int, int]]:
    """An image whose longer side is at most `side` pixels, as RGB bytes, and the width and height of the file's own.

    It may be `ENOUGH` of that where it is decoded faster so.
    """

    def enough(width: int, height: int) -> tuple[int, int]:
        scale = min(1, ENOUGH * side / max(width, height))
        return int(width * scale), int(height * scale)

    pixels, size = read_at_least(path, enough)
    scale = side / max(pixels.shape[:2])
    if scale < 1:
        shown = max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[0] * scale))
        pixels = cv2.resize(pixels, shown, interpolation=cv2.INTER_AREA)
    return pixels, size


def read_grey(path: Path) -> np.ndarray:
    """The grey levels of an image as (height, width) bytes: a third of the memory, for the map of a city."""
    data = read_bytes(path)
    pixels = _decode(data, cv2.IMREAD_GRAYSCALE)
    return cv2.cvtColor(_decode_with_pillow(data), cv2.COLOR_RGB2GRAY) if pixels is None else pixels


def image_size(path: Path) -> tuple[int, int]:
    """Width and height from the header, in the orientation of the EXIF metadata."""
    if path.suffix.lower() in HEIC_SUFFIXES:
        register_heic()

    def read() -> tuple[int, int]:
        with open_file(path) as file, open_with_pillow(file) as image:
            return _oriented_size(image)

    try:
        return retry(read)
    except PILLOW_ERRORS as error:
        raise _bad_media(error) from None


def inspect_image(path: Path) -> Inspection:
    """Decode all of an image. JPEGs are decoded at reduced size: all of the file is read, at a third of the cost."""
    data = read_bytes(path)
    width, height = _read_size(data)
    if data.startswith(JPEG_START) and not _has_end(data):
        raise BadMedia("truncated_media", "a JPEG without its end")
    reduced = next((flag for by, flag in REDUCED.items() if min(width, height) >= by * THUMBNAIL), cv2.IMREAD_GRAYSCALE)
    pixels = _decode(data, cv2.IMREAD_COLOR_RGB if _bits(data) == DEEP else reduced)  # of 16 bits, the brightest counts
    pixels = _decode_with_pillow(data) if pixels is None else pixels
    grey = pixels if pixels.ndim == 2 else cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    thumbnail = cv2.resize(grey, (THUMBNAIL, THUMBNAIL), interpolation=cv2.INTER_AREA)
    return Inspection((width, height), thumbnail, digest([data]))


def _jpeg_size(data: bytes, *, upright: bool = False) -> tuple[int, int] | None:
    """Width and height of a JPEG as it is stored; None if it has too many pixels, or is not as most are.

    Pillow takes six times as long to say so.
    upright: only of a common kind, without metadata that may turn it.
    """
    size = None
    for marker, at in _jpeg_segments(data):
        if marker in JPEG_FRAMES and size is None:
            depth, height, width, channels = struct.unpack(">BHHB", data[at + 4 : at + 10])
            size = (width, height) if 0 < height * width <= MAX_PIXELS else None
            usual = marker in JPEG_USUAL_FRAMES and depth == 8 and channels in (1, 3)
            if size is None or not upright or not usual:
                return None if upright else size
        elif marker == JPEG_SCAN:
            return size
        elif upright and (marker == JPEG_METADATA or marker not in JPEG_SEGMENTS):
            return None
    return None


def _has_end(data: bytes) -> bool:
    """Whether the pixels of a JPEG end. Before them is perhaps a preview with an end of its own, behind them a film."""
    scans = (at for marker, at in _jpeg_segments(data) if marker == JPEG_SCAN)
    return JPEG_END in data[-TRAILER:] or data.find(JPEG_END, next(scans, len(data))) >= 0


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, int]]:
    """The markers of a JPEG up to its pixels, and where they are; none of another file."""
    at = len(JPEG_START) if data.startswith(JPEG_START) else len(data)
    while at + 9 < len(data) and data[at] == 0xFF:
        yield data[at + 1], at
        if data[at + 1] == JPEG_SCAN:
            return
        at += 2 + int.from_bytes(data[at + 2 : at + 4])


def _read_size(data: bytes) -> tuple[int, int]:
    try:
        with open_with_pillow(io.BytesIO(data)) as image:
            return _oriented_size(image)
    except PILLOW_ERRORS as error:
        raise _bad_media(error) from None


def _decode(data: bytes, flag: int) -> np.ndarray | None:
    if data.startswith(TIFF_STARTS) and _has_opacity(data):  # by which OpenCV multiplies the colours
        return None
    try:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), flag)
    except cv2.error:  # more pixels than OpenCV allows
        return None
    if pixels is not None:
        _refuse_dark(data, pixels)
    return pixels


def _refuse_dark(data: bytes, pixels: np.ndarray) -> None:
    """Refuse images of 16 bits that use 12 of them or fewer: of their upper 8 bits, hardly anything is left."""
    if data.startswith((PNG_START, *TIFF_STARTS)) and 0 < pixels.max(initial=0) <= DARK and _bits(data) == DEEP:
        found, expected = "16 bits per band, of which 12 or fewer are used", "an image that is not nearly black"
        remedy = "stretch it to 8 bits: gdal_translate -ot Byte -scale 0 4095 0 255 OLD NEW"
        raise BadMedia("dark_image", found, remedy, expected)


def _bits(data: bytes) -> int:
    """Bits per band of a PNG or a TIFF that Pillow opens; else 8."""
    if data.startswith(PNG_START):
        return data[PNG_DEPTH] if len(data) > PNG_DEPTH else 8
    if not data.startswith(TIFF_STARTS):
        return 8
    try:
        with Image.open(io.BytesIO(data)) as image:
            return max(image.tag_v2.get(BITSPERSAMPLE, (8,))) if isinstance(image, TiffImageFile) else 8
    except PILLOW_ERRORS:
        return 8


def _has_opacity(data: bytes) -> bool:
    """Whether a TIFF has a fourth band as the opacity of its colours."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            kinds = image.tag_v2.get(EXTRASAMPLES) if isinstance(image, TiffImageFile) else None
            return image.mode == "RGBA" and kinds == (UNASSOCIATED_ALPHA,)
    except PILLOW_ERRORS:
        return False


def _decode_with_pillow(data: bytes) -> np.ndarray:
    """For formats that OpenCV does not know, and for the reason why a file cannot be read."""
    try:
        with open_with_pillow(io.BytesIO(data)) as image:
            pixels = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    except PILLOW_ERRORS as error:
        raise _bad_media(error) from None
    _refuse_dark(data, pixels)
    return pixels


def open_with_pillow(file: BinaryIO) -> Image.Image:
    """An image by Pillow, with the opener for HEIC where its content needs one: phones write some as `.jpg`."""
    start = file.read(12)
    file.seek(0)
    if start[4:8] == HEIC_MARK and start[8:12] in HEIC_BRANDS:
        register_heic()
    try:
        return Image.open(file)
    except UnidentifiedImageError:
        if not start.startswith(TIFF_STARTS):
            raise
        found = "a TIFF image that is damaged, or with bands that are not read"
        raise BadMedia("corrupt_media", found, TIFF_REMEDY) from None


@cache
def register_heic() -> None:
    """Let Pillow open HEIC images, which needs the extra `heic`."""
    try:
        import pillow_heif
    except ImportError:
        remedy = "pip install 'tallymark[heic]', or convert it to JPEG"
        raise BadMedia("unread_media", "a HEIC image", remedy) from None
    pillow_heif.register_heif_opener()


def _oriented_size(image: Image.Image) -> tuple[int, int]:
    width, height = image.size
    if isinstance(image, TiffImageFile):  # some versions of Pillow transpose the size of these
        width, height = int(image.tag_v2[IMAGEWIDTH]), int(image.tag_v2[IMAGELENGTH])
        bits = max(image.tag_v2.get(BITSPERSAMPLE, (1,)))
        if bits > TIFF_BITS:
            raise BadMedia("unread_media", f"a TIFF image with bands of {bits} bits", TIFF_REMEDY)
    if width * height > MAX_PIXELS:
        raise _too_large(f"{width} x {height} pixels")
    transposed = image.getexif().get(EXIF_ORIENTATION, 1) in (5, 6, 7, 8)
    return (height, width) if transposed else (width, height)


def _bad_media(error: Exception) -> BadMedia:
    if isinstance(error, UnidentifiedImageError):
        return BadMedia("corrupt_media", "not an image")
    if isinstance(error, Image.DecompressionBombError):
        return _too_large(str(error).partition(" exceeds")[0].removeprefix("Image size ").strip("()"))
    if isinstance(error, OSError) and error.errno is not None:  # of the system, not of Pillow
        return unreadable(error)
    kind = "truncated_media" if "truncated" in str(error) else "corrupt_media"
    return BadMedia(kind, str(error) or type(error).__name__)


def _too_large(found: str) -> BadMedia:
    remedy = f"scale it down or cut it up: at most {MAX_PIXELS} pixels are decoded"
    return BadMedia("image_too_large", found, remedy)


IMAGE = Medium("image", "image", frozenset(IMAGE_SUFFIXES), inspect_image)
