"""Scenes of images: a reduced image, with the outlines of objects in its pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.io.images import read_reduced
from tallymark.modalities.base import path_of
from tallymark.modalities.image.overlays import OVERLAYS, Overlay
from tallymark.modalities.scene import SCENE_SIDE, Scene


def image_scene(catalog: Catalog, item: int, side: int = SCENE_SIDE) -> Scene:
    """An image, at most `side` pixels long; a `BadMedia` if it cannot be read. Small images are not enlarged."""
    image, (width, height) = read_reduced(path_of(catalog, item), side)
    to_item = np.array([[width / image.shape[1], 0.0, 0.0], [0.0, height / image.shape[0], 0.0]])
    return Scene(image, to_item)


def image_paths(scene: Scene, annotations: Annotations[Any]) -> list[str]:
    """The outline of each box, rotated box or mask in the pixels of the scene; empty for labels."""
    overlay: Overlay[Any] = OVERLAYS[type(annotations.shapes)]
    return overlay.paths(annotations.shapes, scene.from_item)
