"""Journal: candidates cached on disk, so that an interrupted run resumes and thresholds can be changed instantly.

It has a folder for each set of models and each recipe, apart from the fields of post-processing. In it are pages with
the candidates of some items each, under keys that stand for the items and their files: only items that are new, or
whose files have changed, are inferred.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tallymark.core.console import counting
from tallymark.core.outputs import make_folder
from tallymark.core.planned_outputs import refuse_outputs
from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.core.recipe import Recipe
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.inference.candidates import Candidates, concat_candidates
from tallymark.inference.journal_pages import SUFFIX, read_page, write_page
from tallymark.inference.outage import Outage, failed_items
from tallymark.inference.pipeline import AS_TRAINED, infer_items, no_step
from tallymark.inference.run import version_of
from tallymark.inference.session import Session
from tallymark.io.media import READ_FAILED, BadMedia
from tallymark.modalities import modality_of
from tallymark.modalities.base import InputPlan

FIRST_PAGE = 8
"""Items of the first page."""
PAGE_SECONDS = 30.0
"""Seconds that each later page should take: no more is lost by an interruption."""


class Journal:
    """The pages of one set of models and one recipe; a `BadInput` if nothing can be written to its folder.

    keys: of the items on its pages. candidates: of these.
    """

    def __init__(self, folder: Path, recipe: Recipe, classes: tuple[str, ...]) -> None:
        self.folder = folder
        self._unwritten: list[Candidates] = []
        self._failure: BadInput | None = None
        refuse_outputs(filled=[folder])
        make_folder(folder)
        pages: list[Candidates] = []
        self.keys = set[str]()
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            page = read_page(path, recipe, classes)
            if page is not None:  # an item may be on two pages, by two processes: it is read from the first
                new = ~page.items.ids.is_in(list(self.keys)).to_numpy()
                pages.append(page if new.all() else page.select(np.flatnonzero(new)))
                self.keys.update(page.items.ids)
        if self.keys:
            self.candidates = concat_candidates(pages)

    def add(self, candidates: Candidates) -> None:
        """Write a page. While that fails, as on a full disk, the work goes on: it is tried again with the next one."""
        if not len(candidates.items):
            return
        self.keys.update(candidates.items.ids)
        self._unwritten.append(candidates)
        try:
            make_folder(self.folder)  # somebody may have deleted the folder
            while self._unwritten:
                page = self._unwritten[0]
                write_page(self.folder / f"{_digest(page.items.ids.to_list())}{SUFFIX}", page)
                del self._unwritten[0]
        except BadInput as failure:
            self._failure = failure

    def problem(self) -> Problem | None:
        """What could not be written to the end, if anything."""
        if not self._unwritten or self._failure is None:
            return None
        problem = next(iter(self._failure.problems))
        items = sum(len(page.items) for page in self._unwritten)
        expected = f"a page of the journal; the prediction is complete, but {items} items are not kept"
        return replace(problem, kind="journal_unwritten", expected=expected)


def infer_with_journal(
    folder: Path,
    catalog: Catalog,
    sessions: Sequence[Session],
    recipe: Recipe,
    problems: Problems,
    classes: tuple[str, ...],
    plan: InputPlan = AS_TRAINED,
) -> Candidates:
    """As `pipeline.infer`, but items that are in the journal are not inferred again, and new ones are added to it.

    Items with a problem are never added: the same command tries them again.
    """
    own = folder / _digest(
        [version_of("tallymark"), *map(_model, sessions), recipe.at("training", "model", "prediction")]
    )
    journal = Journal(own, recipe, classes)
    keys = [_key(catalog, item, recipe, plan) for item in range(len(catalog))]
    names = Items.of([f"item {item}" if key is None else key for item, key in enumerate(keys)])
    known = journal.keys
    left = np.flatnonzero(~names.ids.is_in(list(known)).to_numpy())
    outage = Outage(catalog)
    found = [journal.candidates] if len(known) else []
    with counting("predicting", len(catalog)) as advance:
        for _ in range(len(catalog) - len(left)):
            advance()
        for again in (False, True):
            failed: list[np.ndarray] = []
            for batch in _batches(left) if len(left) or not found else ():
                met = Problems(EVERY)
                chosen = catalog.select(batch)
                step = no_step if again else advance
                execution, shown = sessions[0].execution, plan.select(batch)
                candidates = infer_items(chosen, sessions, recipe, met, classes, execution, step, shown, outage)
                candidates = candidates.rename(Items(names.ids[batch]))
                faulty = {problem.item for problem in met}
                sound = [
                    at
                    for at, item in enumerate(batch.tolist())
                    if chosen.items.ids[at] not in faulty
                    and candidates.readable[at]
                    and _unchanged(keys[item], catalog, item, recipe, plan)
                ]
                journal.add(candidates.select(np.array(sound, np.int64)))
                done = len(journal.keys.intersection(names.ids))
                outage.stop_if_lost(f"run the same command again: {done} of {len(catalog)} are in {folder}")
                retried = np.empty(0, np.int64) if again else failed_items(chosen, met)
                failed.append(batch[retried])
                found.append(candidates.select(np.setdiff1d(np.arange(len(batch)), retried)))
                problems.merge(met if again else met.without(lambda problem: problem.kind == READ_FAILED))
            left = np.concatenate([np.empty(0, np.int64), *failed])
            if not len(left):
                break
    if (problem := journal.problem()) is not None:
        problems.add(problem)
    everything = concat_candidates(found)
    return everything.select(everything.items.find(names.ids)).rename(catalog.items)


def _batches(items: np.ndarray) -> Iterator[np.ndarray]:
    """Items for a page each, as many as the time that the page before took suggests; of no items, one empty batch."""
    start, size = 0, FIRST_PAGE
    while start == 0 or start < len(items):
        begun = time.monotonic()
        yield items[start : start + size]
        pace = PAGE_SECONDS / max(time.monotonic() - begun, 1e-3)
        start, size = start + size, max(1, round(size * min(pace, 4)))


def _key(catalog: Catalog, item: int, recipe: Recipe, plan: InputPlan) -> str | None:
    """What stands for an item and its files as they are now; None if they are out of reach."""
    try:
        shown = recipe if plan.recipes is None else plan.recipes[item]
        return _digest(modality_of(recipe).fingerprint(catalog, item, shown))
    except BadMedia:
        return None


def _unchanged(key: str | None, catalog: Catalog, item: int, recipe: Recipe, plan: InputPlan) -> bool:
    """Whether an item's files are still those that its key stands for, or out of reach by now."""
    return key is not None and _key(catalog, item, recipe, plan) in (key, None)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:32]


def _model(session: Session) -> list[str]:
    return [session.runtime, hashlib.sha256(session.path.read_bytes()).hexdigest()]
