"""Pictures as windows to learn from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tallymark
from tallymark.api.models import find_preset
from tallymark.modalities.image.dataset import ImageDataset
from tallymark.modalities.image.recipe import ImageRecipe


@pytest.mark.parametrize(("positive_crops", "least", "most"), [(0.0, 0.0, 0.55), (0.6, 0.5, 0.9), (1.0, 1.0, 1.0)])
def test_the_share_of_windows_on_objects_is_what_is_asked_for(
    sets: Path, aim: float, least: float, most: float
) -> None:
    """However many pictures are empty: of the official chips, three of four are."""
    catalog = tallymark.read("ships", sets / "ships").in_split("train")
    assert catalog.truth is not None
    assert (catalog.truth.counts == 0).mean() > 0.3
    recipe = find_preset("ships", "small").replace(positive_crops=aim, image_size=256, crop_size=64)
    assert isinstance(recipe, ImageRecipe)
    pictures, rng = ImageDataset(catalog, recipe), np.random.default_rng(0)
    shown = [len(pictures.window(rng, number % len(pictures), True).label) > 0 for number in range(120)]
    assert least <= np.mean(shown) <= most
