"""Photometric augmentation: nothing at a strength of 0, and each change has its effect."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallymark.modalities.image.photometric import (
    add_blur,
    add_noise,
    color_matrix,
    compress_jpeg,
    photometric_distort,
    tone_curve,
)
from tests.modalities.image.painted import CROP_ONLY, generator, seeds

NAMES = ["color_jitter", "grayscale", "blur", "noise", "jpeg"]


def image(seed: int = 0) -> np.ndarray:
    return generator(seed).integers(0, 256, (40, 50, 3), np.uint8)


def flat(value: int = 128, side: int = 200) -> np.ndarray:
    return np.full((side, side, 3), value, np.uint8)


@given(seeds)
def test_nothing_is_changed_at_zero(seed: int) -> None:
    assert (photometric_distort(generator(seed), image(seed), CROP_ONLY) == image(seed)).all()


@pytest.mark.parametrize("name", NAMES)
def test_each_is_switched_on_by_its_own_field(name: str) -> None:
    before = image()
    after = photometric_distort(generator(1), before, CROP_ONLY.replace(**{name: 1}))
    assert after.shape == before.shape
    assert after.dtype == np.uint8
    assert (after != before).mean() > 0.3
    assert (before == image()).all(), "the image that was given is left alone"


@given(seeds, st.sampled_from(NAMES))
def test_the_same_seed_gives_the_same_light(seed: int, name: str) -> None:
    recipe = CROP_ONLY.replace(**{name: 1})
    assert (
        photometric_distort(generator(seed), image(), recipe) == photometric_distort(generator(seed), image(), recipe)
    ).all()


@given(seeds, st.floats(0, 1))
def test_a_tone_curve_never_falls(seed: int, strength: float) -> None:
    curve = tone_curve(generator(seed), strength)
    assert curve.shape == (256,)
    assert (np.diff(curve.astype(int)) >= 0).all()
    assert int(curve[-1]) - int(curve[0]) > 100 * (1 - strength / 2)


@given(seeds, st.floats(0, 1))
def test_greys_stay_grey(seed: int, strength: float) -> None:
    assert np.allclose(color_matrix(generator(seed), strength).sum(1), 1)


@given(seeds)
def test_a_strength_of_zero_is_no_change(seed: int) -> None:
    assert tone_curve(generator(seed), 0).tolist() == list(range(256))
    assert np.allclose(color_matrix(generator(seed), 0), np.eye(3))


def test_grey_windows_have_no_colour() -> None:
    for recipe in (CROP_ONLY.replace(grayscale=1), CROP_ONLY.replace(grayscale=1, color_jitter=1)):
        grey = photometric_distort(generator(0), image(), recipe)
        assert (grey[..., 0] == grey[..., 1]).all()
        assert (grey[..., 0] == grey[..., 2]).all()
        assert grey.std() > 10
    luma = image() @ (0.299, 0.587, 0.114)
    assert np.abs(photometric_distort(generator(0), image(), CROP_ONLY.replace(grayscale=1))[..., 0] - luma).max() < 1


@given(seeds)
def test_blur_smooths_and_keeps_the_light(seed: int) -> None:
    before = image(seed)
    after = add_blur(generator(seed), before)
    assert after.std() < before.std()
    assert abs(after.mean() - before.mean()) < 3
    assert (add_blur(generator(seed), flat(77, 20)) == 77).all()


@given(seeds)
def test_noise_is_centred_and_without_a_pattern(seed: int) -> None:
    noise = add_noise(generator(seed), flat()).astype(float) - 128
    assert abs(noise.mean()) < 1
    assert 2.5 < noise.std() < 16
    for step in (noise[:, 1:] * noise[:, :-1], noise[1:] * noise[:-1], noise[..., 1:] * noise[..., :-1]):
        assert abs(step.mean()) / noise.var() < 0.1


def test_noise_is_clipped_at_black_and_white() -> None:
    assert add_noise(generator(0), flat(0)).max() < 100
    assert add_noise(generator(0), flat(255)).min() > 150


def test_a_jpeg_keeps_its_colours() -> None:
    red = flat(0, 32)
    red[..., 0] = 200
    for seed in range(10):
        assert np.abs(compress_jpeg(generator(seed), red).astype(int) - (200, 0, 0)).max() < 12
