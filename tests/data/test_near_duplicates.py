"""Near-duplicates: copies are found, and different images are not."""

from __future__ import annotations

import numpy as np
import pytest

from tallymark.data.near_duplicates import NearDuplicates, cluster_duplicates, find_near_duplicates
from tallymark.io.media import THUMBNAIL


def noise(seed: int, size: int = 3 * THUMBNAIL) -> np.ndarray:
    """A image with large and small blobs, like a coast."""
    rng = np.random.default_rng(seed)
    image = sum(np.kron(rng.normal(0, 20, (size // k, size // k)), np.ones((k, k))) for k in (16, 8, 4))
    return np.clip(128 + image, 0, 255).astype(np.uint8)


def test_a_noisy_copy_is_found_among_others() -> None:
    rng = np.random.default_rng(0)
    images = np.stack([noise(k, THUMBNAIL) for k in range(200)])
    images[150] = np.clip(images[20] + rng.normal(0, 4, images[20].shape) + 5, 0, 255)
    found = find_near_duplicates(images)
    assert list(zip(found.first, found.second, strict=True)) == [(20, 150)]
    assert found.similarity[0] > 0.97


@pytest.mark.parametrize(("down", "across"), [(16, 0), (0, 32), (16, 16)])
def test_shifted_crops_share_cells(down: int, across: int) -> None:
    scene = noise(5)
    a, b = scene[:48, :48], scene[down : down + 48, across : across + 48]
    images = np.stack([a, noise(6, THUMBNAIL), b])
    assert len(find_near_duplicates(images)) == 0
    found = find_near_duplicates(images, cells=3)
    assert list(zip(found.first, found.second, strict=True)) == [(0, 2)]


def test_plain_water_is_no_evidence() -> None:
    rng = np.random.default_rng(0)
    plain = np.clip(100 + rng.normal(0, 1, (20, THUMBNAIL, THUMBNAIL)), 0, 255).astype(np.uint8)
    assert len(find_near_duplicates(plain, cells=3)) == 0


def test_nothing_to_compare() -> None:
    assert len(find_near_duplicates(np.empty((0, THUMBNAIL, THUMBNAIL), np.uint8))) == 0
    assert len(find_near_duplicates(noise(1, THUMBNAIL)[None], cells=3)) == 0


def test_chains_make_clusters() -> None:
    chain = NearDuplicates(np.array([0, 1]), np.array([1, 4]), np.ones(2))
    number = cluster_duplicates(6, chain)
    assert number[0] == number[1] == number[4]
    assert len(set(number)) == 4
