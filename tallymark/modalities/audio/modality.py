"""The modality of its medium."""

from __future__ import annotations

from tallymark.modalities.audio.recipe import AudioRecipe


class AudioModality:
    name = "audio"
    recipe_type = AudioRecipe


MODALITY = AudioModality()
