"""How to train for upcalls: a second of a rising tone in hours of noise, at another site with another recorder."""

from tallymark.core.recipe import SoundRecipe

SMALL = SoundRecipe().but(
    width=16,
    neck=32,
    batch=16,
    epochs=30,
    rate=3e-3,
    folds=5,
)
PRESETS = {
    "tiny": SMALL.but(width=8, neck=16, epochs=24, judged=2, average=0.98, folds=4),
    "small": SMALL,
    # More of everything; for all seven days of the development set.
    "full": SMALL.but(width=32, depth=2, neck=64, batch=64, average=0.9998, folds=7, models=7),
}
