"""Items and tiles for quantisation: some to calibrate on, others to measure what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tallymark.core.problems import BadInput, Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.data.exclusions import read_exclusions
from tallymark.inference.probe import probe_with
from tallymark.inference.run import TRAINED_ON
from tallymark.inference.session import Session
from tallymark.io.media import BadMedia
from tallymark.modalities import modality_of

TILES_PER_ITEM = 4
"""Of a long recording or a large image, the first tiles are enough."""
MAX_EVALUATED = 256
"""Items that are predicted twice for the score, at most."""


class ItemChoice(NamedTuple):
    """calibration, evaluation: indices of items; no item for evaluation if none is labelled.

    held_out: whether the model is known not to have been trained on those for evaluation.
    """

    calibration: np.ndarray
    evaluation: np.ndarray
    held_out: bool


def choose_items(catalog: Catalog, trained_on: Set[str], count: int) -> ItemChoice:
    """Spread over the catalog, so many items to calibrate on, and others with a truth to evaluate on."""
    every = np.arange(len(catalog))
    seen = catalog.items.ids.is_in(list(trained_on)).to_numpy()
    held_out = bool(trained_on) and bool((catalog.labelled & ~seen).any())
    suitable = catalog.labelled & ~seen if held_out else catalog.labelled
    rest = every[~suitable]
    calibration = _spread(rest if len(rest) >= count else every, count)
    apart = np.setdiff1d(every[suitable], calibration)
    evaluation = apart if 2 * len(apart) >= suitable.sum() else every[suitable]
    return ItemChoice(calibration, _spread(evaluation, MAX_EVALUATED), held_out)


def _spread(index: np.ndarray, count: int) -> np.ndarray:
    """So many of these, evenly."""
    return index if len(index) <= count else index[np.arange(count) * len(index) // count]


def items_trained_on(models: Sequence[Path]) -> frozenset[str]:
    """The items that any of these models was trained on, as far as it is recorded beside them."""
    known = set[str]()
    for path in models:
        listed = path.parent / TRAINED_ON
        found = read_exclusions(listed, Problems()) if listed.exists() else None
        known.update(() if found is None else found.items)
    return frozenset(known)


def calibration_tiles(
    catalog: Catalog, session: Session, problems: Problems, advance: Callable[[], None]
) -> Iterator[np.ndarray]:
    """The tiles (height, width, channels) of all items as `predict` would show them to a model.

    advance: is called after each item.
    An item that cannot be read is a problem. A `BadInput` if there is no tile at all.
    """
    metadata = session.metadata
    recipe = metadata.recipe
    modality = modality_of(recipe)
    probe = probe_with([session], recipe, metadata.classes)
    plan = modality.plan_inputs(catalog, recipe, metadata.scale, probe, None)
    rasterize = modality.rasterizer(recipe)
    count = 0
    for item in range(len(catalog)):
        try:
            shown = recipe if plan.recipes is None else plan.recipes[item]
            for tile in islice(modality.open(catalog, item, shown).tiles, TILES_PER_ITEM):
                count += 1
                yield rasterize(tile.data)
        except BadMedia as bad:
            problems.add(catalog.unread(item, bad))
        advance()
    if not count:
        found, remedy = "nothing that can be read", "name a folder with items like those to predict"
        problems.add(Problem("no_items", str(catalog.root), found, "items to calibrate on", remedy))
        raise BadInput(problems)
