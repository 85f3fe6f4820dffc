"""How to train for ships: most chips are empty, and one false ship there costs the whole chip."""

from tallymark.core.recipe import PictureRecipe

SMALL = PictureRecipe().but(
    finds="masks",
    backbone="lite0",
    weights="imagenet",
    frozen=2,  # ships are small: what sees their edges has to learn too
    neck=48,
    side=768,
    crop=256,
    aim=0.7,
    tilt=45,
    zoom=1.5,
    body=0.3,
    epochs=60,
    folds=4,
    views=8,
)
PRESETS = {
    "tiny": SMALL.but(
        backbone="plain", weights="none", frozen=0, body=1, width=16, neck=32, side=256, crop=128, aim=0.8,
        rate=3e-3, epochs=25, batch=4, folds=5, judged=2, average=0.99, views=1,
    ),
    "small": SMALL,
    # After the better entries of 2018: all folds, all eight views, a long training on windows around ships.
    "full": SMALL.but(frozen=0, neck=128, crop=512, epochs=40, batch=32, average=0.9998, folds=5, models=5),
}  # fmt: skip
