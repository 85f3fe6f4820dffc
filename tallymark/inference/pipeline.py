"""Inference, as a straight line: load, tile, run, decode, and collect the candidates of all tiles.

Fusion and thresholds follow in `postprocess`. Each stage is an iterator over the one before it; items are opened ahead
while the network is busy, and as many tiles are inferred side by side as the execution plan says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tallymark.core.console import counting
from tallymark.core.parallel import prefetch, started
from tallymark.core.problems import EVERY, Problem, Problems
from tallymark.core.recipe import Recipe, head_groups_of
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.detector.coders import CODERS
from tallymark.detector.outputs import Outputs, TileCandidates, no_candidates
from tallymark.detector.tta import tta_transforms
from tallymark.geometry.poses import Poses, concat_poses, transform_cuboids
from tallymark.inference.candidates import Candidates
from tallymark.inference.execution import Execution
from tallymark.inference.nms import fuse_scales
from tallymark.inference.outage import Outage, failed_items, stop_training
from tallymark.inference.time_limit import LATE
from tallymark.io.media import READ_FAILED, RESUME, BadMedia
from tallymark.modalities import modality_of
from tallymark.modalities.base import UNREADABLE, InputPlan, ModelInput, Tile

Model = Callable[[np.ndarray], Outputs]
"""Inputs (n, height, width, channels) to outputs by name, each (n, …)."""
SEQUENTIAL = Execution(tile_threads=1, concurrent_tiles=1)
"""How a network in training is run: it has threads of its own."""
AS_TRAINED = InputPlan()


def no_step() -> None:
    """Advance no progress bar."""


class LoadedItem(NamedTuple):
    number: int
    input: ModelInput


class LoadedTile(NamedTuple):
    item: LoadedItem
    tile: Tile


class DecodedTile(NamedTuple):
    """candidates: in cells of the item, `zoom` times as fine as usual. end: how far it reaches, in the item's units."""

    item: LoadedItem
    candidates: TileCandidates
    end: float
    zoom: float = 1.0


def infer(
    catalog: Catalog,
    models: Sequence[Model],
    recipe: Recipe,
    problems: Problems,
    *,
    classes: tuple[str, ...] = (),
    title: str = "predicting",
    execution: Execution = SEQUENTIAL,
    plan: InputPlan = AS_TRAINED,
    how: str = RESUME,
) -> Candidates:
    """The candidates of every item, the mean over models and test-time augmentations, with a progress bar.

    An item that cannot be read is a problem, and has no candidates. Where the system failed to read it, it is tried
    again after all others; if all of the folder is out of reach, that is a `BadInput` that says how to go on.
    classes: their names, for `head_groups`. plan: how each item is shown.
    """
    met = Problems(EVERY)
    outage = Outage()
    with counting(title, len(catalog)) as advance:
        candidates = infer_items(catalog, models, recipe, met, classes, execution, advance, plan, outage)
        failed = failed_items(catalog, met)
        if len(failed) and not outage.lost and not execution.limit.reached:
            met = met.without(lambda problem: problem.kind == READ_FAILED)
            chosen, plan = catalog.select(failed), plan.select(failed)
            again = infer_items(chosen, models, recipe, met, classes, execution, no_step, plan, outage)
            candidates = candidates.replace_items(again)
    outage.stop_if_lost(catalog, how)
    problems.merge(met)
    return candidates


def infer_items(
    catalog: Catalog,
    models: Sequence[Model],
    recipe: Recipe,
    problems: Problems,
    classes: tuple[str, ...],
    execution: Execution,
    advance: Callable[[], None],
    plan: InputPlan,
    outage: Outage,
) -> Candidates:
    """The same in one round, calling `advance` after each item; if the folder is lost, without the items from there."""
    size = np.full((len(catalog), 2), np.nan)
    items = load(catalog, recipe, problems, execution, plan, outage)

    def count() -> None:
        advance()
        execution.limit.count_item()

    tiles = tile(items, size, count)
    decoded = run(tiles, models, recipe, classes, execution)
    return collect(decoded, catalog.items, size, recipe, classes)


