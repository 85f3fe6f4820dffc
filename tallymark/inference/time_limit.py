"""A time limit for a prediction: test-time augmentation is reduced first; then items are left out, and named."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TypeVar

from tallymark.core.humanize import plural
from tallymark.core.problems import Problems
from tallymark.core.recipe import Recipe

R = TypeVar("R", bound=Recipe)
RESERVE, LEAST_RESERVE = 0.05, 3.0
"""Share of the time that is kept for post-processing and writing, and the least that these take, in seconds."""
LATE = "time_limit"
"""The kind of problem of an item that there was no time for."""
MEASURED = 2
"""Items after which their pace is trusted."""


class TimeLimit:
    """How much test-time augmentation there is time for, while items are predicted one after the other.

    seconds: from now on, or from a time before. spent: seconds since then.
    """

    def __init__(
        self, seconds: float = math.inf, spent: float = 0.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.clock = clock
        self.seconds = seconds
        reserve = min(max(LEAST_RESERVE, RESERVE * seconds), 0.5 * seconds)
        self._deadline = clock() - spent + (seconds - reserve if self.limited else seconds)
        self.start(0, Recipe())

    def start(self, items: int, recipe: Recipe) -> None:
        """Begin to predict. items: how many there are. recipe: with the test-time augmentation that is asked for."""
        self.items = items
        self.asked = self.recipe = recipe
        self.reductions = 0
        self.done = 0
        self.reduced_after: int | None = None
        self._since = (self.clock(), 0)

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return math.isfinite(self.seconds)

    @property
    def reached(self) -> bool:
        """Whether the time is over."""
        return self.clock() >= self._deadline

    def affordable(self, recipe: R) -> R:
        """The recipe of an item, with as much test-time augmentation as there is time for."""
        for _ in range(self.reductions):
            recipe = recipe.less_tta()
        return recipe

    def count_item(self) -> None:
        """Note that an item was predicted; if the others would take too long at this pace, halve the augmentation."""
        if not self.limited:
            return
        self.done += 1
        began, before = self._since
        now = self.clock()
        measured = self.done - before
        expected = (now - began) / measured * (self.items - self.done)
        if self.recipe.tta_passes > 1 and measured >= MEASURED and expected > self._deadline - now:
            self.recipe = self.recipe.less_tta()
            self.reductions += 1
            self.reduced_after = self.done if self.reduced_after is None else self.reduced_after
            self._since = (now, self.done)

    def notes(self, noun: str, problems: Problems) -> list[str]:
        """What was dropped, for the user. noun: of an item. problems: of the prediction."""
        minutes = f"time limit of {self.seconds / 60:g} min"
        notes = []
        if self.reduced_after is not None:
            after = f"after {self.reduced_after} of {plural(self.items, noun)}"
            change = f"from {self.asked.tta_settings} to {self.recipe.tta_settings}"
            notes.append(f"{minutes}: test-time augmentation was reduced {change} {after}")
        late = sum(problem.kind == LATE for problem in problems)
        if late:
            notes.append(f"{minutes}: {late} of {plural(self.items, noun)} not predicted, or only in part")
        return notes
