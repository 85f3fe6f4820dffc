"""The numbers of a data set: in total, by split, by group, by class; and the problems in its files."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from tallymark.core.humanize import count, noun, percentage, plural
from tallymark.core.problems import Problems, shorten
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.drawing import charts as plots
from tallymark.drawing.charts import Chart
from tallymark.geometry import Geometry
from tallymark.modalities.gallery import object_counts
from tallymark.modalities.render import RateColumns, renderer_of
from tallymark.modalities.survey import Survey
from tallymark.reporting.blocks import Block, Details, Paragraph, charts, table
from tallymark.reporting.page import Fact

SPLITS = ("train", "val", "test")
FEW = 5
"""Problems of a kind that are listed."""


def object_nouns(catalog: Catalog) -> tuple[str, str]:
    """What one annotated object is called, and what several are."""
    return ("object", "objects") if catalog.truth is None else catalog.truth.shapes.noun


def countable(catalog: Catalog) -> bool:
    """Whether there is truth whose objects can be counted; class labels of whole items cannot."""
    return catalog.truth is not None and catalog.truth.shapes.localized


def facts(catalog: Catalog, survey: Survey) -> list[Fact]:
    """The numbers at the top of the page."""
    labelled = int(catalog.labelled.sum())
    listed = [(count(len(catalog)), noun(len(catalog), catalog.medium.noun))]
    if catalog.truth is not None:
        listed.append((count(len(catalog.truth)), noun(len(catalog.truth), *object_nouns(catalog))))
    listed.append((count(labelled), "labelled"))
    if countable(catalog) and labelled:
        empty = int((object_counts(catalog)[catalog.labelled] == 0).sum())
        listed.append((percentage(empty, labelled), "of these empty"))
    if catalog.group.n_unique() > 1:
        listed.append((count(catalog.group.n_unique()), "groups"))
    total = renderer_of(catalog).total(survey)
    if total is not None:
        listed.append(total)
    listed.append((count(catalog.files.null_count()), "files missing"))
    if survey.unreadable:
        listed.append((count(len(survey.unreadable)), "files unreadable"))
    return listed


def lead(catalog: Catalog, survey: Survey) -> str:
    """One sentence on the data set: how many items each split has."""
    if not len(catalog):
        return "This data set is empty."
    splits = sorted(catalog.split.value_counts(sort=True).rows(), key=lambda row: _split_order(row[0]))
    sizes = ", ".join(f"{count(size)} in {name}" for name, size in splits)
    sentence = f"{plural(len(catalog), catalog.medium.noun)}: {sizes}."
    files = len(catalog) - catalog.files.null_count()
    if len(survey.inspected) < files:
        sample = count(len(survey.inspected))
        sentence += f" File statistics are those of a random sample of {sample} of {count(files)} files."
    return sentence


def count_table(catalog: Catalog, survey: Survey, key: pl.Series, name: str) -> list[Block]:
    """A row for each value of a key: items, objects, objects per item, and per hour where the medium has a length."""
    counted = countable(catalog)
    rates = renderer_of(catalog).rate_columns(survey) if counted else None
    if rates is not None and not np.isfinite(rates.amount).any():
        rates = None
    _, nouns = object_nouns(catalog)
    columns = [name, f"{catalog.medium.noun}s", "labelled", "file missing"]
    columns += [nouns, f"{nouns} each", "empty"] if counted else []
    columns += rates.names if rates is not None else []
    rows = []
    for row in _sums(catalog, key, rates):
        cells = [row["key"], row["items"], row["labelled"], row["missing"]]
        if counted:
            mean = row["objects"] / row["labelled"] if row["labelled"] else None
            cells += [row["objects"], mean, percentage(row["empty"], row["labelled"])]
        if rates is not None:
            amount = row["amount"]
            cells += [round(amount, 2), row["measured"] / amount] if amount else [None, None]
        rows.append(cells)
    return table(columns, rows)


def _sums(catalog: Catalog, key: pl.Series, rates: RateColumns | None) -> list[dict[str, Any]]:
    """Sums by key: splits in the order of their use, others with most items first.

    amount: of the medium, where it is known; measured: objects of those items.
    """
    amount = np.full(len(catalog), np.nan) if rates is None else rates.amount
    objects = object_counts(catalog)
    frame = pl.DataFrame(
        {
            "key": key,
            "labelled": catalog.labelled,
            "missing": catalog.files.is_null(),
            "objects": objects,
            "amount": np.nan_to_num(amount),
            "measured": np.where(np.isfinite(amount), objects, 0),
        }
    ).with_columns(empty=pl.col("labelled") & (pl.col("objects") == 0))
    sums = frame.group_by("key").agg(pl.len().alias("items"), pl.exclude("items").sum())
    rows = sums.sort("items", "key", descending=[True, False]).to_dicts()
    return sorted(rows, key=lambda row: _split_order(row["key"]))


def _split_order(name: str) -> int:
    """Splits in the order of their use; other names after them."""
    return SPLITS.index(name) if name in SPLITS else len(SPLITS)


def group_chart(catalog: Catalog) -> Chart | None:
    """The mean number of objects by group, as bars."""
    if not countable(catalog) or catalog.group.n_unique() < 2:
        return None
    frame = pl.DataFrame({"key": catalog.group, "objects": object_counts(catalog)})
    labelled = frame.filter(pl.Series(catalog.labelled))
    means = dict(labelled.group_by("key").agg(pl.col("objects").mean()).iter_rows())
    _, nouns = object_nouns(catalog)
    return plots.bars(means, f"Mean number of {nouns} per {catalog.medium.noun}, by group", nouns)


def object_count_chart(catalog: Catalog) -> Chart | None:
    """A histogram of the number of objects per labelled item."""
    if not countable(catalog):
        return None
    _, nouns = object_nouns(catalog)
    counts = object_counts(catalog)[catalog.labelled]
    return plots.histogram(counts, f"{nouns.capitalize()} per {catalog.medium.noun}", nouns)


def class_balance(catalog: Catalog) -> list[Block]:
    """The number of objects of each class, as bars and by split."""
    truth = catalog.truth
    if truth is None or truth.label is None or not truth.classes:
        return []
    totals = np.bincount(truth.labels, minlength=len(truth.classes))
    singular, nouns = object_nouns(catalog)
    blocks: list[Block] = []
    if len(truth.classes) > 2 * plots.ENDS and (totals == totals[0]).all():
        each = plural(int(totals[0]), singular, nouns)
        blocks.append(Paragraph(f"Each of the {count(len(truth.classes))} classes has {each}."))
    else:
        named = _totals_by_name(truth.classes, totals)
        blocks += charts([plots.bars(named, f"{nouns.capitalize()} by class", nouns)])
    return blocks + _classes_by_split(catalog, truth, totals)


def _classes_by_split(catalog: Catalog, truth: Annotations[Geometry], totals: np.ndarray) -> list[Block]:
    """A folded table of the objects of each class in each split; none if there is one split only."""
    splits = catalog.split.unique(maintain_order=True).to_list()
    if len(splits) < 2:
        return []
    split = catalog.split.to_numpy()[truth.item]
    amounts = [np.bincount(truth.labels[split == name], minlength=len(totals)).tolist() for name in splits]
    order = np.argsort(-totals, kind="stable").tolist()
    rows = [(truth.classes[at], int(totals[at]), *(column[at] for column in amounts)) for at in order]
    return [Details("each class by split", table(["class", "all", *splits], rows))]


def _totals_by_name(classes: tuple[str, ...], totals: np.ndarray) -> dict[str, float]:
    """Totals by class name; a name that occurs again is followed by the number of its class."""
    named: dict[str, float] = {}
    for label, (name, total) in enumerate(zip(classes, totals.tolist(), strict=False)):
        named[f"{name} ({label})" if name in named else name] = total
    return named


def problem_tables(problems: Problems) -> list[Block]:
    """Counts of problems by kind, and the first few of each."""
    if not problems:
        return []
    ranked = sorted(problems.counts.items(), key=lambda pair: -pair[1])
    blocks = table(["problem", "count"], ranked)
    for kind, amount in ranked:
        first = islice((problem for problem in problems if problem.kind == kind), FEW)
        rows = [
            (problem.place, problem.subject, shorten(problem.found, 90), problem.expected, problem.remedy)
            for problem in first
        ]
        summary = f"{kind}: " + (f"the first {FEW} of {count(amount)}" if amount > FEW else count(amount))
        blocks.append(Details(summary, table(["where", "item", "found", "expected", "what to do"], rows)))
    return blocks
