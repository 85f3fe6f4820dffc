"""What was really read: results without the items whose file is missing, damaged or empty."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tallymark.core.problems import Problem
from tallymark.inference.predictor import PredictionResult


def only_read(result: PredictionResult) -> PredictionResult:
    """The result without items that could not be read: nothing is known of them, not even that they are empty.

    Every one of them is among the problems. A recording that is damaged in the middle was read up to there.
    """
    candidates, catalog = result.candidates, result.catalog
    read = candidates.readable & ~(candidates.size[:, 0] <= 0)
    if read.all():
        return result
    named = {problem.item for problem in result.problems}
    for item in np.flatnonzero(~read).tolist():
        if catalog.items.ids[item] not in named:
            noun, name = catalog.medium.noun, catalog.items.ids[item]
            found, remedy = "nothing in it", "get the file again, or exclude the item"
            place = catalog.place(item)
            result.problems.add(Problem("empty_media", place, found, f"a {noun} with content", remedy, item=name))
    kept = catalog.select(read)
    return replace(
        result,
        predictions=result.predictions.reindex(kept.items),
        candidates=candidates.select(np.flatnonzero(read)),
        catalog=kept,
    )
