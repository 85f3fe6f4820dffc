"""The modality of its medium."""

from __future__ import annotations

from tallymark.modalities.image.recipe import ImageRecipe


class ImageModality:
    name = "image"
    recipe_type = ImageRecipe


MODALITY = ImageModality()
