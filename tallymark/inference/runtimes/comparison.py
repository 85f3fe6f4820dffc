"""Comparison of runtimes on a model: whether their outputs agree, and which is the fastest here."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tallymark.inference.runtimes.base import ModelFile, ModelRuntime, OpenModel, Plan, Run, first_line

REL_TOLERANCE, ABS_TOLERANCE = 0.1, 0.01
"""Root mean square error of an output in which two runtimes agree: relative to the output, or absolute.

bf16 has 0.03 on the pretrained wheat model, whose score it changes by 0.002; a wrong result has about 1.
"""
MIN_GAIN = 1.1
"""How many times as fast as the reference another runtime has to be, so that noise does not decide."""
ROUNDS = 10
"""How often each is timed, at most: the shortest time counts, since a busy machine lengthens some."""
MAX_SECONDS = 1.5
"""After this time no further round is begun."""


class Verdict(NamedTuple):
    """name: of the runtime to use. model: opened by it. reason: for people."""

    name: str
    model: OpenModel
    reason: str


def compare(model: ModelFile, plan: Plan, runtimes: Sequence[ModelRuntime], inputs: Sequence[np.ndarray]) -> Verdict:
    """The fastest runtime whose outputs agree with those of the first one, the reference.

    inputs: (1, height, width, channels) each; the last is the one whose time is measured.
    """
    started = time.monotonic()
    reference, *others = runtimes
    opened = {reference.name: reference.open(model, plan)}
    expected = _outputs(opened[reference.name].run, inputs)
    reasons: list[str] = []
    for other in others:
        try:
            candidate = other.open(model, plan)
            agrees = _agree(expected, _outputs(candidate.run, inputs))
        except Exception as error:  # runtimes' own exceptions have no common base
            reasons.append(f"{other.name} cannot run the model ({first_line(error)})")
            continue
        if agrees:
            opened[other.name] = candidate
        else:
            reasons.append(f"the outputs of {candidate.runtime_id} differ")
    if len(opened) == 1:
        return Verdict(reference.name, opened[reference.name], "; ".join(reasons))
    seconds = time_runs({name: one.run for name, one in opened.items()}, inputs[-1], started + MAX_SECONDS)
    best = min(seconds, key=seconds.__getitem__)
    chosen = best if seconds[reference.name] > MIN_GAIN * seconds[best] else reference.name
    second = min((name for name in seconds if name != chosen), key=seconds.__getitem__)
    ratio = f"{seconds[second] / seconds[chosen]:.1f} times as fast here as {opened[second].runtime_id}"
    return Verdict(chosen, opened[chosen], "; ".join([ratio, *reasons]))


def time_runs(runs: Mapping[str, Run], inputs: np.ndarray, until: float) -> dict[str, float]:
    """The shortest time of each in seconds; they take turns, so that a busy machine slows them alike.

    until: when no further round is begun, by the monotonic clock.
    """
    seconds = dict.fromkeys(runs, np.inf)
    for turn in range(ROUNDS):
        if turn and time.monotonic() > until:
            break
        for name, run in runs.items():
            begun = time.perf_counter()
            run(inputs)
            seconds[name] = min(seconds[name], time.perf_counter() - begun)
    return seconds


def _outputs(run: Run, inputs: Sequence[np.ndarray]) -> list[dict[str, np.ndarray]]:
    return [run(one) for one in inputs]


def _agree(expected: Sequence[dict[str, np.ndarray]], found: Sequence[dict[str, np.ndarray]]) -> bool:
    """Whether each output is the same within the tolerance, over all inputs."""
    for name in expected[0]:
        right, other = (np.concatenate([one[name].ravel() for one in outputs]) for outputs in (expected, found))
        if right.shape != other.shape:
            return False
        error, size = (float(np.sqrt(np.mean(np.square(one, dtype=np.float64)))) for one in (other - right, right))
        if not error <= max(ABS_TOLERANCE, REL_TOLERANCE * size):  # also if it is not a number
            return False
    return True
