"""The recipe of recordings: spectrogram, clips and augmentation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from tallymark.core.options import AnyFloat, Fraction, NonNegativeFloat, NonNegativeInt
from tallymark.core.recipe import Recipe, Task, model, prediction, training


@dataclass(frozen=True)
class AudioRecipe(Recipe):
    """What trainings on recordings have too.

    Spectrogram
    -----------
    sample_rate: hertz that recordings are resampled to. window_seconds, hop_seconds: of the short-time transform.
    fmin: lowest frequency in hertz. n_bins: frequency bins from there on.
    background_norm: normalise each bin by the median and spread of its surroundings in time; norm_block: frames that
        share one estimate; norm_context: such blocks on either side that it is made from.

    Clips
    -----
    clip_seconds: length of training clips, a multiple of 16 frames. positive_crops: share placed on a call.
    hard_negatives: share of the others that are placed on a false positive of an earlier checkpoint.
    reversed_negatives: probability of playing a clip backwards, where its calls are no calls any more: only for calls
        that rise or fall.
    call_mix: probability of mixing in a call from elsewhere, at a gain from mix_gain_low_db to mix_gain_high_db.
    pitch_shift: maximum change of all frequencies, as a share of them.
    spectral_tilt_db: maximum change of level between the lowest and the highest bin.
    spec_augment: probability of masking a stretch of time or of frequency.
    min_event_gap: minimum seconds between two predicted events.
    """

    modality: ClassVar[str] = "audio"

    task: Task = model("events")
    stride: Literal[2, 4, 8, 16] = model(2)
    neck: int = training(32, most=4_096)

    sample_rate: int = model(1000, least=50, most=1_000_000)
    window_seconds: float = model(0.256, most=10)
    hop_seconds: float = model(0.032, least=0.0005, most=10)
    fmin: float = model(40.0, most=500_000)
    n_bins: int = model(96, most=4_096)
    background_norm: bool = model(True)
    norm_block: int = model(320, most=1_000_000)
    norm_context: NonNegativeInt = model(3, most=1_000)

    clip_seconds: float = training(8.192, most=3_600)
    positive_crops: Fraction = training(0.5)
    hard_negatives: Fraction = training(0.5)
    reversed_negatives: Fraction = training(0.0)
    call_mix: Fraction = training(0.3)
    mix_gain_low_db: AnyFloat = training(-10.0, least=-100, most=100)
    mix_gain_high_db: AnyFloat = training(6.0, least=-100, most=100)
    pitch_shift: Fraction = training(0.0)
    spectral_tilt_db: NonNegativeFloat = training(6.0, most=100)
    spec_augment: Fraction = training(0.3)
    min_event_gap: float = prediction(1.0, most=86_400)
