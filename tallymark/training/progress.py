"""Progress of a training: loss, score and remaining time, as a bar or a line per minute; a line per evaluation."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from tallymark.core.console import PROGRESS_INTERVAL, duration
from tallymark.training.budget import Budget

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


class Progress:
    """A bar on standard error if that is a terminal; else lines. enabled: whether anything is printed at all."""

    def __init__(self, budget: Budget, *, enabled: bool = True) -> None:
        self.budget = budget
        self.enabled = enabled
        self._sums: dict[str, float] = {}
        self._count = 0
        self._since = time.monotonic()
        self._printed = self._since
        self._score = ""
        self._bar: Bar | None = None

    def __enter__(self) -> Progress:
        if self.enabled and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("training"), BarColumn(), TextColumn("{task.percentage:3.0f} %  {task.description}"))
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._bar.add_task("", total=1.0)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, losses: dict[str, float]) -> None:
        """After a step, with the terms of its loss."""
        for name, value in losses.items():
            self._sums[name] = self._sums.get(name, 0.0) + value
        self._count += 1
        due = self.enabled and time.monotonic() - self._printed >= PROGRESS_INTERVAL
        if self._bar is None and not due:
            return
        done = self.budget.done()
        loss = sum(self._sums.values()) / self._count
        parts = f"loss {loss:.3f}", self._score, f"{duration(self.budget.remaining())} to go"
        text = "  ".join(filter(None, parts))
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, description=text)
        else:
            self._print(f"{done:4.0%}  {text}")

    def take_means(self) -> dict[str, float]:
        """The mean of each term of the loss, and steps per second, since the last call."""
        seconds = time.monotonic() - self._since
        means = {f"loss_{name}": round(value / max(self._count, 1), 5) for name, value in self._sums.items()}
        means["steps_per_second"] = round(self._count / seconds, 3) if seconds > 0 else 0.0
        self._sums = {}
        self._count = 0
        return means

    def evaluated(self, line: dict[str, float]) -> None:
        """Print the result of an evaluation."""
        self._since = time.monotonic()  # steps per second are those of training alone
        self._score = f"score {line['score']:.4f}"
        if self.enabled:
            loss = sum(value for name, value in line.items() if name.startswith("loss_"))
            shown_loss = f"loss {loss:.3f}" if loss else ""  # there is none before the first step
            parts = f"epoch {line['epoch']:.1f}", duration(line["seconds"]), shown_loss, self._score
            text = "  ".join(filter(None, parts))
            if self._bar is not None:
                self._bar.console.print(text, highlight=False)
            else:
                self._print(text)

    def _print(self, text: str) -> None:
        self._printed = time.monotonic()
        print(text, file=sys.stderr, flush=True)
