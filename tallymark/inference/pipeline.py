"""What models say about items, before anything is left out: candidates for findings, or chances of classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import polars as pl

from tallymark.core.console import counting
from tallymark.core.parallel import in_background, prefetch
from tallymark.core.problems import Problems
from tallymark.core.recipe import Recipe, head_groups_of
from tallymark.data.annotations import Annotations, concat_items
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.detector.coders import CODERS
from tallymark.detector.mask_refinement import FINE, correct
from tallymark.detector.peaks import find_peaks
from tallymark.detector.tta import tta_transforms
from tallymark.geometry.poses import Poses, concat_poses, transform_cuboids
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.image.resize import BLOCK, GREY
from tallymark.modalities.inputs import ModelInput, drawer, model_inputs, turned_by
from tallymark.modalities.tiling import Tile

FAINTEST = 0.03
"""Candidates of less confidence are not kept, even for tuning."""
ROOM = 1200
"""Pixels of a window to a candidate, at least: more of them only make a network that knows nothing slow to judge."""
APART = 10_000
"""The same where each candidate is corrected, which takes time."""
FEWEST = 30
"""Candidates that a window may have, however small it is."""

A = TypeVar("A")
Maps = dict[str, np.ndarray]
Model = Callable[[np.ndarray], Maps]
"""Pictures (n, height, width, 3) as bytes to maps: heat, values, quality and presence; or classes."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """size: (n, 2) width and height of each picture, nan where it could not be read; of a recording the seconds heard.

    found: candidates in the code's own geometry. presence: the chance that there is anything at all.
    chances: (n, classes) for whole pictures.
    """

    items: Items
    size: np.ndarray
    found: Annotations[Any] | None = None
    presence: np.ndarray | None = None
    chances: np.ndarray | None = None

    def select(self, index: np.ndarray) -> Candidates:
        """What was said of the items with these numbers, in this order."""
        items = Items(self.items.ids[index])
        found = None if self.found is None else self.found.reindex(items)
        presence, chances = (None if column is None else column[index] for column in (self.presence, self.chances))
        return Candidates(items, self.size[index], found, presence, chances)

    def named(self, items: Items) -> Candidates:
        """The same, of items by other names."""
        return replace(self, items=items, found=None if self.found is None else replace(self.found, items=items))


def concat_candidates(parts: Sequence[Candidates]) -> Candidates:
    """What was said of different items, as one."""
    if len(parts) == 1:
        return parts[0]
    size = np.concatenate([part.size for part in parts])
    if parts[0].chances is not None:
        items = Items(pl.concat([part.items.ids for part in parts]))
        return Candidates(
            items, size, chances=np.concatenate([part.chances for part in parts if part.chances is not None])
        )
    found = concat_items([part.found for part in parts if part.found is not None])
    presence = np.concatenate([part.presence for part in parts if part.presence is not None])
    return Candidates(found.items, size, found=found, presence=presence)


def infer(
    catalog: Catalog,
    models: Sequence[Model],
    recipe: Recipe,
    problems: Problems,
    what: str = "predicting",
    classes: tuple[str, ...] = (),
) -> Candidates:
    """Show every item to the models. One that cannot be read is a problem, and has no findings.

    classes: their names, without which all are of one group.
    """
    with counting(what, len(catalog)) as count:
        return infer_items(catalog, models, recipe, problems, classes, count)


def infer_items(
    catalog: Catalog,
    models: Sequence[Model],
    recipe: Recipe,
    problems: Problems,
    classes: tuple[str, ...],
    count: Callable[[], None],
) -> Candidates:
    """The same, counting each item that was shown."""
    sizes: list[tuple[float, float]] = []

    def measured() -> Iterator[ModelInput]:
        for one in model_inputs(catalog, recipe, problems):
            sizes.append(one.size)
            yield one
            count()

    if recipe.task == "labels":
        chances = _chances(measured(), models, recipe)
        return Candidates(catalog.items, np.array(sizes).reshape(-1, 2), chances=chances)
    found, presence, reached = _candidates(catalog.items, measured(), models, recipe, classes)
    size = np.array(sizes).reshape(-1, 2)
    if CODERS[recipe.task].line:  # a damaged recording is heard in part
        size[:, 0] = np.minimum(size[:, 0], reached)
    return Candidates(catalog.items, size, found=found, presence=presence)


def _chances(shown: Iterable[ModelInput], models: Sequence[Model], recipe: Recipe) -> np.ndarray:
    """(n, classes): the mean over models and views; of an item that cannot be read, all are alike."""
    blank = np.full((BLOCK, BLOCK, 3), GREY, np.uint8)
    classes = models[0](blank[None])["classes"].shape[1]
    rows = []
    for one in shown:
        grids = [view.apply(window.grid)[None] for window in one.windows for view in tta_transforms(recipe.tta)]
        told = [model(grid)["classes"][0] for model in models for grid in grids]
        rows.append(np.mean(told, axis=0) if told else np.full(classes, 1 / classes))
    return np.array(rows).reshape(-1, classes)


def _candidates(
    items: Items, shown: Iterable[ModelInput], models: Sequence[Model], recipe: Recipe, classes: tuple[str, ...]
) -> tuple[Annotations[Any], np.ndarray, np.ndarray]:
    """Everything that might be a finding, and for each item the chance that there is any, and how far it was told."""
    code, stride, presence, reached = CODERS[recipe.task], recipe.stride, np.zeros(len(items)), np.zeros(len(items))
    group = np.array(head_groups_of(recipe, classes), np.int64)
    stands, none = dict[int, Poses](), np.empty(0)
    columns = [(none, none, none, np.empty((0, code.values)), none, none, none)]
    draw = drawer(recipe)

    def tell(seen: tuple[int, ModelInput, Tile]) -> tuple[int, ModelInput, float, float, tuple[np.ndarray, ...]]:
        number, one, window = seen
        maps = mean_maps(draw(window.grid), models, recipe)
        end = one.by * (window.x + window.inside[2])
        return number, one, end, float(maps["presence"]), _read_off(maps, window, recipe, group)

    for number, one, end, chance, (x, y, values, score, label) in _side_by_side(tell, shown, models):
        presence[number], reached[number] = max(presence[number], chance), max(reached[number], end)
        every = np.ones(len(x))
        columns.append((number * every, x, y, values, score, label, one.by * every))
        if one.stand is not None:
            stands[number] = one.stand
    item, x, y, values, score, label, by = (np.concatenate(column) for column in zip(*columns, strict=True))
    shapes: Any = code.decode(x, y, values.astype(float))
    shapes, item = shapes.scale(stride * by), item.astype(np.int64)
    if stands:
        shapes = transform_cuboids(shapes, concat_poses(list(stands.values())), np.searchsorted(list(stands), item))
    found = Annotations.from_rows(items, item, shapes, label=label.astype(np.int64), score=score, classes=classes)
    return found, presence, reached


def _read_off(maps: Maps, window: Tile, recipe: Recipe, group: np.ndarray) -> tuple[np.ndarray, ...]:
    """The peaks of a window: x and y in cells of the item, the numbers of the code, confidence and class."""
    code, stride = CODERS[recipe.task], recipe.stride
    reach = (
        1 if not isinstance(recipe, AudioRecipe) else max(round(recipe.min_event_gap / recipe.hop_seconds / stride), 1)
    )
    left, top, right, bottom = window.inside
    most = (right - left) * (bottom - top) // (APART if code.covers else ROOM)
    peaks = find_peaks(maps["heat"], FAINTEST, max(most, FEWEST), reach)
    x, y = peaks.x + 0.5, peaks.y + 0.5
    inside = (x >= left / stride) & (x < right / stride) & (y >= top / stride) & (y < bottom / stride)
    kept = np.flatnonzero(inside)
    at, label = (peaks.y[kept], peaks.x[kept]), peaks.label[kept]
    own = group[label] if len(group) else np.zeros(len(kept), np.int64)
    told = maps["values"].reshape(-1, code.values, *maps["values"].shape[1:])
    values, good = told[own, :, *at], maps["quality"][own, *at]
    if code.covers:
        shapes = code.decode(x[kept], y[kept], values.astype(float))
        shapes, good = correct(shapes.scale(FINE), peaks.heat[kept] * good, maps["cover"])
        values = code.encode(shapes.scale(1 / FINE), x[kept], y[kept])
    score = peaks.heat[kept] ** (1 - recipe.quality_weight) * good**recipe.quality_weight
    return x[kept] + window.x / stride, y[kept] + window.y / stride, values, score, peaks.label[kept]


def _side_by_side(
    tell: Callable[[tuple[int, ModelInput, Tile]], A], shown: Iterable[ModelInput], models: Sequence[Model]
) -> Iterator[A]:
    """What is told of every window of every item, in order; of as many at a time as the models can be shown at once."""
    windows = ((number, one, window) for number, one in enumerate(shown) for window in one.windows)
    at_once = min(getattr(model, "at_once", 1) for model in models)
    return map(tell, windows) if at_once == 1 else prefetch(tell, in_background(windows, at_once), at_once, at_once)


def mean_maps(picture: np.ndarray, models: Sequence[Model], recipe: Recipe) -> Maps:
    """The maps of one picture, the mean over models and views."""
    code = CODERS[recipe.task]
    seen: list[Maps] = []
    for view in tta_transforms(recipe.tta):
        shown = turned_by(picture, view, recipe)[None]
        for model in models:
            maps = {name: part[0] for name, part in model(shown).items()}
            if any(view):
                maps = {name: part if part.ndim == 0 else view.invert(part) for name, part in maps.items()}
                groups = maps["values"].reshape(-1, code.values, *maps["values"].shape[1:])
                maps["values"] = code.invert_tta(groups, view).reshape(maps["values"].shape)
            seen.append(maps)
    return seen[0] if len(seen) == 1 else {name: np.mean([maps[name] for maps in seen], axis=0) for name in seen[0]}
