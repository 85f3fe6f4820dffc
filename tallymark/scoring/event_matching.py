"""One-to-one matches of events and their predictions, and the table of them."""

from __future__ import annotations

import numpy as np
import polars as pl

from tallymark.data.annotations import Annotations
from tallymark.geometry import Events
from tallymark.scoring.matching import greedy_match


def match_events(
    truth: Annotations[Events], predicted: Annotations[Events], call: np.ndarray, detection: np.ndarray
) -> np.ndarray:
    """Which pairs (call, detection) are a maximum one-to-one matching: in order of time, the earliest that fits."""
    order = np.lexsort((predicted.shapes.time[detection], call, truth.shapes.time[call]))
    return order[greedy_match(call[order], detection[order])]


def event_pairs(
    truth: Annotations[Events], predicted: Annotations[Events], call: np.ndarray, detection: np.ndarray
) -> pl.DataFrame:
    """Matched pairs: item, numbers of the truth and the prediction within it, and by how much the latter is late."""
    item = truth.item[call]
    return pl.DataFrame(
        {
            "item": truth.items.ids[item],
            "truth": call - truth.offsets[item],
            "prediction": detection - predicted.offsets[item],
            "seconds": predicted.shapes.time[detection] - truth.shapes.time[call],
        }
    )
