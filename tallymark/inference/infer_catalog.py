"""Inference of a whole catalog: what the journal does not have yet goes to an engine, shard by shard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tallymark.core.console import counting
from tallymark.core.engines.contract import Engine, Failed
from tallymark.core.engines.pace import Pace
from tallymark.core.outputs import writing
from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.inference.item_keys import item_key
from tallymark.inference.job import InferenceJob, InferenceShard, ShardReport
from tallymark.inference.journal import Journal
from tallymark.inference.outage import failed_items
from tallymark.inference.pipeline import no_step
from tallymark.inference.stored_candidates import StoredCandidates
from tallymark.io.media import READ_FAILED
from tallymark.modalities.base import InputPlan

FIRST_SHARD = 8
"""Items of the first shards."""
SHARD_SECONDS = 30.0
"""Seconds that each later shard should take: no more is lost by an interruption."""
LARGEST_SHARD = 4096
"""Items of a shard, at most: its candidates are held in memory until its page is written."""


def infer_catalog(
    journal: Journal, catalog: Catalog, job: InferenceJob, engine: Engine, plan: InputPlan, problems: Problems
) -> StoredCandidates:
    """The candidates of every item. Those in the journal are not inferred again, and new ones are added to it.

    An item that cannot be read is a problem, and has no candidates. Where the system failed to read it, it is tried
    again after all others; if all of the folder is out of reach, that is a `BadInput` that says how to go on.
    """
    recipe = journal.recipe
    keys = [item_key(catalog, item, recipe, plan) for item in range(len(catalog))]
    names = [f"item {item}" if key is None else key for item, key in enumerate(keys)]
    left = np.array([item for item, name in enumerate(names) if name not in journal], np.int64)
    with counting("predicting", len(catalog)) as advance:
        for _ in range(len(catalog) - len(left)):
            advance()
        for again in (False, True):
            step = no_step if again else advance
            met = Problems(EVERY)
            shards = Shards(catalog, plan, keys, names, left, engine)
            with writing(remedy="free some space or check the disk, then run the same command again: it resumes"):
                for outcome in engine.run(job, iter(shards), step):
                    shards.measure(len(outcome.shard))
                    if isinstance(outcome, Failed):
                        met.add(_killed(outcome))
                        continue
                    _take(outcome.result, journal, met)
                    if outcome.result.lost is not None:
                        raise BadInput(_how_to_resume(outcome.result.lost, journal, names))
            left = failed_items(catalog, met) if not again else np.empty(0, np.int64)
            problems.merge(met.without(lambda problem: problem.kind == READ_FAILED) if len(left) else met)
            if not len(left):
                break
    return journal.candidates(catalog.items, names)


def _take(report: ShardReport, journal: Journal, problems: Problems) -> None:
    problems.merge(report.problems)
    for page in report.pages:
        journal.note(page.page, page.names, page.size, page.presence)


def _killed(failed: Failed[InferenceShard]) -> Problem:
    """An item over which workers died, as a problem."""
    catalog = failed.shard.catalog
    expected, remedy = "an item that can be predicted", "look at the file, or exclude the item"
    return Problem("worker_died", catalog.place(0), failed.reason, expected, remedy, item=catalog.items.ids[0])


def _how_to_resume(lost: Problem, journal: Journal, names: Sequence[str]) -> Problem:
    done = sum(name in journal for name in names)
    how = f"run the same command again: {done} of {len(names)} are done"
    return replace(lost, remedy=f"{lost.remedy}, then {how}")


class Shards:
    """Shards of consecutive items, as many in each as the pace so far suggests."""

    def __init__(
        self,
        catalog: Catalog,
        plan: InputPlan,
        keys: Sequence[str | None],
        names: Sequence[str],
        left: np.ndarray,
        engine: Engine,
    ) -> None:
        self.catalog = catalog
        self.plan = plan
        self.keys = keys
        self.names = names
        self.left = left
        self.engine = engine
        self._pace = Pace(FIRST_SHARD, SHARD_SECONDS, LARGEST_SHARD)

    def measure(self, items: int) -> None:
        """Note that so many items are done."""
        self._pace.measure(items)

    def __iter__(self) -> Iterator[InferenceShard]:
        start = 0
        while start < len(self.left):
            size = self._pace.shard_size(len(self.left) - start, self.engine)
            index = self.left[start : start + size]
            yield InferenceShard.of(self.catalog, self.plan, self.keys, self.names, index)
            start += size
