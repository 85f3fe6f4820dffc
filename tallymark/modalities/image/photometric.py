"""Photometric augmentation: colour, tone, blur, noise and JPEG artefacts; pixels stay in place."""

from __future__ import annotations

import cv2
import numpy as np

from tallymark.modalities.image.recipe import ImageRecipe

LUMA = np.array([0.299, 0.587, 0.114])
"""Weights of red, green and blue in the luma."""
NOISE_POOL = 1 << 14
"""Extra random numbers drawn for the noise of one image, whose rows are slices of them."""

# The largest changes, at `color_jitter=1`; hue in radians.
MAX_GAMMA = 0.6
MAX_CONTRAST = 0.5
MAX_BRIGHTNESS = 0.25
MAX_SATURATION = 0.8
MAX_HUE = 0.6


def photometric_distort(rng: np.random.Generator, image: np.ndarray, recipe: ImageRecipe) -> np.ndarray:
    """The image, (height, width, 3) RGB bytes, with random colours, blur, noise and compression."""
    if recipe.color_jitter:
        image = cv2.LUT(image, tone_curve(rng, recipe.color_jitter))
    grayscale = rng.random() < recipe.grayscale
    if grayscale or recipe.color_jitter:
        image = cv2.transform(image, color_matrix(rng, recipe.color_jitter, grayscale))
    if rng.random() < recipe.blur:
        image = add_blur(rng, image)
    if rng.random() < recipe.noise:
        image = add_noise(rng, image)
    if rng.random() < recipe.jpeg:
        image = compress_jpeg(rng, image)
    return image


def tone_curve(rng: np.random.Generator, strength: float) -> np.ndarray:
    """A lookup table of 256 bytes with random gamma, contrast and brightness."""
    gamma, contrast, brightness = rng.uniform(-strength, strength, 3) * (MAX_GAMMA, MAX_CONTRAST, MAX_BRIGHTNESS)
    values = np.linspace(0, 1, 256) ** np.exp(gamma)
    values = (values - 0.5) * (1 + contrast) + 0.5 + brightness
    return np.clip(np.rint(values * 255), 0, 255).astype(np.uint8)


def color_matrix(rng: np.random.Generator, strength: float, grayscale: bool = False) -> np.ndarray:
    """A (3, 3) matrix of RGB with a random hue rotation and saturation; a saturation of 0 if `grayscale`."""
    saturation, hue = rng.uniform(-strength, strength, 2) * (MAX_SATURATION, MAX_HUE)
    to_gray = np.tile(LUMA, (3, 1))
    if grayscale:
        return to_gray
    across = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]]) / np.sqrt(3)  # cross product with the gray axis
    rotation = np.eye(3) + np.sin(hue) * across + (1 - np.cos(hue)) * across @ across
    return to_gray + (1 + saturation) * (rotation - to_gray)


def add_blur(rng: np.random.Generator, image: np.ndarray) -> np.ndarray:
    """Gaussian blur, or motion blur along a line of random direction."""
    if rng.random() < 0.5:
        return cv2.GaussianBlur(image, (0, 0), rng.uniform(0.5, 1.6), borderType=cv2.BORDER_REFLECT)
    reach = int(rng.integers(1, 4))
    angle = rng.uniform(0, np.pi)
    end = np.rint(reach * np.array([np.cos(angle), np.sin(angle)])).astype(int)
    kernel = np.zeros((2 * reach + 1, 2 * reach + 1), np.float32)
    cv2.line(kernel, (reach - end).tolist(), (reach + end).tolist(), 1.0)
    return cv2.filter2D(image, -1, kernel / kernel.sum(), borderType=cv2.BORDER_REFLECT)


def add_noise(rng: np.random.Generator, image: np.ndarray) -> np.ndarray:
    """Gaussian noise with a standard deviation of 3 to 15, independent in each channel.

    All rows are slices of one array of random numbers at random offsets: drawing them all would take ten times as long.
    """
    rows, length = image.shape[0], image.shape[1] * 3
    pool = rng.standard_normal(length + NOISE_POOL, np.float32) * rng.uniform(3, 15)
    slices = np.lib.stride_tricks.sliding_window_view(np.rint(pool).astype(np.int16), length)
    noise = slices[rng.integers(len(slices), size=rows)].reshape(image.shape)
    return cv2.add(image, noise, dtype=cv2.CV_8U)


def compress_jpeg(rng: np.random.Generator, image: np.ndarray) -> np.ndarray:
    """The image encoded as JPEG with a quality of 30 to 90, and decoded."""
    quality = [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(30, 91))]
    _, code = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), quality)
    decoded: np.ndarray = cv2.imdecode(code, cv2.IMREAD_COLOR_RGB)  # type: ignore[assignment]  # it was just encoded
    return decoded
