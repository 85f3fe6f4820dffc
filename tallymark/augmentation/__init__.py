"""Windows of pictures to train on, each changed by chance as a recipe says."""

from __future__ import annotations

from tallymark.augmentation.make import make_window
from tallymark.augmentation.sample import Sample, Shapes

__all__ = ["Sample", "Shapes", "make_window"]
