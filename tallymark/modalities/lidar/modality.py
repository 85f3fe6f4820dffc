"""The modality of its medium."""

from __future__ import annotations

from tallymark.modalities.lidar.recipe import LidarRecipe


class LidarModality:
    name = "lidar"
    recipe_type = LidarRecipe


MODALITY = LidarModality()
