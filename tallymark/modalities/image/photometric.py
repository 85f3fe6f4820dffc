"""Changes of colour, light and quality that leave everything in its place."""

from __future__ import annotations

import cv2
import numpy as np

from tallymark.modalities.image.recipe import ImageRecipe

LUMA = np.array([0.299, 0.587, 0.114])
"""How bright red, green and blue seem."""
NOISE = 1 << 14
"""Random numbers drawn for the noise of one window; its rows are pieces of them."""

# The largest changes, at a `colour` of 1.
GAMMA, CONTRAST, BRIGHTNESS, SATURATION, HUE = 0.6, 0.5, 0.25, 0.8, 0.6


def change_light(rng: np.random.Generator, picture: np.ndarray, recipe: ImageRecipe) -> np.ndarray:
    """The picture, (height, width, 3) RGB bytes, in other light and with the faults of other cameras."""
    if recipe.color_jitter:
        picture = cv2.LUT(picture, tone_curve(rng, recipe.color_jitter))
    grey = rng.random() < recipe.grayscale
    if grey or recipe.color_jitter:
        picture = cv2.transform(picture, colour_matrix(rng, recipe.color_jitter, grey))
    if rng.random() < recipe.blur:
        picture = blurred(rng, picture)
    if rng.random() < recipe.noise:
        picture = noisy(rng, picture)
    if rng.random() < recipe.jpeg:
        picture = compressed(rng, picture)
    return picture


def tone_curve(rng: np.random.Generator, strength: float) -> np.ndarray:
    """A table of 256 bytes for gamma, contrast and brightness together."""
    gamma, contrast, brightness = rng.uniform(-strength, strength, 3) * (GAMMA, CONTRAST, BRIGHTNESS)
    values = np.linspace(0, 1, 256) ** np.exp(gamma)
    values = (values - 0.5) * (1 + contrast) + 0.5 + brightness
    return np.clip(np.rint(values * 255), 0, 255).astype(np.uint8)


def colour_matrix(rng: np.random.Generator, strength: float, grey: bool = False) -> np.ndarray:
    """A (3, 3) matrix of RGB that turns the hue around the axis of greys and scales the saturation, to 0 if `grey`."""
    saturation, hue = rng.uniform(-strength, strength, 2) * (SATURATION, HUE)
    colourless = np.tile(LUMA, (3, 1))
    if grey:
        return colourless
    across = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]]) / np.sqrt(3)  # the cross product with the axis
    turned = np.eye(3) + np.sin(hue) * across + (1 - np.cos(hue)) * across @ across
    return colourless + (1 + saturation) * (turned - colourless)


def blurred(rng: np.random.Generator, picture: np.ndarray) -> np.ndarray:
    """Out of focus, or taken with a moving camera."""
    if rng.random() < 0.5:
        return cv2.GaussianBlur(picture, (0, 0), rng.uniform(0.5, 1.6), borderType=cv2.BORDER_REFLECT)
    reach = int(rng.integers(1, 4))
    angle = rng.uniform(0, np.pi)
    end = np.rint(reach * np.array([np.cos(angle), np.sin(angle)])).astype(int)
    path = np.zeros((2 * reach + 1, 2 * reach + 1), np.float32)
    cv2.line(path, (reach - end).tolist(), (reach + end).tolist(), 1.0)
    return cv2.filter2D(picture, -1, path / path.sum(), borderType=cv2.BORDER_REFLECT)


def noisy(rng: np.random.Generator, picture: np.ndarray) -> np.ndarray:
    """With noise of a standard deviation from 3 to 15, different in each channel.

    All rows are cut from one line of random numbers, at random places: drawing them all would cost ten times as much.
    """
    rows, length = picture.shape[0], picture.shape[1] * 3
    line = rng.standard_normal(length + NOISE, np.float32) * rng.uniform(3, 15)
    pieces = np.lib.stride_tricks.sliding_window_view(np.rint(line).astype(np.int16), length)
    noise = pieces[rng.integers(len(pieces), size=rows)].reshape(picture.shape)
    return cv2.add(picture, noise, dtype=cv2.CV_8U)


def compressed(rng: np.random.Generator, picture: np.ndarray) -> np.ndarray:
    """Saved as JPEG of quality 30 to 90 and read again."""
    quality = [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(30, 91))]
    _, code = cv2.imencode(".jpg", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), quality)
    read: np.ndarray = cv2.imdecode(code, cv2.IMREAD_COLOR_RGB)  # type: ignore[assignment]  # it was just written
    return read
