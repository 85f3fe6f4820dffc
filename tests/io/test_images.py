"""Images are decoded at reduced size, and look like the whole image made smaller."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from tallymark.io.images import read_image, read_reduced


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
