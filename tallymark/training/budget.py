"""How much of a training is done: counted in steps, or by the clock where it has a budget of minutes."""

from __future__ import annotations

import time


class Budget:
    """done() runs from 0 to 1. With a budget, time is set aside for judging, for tuning and for writing the model.

    views: of each item when the model is tuned; it is judged by one.
    """

    def __init__(self, steps: int, minutes: float | None, spent: float = 0.0, tta_transforms: int = 1) -> None:
        self.steps, self.budget, self.tta_transforms = steps, None if minutes is None else 60 * minutes, tta_transforms
        self.step = 0
        self._begun = time.monotonic() - spent
        self._judging = self._judged = 0.0

    @property
    def spent(self) -> float:
        """Seconds since the training began, those before an interruption included."""
        return time.monotonic() - self._begun

    def judged(self, seconds: float, revisiting: float = 0.0) -> None:
        """Remember how long judging takes: the last time it must fit in, with the tuning and export after it.

        What is tuned was told by all views of the same items. revisiting: seconds more that were taken to find out
        where to look from then on, which is not done the last time.
        """
        self._judging = max(self._judging, seconds)
        self._judged += seconds + revisiting

    def due(self, judgements: int, of: int) -> bool:
        """Whether it is time for another judgement after so many; with a budget, fewer where they take too long."""
        done = self.done()
        dear = self.budget is not None and self._judged > SHARE * self.spent
        return done * of >= judgements + 1 and done < 1 and not dear

    def done(self) -> float:
        if self.budget is None:
            return min(self.step / self.steps, 1.0)
        aside = min((1 + self.tta_transforms) * self._judging + ASIDE, self.budget / 2)
        return min(self.spent / (self.budget - aside), 1.0)

    def remaining(self) -> float:
        """Seconds until the last step, as it seems now."""
        done = self.done()
        return self.spent * (1 - done) / done if done > 0 else float("inf")


ASIDE = 15.0
"""Seconds that reading and export take."""
SHARE = 0.2
"""Of a budget, what judging on the way may take."""
