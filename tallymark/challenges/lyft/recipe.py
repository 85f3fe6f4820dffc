"""How to train for lyft: cars by the dozen, few of anything else, and most points close to the vehicle."""

from tallymark.core.recipe import LidarRecipe

SMALL = LidarRecipe().but(
    groups="car | other_vehicle, bus, truck, emergency_vehicle | bicycle, motorcycle | pedestrian, animal",
    width=16,
    neck=48,
    reach=64,
    cell=0.25,
    batch=4,
    epochs=30,
    rate=3e-3,
    folds=5,
    cut=0.2,
)
PRESETS = {
    "tiny": SMALL.but(
        width=12, neck=32, reach=48, slices=8, groups="", batch=2, epochs=16, folds=4, judged=2, average=0.98,
    ),
    "small": SMALL,
    "full": SMALL.but(
        reader="pillars", reach=96, cell=0.1875, points=200_000, sweeps=5, width=32, depth=2, neck=96, turn=45,
        batch=16, epochs=40, average=0.9998, folds=5, models=5, views=4, merge="wbf",
    ),
}  # fmt: skip
