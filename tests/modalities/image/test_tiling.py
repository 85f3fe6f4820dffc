"""Tiles of large images: every pixel counts in exactly one tile, with context around it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import tallymark
from tallymark.detector.strides import BLOCK
from tallymark.modalities.image import tiling
from tallymark.modalities.image.modality import MODALITY
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.image.resize import GRAY, block_area, longer_side, pad_to_blocks
from tallymark.modalities.image.tiling import image_tiles, tile_spans


@given(length=st.integers(1, 5000), size=st.sampled_from([320, 512, 1536]), overlap=st.sampled_from([32, 64, 256]))
def test_spans_cover_a_length_once(length: int, size: int, overlap: int) -> None:
    spans = list(tile_spans(length, size, overlap))
    assert spans[0][2] == 0
    assert spans[-1][3] == length
    assert [span[2] for span in spans[1:]] == [span[3] for span in spans[:-1]]
    for start, stop, low, high in spans:
        assert start <= low < high <= stop
        assert stop - start <= size
        assert low == 0 or low - start >= overlap // 2 - 16
        assert high == length or stop - high >= overlap // 2 - 16


@given(width=st.integers(40, 500), height=st.integers(40, 500))
def test_tiles_are_crops_of_the_resized_image(width: int, height: int) -> None:
    rng = np.random.default_rng(0)
    image = rng.integers(0, 255, (height, width, 3), dtype=np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiling, "TILE_SIZE", 192)
        patch.setattr(tiling, "OVERLAP", 64)
        tiles = image_tiles(image)
        patch.setattr(tiling, "TILE_SIZE", 10_000)
        [whole] = image_tiles(image)
    counted = np.zeros(whole.data.shape[:2], int)
    for tile in tiles:
        left, top, right, bottom = tile.inside
        assert not any(side % BLOCK for side in tile.data.shape[:2])
        area = np.s_[tile.y + top : tile.y + bottom, tile.x + left : tile.x + right]
        counted[area] += 1
        assert (tile.data[top:bottom, left:right] == whole.data[area]).all()
    down, across = whole.inside[3], whole.inside[2]
    assert (counted[:down, :across] == 1).all()
    assert counted.sum() == down * across


@pytest.mark.parametrize(("height", "width"), [(30, 40), (32, 64), (100, 7)])
def test_images_are_padded_with_gray_to_blocks(height: int, width: int) -> None:
    image = np.full((height, width, 3), 7, np.uint8)
    padded = pad_to_blocks(image)
    assert (padded[:height, :width] == 7).all()
    assert not any(side % BLOCK for side in padded.shape[:2])
    assert max(padded.shape[0] - height, padded.shape[1] - width) < BLOCK
    assert (padded[height:] == GRAY).all()
    assert (padded[:, width:] == GRAY).all()


@pytest.mark.parametrize(("height", "width"), [(300, 400), (400, 300), (3000, 10), (20, 20)])
def test_the_longer_side_is_set(height: int, width: int) -> None:
    shown = longer_side(128)(width, height)
    assert max(shown) == 128
    assert min(shown) == max(round(128 * min(height, width) / max(height, width)), 1)


@given(width=st.integers(10, 900), height=st.integers(10, 900))
def test_an_area_of_blocks_keeps_proportions(width: int, height: int) -> None:
    across, down = block_area(256)(width, height)
    assert not down % BLOCK
    assert not across % BLOCK
    exact = 256 * np.sqrt(width / height)
    assert abs(across - exact) <= BLOCK
    assert abs(down - 256**2 / exact) <= BLOCK


@pytest.mark.parametrize(("task", "shown"), [("boxes", (96, 72)), ("labels", (96, 96))])
def test_resolution_changes_what_is_shown_and_not_the_coordinates(
    task: str, shown: tuple[int, int], tmp_path: Path
) -> None:
    Image.new("RGB", (400, 300)).save(tmp_path / "a.jpg")
    catalog = tallymark.read("wheat", tmp_path)
    recipe = ImageRecipe().replace(task=task, image_size=192, resolution=0.5)
    opened = MODALITY.open(catalog, 0, recipe)
    [tile] = opened.tiles
    assert opened.size == (400, 300)
    assert tile.inside == (0, 0, *shown)
    assert opened.scale == 400 / shown[0]
