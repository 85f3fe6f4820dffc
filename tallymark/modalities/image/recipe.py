"""The recipe of images: sizes, crops and augmentation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from tallymark.core.options import Fraction, NonNegativeFloat
from tallymark.core.recipe import Recipe, prediction, training

TTA_ZOOMS = (1.0, 0.75, 4 / 3)
"""Sizes of multi-scale test-time augmentation."""


@dataclass(frozen=True)
class ImageRecipe(Recipe):
    """What trainings on images have too.

    Images
    ------
    image_size: pixels of the longer side, as the network sees images. crop_size: side of the training crops.
    resolution: images are predicted at this share of the size: 0.75 takes about half of the time of 1.
    tta_scales: multi-scale test-time augmentation: images are predicted at 1, 2 (also three quarters of it) or 3 (also
        four thirds) sizes, and the candidates of all are fused.
    positive_crops: share of crops that are placed on an object, however many images have none.

    Augmentation
    ------------
    scale_jitter: crops are scaled by up to this factor, down or up.
    hflip, vflip: probability of a horizontal, vertical flip. rot90: probability of a rotation by quarter turns.
    rotate_degrees: maximum rotation by any angle (not for boxes). color_jitter: strength of colour and tone changes.
    grayscale, blur, noise, jpeg: probability of each.
    mosaic: probability that a crop is put together from four. mixup, cutmix: probability of mixing with another.
    copy_paste: mean number of objects pasted into a crop from other images.
    """

    modality: ClassVar[str] = "image"

    image_size: int = prediction(512, most=32_768)
    resolution: float = prediction(1.0, least=0.05, most=4)
    tta_scales: Literal[1, 2, 3] = prediction(1)
    crop_size: int = training(384, most=4_096)
    positive_crops: Fraction = training(0.0)
    scale_jitter: float = training(1.4, most=100)
    hflip: Fraction = training(0.5)
    vflip: Fraction = training(0.5)
    rot90: Fraction = training(0.75)
    rotate_degrees: NonNegativeFloat = training(0.0, most=360)
    color_jitter: Fraction = training(0.4)
    grayscale: Fraction = training(0.05)
    blur: Fraction = training(0.1)
    noise: Fraction = training(0.1)
    jpeg: Fraction = training(0.1)
    mosaic: Fraction = training(0.0)
    mixup: Fraction = training(0.0)
    cutmix: Fraction = training(0.0)
    copy_paste: NonNegativeFloat = training(0.0, most=100)

    @property
    def tta_passes(self) -> float:
        return self.tta * sum(zoom**2 for zoom in TTA_ZOOMS[: self.tta_scales])

    @property
    def tta_settings(self) -> str:
        return super().tta_settings + (f" tta_scales={self.tta_scales}" if self.tta_scales > 1 else "")

    def without_tta(self) -> Self:
        return self.replace(tta=1, tta_scales=1)

    def less_tta(self) -> Self:
        return super().less_tta() if self.tta > 1 else self.replace(tta_scales=max(self.tta_scales - 1, 1))

    @property
    def shown_sizes(self) -> list[int]:
        """Pixels of the longer side of an image in prediction, at each of its sizes; the usual one first."""
        sizes = (self.image_size * self.resolution * zoom for zoom in TTA_ZOOMS[: self.tta_scales])
        return [max(round(size), 1) for size in sizes]
