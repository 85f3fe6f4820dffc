"""Journal: candidates cached on disk, so that an interrupted run resumes and thresholds can be changed instantly.

It has a folder for each set of models and each recipe, apart from the fields of post-processing. In it are pages with
the candidates of some items each, under keys that stand for the items and their files: only items that are new, or
whose files have changed, are inferred.
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
from tallymark.inference.candidates import Candidates, concat_candidates
from tallymark.inference.pipeline import infer_items
from tallymark.inference.run import version_of
from tallymark.inference.session import Session
from tallymark.io.regular import open_regular
from tallymark.modalities import modality_of

FIRST_PAGE = 8
"""Items of the first page."""
PAGE_SECONDS = 30.0
"""Seconds that each later page should take: no more is lost by an interruption."""


@dataclass(frozen=True)
class Page:
    """candidates: of items that are named by their keys. problems: what could not be read, with its key."""

    candidates: Candidates
    problems: tuple[tuple[str, Problem], ...]

    def without(self, known: set[str]) -> Page:
        """Without the items that are known already."""
        new = ~self.candidates.items.ids.is_in(list(known)).to_numpy()
        return self if new.all() else replace(self, candidates=self.candidates.select(np.flatnonzero(new)))


def infer_with_journal(
    folder: Path,
    catalog: Catalog,
    sessions: Sequence[Session],
    recipe: Recipe,
    problems: Problems,
    classes: tuple[str, ...],
    recipes: Sequence[Recipe] | None = None,
) -> Candidates:
    """As `pipeline.infer`, but items that are in the journal are not inferred again, and new ones are added to it."""
    shown_as = recipes or [recipe] * len(catalog)
    own = folder / _digest(
        [version_of("tallymark"), *map(_model, sessions), recipe.at("training", "model", "prediction")]
    )
    own.mkdir(parents=True, exist_ok=True)
    modality = modality_of(recipe)
    keys = Items.of([_digest(modality.fingerprint(catalog, item, shown_as[item])) for item in range(len(catalog))])
    pages = list(_read_pages(own, recipe, classes))
    known = {key for page in pages for key in page.candidates.items.ids}
    new = np.flatnonzero(~keys.ids.is_in(list(known)).to_numpy())
    execution = sessions[0].execution
    with counting("predicting", len(catalog)) as advance:
        for _ in range(len(catalog) - len(new)):
            advance()
        for batch in _batches(new) if len(new) or not pages else ():
            met = Problems(EVERY)
            chosen = catalog.select(batch)
            own_recipes = [shown_as[item] for item in batch.tolist()]
            candidates = infer_items(chosen, sessions, recipe, met, classes, execution, advance, own_recipes)
            candidates = candidates.rename(Items(keys.ids[batch]))
            key_of = dict(zip(chosen.items.ids, candidates.items.ids, strict=True))
            page = Page(candidates, tuple((key_of[problem.item or ""], problem) for problem in met))
            pages.append(page)
            _write_page(own / f"{_digest(candidates.items.ids.to_list())}.npz", page)
    wanted = set(keys.ids)
    for key, problem in dict.fromkeys(met for page in pages for met in page.problems):
        if key in wanted:
            problems.add(problem)
    everything = concat_candidates([page.candidates for page in pages])
    return everything.select(everything.items.find(keys.ids)).rename(catalog.items)


def _read_pages(folder: Path, recipe: Recipe, classes: tuple[str, ...]) -> Iterator[Page]:
    """The pages that can be read; an item that is on two of them, from the first only."""
    known = set[str]()
    for path in sorted(folder.glob("*.npz")):
        if (page := _read_page(path, recipe, classes)) is not None:
            yield page.without(known)
            known.update(page.candidates.items.ids)


def _batches(items: np.ndarray) -> Iterator[np.ndarray]:
    """Items for a page each, as many as the time that the page before took suggests; of no items, one empty batch."""
    start, size = 0, FIRST_PAGE
    while start == 0 or start < len(items):
        begun = time.monotonic()
        yield items[start : start + size]
        pace = PAGE_SECONDS / max(time.monotonic() - begun, 1e-3)
        start, size = start + size, max(1, round(size * min(pace, 4)))


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:32]


def _model(session: Session) -> list[str]:
    return [session.runtime, hashlib.sha256(session.path.read_bytes()).hexdigest()]


def _write_page(path: Path, page: Page) -> None:
    """Written beside and renamed, so that a page which exists is complete."""
    candidates = page.candidates
    objects = candidates.objects
    columns: dict[str, Any] = {
        "keys": np.array(candidates.items.ids.to_list(), str),
        "size": candidates.size,
        "presence": candidates.presence,
        "offsets": objects.offsets,
        "label": objects.labels,
        "score": objects.scores,
        "problems": np.array(json.dumps([[key, asdict(problem)] for key, problem in page.problems])),
        **{f"shape_{name}": column for name, column in vars(objects.shapes).items()},
    }
    unfinished = path.with_suffix(f".{os.getpid()}")
    with unfinished.open("wb") as file:
        np.savez(file, **{name: column for name, column in columns.items() if column is not None})
    unfinished.replace(path)


def _read_page(path: Path, recipe: Recipe, classes: tuple[str, ...]) -> Page | None:
    """A page, or None if it is damaged: then its items are inferred anew."""
    try:
        with open_regular(path) as file, np.load(file, allow_pickle=False) as stored:
            columns = dict(stored)
    except (OSError, EOFError, ValueError, zipfile.BadZipFile):
        return None
    problems = tuple((key, Problem(**stated)) for key, stated in json.loads(str(columns["problems"])))
    geometry = CODERS[recipe.task].geometry
    shapes = geometry(**{field.name: columns.get(f"shape_{field.name}") for field in fields(geometry)})
    objects = Annotations[Any](
        Items.of(columns["keys"].tolist()), columns["offsets"], shapes, columns["label"], columns["score"], classes
    )
    return Page(Candidates(objects, columns["size"], columns["presence"]), problems)
