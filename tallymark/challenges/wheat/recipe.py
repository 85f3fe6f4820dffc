"""How to train for wheat: heads are small, many and alike, and the next field looks different."""

from dataclasses import replace

from tallymark.reading import Share, Whole
from tallymark.recipe import Recipe

SMALL = Recipe(
    finds="boxes",
    backbone="lite0",
    weights="imagenet",
    frozen=Whole(4),
    neck=64,
    side=512,
    crop=384,
    body=Share(0.3),
    colour=Share(0.5),
    # Fields differ more than photographs of one field, but a model that never saw a field cannot know it: the cut is
    # tuned on photographs held out of all fields.
    apart="items",
    folds=12,
    views=4,
)
PRESETS = {
    "tiny": replace(
        SMALL, backbone="plain", weights="none", frozen=Whole(0), width=12, neck=32, side=256, crop=128, body=Share(1.0),
        rate=4e-3, epochs=12, folds=5, views=1, judged=2, average=Share(0.98), aim=Share(0.5),
    ),
    "small": SMALL,
    # After the winners of 2020: more pixels, folds, mosaic and mixing, flips and turns of what is predicted.
    "full": replace(
        SMALL, frozen=Whole(0), neck=128, side=1024, crop=768, zoom=2.0, mosaic=Share(0.5), mixup=Share(0.3),
        epochs=80, folds=5, models=5, apart="groups", views=8, batch=16, average=Share(0.9998),
    ),
}  # fmt: skip
