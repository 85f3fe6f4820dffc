"""What scenes have in common: sounds and points are encoded without a loss that could be heard or seen."""

from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile

from tallymark.modalities.scene import Scene, Sound, quantize_points


@pytest.mark.parametrize("gain", [1e-6, 0.3, 4e4])
def test_a_sound_is_encoded_at_full_scale(gain: float) -> None:
    samples = (gain * np.sin(np.arange(500))).astype(np.float32)
    decoded, rate = soundfile.read(io.BytesIO(Sound(samples, 1000).wav()))
    assert rate == 1000
    assert np.abs(decoded).max() == pytest.approx(0.9, abs=1e-3)
    np.testing.assert_allclose(decoded, samples * (0.9 / np.abs(samples).max()), atol=1e-4)


def test_silence_and_nothing_are_encoded_too() -> None:
    for samples in (np.zeros(10, np.float32), np.empty(0, np.float32)):
        decoded, _ = soundfile.read(io.BytesIO(Sound(samples, 2000).wav()))
        assert decoded.tolist() == samples.tolist()


def test_points_are_quantized_to_the_centimetre() -> None:
    points = np.random.default_rng(0).uniform((-120, -80, -3), (130, 90, 12), (1000, 3)).astype(np.float32)
    coded = quantize_points(points)
    assert coded.xyz.dtype == np.int16
    assert coded.step == 0.01
    assert np.abs(coded.xyz * coded.step + coded.origin - points).max() <= 0.006


def test_points_far_apart_are_quantized_coarser() -> None:
    points = np.array([[5e5, 4e6, 0], [5e5 + 3000, 4e6, 8]])
    coded = quantize_points(points)
    assert 0.04 < coded.step < 0.06
    assert np.abs(coded.xyz * coded.step + coded.origin - points).max() <= coded.step


def test_no_points_are_quantized_too() -> None:
    assert quantize_points(np.empty((0, 3), np.float32)).xyz.shape == (0, 3)


def test_the_matrix_of_a_scene_is_in_the_order_of_svg() -> None:
    scene = Scene(np.zeros((2, 2, 3), np.uint8), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    a, b, c, d, e, f = scene.svg_matrix
    px, py = 7, 11
    assert (a * px + c * py + e, b * px + d * py + f) == (7 + 22 + 3, 28 + 55 + 6)
