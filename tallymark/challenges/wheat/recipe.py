"""Recipes for wheat: heads are small, numerous and alike, and every field looks different."""

from tallymark.modalities.image.recipe import ImageRecipe

SMALL = ImageRecipe().replace(
    task="boxes", backbone="efficientnet_lite0", weights="imagenet", frozen_stages=4, stride=8, neck=64,
    image_size=512, crop_size=384, color_jitter=0.5, backbone_lr_scale=0.3, tta=2, tta_scales=3, folds=12,
    # Fields differ more than the photographs of one field do. But the single model of this preset should be trained on
    # every field, and its score threshold be tuned on photographs of every field.
    fold_by="items",
)  # fmt: skip
PRESETS = {
    "tiny": SMALL.replace(
        backbone="mini_resnet", weights="none", frozen_stages=0, backbone_lr_scale=1, width=12, stride=4, neck=32,
        image_size=256, crop_size=128, positive_crops=0.5,
        epochs=60, learning_rate=4e-3, ema_decay=0.98, evaluations=2, folds=5, tta=1, tta_scales=1,
    ),
    "small": SMALL,
    # After the winners of 2020: higher resolution, folds by field, mosaic and mixup.
    "full": SMALL.replace(
        frozen_stages=0, stride=4, neck=128, image_size=1024, crop_size=768, scale_jitter=2, mosaic=0.5, mixup=0.3,
        epochs=80, batch_size=16, ema_decay=0.9998, folds=5, train_folds=5, fold_by="groups",
    ),
}  # fmt: skip
# Of the pretrained model on real photographs: two transforms at three sizes take seven times as long as one at one size
# for 0.04 of the score, and three quarters of the size half of the time for 0.01 less.
SPEEDS = {
    "fast": {"tta": 1, "tta_scales": 1, "resolution": 0.75},
    "balanced": {"tta": 1, "tta_scales": 1},
    "best": {"tta": 2, "tta_scales": 3},
}
