"""Images: resized to the size that the network was trained at, and tiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tallymark.core.problems import BadInput, Problem
from tallymark.data.catalog import Catalog, LabelledCatalog
from tallymark.detector.coders import CODERS
from tallymark.detector.strides import BLOCK
from tallymark.detector.tta import TTATransform
from tallymark.io.images import IMAGE, read_at_least
from tallymark.modalities.base import (
    BLANK,
    Dataset,
    InputPlan,
    ModelInput,
    Probe,
    Tile,
    fingerprint_file,
    identity,
    path_of,
)
from tallymark.modalities.image.input_plan import plan_inputs
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.image.resize import MAX_SIZE, block_area, longer_side, read_resized, resize
from tallymark.modalities.image.scale import TrainingScale, training_scale
from tallymark.modalities.image.scale_search import mean_confidence
from tallymark.modalities.image.tiling import TILE_SIZE, image_tiles
from tallymark.synthetic.paint import finish, fractal

if TYPE_CHECKING:
    from tallymark.detector.encoders import Encoder


class ImageModality:
    """RGB images of any size, (height, width, 3) bytes."""

    name = "image"
    medium = IMAGE
    linking_tables = ()
    recipe_type = ImageRecipe

    def validate(self, recipe: ImageRecipe) -> None:
        if max(recipe.shown_sizes) > MAX_SIZE:
            found = f"image_size={recipe.image_size}" + f" resolution={recipe.resolution:g}" * (recipe.resolution != 1)
            expected = f"at most {MAX_SIZE} pixels"
            raise BadInput(Problem("bad_option", "recipe", found, expected, "give e.g. image_size=1024"))
        if recipe.tta_scales > 1 and CODERS[recipe.task].whole_item:
            found, expected = f"tta_scales={recipe.tta_scales}", "tta_scales=1 for labels of whole images"
            raise BadInput(Problem("bad_option", "recipe", found, expected, "leave it out"))
        if recipe.crop_size % BLOCK:
            found, remedy = f"crop_size={recipe.crop_size}", f"give e.g. {max(recipe.crop_size // BLOCK, 1) * BLOCK}"
            raise BadInput(Problem("bad_option", "recipe", found, f"a multiple of {BLOCK}", remedy))

    def open(self, catalog: Catalog, item: int, recipe: ImageRecipe) -> ModelInput:
        sizes = recipe.shown_sizes
        if CODERS[recipe.task].whole_item:
            resized, (width, height) = read_resized(path_of(catalog, item), block_area(sizes[0]))
            tile = Tile(resized, 0, 0, (0, 0, resized.shape[1], resized.shape[0]))
            return ModelInput((width, height), [tile], width / resized.shape[1])
        image, (width, height) = read_at_least(path_of(catalog, item), longer_side(max(sizes)))
        tiles = [
            tile._replace(zoom=size / sizes[0])  # of the longer side: the shorter one is rounded
            for size in sizes
            for tile in image_tiles(resize(image, *longer_side(size)(width, height)))
        ]
        return ModelInput((width, height), tiles, max(width, height) / sizes[0])

    def rasterizer(self, recipe: ImageRecipe) -> Callable[[np.ndarray], np.ndarray]:
        return identity

    def blank_tile(self, recipe: ImageRecipe) -> Tile:
        return Tile(np.zeros((BLANK, BLANK, 3), np.uint8), 0, 0, (0, 0, BLANK, BLANK))

    def tile_shape(self, recipe: ImageRecipe) -> tuple[int, int, int]:
        """That of a square image."""
        side = -(-min(recipe.shown_sizes[0], TILE_SIZE) // BLOCK) * BLOCK
        return side, side, 3

    def synthetic_tile(self, recipe: ImageRecipe, rng: np.random.Generator) -> np.ndarray:
        height, width, channels = self.tile_shape(recipe)
        return finish(255 * np.stack([fractal(rng, height, width) for _ in range(channels)], axis=2))

    def apply_tta(self, grid: np.ndarray, transform: TTATransform, recipe: ImageRecipe) -> np.ndarray:
        return transform.apply_image(grid)

    def peak_distance(self, recipe: ImageRecipe) -> int:
        return 1

    def encoder(self, recipe: ImageRecipe) -> Encoder:
        from tallymark.detector.encoders import GridEncoder

        return GridEncoder(3)

    def dataset(self, catalog: Catalog, recipe: ImageRecipe) -> Dataset:
        from tallymark.modalities.image.dataset import ImageDataset

        return ImageDataset(catalog, recipe)

    def fingerprint(self, catalog: Catalog, item: int, recipe: ImageRecipe) -> list[object]:
        return [catalog.items.ids[item], fingerprint_file(catalog.path(item)), recipe.shown_sizes]

    def training_scale(
        self, catalog: LabelledCatalog, recipe: ImageRecipe, scores: np.ndarray, gsd: float | None
    ) -> Mapping[str, object]:
        scale = training_scale(catalog, recipe, mean_confidence(scores, recipe), gsd)
        return {} if scale is None else scale.as_dict()

    def check_scale(self, scale: Mapping[str, Any]) -> None:
        TrainingScale.of(scale)

    def plan_inputs(
        self, catalog: Catalog, recipe: ImageRecipe, scale: Mapping[str, Any], probe: Probe, gsd: float | None
    ) -> InputPlan:
        trained = TrainingScale.of(scale)
        return InputPlan() if trained is None else plan_inputs(catalog, recipe, trained, probe, gsd)

    def missing_inputs(self, catalog: Catalog, recipe: ImageRecipe) -> dict[str, int]:
        return {}


MODALITY = ImageModality()
