"""The probability that an item has any event: the highest score of its candidates, before thresholds."""

from __future__ import annotations

import numpy as np

from tallymark.data.annotations import Annotations
from tallymark.geometry import Events
from tallymark.inference.candidates import Candidates


def clip_probabilities(candidates: Candidates) -> Annotations[Events]:
    """One event of unknown time for each item that could be read, with the highest score of its candidates."""
    readable = candidates.select(np.flatnonzero(candidates.readable))
    item = np.arange(len(readable.items))
    score = readable.objects.highest_scores
    return Annotations.from_rows(readable.items, item, Events.somewhere(len(item)), score=score)
