"""The sections of a report below its live part: the score and what it is made of, as tables and charts."""

from __future__ import annotations

import math
from dataclasses import asdict
from itertools import islice

import numpy as np
import polars as pl

from tallymark.core.humanize import count, noun, number, plural
from tallymark.core.options import as_assignments
from tallymark.drawing import charts as plots
from tallymark.drawing.curves import curves, scatter
from tallymark.reporting.blocks import Details, Section, SideBySide, charts, figure, table
from tallymark.reporting.page import Fact
from tallymark.reporting.report.error_sections import cause_section, confusion_section, slice_section
from tallymark.reporting.report.selection import doubt
from tallymark.reporting.report.subject import Subject
from tallymark.scoring.calibration import calibration
from tallymark.scoring.count_regression import regress_counts
from tallymark.scoring.interval import score_interval
from tallymark.scoring.score import Score
from tallymark.scoring.threshold_curve import thin_curve, threshold_curve

WORST = 50
"""Rows of the table of items."""
FIT = {
    "items": "items",
    "bias": "bias: mean of predicted minus true",
    "mae": "mean absolute error (MAE)",
    "rmse": "root mean squared error (RMSE)",
    "r2": "coefficient of determination (R²)",
    "slope": "slope",
    "intercept": "intercept",
}
"""What the numbers of a count regression are called."""
POINTS = 200
"""Points of a curve, at most."""


def facts(subject: Subject) -> list[Fact]:
    """The numbers at the top of the page."""
    items, official, truth = len(subject.items), subject.official, subject.truth
    listed = [(count(items), noun(items, subject.medium))]
    singular, several = official.shapes.noun
    if official.shapes.localized:
        listed.append((count(len(official)), f"predicted {noun(len(official), singular, several)}"))
    if truth is not None and truth.shapes.localized:
        listed.append((count(len(truth)), f"{noun(len(truth), singular, several)} in truth"))
    score = subject.score
    if score is not None:
        listed.insert(0, (_score_text(score.value), f"score, {score.better} is better"))
        if score.baseline_name:
            listed.insert(1, (_score_text(score.baseline), f"baseline: {score.baseline_name}"))
    return listed


def lead(subject: Subject) -> str:
    """What the page is about, in a sentence, and the notes on it."""
    rule = f"Scored by the rule of {subject.challenge.title}: {subject.challenge.rule}." if subject.score else ""
    empty = "" if subject.truth is not None else "The truth is not known, so that nothing is scored."
    sentences = [rule, empty, *(f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in subject.notes)]
    return " ".join(filter(None, sentences))


def sections(subject: Subject) -> list[Section]:
    """Everything below the live part; sections without content are omitted by the page."""
    score = subject.score
    if score is None:
        return [_group_totals(subject), _items_by_count(subject)]
    return [
        _score_section(subject, score),
        cause_section(subject, score),
        _threshold_section(subject, score),
        slice_section(subject, score),
        confusion_section(score),
        _count_section(subject),
        _calibration_section(subject),
        _item_section(score),
    ]


def _score_text(value: float) -> str:
    return f"{value:.4f}" if math.isfinite(value) else "none"


def _score_section(subject: Subject, score: Score) -> Section:
    low, high = score_interval(score)
    rows: list[tuple[str, object]] = [
        ("official score", _score_text(score.value)),
        ("95 % interval", f"{_score_text(low)} to {_score_text(high)}" if math.isfinite(low) else "-"),
    ]
    if score.baseline_name:
        rows.append((f"baseline: {score.baseline_name}", _score_text(score.baseline)))
    rows += [(name.replace("_", " "), number(value)) for name, value in score.details.items()]
    rows.append(("rule options", as_assignments(score.rule_options)))
    blocks = table(["", "value"], rows)
    if score.counts.height > 1:
        blocks += table(score.counts.columns, score.counts.rows())
    for name, analysis in {**score.analyses, **subject.analyses}.items():
        for heading, frame in analysis.tables.items():
            blocks.append(Details(heading or name, table(frame.columns, frame.rows())))
    note = (
        score.note
        or "The interval is a bootstrap over items: how much the score depends on which of such items were drawn."
    )
    return Section("Score", blocks, note)


def _threshold_section(subject: Subject, score: Score) -> Section:
    """The score at every threshold, and recall against false positives."""
    truth, predicted = subject.truth, subject.predicted
    matches = None if truth is None or predicted.score is None else subject.rule(truth, predicted).matches
    if matches is None:
        return Section("Score threshold", [])
    curve = thin_curve(threshold_curve(matches), POINTS, score.better)
    at = curve["score_threshold"].to_numpy()
    lines = {name: curve[name].to_numpy() for name in ("score", "precision", "recall")}
    drawn = [
        curves(at, lines, "Score, precision and recall", "score threshold", marked=subject.score_threshold),
        curves(
            *_by_recall(curve), "Precision against recall", "recall", "At the first level, over all items together."
        ),
    ]
    if "fp_per_hour" in curve.columns:
        rate = np.maximum(curve["fp_per_hour"].to_numpy(), 0.5 / (matches.hours or 1.0))
        units = ("false positives per hour", "recall")
        drawn.append(plots.line(rate, curve["recall"].to_numpy(), "Recall against false positives", units))
    return Section("Score threshold", charts(drawn), "The dashed line is the threshold that was used.")


