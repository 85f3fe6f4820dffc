"""What `quantize` wrote and measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tallymark.core.console import as_text, show_table
from tallymark.core.humanize import plural
from tallymark.core.problems import Problems
from tallymark.scoring.score import Score

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class MeasuredModels:
    """bytes: of the model files. seconds: of one tile. runtime_id: what runs them. score: None without truth."""

    bytes: int
    seconds: float
    runtime_id: str
    score: Score | None

    def as_dict(self) -> dict[str, object]:
        score = None if self.score is None or not np.isfinite(self.score.value) else self.score.value
        return {"bytes": self.bytes, "seconds": self.seconds, "runtime": self.runtime_id, "score": score}


@dataclass(frozen=True, eq=False, repr=False)
class QuantizedRun:
    """A run and its quantised models, measured alike. Prints as a table.

    out: the new run or model file. calibrated, evaluated: numbers of items. held_out: whether the models are known not
    to have been trained on the items that were evaluated. problems: items that could not be read.
    """

    source: str
    out: Path
    before: MeasuredModels
    after: MeasuredModels
    calibrated: int
    evaluated: int
    held_out: bool
    noun: str
    problems: Problems

    def __repr__(self) -> str:
        return f"<QuantizedRun {self.out} {self.speedup:.2f} times as fast>"

    def __str__(self) -> str:
        return as_text(self.show)

    @property
    def speedup(self) -> float:
        return self.before.seconds / self.after.seconds

    @property
    def notes(self) -> list[str]:
        """What the scores are about."""
        if self.after.score is None:
            return [f"no score: no {self.noun} of the folder is annotated for this model"]
        about = f"scores of {plural(self.evaluated, self.noun)}, without test-time augmentation"
        known = "held out of the training" if self.held_out else "which the model may have been trained on"
        return [f"{about}, {known}; {self.after.score.better} is better"]

    def show(self, to: Console) -> None:
        """Print size, speed and score before and after."""
        both = (self.before, self.after)
        rows = [
            ("size", *(f"{one.bytes / 1e6:.1f} MB" for one in both)),
            ("time for a tile", *(f"{1000 * one.seconds:.1f} ms" for one in both)),
            ("runtime", *(one.runtime_id for one in both)),
        ]
        if self.before.score is not None and self.after.score is not None:
            rows.append(("score", f"{self.before.score.value:.6f}", f"{self.after.score.value:.6f}"))
        show_table("quantisation", ("", "before", "int8"), rows, to)
        for note in self.notes:
            to.print(note, highlight=False, markup=False)

    def as_dict(self) -> dict[str, object]:
        """The form that `--json` prints."""
        return {
            "run": self.source,
            "out": str(self.out),
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            "speedup": self.speedup,
            "calibrated": self.calibrated,
            "evaluated": self.evaluated,
            "held_out": self.held_out,
            "notes": self.notes,
            **self.problems.as_dict(),
        }
