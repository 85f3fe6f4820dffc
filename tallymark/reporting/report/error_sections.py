"""The sections of a report on errors: their causes, what they are about, and which classes are confused."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from tallymark.core.humanize import number
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.drawing import charts as plots
from tallymark.modalities.attributes import Attribute, attributes_of
from tallymark.reporting.blocks import Block, Details, Section, charts, table
from tallymark.reporting.report.subject import Subject
from tallymark.scoring.by_class import Confusions
from tallymark.scoring.causes import CAUSES, score_without_causes
from tallymark.scoring.lookalikes import lookalikes
from tallymark.scoring.score import Score
from tallymark.scoring.slices import SliceKey, class_key, item_key, slice_table

UNKNOWN = "unknown"


def cause_section(subject: Subject, score: Score) -> Section:
    """What is wrong with predictions, and what the score would be without each kind of error."""
    title = "Causes of error"
    causes = (
        None if subject.truth is None else score_without_causes(subject.truth, subject.official, score, subject.rule)
    )
    if causes is None:
        return Section(title, [])
    gains = {cause: gain for cause, gain in causes.select("cause", "gain").iter_rows() if cause in CAUSES}
    known = {cause: max(0.0, gain) for cause, gain in gains.items() if gain is not None}
    rows = [(*row, CAUSES.get(row[0], "all of these")) for row in causes.rows()]
    columns = ["cause", "objects", "score without it", "gain", "how it is corrected"]
    chart = plots.bars(known, "Gain in score without each cause")
    note = "Each cause is corrected alone, and the rule applied again. Gains do not add up."
    return Section(title, [*charts([chart]), *table(columns, rows)], note)


def slice_section(subject: Subject, score: Score) -> Section:
    """Hits, misses and false alarms by group, class, and attributes such as size and distance."""
    blocks: list[Block] = []
    if score.groups is not None and score.groups.height > 1:
        named = dict(score.groups.select("group", "score").drop_nulls().iter_rows())
        blocks += charts([plots.bars(named, "Score by group")])
        blocks.append(Details("scores of groups", table(score.groups.columns, score.groups.rows())))
    for sliced in _slices(subject, score):
        blocks += table(sliced.columns, sliced.rows())
    if score.classes is not None and score.classes.height > 1:
        blocks.append(Details("the rule by class", table(score.classes.columns, score.classes.rows())))
    drawn, tables = [], list[Block]()
    for attribute in () if subject.catalog is None else attributes_of(subject.catalog):
        bands = _by_attribute(subject, score, attribute)
        if bands is not None:
            drawn.append(_recall_chart(bands, attribute))
            tables += table(bands.columns, bands.rows())
    note = "By the rule at its first level. Here, false alarms are all predictions that are no hit."
    return Section("Where it is right and wrong", [*blocks, *charts(drawn), *tables], note)


def _slices(subject: Subject, score: Score) -> list[pl.DataFrame]:
    """Tables by group of items, and by class, of objects that have a place; those with one row say nothing."""
    truth, official, outcomes = subject.truth, subject.official, score.outcomes
    if truth is None or outcomes is None or not truth.shapes.localized:
        return []
    by_group = None if subject.group is None else item_key("group", subject.group, truth, official)
    keys = [key for key in (by_group, class_key(truth, official)) if key is not None]
    return [sliced for sliced in (slice_table(key, outcomes) for key in keys) if sliced.height > 1]


def _by_attribute(subject: Subject, score: Score, attribute: Attribute) -> pl.DataFrame | None:
    """A row for each band of an attribute; None if it is known of no object."""
    if subject.catalog is None or subject.truth is None or score.outcomes is None:
        return None
    values = attribute.measure(subject.catalog, subject.rows, subject.truth)
    if not np.isfinite(values).any():
        return None
    edges, names = attribute.bands(values)
    predicted = _measured(subject.catalog, subject, attribute, subject.official)
    key = SliceKey(
        f"{attribute.title} ({attribute.unit})", [*names, UNKNOWN], _band(values, edges), _band(predicted, edges)
    )
    sliced = slice_table(key, score.outcomes)
    if attribute.truth_only:
        return sliced.filter(pl.col("truths") > 0).select(key.name, "truths", "hits", "misses", "recall")
    return sliced


def _measured(catalog: Catalog, subject: Subject, attribute: Attribute, shown: Annotations[Any]) -> np.ndarray:
    """The attribute of predictions; unknown where it is not worth measuring."""
    return np.full(len(shown), np.nan) if attribute.truth_only else attribute.measure(catalog, subject.rows, shown)


def _band(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The band of each value; the last one, behind all others, where it is unknown."""
    return np.where(np.isfinite(values), np.searchsorted(edges, values, "right"), len(edges) + 1)


def _recall_chart(sliced: pl.DataFrame, attribute: Attribute) -> plots.Chart | None:
    names = [str(name) for name in sliced[sliced.columns[0]]]
    return plots.columns(names, sliced["recall"].to_list(), f"Recall by {attribute.title}", attribute.unit)


def confusion_section(score: Score) -> Section:
    """Classes that are taken for each other, in groups of look-alikes."""
    confusions = score.analyses.get("confusions")
    if not isinstance(confusions, Confusions) or confusions.table.is_empty():
        return Section("Confusions", [])
    groups = lookalikes(confusions)
    rows = [(", ".join(names), items, confused, number(share)) for names, items, confused, share in groups.rows()]
    pairs = confusions.table
    blocks = [*table(["look-alikes", "items", "confused", "share"], rows)]
    blocks.append(Details("pairs of classes", table(pairs.columns, pairs.rows())))
    return Section("Confusions", blocks, "Classes that are often taken for each other, by the label predicted first.")