def _by_recall(curve: pl.DataFrame) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    ordered = curve.reverse().drop_nulls(["precision", "recall"])  # as the threshold falls: recall never does
    return ordered["recall"].to_numpy(), {"precision": ordered["precision"].to_numpy()}


def _count_section(subject: Subject) -> Section:
    """Predicted against true numbers of objects in each item."""
    truth, official = subject.truth, subject.official
    if truth is None or not truth.shapes.localized or len(truth.items) < 2 or not len(truth):
        return Section("Counts", [])
    fit = regress_counts(truth.counts.astype(float), official.counts.astype(float))
    _, nouns = truth.shapes.noun
    chart = scatter(
        truth.counts, official.counts, f"{nouns.capitalize()} per {subject.medium}", ("in truth", "predicted")
    )
    rows = [] if fit is None else [(FIT[name], value) for name, value in asdict(fit).items()]
    at = "" if subject.score_threshold is None else f" Predictions have a score of {subject.score_threshold:g} or more."
    note = f"On the dashed line, the predicted number is the true one.{at}"
    return Section("Counts", [SideBySide([*charts([chart]), *table(["", "value"], rows)])], note)


def _calibration_section(subject: Subject) -> Section:
    """Whether scores are probabilities: the share of hits among predictions of each score."""
    truth, predicted = subject.truth, subject.predicted
    if truth is None or predicted.score is None:
        return Section("Calibration", [])
    scored = subject.rule(truth, predicted)
    found = None
    if scored.ranking is not None:
        found = calibration(scored.ranking.probability, scored.ranking.rank == 1)
    elif scored.outcomes is not None:
        found = calibration(predicted.score, ~scored.outcomes.false_alarm)
    if found is None:
        return Section("Calibration", [])
    rows = found.table
    chart = curves(
        rows["score"].to_numpy(),
        {"share of hits": rows["share"].to_numpy()},
        "Share of hits by score",
        "score",
        f"Expected calibration error {number(found.error)}. On the diagonal, a score is a probability.",
        diagonal=True,
    )
    return Section("Calibration", [*charts([chart]), Details("values", table(rows.columns, rows.rows()))])


def _item_section(score: Score) -> Section:
    worst = score.worst(WORST)
    shown = "All that count" if worst.height < WORST else f"The worst {WORST}"
    return Section("Items", table(worst.columns, worst.rows()), f"{shown}, by their own score, the worst first.")


def _group_totals(subject: Subject) -> Section:
    """What was found in each group or folder of items."""
    counts = subject.official.counts
    if not subject.official.shapes.localized:
        return Section("Totals", [])
    group = subject.group if subject.group is not None else _folders(subject)
    frame = pl.DataFrame({"group": group, "found": counts})
    sums = frame.group_by("group").agg(
        pl.len().alias("items"), pl.col("found").sum(), (pl.col("found").mean()).alias("mean")
    )
    ranked = sums.sort("found", "group", descending=[True, False])
    if ranked.height == 1:
        ranked = ranked.drop("group")
        return Section("Totals", table(ranked.columns, ranked.rows()))
    bars = figure(plots.bars(dict(ranked.select("group", "found").fill_null("-").iter_rows()), "Found, by group"))
    return Section("Totals", [*bars, *table(ranked.columns, ranked.rows())])


def _folders(subject: Subject) -> pl.Series:
    """The folder of each item's file, where there are several."""
    rows, catalog = subject.rows.tolist(), subject.catalog
    files = [None if catalog is None or row < 0 else catalog.files[row] for row in rows]
    return pl.Series([file.rpartition("/")[0] or "." if file else None for file in files], dtype=pl.String)


def _items_by_count(subject: Subject) -> Section:
    """The items with most predictions, and with most doubtful ones."""
    counts, doubts = subject.official.counts, doubt(subject)
    order = np.lexsort((-doubts, -counts))
    rows = ((subject.items.ids[at], int(counts[at]), float(doubts[at])) for at in order.tolist())
    columns = [subject.medium, "found", "in doubt"]
    note = f"The first {min(WORST, len(counts))} of {plural(len(counts), subject.medium)}, by what was found in them."
    return Section("Items", table(columns, islice(rows, WORST)), note)
