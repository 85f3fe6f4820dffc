"""Scene: the picture of an item for a page, with its sound or its points, and how to place objects in it.

A renderer makes scenes; see `Renderer.scene`. A page encodes each at once and drops it: a scene takes megabytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tallymark.data.annotations import Annotations
from tallymark.geometry.affine import invert
from tallymark.geometry.poses import Poses
from tallymark.io.audio_writer import wav_bytes

SCENE_SIDE = 640
"""Longer side of a scene's image in pixels, at most."""
MAX_WINDOWS = 6
"""Windows that show a recording, at most, unless a page asks for more."""
LOUDEST = 0.9
"""The loudest sample of an encoded sound, as a share of full scale."""
STEP = 0.01
"""Metres per unit of quantised points; a multiple of it where points are far apart."""
LARGEST = 32_767
"""The largest quantised coordinate, of 16 bits."""

Window = tuple[float, float]
"""Start and end in seconds of a part of a recording."""


@dataclass(frozen=True, eq=False)
class Sound:
    """Mono samples (n,) as float32, and their rate in hertz."""

    samples: np.ndarray
    rate: int

    def wav(self) -> bytes:
        """A WAV file with 16 bits per sample, amplified or attenuated to `LOUDEST`: most calls are faint."""
        peak = float(np.abs(self.samples).max(initial=0))
        gain = LOUDEST / peak if peak > 0 else 1.0
        return wav_bytes((self.samples.astype(float) * gain).astype(np.float32), self.rate)


class SceneCamera(NamedTuple):
    """The image of a camera that took part of a scene.

    image: RGB bytes. paths: annotations of the scene's item to the SVG path of each in the pixels of the image, empty
    where an object is not in view.
    """

    name: str
    image: np.ndarray
    paths: Callable[[Annotations[Any]], list[str]]


class QuantizedPoints(NamedTuple):
    """Points as (n, 3) int16; `xyz * step + origin` are metres."""

    xyz: np.ndarray
    step: float
    origin: tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture of an item, or of a window of a recording.

    image: (height, width, 3) RGB bytes, at most `SCENE_SIDE` pixels long: a photograph, a spectrogram with its axes, or
        a sweep in bird's-eye view.
    to_item: (2, 3) affine transform from continuous pixels of the image to the item's own coordinates: pixels of the
        file; seconds and hertz; metres on the ground of the world, or of the lidar where no poses are known.
    window: of a recording: the part that is shown. sound: of this window.
    points: (n, 3) float32 of a sweep, in metres in the frame of the vehicle, or of the lidar where no poses are known.
    to_points: (2, 3) affine transform from pixels to x and y in the frame of `points`.
    pose: of the frame of `points` in the frame of the annotations; None where they are the same.
    cameras: images that were taken at the time of a sweep.
    """

    image: np.ndarray
    to_item: np.ndarray
    window: Window | None = None
    sound: Sound | None = None
    points: np.ndarray | None = None
    to_points: np.ndarray | None = None
    pose: Poses | None = None
    cameras: tuple[SceneCamera, ...] = ()

    @property
    def from_item(self) -> np.ndarray:
        """(2, 3): the inverse of `to_item`."""
        return invert(self.to_item)

    @property
    def svg_matrix(self) -> list[float]:
        """`to_item` in the order of SVG and CSS: x = a px + c py + e and y = b px + d py + f, as a, b, c, d, e, f."""
        return [float(value) for value in self.to_item.T.ravel()]


def quantize_points(points: np.ndarray) -> QuantizedPoints:
    """Points (n, 3) in metres to 16 bits each: to the centimetre, or coarser if they are more than 655 m apart."""
    if not len(points):
        return QuantizedPoints(np.empty((0, 3), np.int16), STEP, (0.0, 0.0, 0.0))
    low, high = points.min(axis=0).astype(float), points.max(axis=0).astype(float)
    origin = np.round((low + high) / 2, 2)
    reach = max(float(np.abs([low - origin, high - origin]).max()), STEP)
    step = STEP * max(1, int(np.ceil(reach / (STEP * LARGEST))))
    xyz = np.clip(np.round((points - origin) / step), -LARGEST, LARGEST).astype(np.int16)
    x, y, z = origin.tolist()
    return QuantizedPoints(xyz, step, (x, y, z))
