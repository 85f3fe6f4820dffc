"""How long prediction takes at several settings: measured in turns, so that a busy machine slows all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tallymark.core.console import counting, quiet_progress
from tallymark.core.engines.choice import EngineChoice
from tallymark.core.humanize import plural
from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import Recipe, head_groups_of
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.detector.coders import CODERS
from tallymark.geometry import Geometry
from tallymark.inference.candidates import Candidates, concat_candidates
from tallymark.inference.pipeline import ensemble
from tallymark.inference.postprocess import postprocess
from tallymark.inference.predictor import Predictor, changed_recipe
from tallymark.io.media import BadMedia
from tallymark.modalities import modality_of
from tallymark.modalities.base import Tile

CHUNK = 8
"""Items that each setting predicts in one round."""
WARM_UP = 2
"""Items that each setting predicts before any time counts."""
ONE_PROCESS = EngineChoice(workers=1)
"""On all cores, by threads: others would have to start in each round."""
VARIED: Mapping[str, Sequence[float]] = {
    "tta": (1, 2, 4, 8),
    "tta_scales": (2, 3),
    "resolution": (0.875, 0.75, 0.625, 0.5),
}
"""Fields of the recipe that are varied, where a medium has them, and their values."""


@dataclass(frozen=True)
class Setting:
    """A runtime, and the fields of the recipe that differ: `tta`, and `tta_scales` and `resolution` of images."""

    runtime: str
    fields: Mapping[str, Any]

    @property
    def name(self) -> str:
        return " ".join(f"{name}={value:g}" for name, value in self.fields.items())


@dataclass(eq=False)
class Timing:
    """What was measured of a setting: wall-clock seconds per item in each round, and the candidates of these items.

    bare: seconds that the network alone takes for an item. again: seconds once more, of the first setting only.
    """

    setting: Setting
    recipe: Recipe
    seconds: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    found: list[Candidates] = field(default_factory=list)

    @property
    def candidates(self) -> Candidates:
        return concat_candidates(self.found)

    @property
    def median(self) -> float:
        """Seconds per item."""
        return statistics.median(self.seconds)


def settings_of(recipe: Recipe, runtimes: Sequence[str], fixed: Mapping[str, object]) -> list[Setting]:
    """Every value of each varied field that the medium has, the others being 1, for each runtime.

    fixed: fields that are the same at all settings, and are not varied.
    """
    names = [name for name in VARIED if name in recipe.names_at("prediction")]
    usual = {name: getattr(recipe.replace(**fixed), name) if name in fixed else 1 for name in names}
    tried = [usual, *({**usual, name: value} for name in names if name not in fixed for value in VARIED[name])]
    unique = [fields for at, fields in enumerate(tried) if fields not in tried[:at]]
    return [Setting(runtime, fields) for fields in unique if _possible(recipe, fields) for runtime in runtimes]


def _possible(recipe: Recipe, fields: Mapping[str, Any]) -> bool:
    """Whether a modality allows these fields: recordings have no TTA."""
    try:
        modality_of(recipe).validate(recipe.replace(**fields))
    except BadInput:
        return False
    return True


def measure(
    predictors: Mapping[str, Predictor],
    catalog: Catalog,
    settings: Sequence[Setting],
    fixed: Mapping[str, object],
    seconds: float,
) -> list[Timing]:
    """Predict the items in rounds, with every setting in each round, until all are done or the time is over."""
    first = predictors[settings[0].runtime].metadata.recipe
    timings = [Timing(one, changed_recipe(first, {**fixed, **one.fields})) for one in settings]
    chunks = [np.arange(len(catalog))[at : at + CHUNK] for at in range(0, len(catalog), CHUNK)]

    bare = [_bare_model(predictors[one.setting.runtime], catalog, one.recipe) for one in timings]

    def predict(timing: Timing, part: Catalog) -> tuple[float, Candidates]:
        begun = time.perf_counter()
        with quiet_progress():
            changes: dict[str, Any] = {**fixed, **timing.setting.fields}
            result = predictors[timing.setting.runtime].predict(part, engine=ONE_PROCESS, **changes)
        return (time.perf_counter() - begun) / len(part), result.candidates.load()

    with counting("measuring", len(timings) * (len(chunks) + 1)) as advance:
        begun = time.monotonic()
        for timing in timings:
            predict(timing, catalog.select(chunks[0][:WARM_UP]))
            advance()
        for number, chunk in enumerate(chunks):
            part, since = catalog.select(chunk), time.monotonic()
            for at in np.roll(np.arange(len(timings)), number).tolist():  # another order in each round
                took, candidates = predict(timings[at], part)
                timings[at].seconds.append(took)
                timings[at].found.append(candidates)
                timings[at].bare.append(bare[at]())
                advance()
            timings[0].again.append(predict(timings[0], part)[0])
            now = time.monotonic()
            if now - begun + (now - since) > seconds:
                break
    return timings


def _bare_model(predictor: Predictor, catalog: Catalog, recipe: Recipe) -> Callable[[], float]:
    """A function that measures the seconds of the network alone for an item: its tiles and transforms, no more.

    As many tiles side by side as in prediction, one transform of each; others by their size.
    """
    tiles = next(_read_tiles(catalog, recipe), None)
    if tiles is None:
        found, expected = f"none of {plural(len(catalog), catalog.medium.noun)} that can be read", "items to measure"
        raise BadInput(Problem("no_items", str(catalog.root), found, expected, "name another folder"))
    grid = modality_of(recipe).rasterizer(recipe)(tiles[0].data)
    work = sum(tile.data.size for tile in tiles) / tiles[0].data.size * recipe.tta
    alone = recipe.without_tta()
    concurrent = predictor.sessions[0].execution.concurrent_tiles

    def seconds() -> float:
        with ThreadPoolExecutor(concurrent) as pool:
            begun = time.perf_counter()
            list(pool.map(lambda _: ensemble(grid, predictor.sessions, alone), range(concurrent)))
            return (time.perf_counter() - begun) / concurrent * work

    return seconds


def noise(timing: Timing) -> float:
    """The share by which two measurements of the same work differ, in the median."""
    pairs = zip(timing.seconds, timing.again, strict=True)
    return statistics.median(abs(one - other) / max(one, other) for one, other in pairs)


def measure_stages(
    predictor: Predictor,
    catalog: Catalog,
    candidates: Candidates,
    recipe: Recipe,
    write: Callable[[Annotations[Geometry]], None],
) -> dict[str, float]:
    """Seconds per item of each stage, one after the other, without work ahead or side by side.

    candidates: of these items. write: writes predictions as a submission.
    """
    modality, coder = modality_of(recipe), CODERS[recipe.task]
    classes = predictor.metadata.classes
    rasterize, distance = modality.rasterizer(recipe), modality.peak_distance(recipe)
    groups = np.array(head_groups_of(recipe, classes), np.int64)
    spent = dict.fromkeys(("open", "preprocess", "infer", "decode", "postprocess", "write"), 0.0)
    watch = _Watch(spent)
    for tiles in _read_tiles(catalog, recipe):
        watch.stop("open")
        for tile in tiles:
            grid = rasterize(tile.data)
            watch.stop("preprocess")
            outputs = ensemble(grid, predictor.sessions, recipe)
            watch.stop("infer")
            coder.read_outputs(outputs, tile.inside, recipe, groups, distance)
            watch.stop("decode")
    watch.restart()
    predictions = postprocess(candidates, recipe)
    watch.stop("postprocess")
    write(predictions)
    watch.stop("write")
    return {name: seconds / len(catalog) for name, seconds in spent.items()}


def _read_tiles(catalog: Catalog, recipe: Recipe) -> Iterator[list[Tile]]:
    """The tiles of each item that can be read."""
    for item in range(len(catalog)):
        try:
            tiles = list(modality_of(recipe).open(catalog, item, recipe).tiles)
        except BadMedia:
            continue
        if tiles:
            yield tiles


class _Watch:
    """Adds the time since the last stop to the stage that ends."""

    def __init__(self, spent: dict[str, float]) -> None:
        self._spent = spent
        self.restart()

    def restart(self) -> None:
        self._since = time.perf_counter()

    def stop(self, stage: str) -> None:
        now = time.perf_counter()
        self._spent[stage] += now - self._since
        self._since = now
