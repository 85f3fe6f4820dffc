"""Greedy matching: who is asked first takes what it likes best of what is left. All items and thresholds at once."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tallymark.geometry import Pairs

Match = Literal["best_unmatched", "best_overall", "first_unmatched"]


def greedy_match(chooser: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The positions of the edges that a greedy matching takes.

    Edges come sorted: by the turn of their chooser, and for one chooser by liking. In every round, each
    chooser points at the best edge it still has; it gets it if nobody with an earlier turn still has an
    edge to the same thing, because then nobody can take it away. That decides as one-by-one does, in a few rounds.
    """
    things, thing = np.unique(chosen, return_inverse=True)
    left = np.arange(len(chooser))
    taken = []
    while len(left):
        who, what = chooser[left], thing[left]
        new = np.append(True, who[1:] != who[:-1])
        favourite, number = np.flatnonzero(new), np.cumsum(new) - 1
        earliest = np.full(len(things), len(left))
        np.minimum.at(earliest, what, np.arange(len(left)))
        sure = favourite[who[earliest[what[favourite]]] == who[favourite]]
        taken.append(left[sure])
        gone, served = np.zeros(len(things), bool), np.zeros(len(favourite), bool)
        gone[what[sure]] = True
        served[number[sure]] = True
        left = left[~gone[what] & ~served[number]]
    return np.sort(np.concatenate(taken)) if taken else left


def match(pairs: Pairs, level: np.ndarray, steps: int, turn: np.ndarray, mode: Match) -> np.ndarray:
    """Match predictions (`pairs.second`) to truths (`pairs.first`) at several thresholds.

    Parameters
    ----------
    level: of each pair, how many of the `steps` thresholds (from the lowest on) its IoU passes.
    turn: of each prediction, a number that is lower the earlier it is asked (ties: order of the rows).

    Returns
    -------
    (pairs, steps): whether the pair is matched at the threshold.
    """
    first, second = pairs.first, pairs.second
    liking = np.zeros(len(pairs)) if mode == "first_unmatched" else -pairs.iou
    kept = np.flatnonzero(level > 0)
    if mode == "best_overall":
        kept = kept[np.lexsort((first[kept], liking[kept], second[kept]))]
        kept = kept[np.append(True, np.diff(second[kept]) != 0)] if len(kept) else kept
    alone = _only(first[kept]) & _only(second[kept])
    easy, contested = kept[alone], kept[~alone]
    contested = contested[np.lexsort((first[contested], liking[contested], second[contested], turn[second[contested]]))]
    matched = np.zeros((len(pairs), steps), bool)
    matched[easy] = np.arange(steps) < level[easy, None]
    for step in range(steps):
        passing = contested[level[contested] > step]
        matched[passing[greedy_match(second[passing], first[passing])], step] = True
    return matched


def _only(values: np.ndarray) -> np.ndarray:
    """Whether each value occurs once."""
    lone: np.ndarray = np.bincount(values)[values] == 1 if len(values) else np.empty(0, bool)
    return lone
