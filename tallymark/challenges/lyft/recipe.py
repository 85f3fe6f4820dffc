"""Recipes for lyft: dozens of cars, few objects of the other classes, and most points close to the vehicle."""

from tallymark.modalities.lidar.recipe import LidarRecipe

SMALL = LidarRecipe().replace(
    head_groups="car | other_vehicle, bus, truck, emergency_vehicle | bicycle, motorcycle | pedestrian, animal",
    width=16, neck=48, bev_range=96, voxel_size=0.25, crop_size=256,  # of the view, most is far from any object
    epochs=100, batch_size=8, learning_rate=3e-3, folds=5, score_threshold=0.2,
)  # fmt: skip
PRESETS = {
    "tiny": SMALL.replace(
        head_groups="", width=12, neck=32, bev_range=48, height_bins=8, crop_size=0, epochs=16, batch_size=2,
        ema_decay=0.98, evaluations=2, folds=4,
    ),
    "small": SMALL,
    "full": SMALL.replace(
        bev_encoder="pillars", voxel_size=0.1875, max_points=200_000, crop_size=0, sweeps=5, width=32, depth=2,
        neck=96, rotate_degrees=45, epochs=40, batch_size=16, ema_decay=0.9998, train_folds=5, tta=4, fusion="wbf",
    ),
}  # fmt: skip
SPEEDS = {"fast": {"tta": 1}, "balanced": {"tta": 1}, "best": {"tta": 4}}
