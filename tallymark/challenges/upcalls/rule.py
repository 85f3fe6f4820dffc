"""The upcalls rule: precision, recall and F1 of detections within 1.5 s of a call, and false positives per hour."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import polars as pl

from tallymark.core.options import bounded
from tallymark.data.annotations import Annotations
from tallymark.geometry import Events
from tallymark.scoring.clip_presence import clip_score
from tallymark.scoring.event_matching import event_matches, event_pairs, f1_scores, match_events
from tallymark.scoring.event_outcomes import event_outcomes
from tallymark.scoring.matches import CountFormula
from tallymark.scoring.score import Score, item_table


@dataclass(frozen=True)
class RuleOptions:
    """Points that the official text leaves open; the defaults are those of the published script.

    buffer_s: maximum distance in seconds between a detection and the call that it detects.
    hours: total length of the recordings, for false positives per hour; none if it is not known.
    labels: those of the truth that count, separated by commas, or `all`; `upcalls`: those for upcalls, and blank.
    time_pattern: how file names state the start, e.g. %Y%m%d_%H%M%S; by default the usual forms are tried.
    time_zone: of the recorders' clocks, e.g. UTC; behind a comma, the one to show times in.
    """

    buffer_s: float = bounded(1.5, most=1_000_000)
    hours: float | None = bounded(None, most=10_000_000, least=0.001)
    labels: str = "upcalls"
    time_pattern: str = ""
    time_zone: str = ""


F1 = CountFormula(2, 1, 1, empty=0, pooled=True)
OFFICIAL_HOURS = 25.0
OFFICIAL_RECORDINGS = frozenset(f"B_cont_{number}.wav" for number in range(50))
"""The official test set: 50 half hours from the Gulf of St. Lawrence."""
WITHOUT_CALLS = frozenset(f"B_cont_{number}.wav" for number in (13, 17, 20, 35, 43, 47))
"""Those without a call, which the official truth does not name."""


def official_hours(names: Collection[str]) -> float | None:
    """The length of the official test set, if these are the names of its recordings; else None."""
    named = set(names)
    return OFFICIAL_HOURS if OFFICIAL_RECORDINGS - WITHOUT_CALLS <= named <= OFFICIAL_RECORDINGS else None


def score(truth: Annotations[Events], predicted: Annotations[Events], rule_options: RuleOptions) -> Score:
    """Score detections that list the same recordings as the truth.

    As published: a call is detected if any detection lies in its window, and a detection is a false positive if it
    lies in no window. So several detections in one window cost nothing, and one detection can detect two calls.
    Clips with a yes or no, which have no times, are scored by AUC instead.
    """
    if truth.weak:
        return clip_score("upcalls", truth, predicted, rule_options)
    recordings = len(truth.items)
    found = match_events(truth, predicted, rule_options.buffer_s)
    tp = np.bincount(truth.item[found.detected], minlength=recordings)
    fn = truth.counts - tp
    fp = np.bincount(predicted.item[~found.correct], minlength=recordings)
    precision, recall, f1 = rates(tp.sum(), fp.sum(), fn.sum())
    pairs = len(found.call)
    details = {
        "tp": int(tp.sum()),
        "fp": int(fp.sum()),
        "fn": int(fn.sum()),
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "fp_per_hour": int(fp.sum()) / rule_options.hours if rule_options.hours else math.nan,
        "one_to_one_f1": rates(pairs, len(predicted) - pairs, len(truth) - pairs)[2],
    }
    value = np.array([rates(*counts)[2] if sum(counts) else np.nan for counts in zip(tp, fp, fn, strict=True)])
    return Score(
        "upcalls",
        f1,
        "higher",
        rule_options,
        item_table(truth, predicted, value, tp=tp, fp=fp, fn=fn),
        total=lambda weight: rates(tp @ weight, fp @ weight, fn @ weight)[2],
        find_totals=lambda weights: f1_scores(weights @ tp, weights @ fp, weights @ fn),
        counts=pl.DataFrame({"tp": [details["tp"]], "fp": [details["fp"]], "fn": [details["fn"]]}),
        details=details,
        lines=official_lines(details, rule_options.hours),
        find_pairs=lambda: event_pairs(truth, predicted, found.call, found.detection),
        find_outcomes=lambda: event_outcomes(truth, predicted, found),
        find_matches=lambda: event_matches(truth, predicted, found, F1, rule_options.hours),
    )


def rates(tp: float, fp: float, fn: float) -> tuple[float, float, float]:
    """Precision, recall and F1; 0 where the denominator is 0."""
    precision = float(tp / (tp + fp)) if tp + fp else 0.0
    recall = float(tp / (tp + fn)) if tp + fn else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return precision, recall, f1


def official_lines(details: dict[str, float], hours: float | None) -> tuple[str, ...]:
    """The six lines of the published script, and two numbers that it does not print."""
    rate = f"{details['fp_per_hour']} ({hours} h)" if hours else "unknown; give --hours NUMBER or --audio FOLDER"
    return (
        f"True Positives (TP): {details['tp']}",
        f"False Positives (FP): {details['fp']}",
        f"False Negatives (FN): {details['fn']}",
        f"Precision: {details['precision']}",
        f"Recall: {details['recall']}",
        f"F1 Score: {details['f1']}",
        f"False positives per hour: {rate}",
        f"One-to-one F1: {details['one_to_one_f1']}",
    )
