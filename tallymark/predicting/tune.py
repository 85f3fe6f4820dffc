"""Tuning: the cut, the gate and the overlap that score best by the official rule, on items not trained with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from tallymark.data.annotations import Annotations, join_items
from tallymark.predicting.raw import Raw, join_raw
from tallymark.predicting.settle import keep_sure, merge, settle
from tallymark.recipe import Recipe
from tallymark.scoring.score import Score

CUTS = tuple(k / 50 for k in range(4, 41))
FEW_CUTS = CUTS[3::4]
OVERLAPS = (0.3, 0.4, 0.5, 0.6, 0.7)
GATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)

Rule = Callable[[Annotations[Any], Annotations[Any]], Score]


@dataclass(frozen=True, eq=False)
class Tuning:
    """The recipe with the best settings, its score, and the whole curve: a row for each setting tried."""

    recipe: Recipe
    score: Score
    curve: pl.DataFrame


def tune(raw: Raw, truth: Annotations[Any], recipe: Recipe, rule: Rule, *, thorough: bool = True) -> Tuning:
    """Try settings on predictions of items with known truth. `thorough`: overlaps and gates too, not only cuts."""
    if raw.chances is not None:
        score = rule(truth, settle(raw, recipe))
        return Tuning(recipe, score, pl.DataFrame({"score": [score.value]}))
    overlaps = OVERLAPS if thorough else (recipe.overlap,)
    gates = GATES if thorough and recipe.finds == "masks" else (recipe.gate,)
    cuts = CUTS if thorough else FEW_CUTS
    rows = list(_curve(raw, truth, recipe, rule, overlaps, gates, cuts))
    curve = pl.DataFrame(rows, schema=["overlap", "gate", "cut", "score"], orient="row")
    # A single lucky setting does not win: each counts with its neighbours along the cut.
    steady = np.array([row[3] for row in rows]).reshape(len(overlaps), len(gates), len(cuts))
    wide = np.pad(steady, ((0, 0), (0, 0), (1, 1)), mode="edge")
    steady = (wide[..., :-2] + 2 * wide[..., 1:-1] + wide[..., 2:]) / 4
    best = np.argmax if rule(truth, settle(raw, recipe)).better == "higher" else np.argmin
    overlap, gate, cut = (float(value) for value in rows[int(best(steady))][:3])
    chosen = recipe.but(overlap=overlap, gate=gate, cut=cut)
    return Tuning(chosen, rule(truth, settle(raw, chosen)), curve)


def cross_tuned(parts: Sequence[Raw], truths: Sequence[Annotations[Any]], recipe: Recipe, rule: Rule) -> Score:
    """The score when each part is settled by what was tuned on the others, so that no item helps itself."""
    settled = []
    for number, part in enumerate(parts):
        others = [k for k in range(len(parts)) if k != number]
        truth = join_items([truths[k] for k in others])
        settled.append(settle(part, tune(join_raw([parts[k] for k in others]), truth, recipe, rule).recipe))
    return rule(join_items(truths), join_items(settled))


def _curve(
    raw: Raw,
    truth: Annotations[Any],
    recipe: Recipe,
    rule: Rule,
    overlaps: tuple[float, ...],
    gates: tuple[float, ...],
    cuts: tuple[float, ...],
) -> Iterator[tuple[float, float, float, float]]:
    for overlap in overlaps:
        merged = merge(raw, recipe.but(overlap=overlap))
        for gate, cut in product(gates, cuts):
            kept = keep_sure(merged, raw, recipe.but(gate=gate, cut=cut))
            yield overlap, gate, cut, rule(truth, kept).value
