"""Recipes for food: fine-grained classes, and training labels that are often wrong."""

from tallymark.modalities.image.recipe import ImageRecipe

SMALL = ImageRecipe().replace(
    task="labels", backbone="efficientnet_lite0", weights="imagenet", frozen_stages=4,
    image_size=256, crop_size=192, scale_jitter=2, vflip=0, rot90=0,
    label_smoothing=0.1, loss_trim=0.05, mixup=0.3, cutmix=0.3,
    mix_off=0,  # without mixing, the network memorises the wrong labels
    epochs=12, batch_size=32, learning_rate=2e-3, backbone_lr_scale=0.4, weight_decay=0.02, weight_interpolation=0.4,
    evaluations=4, folds=5, tta=2,
)  # fmt: skip
PRESETS = {
    "tiny": SMALL.replace(
        backbone="mini_resnet", weights="none", frozen_stages=0, backbone_lr_scale=1, width=12,
        image_size=64, crop_size=64, scale_jitter=1.3, loss_trim=0, mixup=0, cutmix=0,
        epochs=20, batch_size=16, learning_rate=4e-3, weight_interpolation=0, ema_decay=0.98, evaluations=2, tta=1,
    ),
    "small": SMALL,
    # The common ground of the literature on noisy labels: mixing, weight averaging, loss trimming, higher resolution.
    "full": SMALL.replace(
        frozen_stages=0, image_size=320, crop_size=288, loss_trim=0.1, epochs=30, batch_size=64, ema_decay=0.9998,
        train_folds=5,
    ),
}  # fmt: skip
# Photographs of dishes are seldom upside down: of the transforms, only the mirror image is like them.
SPEEDS = {"fast": {"tta": 1, "resolution": 0.75}, "balanced": {"tta": 1}, "best": {"tta": 2}}
