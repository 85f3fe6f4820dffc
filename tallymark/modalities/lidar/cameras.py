"""Camera images of a sample, and cuboids projected into them by the calibrations of cameras and vehicle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.drive import Drive
from tallymark.drawing.bev import cuboid_corners, draw_projected_cuboids, project_to_camera
from tallymark.drawing.colors import TRUTH, class_color
from tallymark.geometry import Cuboids
from tallymark.io.images import read_image, read_reduced
from tallymark.io.media import BadMedia

LINE = 600
"""Pixels of an image's width for each pixel of the width of lines."""


@dataclass(frozen=True, eq=False)
class CameraView:
    """An RGB image of a camera. shot: its row in the drive. matrix: the camera's (3, 3) intrinsic matrix."""

    drive: Drive
    shot: int
    channel: str
    image: np.ndarray
    matrix: np.ndarray

    def project(self, cuboids: Cuboids) -> tuple[np.ndarray, np.ndarray]:
        """The corners (n, 8, 2) of cuboids of the world in pixels, and which cuboids are visible."""
        corners = self.drive.to_camera(self.shot, cuboid_corners(cuboids).reshape(-1, 3)).reshape(-1, 8, 3)
        return project_to_camera(corners, self.matrix, (self.image.shape[1], self.image.shape[0]))

    def visible(self, shown: Annotations[Cuboids] | None) -> int:
        """How many cuboids are in view."""
        return 0 if shown is None else int(self.project(shown.shapes)[1].sum())

    def draw(self, shown: Annotations[Cuboids] | None, truth: Annotations[Cuboids] | None = None) -> np.ndarray:
        """The image with cuboids in the colours of their classes, and with the truth behind predictions."""
        image = self.image
        thickness = max(1, image.shape[1] // LINE)
        if truth is not None:
            pixels, visible = self.project(truth.shapes)
            image = draw_projected_cuboids(image, pixels[visible], [TRUTH] * int(visible.sum()))
        if shown is not None:
            pixels, visible = self.project(shown.shapes)
            colors = [class_color(label) for label in shown.labels[visible].tolist()]
            image = draw_projected_cuboids(image, pixels[visible], colors, thickness)
        return image


def camera_views(catalog: Catalog, item: int, width: int | None = None) -> list[CameraView]:
    """The images of an item's cameras that are not damaged; none where the data set has no cameras.

    width: pixels of the longer side that images are reduced to; by default they are read as they are.
    """
    drive = catalog.drive
    if drive is None or drive.samples[item] < 0:
        return []
    views = []
    for shot in drive.cameras(item).tolist():
        file = drive.sample_data["file"][shot]
        matrix = drive.intrinsic[shot]
        if file is None or not matrix.any():
            continue
        try:
            image, scale = _read(Path(file), width)
        except BadMedia as bad:  # `check` reports a damaged image; the sweep and other images are drawn all the same
            if bad.transient:
                raise
            continue
        views.append(CameraView(drive, shot, str(drive.sample_data["channel"][shot]), image, scale @ matrix))
    return views


def _read(path: Path, width: int | None) -> tuple[np.ndarray, np.ndarray]:
    """An image, and the matrix (3, 3) that its reduction multiplies the camera's intrinsic matrix by."""
    if width is None:
        return read_image(path), np.eye(3)
    image, (own_width, own_height) = read_reduced(path, width)
    return image, np.diag([image.shape[1] / own_width, image.shape[0] / own_height, 1.0])
