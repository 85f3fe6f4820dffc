"""What models say about items, before anything is left out: candidates for findings, or chances of classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tallymark.centres.codes import CODES
from tallymark.centres.peaks import find_peaks
from tallymark.centres.views import views
from tallymark.data.annotations import Annotations, join_items
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.predicting.frame import BLOCK, GREY
from tallymark.predicting.showing import Shown, show
from tallymark.problems import Problems
from tallymark.recipe import Recipe, SoundRecipe
from tallymark.terminal import progress

FAINTEST = 0.03
"""Candidates of less confidence are not kept, even for tuning."""
ROOM = 1200
"""Pixels of a window to a candidate, at least: more of them only make a network that knows nothing slow to judge."""

Maps = dict[str, np.ndarray]
Model = Callable[[np.ndarray], Maps]
"""Pictures (n, height, width, 3) as bytes to maps: heat, values, quality and presence; or classes."""


@dataclass(frozen=True, eq=False)
class Raw:
    """size: (n, 2) width and height of each picture, nan where it could not be read.

    found: candidates in the code's own geometry. presence: the chance that there is anything at all.
    chances: (n, classes) for whole pictures.
    """

    items: Items
    size: np.ndarray
    found: Annotations[Any] | None = None
    presence: np.ndarray | None = None
    chances: np.ndarray | None = None


def join_raw(parts: Sequence[Raw]) -> Raw:
    """What was said of different items, as one."""
    if len(parts) == 1:
        return parts[0]
    size = np.concatenate([part.size for part in parts])
    if parts[0].chances is not None:
        items = Items(pl.concat([part.items.ids for part in parts]))
        return Raw(items, size, chances=np.concatenate([part.chances for part in parts if part.chances is not None]))
    found = join_items([part.found for part in parts if part.found is not None])
    presence = np.concatenate([part.presence for part in parts if part.presence is not None])
    return Raw(found.items, size, found=found, presence=presence)


def look(
    catalog: Catalog, models: Sequence[Model], recipe: Recipe, problems: Problems, what: str = "predicting"
) -> Raw:
    """Show every item to the models. One that cannot be read is a problem, and has no findings."""
    sizes: list[tuple[float, float]] = []

    def measured() -> Iterator[Shown]:
        for one in progress(show(catalog, recipe, problems), what, len(catalog)):
            sizes.append(one.size)
            yield one

    if recipe.finds == "labels":
        chances = _chances(measured(), models, recipe)
        return Raw(catalog.items, np.array(sizes).reshape(-1, 2), chances=chances)
    found, presence = _candidates(catalog.items, measured(), models, recipe)
    return Raw(catalog.items, np.array(sizes).reshape(-1, 2), found=found, presence=presence)


def _chances(shown: Iterable[Shown], models: Sequence[Model], recipe: Recipe) -> np.ndarray:
    """(n, classes): the mean over models and views; of an item that cannot be read, all are alike."""
    blank = np.full((BLOCK, BLOCK, 3), GREY, np.uint8)
    classes = models[0](blank[None])["classes"].shape[1]
    rows = []
    for one in shown:
        grids = [view.of(window.grid)[None] for window in one.windows for view in views(recipe.views)]
        told = [model(grid)["classes"][0] for model in models for grid in grids]
        rows.append(np.mean(told, axis=0) if told else np.full(classes, 1 / classes))
    return np.array(rows).reshape(-1, classes)


def _candidates(
    items: Items, shown: Iterable[Shown], models: Sequence[Model], recipe: Recipe
) -> tuple[Annotations[Any], np.ndarray]:
    """Everything that might be a finding, and for each item the chance that there is any."""
    code, stride = CODES[recipe.finds], recipe.stride
    reach = 1 if not isinstance(recipe, SoundRecipe) else max(round(recipe.gap / recipe.hop / stride), 1)
    presence = np.zeros(len(items))
    none = np.empty(0)
    columns = [(none, none, none, np.empty((0, code.values)), none, none, none)]
    for number, one in enumerate(shown):
        for window in one.windows:
            maps = mean_maps(window.grid, models, recipe)
            presence[number] = max(presence[number], float(maps["presence"]))
            most = max(window.grid.shape[0] * window.grid.shape[1] // ROOM, 1)
            peaks = find_peaks(maps["heat"], FAINTEST, most, reach)
            left, top, right, bottom = (edge / stride for edge in window.inside)
            x, y = peaks.x + 0.5, peaks.y + 0.5
            kept = np.flatnonzero((x >= left) & (x < right) & (y >= top) & (y < bottom))
            at = peaks.y[kept], peaks.x[kept]
            score = peaks.heat[kept] ** (1 - recipe.quality) * maps["quality"][0][at] ** recipe.quality
            x, y = x[kept] + window.x / stride, y[kept] + window.y / stride
            every = np.ones(len(kept))
            columns.append((number * every, x, y, maps["values"][:, *at].T, score, peaks.label[kept], one.by * every))
    item, x, y, values, score, label, by = (np.concatenate(column) for column in zip(*columns, strict=True))
    shapes: Any = code.decode(x, y, values.astype(float))
    shapes = shapes.scaled(stride * by)
    found = Annotations.gather(items, item.astype(np.int64), shapes, label=label.astype(np.int64), score=score)
    return found, presence


def mean_maps(picture: np.ndarray, models: Sequence[Model], recipe: Recipe) -> Maps:
    """The maps of one picture, the mean over models and views."""
    code = CODES[recipe.finds]
    seen: list[Maps] = []
    for view in views(recipe.views):
        shown = view.of(picture)[None]
        for model in models:
            maps = {name: part[0] for name, part in model(shown).items()}
            if any(view):
                maps = {name: part if part.ndim == 0 else view.back(part) for name, part in maps.items()}
                maps["values"] = code.seen_by(maps["values"], view)
            seen.append(maps)
    return seen[0] if len(seen) == 1 else {name: np.mean([maps[name] for maps in seen], axis=0) for name in seen[0]}
