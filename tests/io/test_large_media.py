"""Files that are small on disk and large in memory are refused by their header; large recordings are read in blocks."""

from __future__ import annotations

import struct
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from tallymark.io.audio import inspect_recording
from tallymark.io.images import MAX_PIXELS, image_size, inspect_image, read_image
from tallymark.io.media import BadMedia

SIDE = 32_000


def png(width: int, height: int) -> bytes:
    """The header of an image with one bit for each pixel, and a few rows of it."""
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)), (b"IDAT", zlib.compress(bytes(9000)))]
    body = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(body)


def bmp(width: int, height: int) -> bytes:
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 1, 0, 0, 0, 0, 2, 0)
    return b"BM" + struct.pack("<IHHI", 200, 0, 0, 62) + head + bytes(138)


def tiff(width: int, height: int) -> bytes:
    tags = [(256, 4, width), (257, 4, height), (258, 3, 8), (259, 3, 1), (262, 3, 1), (273, 4, 8), (278, 4, height)]
    tags += [(279, 4, width * height)]
    listed = b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in tags)
    return b"II*\0\x08\0\0\0" + struct.pack("<H", len(tags)) + listed + bytes(64)


def jpeg(width: int, height: int, folder: Path) -> bytes:
    path = folder / "small.jpg"
    Image.new("L", (16, 16)).save(path)
    data = path.read_bytes()
    at = data.index(b"\xff\xc0") + 5
    return data[:at] + struct.pack(">HH", height, width) + data[at + 4 :]


@pytest.mark.parametrize("ending", ["png", "bmp", "tif", "jpg"])
@pytest.mark.parametrize("read", [read_image, image_size, inspect_image])
def test_a_header_with_too_many_pixels_is_refused_before_decoding(
    read: Callable[[Path], object], ending: str, tmp_path: Path
) -> None:
    data = {"png": png, "bmp": bmp, "tif": tiff}.get(ending, lambda *size: jpeg(*size, tmp_path))(SIDE, SIDE)
    path = tmp_path / f"bomb.{ending}"
    path.write_bytes(data)
    with pytest.raises(BadMedia) as caught:
        read(path)
    assert (caught.value.kind, caught.value.found) == ("image_too_large", f"{SIDE**2} pixels")
    assert str(MAX_PIXELS) in caught.value.remedy


def test_a_long_recording_is_inspected_in_blocks(tmp_path: Path) -> None:
    """A sparse file of 100 MB; one of 1.2 GB needs no more."""
    size, rate = 100_000_000, 96_000
    form = struct.pack("<IHHIIHH", 16, 1, 1, rate, 2 * rate, 2, 16)
    with (tmp_path / "long.wav").open("wb") as file:
        file.write(b"RIFF" + struct.pack("<I", 36 + size) + b"WAVEfmt " + form + b"data" + struct.pack("<I", size))
        file.write(b"\x01\x00\x05\x00" * 1000)
        file.truncate(44 + size)
    tracemalloc.start()
    seconds = inspect_recording(tmp_path / "long.wav").extent[0]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds == size / 2 / rate
    assert peak < 16_000_000
