"""How much of a training is done: counted in steps, or by the clock where it has a budget of minutes."""

from __future__ import annotations

import time

EXPORT_SECONDS = 15.0
"""Reserved for reading data and for the export."""
EVALUATION_SHARE = 0.2
"""Share of the time spent that evaluations may take."""


class Budget:
    """The share of a training that is done, from 0 to 1.

    steps: of the whole training; with `minutes`, the clock decides instead, and time is reserved for the last
    evaluation, for tuning and for the export. spent: seconds before an interruption.
    tta_passes: of the network in tuning, by test-time augmentation; evaluations have one.
    """

    def __init__(self, steps: int, minutes: float | None, spent: float = 0.0, tta_passes: float = 1.0) -> None:
        self.steps = steps
        self.seconds = None if minutes is None else 60 * minutes
        self.tta_passes = tta_passes
        self.step = 0
        self._started = time.monotonic() - spent
        self._longest_evaluation = 0.0
        self._evaluating = 0.0

    @property
    def spent(self) -> float:
        """Seconds since the training started, those before an interruption included."""
        return time.monotonic() - self._started

    def evaluated(self, seconds: float, mining: float = 0.0) -> None:
        """Record how long an evaluation took; the last one must fit in, with tuning and export after it.

        mining: seconds spent on hard negatives afterwards, which the last evaluation does without.
        """
        self._longest_evaluation = max(self._longest_evaluation, seconds)
        self._evaluating += seconds + mining

    def due(self, evaluations: int, of: int) -> bool:
        """Whether another evaluation is due after so many; with a time budget, fewer where they take too long."""
        done = self.done()
        too_slow = self.seconds is not None and self._evaluating > EVALUATION_SHARE * self.spent
        return done * of >= evaluations + 1 and done < 1 and not too_slow

    def done(self) -> float:
        if not self.steps:
            return 1.0
        if self.seconds is None:
            return min(self.step / self.steps, 1.0)
        reserved = min((1 + self.tta_passes) * self._longest_evaluation + EXPORT_SECONDS, self.seconds / 2)
        return min(self.spent / (self.seconds - reserved), 1.0)

    def remaining(self) -> float:
        """Estimated seconds until the last step."""
        done = self.done()
        return self.spent * (1 - done) / done if done > 0 else float("inf")
