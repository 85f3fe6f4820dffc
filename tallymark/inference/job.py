"""The inference job: what a worker does with a shard of items. It writes their candidates to a page of the journal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tallymark.core.engines.contract import Advance
from tallymark.core.problems import EVERY, Problem, Problems
from tallymark.core.recipe import Recipe
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.inference.candidates import Candidates
from tallymark.inference.execution import Execution
from tallymark.inference.item_keys import digest, item_key
from tallymark.inference.journal_pages import PAGE, PARTIAL, write_page
from tallymark.inference.outage import Outage
from tallymark.inference.pipeline import infer_items
from tallymark.inference.session import Runtime, Session
from tallymark.modalities.base import InputPlan


@dataclass(frozen=True, eq=False)
class InferenceShard:
    """Some items: where they are, how they are shown to the network, and their keys (None: files out of reach).

    names: of the items on pages: their keys, or a number for those that have none.
    """

    catalog: Catalog
    plan: InputPlan
    keys: Sequence[str | None]
    names: Sequence[str]

    @classmethod
    def of(
        cls, catalog: Catalog, plan: InputPlan, keys: Sequence[str | None], names: Sequence[str], index: np.ndarray
    ) -> InferenceShard:
        """The items of a catalog with these numbers; without their truth, which inference does not need."""
        chosen = replace(catalog.select(index), truth=None, notes=Problems(), remarks=())
        at = index.tolist()
        return cls(chosen, plan.select(index), [keys[item] for item in at], [names[item] for item in at])

    def __len__(self) -> int:
        return len(self.catalog)

    def split(self) -> tuple[InferenceShard, InferenceShard]:
        first, second = np.array_split(np.arange(len(self)), 2)
        parts = [InferenceShard.of(self.catalog, self.plan, self.keys, self.names, half) for half in (first, second)]
        return parts[0], parts[1]


class PageReport(NamedTuple):
    """A page that a worker wrote: its name, the names of the items on it, their sizes and presence."""

    page: str
    names: Sequence[str]
    size: np.ndarray
    presence: np.ndarray


class ShardReport(NamedTuple):
    """What became of a shard: its pages, and the problems of its items.

    lost: that the folder of the items is out of reach.
    """

    pages: Sequence[PageReport]
    problems: Problems
    lost: Problem | None


@dataclass(frozen=True, eq=False)
class InferenceJob:
    """Infers shards with models, by a recipe.

    folder: where pages are written. threads: of each worker.
    sessions, execution: of the process that starts the job, which may work on shards too; they are not carried along.
    """

    models: Sequence[Path]
    runtime: Runtime
    recipe: Recipe
    classes: tuple[str, ...]
    folder: Path
    threads: int = 1
    sessions: Sequence[Session] = field(default=())
    execution: Execution | None = None

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "sessions": (), "execution": None}

    def open(self) -> Callable[[InferenceShard, Advance], ShardReport]:
        sessions = self.sessions or [Session(path, self.runtime, self.threads, checked=True) for path in self.models]
        for session in sessions:
            session.expect(self.recipe)
        execution = self.execution or sessions[0].execution
        outage = Outage()

        def work(shard: InferenceShard, advance: Advance) -> ShardReport:
            problems = Problems(EVERY)
            catalog, plan = shard.catalog, shard.plan
            candidates = infer_items(
                catalog, sessions, self.recipe, problems, self.classes, execution, advance, plan, outage
            )
            return ShardReport(list(self._write(shard, candidates, problems)), problems, outage.problem(catalog))

        return work

    def _write(self, shard: InferenceShard, candidates: Candidates, problems: Problems) -> list[PageReport]:
        """Write a page of what is sound, to be kept, and one of what was read in part, for this run only.

        Items with a problem are not kept, nor those whose files changed meanwhile: the next run tries them again.
        """
        faulty = {problem.item for problem in problems}
        ids = shard.catalog.items.ids
        sound = np.array(
            [
                bool(candidates.readable[at]) and ids[at] not in faulty and self._unchanged(shard, at)
                for at in range(len(shard))
            ],
            bool,
        )
        reports = []
        for chosen, suffix in ((sound, PAGE), (candidates.readable & ~sound, PARTIAL)):
            index = np.flatnonzero(chosen)
            if len(index):
                names = [shard.names[at] for at in index.tolist()]
                page = candidates.select(index).rename(Items.of(names))
                path = self.folder / f"{digest(names)}{suffix}"
                write_page(path, page)
                reports.append(PageReport(path.name, names, page.size, page.presence))
        return reports

    def _unchanged(self, shard: InferenceShard, at: int) -> bool:
        """Whether an item's files are still those that its key stands for, or out of reach by now."""
        key = shard.keys[at]
        return key is not None and item_key(shard.catalog, at, self.recipe, shard.plan) in (key, None)
