"""Point painting: what the map and the cameras have at the points of a sweep, as further columns of the points.

After "PointPainting: Sequential Fusion for 3D Object Detection" (Vora et al. 2020), with the colours of the images in
place of segmentation scores. Painted points keep their columns when they are rotated, dropped or pasted.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from tallymark.data.catalog import Catalog
from tallymark.data.drive import Drive
from tallymark.data.road_map import ROAD
from tallymark.io.images import read_image
from tallymark.io.media import BadMedia
from tallymark.modalities.lidar.recipe import LidarRecipe

USES: dict[str, tuple[str, ...]] = {"none": (), "map": ("map",), "camera": ("camera",), "both": ("map", "camera")}
COLUMNS = {"map": 1, "camera": 4}
"""Columns that each source adds: the surface; red, green, blue and whether a camera sees the point."""
MIN_DEPTH = 0.5
"""Metres in front of a camera from which points are painted."""


def painted_columns(recipe: LidarRecipe) -> int:
    """How many columns the recipe adds to the points."""
    return sum(COLUMNS[source] for source in USES[recipe.point_painting])


def painting_cameras(drive: Drive, item: int, recipe: LidarRecipe) -> np.ndarray:
    """The rows of the images that the points of an item are painted with."""
    return drive.cameras(item) if "camera" in USES[recipe.point_painting] else np.empty(0, np.int64)


def painting_files(drive: Drive, item: int, recipe: LidarRecipe) -> list[Path | None]:
    """The map and the images that the points of an item are painted with."""
    files = drive.sample_data["file"][painting_cameras(drive, item, recipe)].to_list()
    maps = [drive.map_of(item)] if "map" in USES[recipe.point_painting] else []
    return maps + [None if file is None else Path(file) for file in files]


def unpainted_items(catalog: Catalog, recipe: LidarRecipe) -> dict[str, int]:
    """How many items have no map or no camera image, of those sources that the recipe paints with."""
    drive = catalog.drive
    if drive is None:
        return dict.fromkeys(USES[recipe.point_painting], len(catalog))
    data = drive.sample_data
    shown = data.filter((pl.col("modality") == "camera") & pl.col("key") & pl.col("file").is_not_null())
    missing = {
        "map": lambda: sum(drive.map_of(item) is None for item in range(len(catalog))),
        "camera": lambda: len(catalog) - int(drive.tokens.is_in(shown["sample_token"].implode()).sum()),
    }
    counts = {source: missing[source]() for source in USES[recipe.point_painting]}
    return {source: count for source, count in counts.items() if count}


def paint(points: np.ndarray, drive: Drive | None, item: int, recipe: LidarRecipe) -> np.ndarray:
    """Points (n, 5) in the frame of the vehicle with the columns of the recipe, 0 where nothing is known."""
    painters = {"map": paint_surface, "camera": paint_color}
    columns = [painters[source](points, drive, item) for source in USES[recipe.point_painting]]
    return np.concatenate([points, *columns], axis=1) if columns else points


def paint_surface(points: np.ndarray, drive: Drive | None, item: int) -> np.ndarray:
    """(n, 1): 1 on a road, 0.5 on a sidewalk, else 0."""
    surface = None if drive is None else drive.surface(item, points[:, :2])
    if surface is None:
        return np.zeros((len(points), 1), np.float32)
    return (surface / np.float32(ROAD))[:, None]


def paint_color(points: np.ndarray, drive: Drive | None, item: int) -> np.ndarray:
    """(n, 4): red, green and blue from 0 to 1 in the first image that has a point in view, and 1 if there is one."""
    painted = np.zeros((len(points), 4), np.float32)
    if drive is None:
        return painted
    world = drive.ego_pose(item).apply(points[:, :3].astype(float))
    for shot in drive.cameras(item).tolist():
        matrix = drive.intrinsic[shot]
        file = drive.sample_data["file"][shot]
        left = np.flatnonzero(painted[:, 3] == 0)
        if file is None or not matrix.any() or not len(left):
            continue
        try:
            image = read_image(Path(file))
        except BadMedia as bad:  # points of a damaged image stay unpainted, as those that no camera sees
            if bad.transient:
                raise
            continue
        x, y, depth = (drive.to_camera(shot, world[left]) @ matrix.T).T
        ahead = np.flatnonzero(depth > MIN_DEPTH)
        column, row = (np.floor(along[ahead] / depth[ahead]).astype(np.int64) for along in (x, y))
        height, width = image.shape[:2]
        inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        seen = left[ahead[inside]]
        painted[seen, :3] = image[row[inside], column[inside]] / np.float32(255)
        painted[seen, 3] = 1
    return painted
