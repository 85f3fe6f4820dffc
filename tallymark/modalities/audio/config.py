"""The spectrogram of a recipe, checked."""

from __future__ import annotations

from dataclasses import fields

from tallymark.core.problems import Problem, Problems
from tallymark.detector.strides import BLOCK
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.audio.spectrogram import SpectrogramConfig


def spectrogram_config(recipe: AudioRecipe) -> SpectrogramConfig:
    """The spectrogram of a recipe; a `BadInput` where frames would drift, leave gaps, or lack frequencies."""
    values = recipe.at("model")
    config = SpectrogramConfig(**{field.name: values[field.name] for field in fields(SpectrogramConfig)})  # type: ignore[arg-type]  # fields of the same name and type
    problems = Problems()
    lengths = (
        ("window_seconds", config.window_seconds, config.n_fft),
        ("hop_seconds", config.hop_seconds, config.hop_length),
    )
    for name, seconds, samples in lengths:
        if samples < 1 or abs(seconds * config.sample_rate - samples) > 1e-6:
            expected = f"a whole number of samples at sample_rate={config.sample_rate}"
            remedy = f"give {name}={max(samples, 1) / config.sample_rate:g}"
            problems.add(Problem("bad_option", "recipe", f"{name}={seconds:g}", expected, remedy))
    if config.hop_length > config.n_fft:
        found, expected = f"hop_seconds={config.hop_seconds:g}", f"at most window_seconds={config.window_seconds:g}"
        problems.add(Problem("bad_option", "recipe", found, expected, f"give hop_seconds={config.window_seconds:g}"))
    most = max((config.n_fft - 1) // 2 - config.first_bin + 1, 0)
    if config.n_bins > most or config.n_bins % BLOCK:
        fitting = min(max(round(config.n_bins / BLOCK), 1), most // BLOCK) * BLOCK
        longer = "give a longer window_seconds, a higher sample_rate or a lower fmin"
        remedy = f"give n_bins={fitting}" if fitting else longer
        span = f"from fmin={config.fmin:g} up to half of sample_rate={config.sample_rate}"
        expected = f"a multiple of {BLOCK}, at most {most}, {span}"
        problems.add(Problem("bad_option", "recipe", f"n_bins={config.n_bins}", expected, remedy))
    problems.raise_if_any()
    return config
