"""Recipes for ships: most chips are empty, and one false positive there costs the whole chip."""

from tallymark.modalities.image.recipe import ImageRecipe

SMALL = ImageRecipe().replace(
    task="masks", backbone="efficientnet_lite0", weights="imagenet", neck=48,
    frozen_stages=2,  # ships are small: the stages that detect edges have to adapt too
    image_size=768, crop_size=192, rotate_degrees=45, scale_jitter=1.5,
    positive_crops=0.5, copy_paste=1,  # few chips have ships: most are seen on several
    epochs=60, backbone_lr_scale=0.3, folds=4,
)  # fmt: skip
PRESETS = {
    "tiny": SMALL.replace(
        backbone="mini_resnet", weights="none", frozen_stages=0, backbone_lr_scale=1, width=16, neck=32,
        image_size=256, crop_size=128, positive_crops=0.8, copy_paste=0,
        epochs=25, batch_size=4, learning_rate=3e-3, ema_decay=0.99, evaluations=2, folds=5,
    ),
    "small": SMALL,
    # After the better entries of 2018: all folds, a long training on crops around ships. An epoch has 150,000 of them.
    "full": SMALL.replace(
        frozen_stages=0, neck=128, crop_size=512, epochs=8, batch_size=32, ema_decay=0.9998, folds=5, train_folds=5,
    ),
}  # fmt: skip
# Of short trainings on real chips: at 0.75 of the size the score is the same within its noise, in half of the time.
SPEEDS = {"fast": {"tta": 1, "resolution": 0.75}, "balanced": {"tta": 1}, "best": {"tta": 4}}
