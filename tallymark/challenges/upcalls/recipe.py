"""Recipes for upcalls: rising tones of a second in hours of noise, tested at another site with another recorder."""

from tallymark.modalities.audio.recipe import AudioRecipe

SMALL = AudioRecipe().replace(width=16, neck=32, epochs=30, batch_size=16, learning_rate=3e-3, folds=5)
PRESETS = {
    "tiny": SMALL.replace(width=8, neck=16, epochs=24, evaluations=2, ema_decay=0.98, folds=4),
    "small": SMALL,
    # A larger network, with one fold for each of the seven days of the development set.
    "full": SMALL.replace(width=32, depth=2, neck=64, batch_size=64, ema_decay=0.9998, folds=7, train_folds=7),
}
