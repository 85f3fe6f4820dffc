"""How to train for wheat: heads are small, many and alike, and the next field looks different."""

from tallymark.core.recipe import PictureRecipe

SMALL = PictureRecipe().but(
    finds="boxes",
    backbone="lite0",
    weights="imagenet",
    frozen=4,
    stride=8,
    neck=64,
    side=512,
    crop=384,
    body=0.3,
    colour=0.5,
    views=4,
    folds=12,
    # Fields differ more than photographs of one field do, but no field should be missing from the training of the one
    # model that is used: the cut is tuned on some photographs of every field.
    apart="items",
)
PRESETS = {
    "tiny": SMALL.but(
        backbone="plain", weights="none", frozen=0, body=1, width=12, stride=4, neck=32, side=256, crop=128, aim=0.5,
        rate=4e-3, epochs=60, folds=5, judged=2, average=0.98, views=1,
    ),
    "small": SMALL,
    # After the winners of 2020: more pixels, folds by field, mosaic and mixing, all turns of what is predicted.
    "full": SMALL.but(
        frozen=0, stride=4, neck=128, side=1024, crop=768, zoom=2, mosaic=0.5, mixup=0.3, epochs=80, batch=16,
        average=0.9998, folds=5, models=5, apart="groups", views=8,
    ),
}  # fmt: skip
