"""Axes of charts: bins of histograms, and round numbers for ticks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallymark.core.humanize import number

BINS = 24
LONG_TAIL = 6
"""Where the largest value is this many times the median, the axis is logarithmic."""


@dataclass(frozen=True)
class Axis:
    """The edges of a histogram's bins. `log` bins grow by a constant factor, those of `whole` numbers by about that."""

    edges: np.ndarray
    log: bool = False
    whole: bool = False

    @classmethod
    def fit(cls, values: np.ndarray, bins: int = BINS) -> Axis:
        """Bins that suit the values: one each for few whole numbers, logarithmic ones for a long tail."""
        low, high = float(values.min()), float(values.max())
        whole = bool((values == np.round(values)).all())
        if low == high:
            return cls(np.array([low - 0.5, low + 0.5]), whole=whole)
        if low > 0 and high > LONG_TAIL * np.median(values):
            if whole:  # a bin between two whole numbers would always be empty
                return cls(np.unique(np.round(np.geomspace(low, high + 1, bins + 1))) - 0.5, log=True, whole=True)
            return cls(np.geomspace(low, high * 1.0001, bins + 1), log=True)
        if whole:
            step = max(1, int(np.ceil((high - low + 1) / bins)))
            return cls(np.arange(low, high + step + 1, step) - 0.5, whole=True)
        return cls(np.linspace(low, high, bins + 1))

    def position(self, value: np.ndarray | float) -> np.ndarray:
        """The position of values on the axis, 0 to 1."""
        first, last = self.edges[[0, -1]]
        if self.log:
            return np.log(np.asarray(value) / first) / np.log(last / first)
        return (np.asarray(value) - first) / (last - first)

    def bin_name(self, index: int) -> str:
        """The values of a bin as text: 3, or 5 to 9."""
        low, high = self.edges[index : index + 2].tolist()
        if self.whole:
            low, high = low + 0.5, high - 0.5
        return number(low) if low == high else f"{number(low)} to {number(high)}"

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers on the axis, `most` at most."""
        first, last = self.edges[[0, -1]].tolist()
        if not self.log:
            return round_ticks(first, last, most)
        powers = [10.0**k for k in range(int(np.floor(np.log10(first))), int(np.ceil(np.log10(last))) + 1)]
        within = [power for power in powers if first <= power <= last]
        if len(within) > most:
            return within[:: -(-len(within) // most)]
        chosen: list[float] = []
        for steps in ((1,), (1, 3), (1, 2, 5)):
            finer = [power * step for power in powers for step in steps if first <= power * step <= last]
            if len(finer) > most:
                break
            chosen = finer
        return chosen if len(chosen) > 1 else round_ticks(first, last, most)


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers from low to high, about `most` of them."""
    rough = (high - low) / max(most - 1, 1)
    if rough <= 0:
        return [low]
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(float(step * power) for step in (1, 2, 2.5, 5, 10) if step * power >= rough * 0.999)
    first = np.ceil(low / step - 1e-9)
    return [round(float(k * step), 10) + 0.0 for k in np.arange(first, np.floor(high / step + 1e-9) + 1)]
