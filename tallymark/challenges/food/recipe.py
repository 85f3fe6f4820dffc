"""How to train for food: many dishes that look alike, and labels that are often wrong."""

from dataclasses import replace

from tallymark.reading import Amount, Share, Whole
from tallymark.recipe import Recipe

SMALL = Recipe(
    finds="labels",
    backbone="lite0",
    weights="imagenet",
    frozen=Whole(4),
    side=224,
    crop=192,
    zoom=2.0,
    flip=Share(0.0),
    turn=Share(0.0),
    smoothing=Share(0.1),
    mixup=Share(0.3),
    cutmix=Share(0.3),
    calm=Share(0.2),
    trim=Share(0.05),
    batch=32,
    rate=1e-3,
    body=Share(0.5),
    decay=Amount(0.02),
    epochs=12,
    folds=5,
    views=2,
)
PRESETS = {
    "tiny": replace(
        SMALL, backbone="plain", weights="none", frozen=Whole(0), width=12, side=64, crop=64, body=Share(1.0), rate=4e-3,
        zoom=1.3, epochs=20, batch=16, mixup=Share(0.0), cutmix=Share(0.0), trim=Share(0.0), views=1, judged=2,
        average=Share(0.98),
    ),
    "small": SMALL,
    # What the literature on noisy labels agrees on: mixing, averaging, leaving the worst out, more pixels.
    "full": replace(
        SMALL, frozen=Whole(0), side=320, crop=288, trim=Share(0.1), epochs=30, batch=64, models=5,
        average=Share(0.9998),
    ),
}  # fmt: skip
