"""The spectrogram of a recipe: settings that make frames drift, or lack frequencies, are refused."""

from __future__ import annotations

import pytest

from tallymark.core.problems import BadInput
from tallymark.modalities.audio.config import spectrogram_config
from tallymark.modalities.audio.recipe import AudioRecipe


@pytest.mark.parametrize(
    ("changes", "found", "remedy"),
    [
        ({"n_bins": 128}, "at most 118, from fmin=40 up to half of sample_rate=1000", "give n_bins=96"),
        ({"n_bins": 90}, "a multiple of 32", "give n_bins=96"),
        ({"n_bins": 10}, "a multiple of 32", "give n_bins=32"),
        (
            {"n_bins": 32, "fmin": 400.0},
            "at most 26",
            "give a longer window_seconds, a higher sample_rate or a lower fmin",
        ),
        ({"hop_seconds": 0.0333}, "hop_seconds=0.0333, expected a whole number of samples", "give hop_seconds=0.033"),
        ({"hop_seconds": 0.0006}, "hop_seconds=0.0006", "give hop_seconds=0.001"),
        ({"hop_seconds": 0.5}, "hop_seconds=0.5, expected at most window_seconds=0.256", "give hop_seconds=0.256"),
        ({"window_seconds": 0.2565}, "window_seconds=0.2565", "give window_seconds=0.256"),
    ],
)
def test_inconsistent_settings_are_refused(changes: dict[str, object], found: str, remedy: str) -> None:
    with pytest.raises(BadInput, match=f"{found}.*{remedy}$"):
        spectrogram_config(AudioRecipe().replace(**changes))


def test_all_inconsistent_settings_are_listed() -> None:
    with pytest.raises(BadInput) as caught:
        spectrogram_config(AudioRecipe().replace(n_bins=90, hop_seconds=0.0333, window_seconds=0.2565))
    assert len(list(caught.value.problems)) == 3


@pytest.mark.parametrize("changes", [{}, {"n_bins": 64}, {"sample_rate": 2000, "n_bins": 224, "hop_seconds": 0.0325}])
def test_consistent_settings_are_taken_from_the_recipe(changes: dict[str, object]) -> None:
    recipe = AudioRecipe().replace(**changes)
    config = spectrogram_config(recipe)
    assert config.n_bins == recipe.n_bins
    assert (config.sample_rate, config.hop_seconds, config.fmin) == (
        recipe.sample_rate,
        recipe.hop_seconds,
        recipe.fmin,
    )
