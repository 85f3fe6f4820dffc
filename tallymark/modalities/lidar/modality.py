"""Lidar sweeps: points around the vehicle, rasterised to a bird's-eye view or listed for pillars."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tallymark.core.problems import BadInput, Problem
from tallymark.data.catalog import Catalog, LabelledCatalog
from tallymark.detector.strides import BLOCK
from tallymark.detector.tta import TTATransform
from tallymark.geometry.poses import Poses
from tallymark.io.lidar import SWEEP
from tallymark.io.media import BadMedia
from tallymark.modalities.base import BLANK, Dataset, InputPlan, ModelInput, Probe, Tile, fingerprint_file
from tallymark.modalities.lidar.bev import POINT_FEATURES, BEVCanvas
from tallymark.modalities.lidar.painting import painting_cameras, painting_files, unpainted_items
from tallymark.modalities.lidar.recipe import LidarRecipe
from tallymark.modalities.lidar.sweeps import UPRIGHT, bev_grid, bev_input, read_scan

if TYPE_CHECKING:
    from tallymark.detector.encoders import Encoder

BOXES, BOX_POINTS = 200, 100
"""Of a synthetic tile: about as many points as a sweep has, in boxes the size of a car."""


class LidarModality:
    """Point clouds (n, 5): x forward, y left, z up in metres above the ground, intensity, seconds before the sample."""

    name = "lidar"
    medium = SWEEP
    linking_tables = ("sample.json", "sample_data.json")
    recipe_type = LidarRecipe

    def validate(self, recipe: LidarRecipe) -> None:
        bev_grid(recipe)
        crop = recipe.crop_size
        if crop and (crop % BLOCK or recipe.bev_encoder == "pillars"):
            expected = f"0, or with bev_encoder=bins a multiple of {BLOCK}"
            raise BadInput(Problem("bad_option", "recipe", f"crop_size={crop}", expected, "give e.g. crop_size=0"))

    def open(self, catalog: Catalog, item: int, recipe: LidarRecipe) -> ModelInput:
        """The whole surroundings of the vehicle as one tile, whose corner is posed in the world."""
        scan = read_scan(catalog, item, recipe)
        side = bev_grid(recipe).side
        tile = Tile(scan.points, 0, 0, (0, 0, side, side))
        corner = Poses.of(UPRIGHT, (-recipe.bev_range, -recipe.bev_range, 0))
        extent = 2 * recipe.bev_range
        return ModelInput((extent, extent), [tile], recipe.voxel_size, corner.then(scan.pose))

    def rasterizer(self, recipe: LidarRecipe) -> Callable[[np.ndarray], np.ndarray]:
        """Each thread draws on a canvas of its own, since clearing one is far quicker than making one."""
        own = threading.local()
        grid = bev_grid(recipe)

        def rasterize(points: np.ndarray) -> np.ndarray:
            if not hasattr(own, "canvas"):
                own.canvas = BEVCanvas(grid)
            return bev_input(points, recipe, canvas=own.canvas)

        return rasterize

    def blank_tile(self, recipe: LidarRecipe) -> Tile:
        grid = bev_grid(recipe)
        if recipe.bev_encoder == "bins":
            return Tile(np.zeros((BLANK, BLANK, grid.channels), np.float32), 0, 0, (0, 0, BLANK, BLANK))
        nothing = np.zeros((0, 5 + grid.painted), np.float32)
        return Tile(bev_input(nothing, recipe), 0, 0, (0, 0, grid.side, grid.side))

    def tile_shape(self, recipe: LidarRecipe) -> tuple[int, int, int]:
        grid = bev_grid(recipe)
        if recipe.bev_encoder == "bins":
            return grid.side, grid.side, grid.channels
        return recipe.max_points, 1, POINT_FEATURES + grid.painted

    def synthetic_tile(self, recipe: LidarRecipe, rng: np.random.Generator) -> np.ndarray:
        """Boxes of points at random places."""
        grid = bev_grid(recipe)
        boxes = rng.uniform((-grid.bev_range, -grid.bev_range, 0), (grid.bev_range, grid.bev_range, 1), (BOXES, 3))
        points = np.zeros((BOXES * BOX_POINTS, 5 + grid.painted), np.float32)
        points[:, :3] = boxes.repeat(BOX_POINTS, axis=0) + rng.uniform(-1, 1, (len(points), 3))
        points[:, 3:] = rng.random((len(points), 2 + grid.painted))
        return bev_input(points, recipe)

    def apply_tta(self, grid: np.ndarray, transform: TTATransform, recipe: LidarRecipe) -> np.ndarray:
        if recipe.bev_encoder == "pillars":
            return transform.apply_points(grid, bev_grid(recipe).side)
        return transform.apply(grid)

    def peak_distance(self, recipe: LidarRecipe) -> int:
        return 1

    def encoder(self, recipe: LidarRecipe) -> Encoder:
        from tallymark.detector.encoders import GridEncoder, PillarEncoder

        grid = bev_grid(recipe)
        if recipe.bev_encoder == "bins":
            return GridEncoder(grid.channels)
        return PillarEncoder(grid.side, recipe.width, POINT_FEATURES + grid.painted)

    def dataset(self, catalog: Catalog, recipe: LidarRecipe) -> Dataset:
        from tallymark.modalities.lidar.dataset import LidarDataset

        return LidarDataset(catalog, recipe)

    def fingerprint(self, catalog: Catalog, item: int, recipe: LidarRecipe) -> list[object]:
        """Files, times and poses of all sweeps and images that the sample is made from."""
        drive = catalog.drive
        name = catalog.items.ids[item]
        if drive is None:
            return [name, fingerprint_file(catalog.path(item))]
        try:
            rows = drive.sweep_rows(item, recipe.sweeps)
        except BadMedia:
            return [name]
        painted = [fingerprint_file(path) for path in painting_files(drive, item, recipe)]
        shots = painting_cameras(drive, item, recipe)
        chains = drive.sensor, drive.vehicle
        poses = [part[[*rows, *shots]].tolist() for chain in chains for part in (chain.rotation, chain.translation)]
        poses.append(drive.intrinsic[shots].tolist())
        times, files = ([drive.sample_data[column][row] for row in rows] for column in ("timestamp", "file"))
        swept = [fingerprint_file(None if file is None else Path(file)) for file in files]
        return [name, times, poses, swept, *painted]

    def training_scale(
        self, catalog: LabelledCatalog, recipe: LidarRecipe, scores: np.ndarray, gsd: float | None
    ) -> Mapping[str, object]:
        return {}

    def check_scale(self, scale: Mapping[str, Any]) -> None:
        pass

    def plan_inputs(
        self, catalog: Catalog, recipe: LidarRecipe, scale: Mapping[str, Any], probe: Probe, gsd: float | None
    ) -> InputPlan:
        return InputPlan()

    def missing_inputs(self, catalog: Catalog, recipe: LidarRecipe) -> dict[str, int]:
        single = {"previous sweep": len(catalog)} if recipe.sweeps > 1 and not _has_previous_sweeps(catalog) else {}
        return unpainted_items(catalog, recipe) | single


def _has_previous_sweeps(catalog: Catalog) -> bool:
    """Whether tables link any sweep to one before it, whose file exists."""
    drive = catalog.drive
    linked = [] if drive is None else np.flatnonzero(drive.samples >= 0).tolist()
    return drive is not None and any(len(drive.sweep_rows(item, 2)) > 1 for item in linked)


MODALITY = LidarModality()