def load(
    catalog: Catalog,
    recipe: Recipe,
    problems: Problems,
    execution: Execution,
    plan: InputPlan = AS_TRAINED,
    outage: Outage | None = None,
) -> Iterator[LoadedItem]:
    """Open each item in turn, some of them ahead, with their first tiles. One that cannot be read is a problem, and has
    no tiles.
    """
    modality = modality_of(recipe)
    outage = outage or Outage()

    def report_late(item: int, found: str) -> None:
        name, remedy = catalog.items.ids[item], "give more minutes, or models and settings that take less"
        expected = "a prediction within the time limit"
        problems.add(Problem(LATE, catalog.place(item), found, expected, remedy, item=name))

    def up_to_damage(item: int, tiles: Iterable[Tile]) -> Iterator[Tile]:
        try:
            for number, one in enumerate(tiles):
                if number and execution.limit.reached:  # what was opened in time has at least one tile
                    if one.zoom == 1:  # else all of it was predicted, at the usual size
                        report_late(item, "predicted in part")
                    return
                yield one
        except BadMedia as bad:
            outage.count(bad, catalog)
            problems.add(catalog.unread(item, bad))

    def open_item(item: int) -> LoadedItem:
        if execution.limit.reached:
            report_late(item, "not predicted")
            return LoadedItem(item, UNREADABLE)
        if outage.lost:
            return LoadedItem(item, UNREADABLE)
        try:
            if item in plan.failed:
                raise plan.failed[item]
            own = recipe if plan.recipes is None else plan.recipes[item]
            opened = modality.open(catalog, item, execution.limit.affordable(own))
        except BadMedia as bad:
            outage.count(bad, catalog)
            problems.add(catalog.unread(item, bad))
            return LoadedItem(item, UNREADABLE)
        outage.count(None, catalog)
        return LoadedItem(item, opened._replace(tiles=started(up_to_damage(item, opened.tiles))))

    return prefetch(open_item, range(len(catalog)), execution.readers, execution.prefetch)


def tile(items: Iterable[LoadedItem], size: np.ndarray, advance: Callable[[], None]) -> Iterator[LoadedTile]:
    """The tiles of all items, in order; the size of each item is written to its row of `size`."""
    for item in items:
        size[item.number] = item.input.size
        for one in item.input.tiles:
            yield LoadedTile(item, one)
        advance()


def run(
    tiles: Iterator[LoadedTile],
    models: Sequence[Model],
    recipe: Recipe,
    classes: tuple[str, ...],
    execution: Execution,
) -> Iterator[DecodedTile]:
    """Rasterise, infer and decode each tile; several side by side where the execution plan says so."""
    coder = CODERS[recipe.task]
    modality = modality_of(recipe)
    rasterize = modality.rasterizer(recipe)
    peak_distance = modality.peak_distance(recipe)
    groups = np.array(head_groups_of(recipe, classes), np.int64)

    def decode(loaded: LoadedTile) -> DecodedTile:
        item, one = loaded
        outputs = ensemble(rasterize(one.data), models, recipe, execution.limit.affordable(recipe).tta)
        read = coder.read_outputs(outputs, one.inside, recipe, groups, peak_distance)
        shifted = read._replace(x=read.x + one.x / recipe.stride, y=read.y + one.y / recipe.stride)
        return DecodedTile(item, shifted, item.input.scale * (one.x + one.inside[2]) / one.zoom, one.zoom)

    count = execution.concurrent_tiles
    return map(decode, tiles) if count == 1 else prefetch(decode, tiles, count, 2 * count)


