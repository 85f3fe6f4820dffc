"""What models say about items, before anything is left out: candidates for findings, or chances of classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tallymark.centres.codes import CODES
from tallymark.centres.peaks import find_peaks
from tallymark.centres.views import views
from tallymark.data.annotations import Annotations, join_items
from tallymark.data.catalog import Catalog
from tallymark.data.images import read_picture
from tallymark.data.items import Items
from tallymark.data.media import BadMedia
from tallymark.data.threads import ahead
from tallymark.predicting.frame import BLOCK, GREY, fitted, padded, squared
from tallymark.problems import Problem, Problems
from tallymark.recipe import Recipe
from tallymark.terminal import progress

FAINTEST = 0.03
"""Candidates of less confidence are not kept, even for tuning."""
MOST = 3000
"""Candidates kept of one picture."""

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
    """Show every picture to the models. One that cannot be read is a problem, and has no findings."""

    def read(item: int) -> np.ndarray | None:
        path = catalog.path(item)
        try:
            if path is None:
                raise BadMedia("missing_media", "no file", "get the file, or leave the item out")
            return read_picture(path)
        except BadMedia as bad:
            name, place = catalog.items.ids[item], catalog.place(item)
            problems.add(Problem(bad.kind, place, bad.found, "a picture", bad.remedy, item=name))
            return None

    pictures = progress(ahead(read, range(len(catalog)), 2, 4), what, len(catalog))
    if recipe.finds == "labels":
        return _chances(catalog.items, pictures, models, recipe)
    return _candidates(catalog.items, pictures, models, recipe)


def _size(picture: np.ndarray | None) -> tuple[float, float]:
    return (np.nan, np.nan) if picture is None else (picture.shape[1], picture.shape[0])


def _chances(items: Items, pictures: Any, models: Sequence[Model], recipe: Recipe) -> Raw:
    """The mean over models and views."""
    sizes: list[tuple[float, float]] = []
    rows: list[np.ndarray | None] = []
    for picture in pictures:
        sizes.append(_size(picture))
        if picture is None:
            rows.append(None)
            continue
        seen = squared(picture, recipe.side)
        shown = [view.of(seen) for view in views(recipe.views)]
        rows.append(np.mean([model(one[None])["classes"][0] for model in models for one in shown], axis=0))
    blank = np.full((1, BLOCK, BLOCK, 3), GREY, np.uint8)
    width = models[0](blank)["classes"].shape[1]
    filled = [np.full(width, 1 / width) if row is None else row for row in rows]
    return Raw(items, np.array(sizes).reshape(-1, 2), chances=np.array(filled).reshape(-1, width))


def _candidates(items: Items, pictures: Any, models: Sequence[Model], recipe: Recipe) -> Raw:
    code = CODES[recipe.finds]
    sizes, presence = [], []
    columns: list[tuple[np.ndarray, ...]] = []
    for number, picture in enumerate(pictures):
        sizes.append(_size(picture))
        if picture is None:
            presence.append(0.0)
            continue
        seen = fitted(picture, recipe.side)
        maps = mean_maps(padded(seen), models, recipe)
        presence.append(float(maps["presence"]))
        peaks = find_peaks(maps["heat"], FAINTEST, MOST)
        values = maps["values"][:, peaks.y, peaks.x].T
        quality = maps["quality"][0, peaks.y, peaks.x]
        score = peaks.heat ** (1 - recipe.quality) * quality**recipe.quality
        by = recipe.stride * max(picture.shape[:2]) / max(seen.shape[:2])  # the shorter side is rounded
        columns.append(
            (np.full(len(score), number), peaks.x, peaks.y, values, score, peaks.label, np.full(len(score), by))
        )
    if columns:
        item, x, y, values, score, label, by = (np.concatenate(column) for column in zip(*columns, strict=True))
    else:
        item, x, y, score, label, by = (np.empty(0, np.int64) for _ in range(6))
        values = np.empty((0, code.values))
    shapes: Any = code.decode(x + 0.5, y + 0.5, values.astype(float))
    found = Annotations.gather(items, item, shapes.scaled(by), label=label, score=score.astype(float))
    return Raw(items, np.array(sizes).reshape(-1, 2), found=found, presence=np.array(presence))


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
