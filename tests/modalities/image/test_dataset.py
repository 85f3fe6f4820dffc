"""Images as training samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tallymark
from tallymark.api.models import find_preset
from tallymark.modalities.image.dataset import ImageDataset
from tallymark.modalities.image.recipe import ImageRecipe


@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0.0, 0.55), (0.6, 0.5, 0.9), (1.0, 1.0, 1.0)])
def test_the_share_of_crops_with_objects_is_that_of_the_recipe(
    sets: Path, share: float, least: float, most: float
) -> None:
    """However many images are empty: of the official chips, three of four are."""
    catalog = tallymark.read("ships", sets / "ships").in_split("train")
    assert catalog.truth is not None
    assert (catalog.truth.counts == 0).mean() > 0.3
    recipe = find_preset("ships", "small").replace(positive_crops=share, image_size=256, crop_size=64)
    assert isinstance(recipe, ImageRecipe)
    dataset = ImageDataset(catalog, recipe)
    rng = np.random.default_rng(0)
    positive = [len(dataset.sample(rng, number % len(dataset), mix=False).label) > 0 for number in range(120)]
    assert least <= np.mean(positive) <= most
