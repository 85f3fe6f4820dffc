"""How to train for food: many dishes that look alike, and labels that are often wrong."""

from tallymark.core.recipe import PictureRecipe

SMALL = PictureRecipe().but(
    finds="labels",
    backbone="lite0",
    weights="imagenet",
    frozen=4,
    side=256,
    crop=192,
    zoom=2,
    flip=0,
    turn=0,
    smoothing=0.1,
    mixup=0.3,
    cutmix=0.3,
    calm=0,  # without mixing, the wrong labels are learned too
    trim=0.05,
    batch=32,
    rate=2e-3,
    body=0.4,
    decay=0.02,
    anchor=0.4,
    epochs=12,
    judged=4,
    folds=5,
    views=2,
)
PRESETS = {
    "tiny": SMALL.but(
        backbone="plain", weights="none", frozen=0, body=1, width=12, side=64, crop=64, zoom=1.3, rate=4e-3, epochs=20,
        batch=16, anchor=0, mixup=0, cutmix=0, trim=0, judged=2, average=0.98, views=1,
    ),
    "small": SMALL,
    # What the literature on noisy labels agrees on: mixing, averaging, leaving out the worst, more pixels.
    "full": SMALL.but(frozen=0, side=320, crop=288, trim=0.1, epochs=30, batch=64, average=0.9998, models=5),
}  # fmt: skip
