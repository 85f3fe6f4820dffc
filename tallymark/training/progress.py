"""What one sees while it trains: loss, score and time to go, in a bar or once a minute; a line for each judgement."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from tallymark.core.console import PROGRESS_INTERVAL, duration
from tallymark.training.budget import Budget


class Progress:
    """A bar on standard error if that is a terminal; else lines."""

    def __init__(self, clock: Budget, *, talks: bool = True) -> None:
        self.clock, self.talks = clock, talks
        self._sums: dict[str, float] = {}
        self._count, self._since = 0, time.monotonic()
        self._said = self._since
        self._score = ""
        self._bar: Any = None

    def __enter__(self) -> Progress:
        if self.talks and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            columns = (TextColumn("training"), BarColumn(), TextColumn("{task.percentage:3.0f} %  {task.description}"))
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._bar.add_task("", total=1.0)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, parts: dict[str, float]) -> None:
        """After a step, with the parts of its loss."""
        for name, value in parts.items():
            self._sums[name] = self._sums.get(name, 0.0) + value
        self._count += 1
        due = self.talks and time.monotonic() - self._said >= PROGRESS_INTERVAL
        if self._bar is None and not due:
            return
        done, loss = self.clock.done(), sum(self._sums.values()) / self._count
        told = f"loss {loss:.3f}", self._score, f"{duration(self.clock.remaining())} to go"
        text = "  ".join(filter(None, told))
        if self._bar is not None:
            self._bar.update(0, completed=done, description=text)
        else:
            self._say(f"{done:4.0%}  {text}")

    def take(self) -> dict[str, float]:
        """The mean of every part of the loss, and steps a second, since they were last taken."""
        seconds = time.monotonic() - self._since
        means = {f"loss_{name}": round(value / max(self._count, 1), 5) for name, value in self._sums.items()}
        means["steps_per_second"] = round(self._count / seconds, 3) if seconds > 0 else 0.0
        self._sums, self._count = {}, 0
        return means

    def judged(self, line: dict[str, Any]) -> None:
        """Print what a judgement found."""
        self._since = time.monotonic()  # judging is not training
        self._score = f"score {line['score']:.4f}"
        if self.talks:
            loss = sum(value for name, value in line.items() if name.startswith("loss_"))
            text = f"epoch {line['epoch']:.1f}  {duration(line['seconds'])}  loss {loss:.3f}  {self._score}"
            if self._bar is not None:
                self._bar.console.print(text, highlight=False)
            else:
                self._say(text)

    def _say(self, text: str) -> None:
        self._said = time.monotonic()
        print(text, file=sys.stderr, flush=True)
