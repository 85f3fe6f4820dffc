"""Benchmark of a model on one machine: speed and score at each setting, and the settings worth choosing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from tallymark.core.console import as_text, show_table
from tallymark.core.humanize import percentage, plural

if TYPE_CHECKING:
    from rich.console import Console

PRIZE_ITEMS = 40_000
"""Items of the view of a speed prize: about those of the ships test set."""
LOSSES = {"best": 0.005, "balanced": 0.03, "fast": 0.1}
"""The share of the gain over the baseline that a named speed may lose."""


@dataclass(frozen=True)
class Measurement:
    """One setting. seconds: wall clock per item, end to end; bare: of the network alone.

    fields: of the recipe. score: at the model's own thresholds; tuned: with the score threshold tuned on one half of
    the items and scored on the other, both ways; nan without truth. threshold: the one tuned on all items.
    hours: of recordings per item; 0 for other media.
    """

    runtime: str
    fields: Mapping[str, Any]
    seconds: float
    bare: float
    score: float = math.nan
    tuned: float = math.nan
    threshold: float | None = None
    hours: float = 0.0

    @property
    def name(self) -> str:
        return " ".join([self.runtime, *(f"{name}={value:g}" for name, value in self.fields.items())])

    @property
    def per_second(self) -> float:
        """Items per second; of recordings, hours of them."""
        return (self.hours or 1.0) / self.seconds

    @property
    def prize_minutes(self) -> float:
        """Minutes for `PRIZE_ITEMS` items."""
        return self.seconds * PRIZE_ITEMS / 60


@dataclass(frozen=True, eq=False, repr=False)
class Benchmark:
    """What `bench` measured. Prints as tables.

    stages: seconds per item of each stage, by runtime, one after the other.
    noise: the share by which the same work took longer or shorter. items: measured ones; scored: those with truth.
    baseline: the score of a trivial submission; nan without truth. unit: of the throughput.
    """

    challenge: str
    model: str
    noun: str
    items: int
    scored: int
    cores: int
    threads: int | None
    measurements: Sequence[Measurement]
    stages: Mapping[str, Mapping[str, float]]
    noise: float
    better: Literal["higher", "lower"] = "higher"
    baseline: float = math.nan
    notes: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        return "h" if any(one.hours for one in self.measurements) else f"{self.noun}s"

    @property
    def front(self) -> list[Measurement]:
        """The Pareto front, the fastest first: no other setting is both faster and better."""
        chosen: list[Measurement] = []
        for one in sorted(self.measurements, key=lambda one: one.seconds):
            if math.isfinite(one.tuned) and (not chosen or self._gain(one) > self._gain(chosen[-1])):
                chosen.append(one)
        return chosen

    @property
    def speeds(self) -> dict[str, dict[str, Any]]:
        """Fields of the recipe for each named speed: the fastest setting that loses little enough; none without truth.

        The score threshold is among them where it is not that of the model.
        """
        front = self.front
        if not front:
            return {}
        most = self._gain(front[-1])
        named = {}
        for name, loss in LOSSES.items():
            chosen = next(one for one in front if self._gain(one) >= most - loss * abs(most))
            own = {} if chosen.threshold is None else {"score_threshold": chosen.threshold}
            named[name] = {**chosen.fields, **own}
        return named

    def _gain(self, one: Measurement) -> float:
        """How much better the score is than the baseline's."""
        sign = 1 if self.better == "higher" else -1
        return sign * (one.tuned - (0.0 if math.isnan(self.baseline) else self.baseline))

    def __repr__(self) -> str:
        return f"<Benchmark {self.model}, {plural(len(self.measurements), 'setting')}>"

    def __str__(self) -> str:
        return as_text(self.show)

    def show(self, to: Console) -> None:
        """Print the settings, the stages, and what the numbers mean."""
        show_table(f"{self.model} on {plural(self.items, self.noun)}", *self.table(), to)
        show_table("stages, one after the other, ms per item", *self.stage_table(), to)
        for note in self.remarks():
            to.print(note, highlight=False, markup=False)

    def table(self) -> tuple[list[str], list[list[object]]]:
        """Column names and rows, the fastest setting first; a star marks the Pareto front."""
        fields = list(self.measurements[0].fields)
        columns = ["runtime", *fields, "ms per item", "bare model", f"{self.unit} per second"]
        columns += [f"min for {PRIZE_ITEMS:,}"] if self.unit != "h" else []
        columns += ["score", "re-tuned", "front"] if self.scored else []
        front = self.front
        rows = []
        for one in sorted(self.measurements, key=lambda one: one.seconds):
            row: list[object] = [one.runtime, *(f"{one.fields[name]:g}" for name in fields)]
            row += [f"{1000 * one.seconds:.1f}", f"{1000 * one.bare:.1f}", f"{one.per_second:.2f}"]
            row += [f"{one.prize_minutes:.1f}"] if self.unit != "h" else []
            row += [_score(one.score), _score(one.tuned), "*" if one in front else ""] if self.scored else []
            rows.append(row)
        return columns, rows

    def stage_table(self) -> tuple[list[str], list[list[object]]]:
        """Column names and a row for each runtime: milliseconds per item of each stage, and the network's share."""
        stages = list(next(iter(self.stages.values())))
        rows: list[list[object]] = [
            [runtime, *(f"{1000 * spent[name]:.2f}" for name in stages),
             percentage(spent["infer"], sum(spent.values()))]
            for runtime, spent in self.stages.items()
        ]  # fmt: skip
        return ["runtime", *stages, "infer, share"], rows

    def remarks(self) -> list[str]:
        """What was measured how, and how far it can be trusted."""
        steady = f"the same work took {percentage(self.noise, 1)} longer or shorter when it was repeated"
        remarks = [f"{plural(self.cores, 'core')}; {steady}; all settings took turns, numbers are medians"]
        if self.scored:
            remarks.append(
                f"score: of {plural(self.scored, self.noun)} at the model's own thresholds, {self.better} is better; "
                "re-tuned: score threshold tuned on one half, scored on the other, both ways; *: Pareto front"
            )
        for name, fields in self.speeds.items():
            remarks.append(f"{name}: " + " ".join(f"{field}={value:g}" for field, value in fields.items()))
        return [*remarks, *self.notes]

    def as_dict(self) -> dict[str, object]:
        """The form that `--json` prints."""
        front = self.front
        return {
            "challenge": self.challenge,
            "model": self.model,
            "items": self.items,
            "scored": self.scored,
            "cores": self.cores,
            "threads": self.threads,
            "noise": self.noise,
            "better": self.better,
            "baseline": _finite(self.baseline),
            "settings": [
                {
                    **asdict(one),
                    "score": _finite(one.score),
                    "tuned": _finite(one.tuned),
                    "per_second": one.per_second,
                    "minutes_for_40000": one.prize_minutes,
                    "front": one in front,
                }
                for one in self.measurements
            ],
            "stages": {runtime: dict(spent) for runtime, spent in self.stages.items()},
            "speeds": self.speeds,
            "notes": list(self.notes),
        }


def _score(value: float) -> str:
    return f"{value:.4f}" if math.isfinite(value) else "-"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
