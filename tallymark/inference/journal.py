"""Journal: what models said so far, on disk, so that work which was interrupted goes on where it was.

It has a folder for each set of models and each recipe, but for the fields that only matter after looking: another cut
finds the same one. In it are pages, each with what was said of some items, under keys that stand for the items and
their files. So what is new, or has changed, is looked at, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from tallymark.core.console import counting
from tallymark.core.problems import EVERY, Problem, Problems
from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.detector.coders import CODERS
from tallymark.inference.pipeline import Candidates, concat_candidates, infer_items
from tallymark.inference.run import version_of
from tallymark.inference.session import Session
from tallymark.io.media import BadMedia
from tallymark.modalities.lidar.recipe import LidarRecipe

FIRST, EACH = 8, 30.0
"""Items of the first page, and seconds that each of the others should take: no more is lost by an interruption."""
SETTLED = ("fusion", "nms_iou", "score_threshold", "class_thresholds", "image_threshold", "mask_scale")
"""Fields of recipes that do not change what models say, only what is made of it."""


@dataclass(frozen=True)
class Page:
    """raw: what was said of items, which are named by their keys. problems: what could not be read, with its key."""

    raw: Candidates
    problems: tuple[tuple[str, Problem], ...]

    def without(self, known: set[str]) -> Page:
        """Only what is not known yet."""
        new = ~self.raw.items.ids.is_in(list(known)).to_numpy()
        return self if new.all() else replace(self, raw=self.raw.select(np.flatnonzero(new)))


def infer_with_journal(
    folder: Path,
    catalog: Catalog,
    sessions: Sequence[Session],
    recipe: Recipe,
    problems: Problems,
    classes: tuple[str, ...],
) -> Candidates:
    """As `raw.look`, but what is in a journal is not shown to the models, and what they say goes there."""
    own = folder / _digest([version_of("tallymark"), *map(_model, sessions), _seen(recipe)])
    own.mkdir(parents=True, exist_ok=True)
    keys = Items.of([_digest(_trace(catalog, item, recipe)) for item in range(len(catalog))])
    pages = list(_pages(own, recipe, classes))
    known = {key for page in pages for key in page.raw.items.ids}
    new = np.flatnonzero(~keys.ids.is_in(list(known)).to_numpy())
    with counting("predicting", len(catalog)) as count:
        for _ in range(len(catalog) - len(new)):
            count()
        for lot in _lots(new) if len(new) or not pages else ():
            met = Problems(EVERY)
            raw = infer_items(catalog.select(lot), sessions, recipe, met, classes, count).named(Items(keys.ids[lot]))
            named = dict(zip(catalog.items.ids[lot], raw.items.ids, strict=True))
            pages.append(Page(raw, tuple((named[problem.item or ""], problem) for problem in met)))
            _write(own / f"{_digest(raw.items.ids.to_list())}.npz", pages[-1])
    wanted = set(keys.ids)
    for key, problem in dict.fromkeys(met for page in pages for met in page.problems):
        if key in wanted:
            problems.add(problem)
    told = concat_candidates([page.raw for page in pages])
    return told.select(told.items.find(keys.ids)).named(catalog.items)


def _pages(folder: Path, recipe: Recipe, classes: tuple[str, ...]) -> Iterator[Page]:
    """The pages that can be read; what two of them tell, by the first only."""
    known = set[str]()
    for path in sorted(folder.glob("*.npz")):
        if (page := _read(path, recipe, classes)) is not None:
            yield page.without(known)
            known.update(page.raw.items.ids)


def _lots(items: np.ndarray) -> Iterator[np.ndarray]:
    """Items in parts for a page each, as many as the time for the part before suggests; of no items, one part."""
    start, size = 0, FIRST
    while start == 0 or start < len(items):
        begun = time.monotonic()
        yield items[start : start + size]
        pace = EACH / max(time.monotonic() - begun, 1e-3)
        start, size = start + size, max(1, round(size * min(pace, 4)))


def _digest(told: object) -> str:
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32]


def _model(session: Session) -> list[str]:
    return [session.runtime, hashlib.sha256(session.path.read_bytes()).hexdigest()]


def _seen(recipe: Recipe) -> dict[str, object]:
    return {name: value for name, value in asdict(recipe).items() if name not in SETTLED}


def _trace(catalog: Catalog, item: int, recipe: Recipe) -> list[object]:
    """What tells an item from any other: its name, and which files it is read from, as they are now."""
    name, path, drive = catalog.items.ids[item], catalog.path(item), catalog.drive
    if drive is None or not isinstance(recipe, LidarRecipe):
        return [name, _file(path)]
    try:
        rows = np.array(drive.sweep_rows(item, recipe.sweeps))
    except BadMedia:
        return [name]
    poses = [part.tolist() for all_ in (drive.sensor, drive.vehicle) for part in asdict(all_.take(rows)).values()]
    times, files = drive.sample_data["timestamp"][rows].to_list(), drive.sample_data["file"][rows].to_list()
    return [name, times, poses, [_file(None if file is None else Path(file)) for file in files]]


def _file(path: Path | None) -> list[object]:
    if path is None or not path.exists():
        return [str(path)]
    told = path.stat()
    return [str(path.resolve()), told.st_size, told.st_mtime_ns]


def _write(path: Path, page: Page) -> None:
    """All at once, so that a page which is there is whole."""
    raw = page.raw
    columns: dict[str, Any] = {"size": raw.size, "presence": raw.presence, "chances": raw.chances}
    if raw.found is not None:
        columns |= {"offsets": raw.found.offsets, "label": raw.found.label, "score": raw.found.score}
        columns |= {f"shape_{part.name}": getattr(raw.found.shapes, part.name) for part in fields(raw.found.shapes)}
    columns["keys"] = np.array(raw.items.ids.to_list(), str)
    columns["problems"] = np.array(json.dumps([[key, asdict(problem)] for key, problem in page.problems]))
    unfinished = path.with_suffix(f".{os.getpid()}")
    with unfinished.open("wb") as file:
        np.savez(file, **{name: column for name, column in columns.items() if column is not None})
    unfinished.replace(path)


def _read(path: Path, recipe: Recipe, classes: tuple[str, ...]) -> Page | None:
    """A page, or None if it is damaged: then its items are new."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            columns = dict(stored)
    except (OSError, EOFError, ValueError, zipfile.BadZipFile):
        return None
    problems = tuple((key, Problem(**told)) for key, told in json.loads(str(columns["problems"])))
    items, found = Items.of(columns["keys"].tolist()), None
    if "offsets" in columns:
        code, none = CODERS[recipe.task], np.empty(0)
        kind: Any = type(code.decode(none, none, np.empty((0, code.values))))
        shapes = kind(**{part.name: columns.get(f"shape_{part.name}") for part in fields(kind)})
        offsets, label, score = (columns[name] for name in ("offsets", "label", "score"))
        found = Annotations[Any](items, offsets, shapes, label, score, classes)
    return Page(Candidates(items, columns["size"], found, columns.get("presence"), columns.get("chances")), problems)