def infer_outputs(
    catalog: Catalog, models: Sequence[Model], recipe: Recipe, problems: Problems, *, title: str
) -> Iterator[tuple[int, Outputs]]:
    """The outputs themselves, with the number of their item, for parts of a training that need more than candidates."""
    rasterize = modality_of(recipe).rasterizer(recipe)
    outage = Outage()
    with counting(title, len(catalog)) as advance:
        items = load(catalog, recipe, problems, SEQUENTIAL, outage=outage)
        for loaded in tile(items, np.empty((len(catalog), 2)), advance):
            yield loaded.item.number, ensemble(rasterize(loaded.tile.data), models, recipe)
    outage.stop_if_lost(catalog, RESUME)
    stop_training(problems)


def ensemble(grid: np.ndarray, models: Sequence[Model], recipe: Recipe, tta: int | None = None) -> Outputs:
    """The outputs for one input, the mean over test-time augmentations and models. tta: in place of the recipe's."""
    coder = CODERS[recipe.task]
    modality = modality_of(recipe)
    results: list[Outputs] = []
    for transform in tta_transforms(recipe.tta if tta is None else tta):
        batch = modality.apply_tta(grid, transform, recipe)[None]
        for model in models:
            outputs = {name: part[0] for name, part in model(batch).items()}
            results.append(coder.invert_outputs(outputs, transform) if any(transform) else outputs)
    if len(results) == 1:
        return results[0]
    return {name: np.mean([outputs[name] for outputs in results], axis=0) for name in results[0]}


def collect(
    decoded: Iterable[DecodedTile], items: Items, size: np.ndarray, recipe: Recipe, classes: tuple[str, ...]
) -> Candidates:
    """The candidates of all tiles under their items, in the items' own units, and in the world where that is known.

    Where items are shown at several sizes, the candidates of all sizes are fused.
    """
    coder = CODERS[recipe.task]
    presence: dict[int, dict[float, float]] = {}
    end = np.zeros(len(items))
    poses: dict[int, Poses] = {}
    found: list[tuple[int, float, TileCandidates]] = [(0, 1.0, no_candidates(coder.values))]
    views = [0]
    for (number, opened), candidates, reached, zoom in decoded:
        at_size = presence.setdefault(number, {})
        at_size[zoom] = max(at_size.get(zoom, 0.0), candidates.presence)
        end[number] = max(end[number], reached)
        found.append((number, opened.scale / zoom, candidates))
        views.append(list(at_size).index(zoom))
        if opened.pose is not None:
            poses[number] = opened.pose
    sizes = np.array([max(len(presence.get(number, ())), 1) for number in range(len(items))], np.int64)
    unreadable = np.flatnonzero(~np.isfinite(size[:, 0]))
    known = len(classes) or max((len(candidates.label) for _, _, candidates in found), default=0)
    found += [(number, 1.0, coder.unreadable(known)) for number in unreadable.tolist()]
    if coder.one_dimensional:  # of a damaged recording, only a part could be read
        size[:, 0] = np.minimum(size[:, 0], end)
    counts = [len(candidates.x) for _, _, candidates in found]
    item = np.repeat([number for number, _, _ in found], counts).astype(np.int64)
    scale = np.repeat([by for _, by, _ in found], counts)
    x, y, values, score, label = (np.concatenate([part[k] for _, _, part in found]) for k in range(5))
    shapes: Any = coder.decode(x, y, values.astype(float)).scale(recipe.stride * scale)
    if poses:
        shapes = transform_cuboids(shapes, concat_poses(list(poses.values())), np.searchsorted(list(poses), item))
    objects = Annotations.from_rows(items, item, shapes, label=label.astype(np.int64), score=score, classes=classes)
    if any(views):
        view = np.repeat([*views, *[0] * len(unreadable)], counts)[np.argsort(item, kind="stable")]
        objects = fuse_scales(objects, view, sizes)
    at_sizes = [sum(presence.get(number, {}).values()) for number in range(len(items))]
    return Candidates(objects, size, np.array(at_sizes) / sizes)


def unread_candidates(items: Items, recipe: Recipe, classes: tuple[str, ...]) -> Candidates:
    """The candidates of items that could not be read."""
    return collect((), items, np.full((len(items), 2), np.nan), recipe, classes)
