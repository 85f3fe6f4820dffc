"""How to train for ships: most chips are empty, and one false ship there costs the whole chip."""

from dataclasses import replace

from tallymark.reading import Amount, Share, Whole
from tallymark.recipe import Recipe

SMALL = Recipe(
    finds="masks",
    backbone="lite0",
    weights="imagenet",
    frozen=Whole(3),
    neck=64,
    side=768,
    crop=384,
    aim=Share(0.6),
    tilt=Amount(45.0),
    zoom=1.5,
    body=Share(0.3),
    folds=4,
    views=8,
)
PRESETS = {
    "tiny": replace(
        SMALL, backbone="plain", weights="none", frozen=Whole(0), width=12, neck=32, side=256, crop=128, body=Share(1.0),
        rate=4e-3, epochs=12, folds=5, views=1, judged=2, average=Share(0.98),
    ),
    "small": SMALL,
    # After the better entries of 2018: all folds, all eight views, long training on windows around ships.
    "full": replace(SMALL, frozen=Whole(0), neck=128, crop=512, epochs=40, folds=5, models=5, batch=32, views=8,
                    average=Share(0.9998)),
}  # fmt: skip
