"""What there is in a data set, counted: in all, by part, by group, by class; and what is wrong with it."""

from __future__ import annotations

from itertools import islice

import numpy as np
import polars as pl

from tallymark.core.humanize import count, number, plural, share
from tallymark.core.problems import Problems, shorten
from tallymark.data.catalog import Catalog
from tallymark.drawing import charts as plots
from tallymark.geometry import Boxes, Cuboids, Events, Labels, Masks
from tallymark.modalities.survey import Survey
from tallymark.reporting.page import cards, folded, table, text

NOUNS = {Boxes: ("box", "boxes"), Masks: ("mask", "masks"), Events: ("call", "calls"),
         Cuboids: ("volume", "volumes"), Labels: ("label", "labels")}  # fmt: skip
PARTS = ("train", "val", "test")
FEW = 5
"""Problems of a kind that are shown."""


def nouns(catalog: Catalog) -> tuple[str, str]:
    """What one object is called, and what many are."""
    return (
        ("object", "objects") if catalog.truth is None else NOUNS.get(type(catalog.truth.shapes), ("object", "objects"))
    )


def objects(catalog: Catalog) -> np.ndarray:
    """How many objects each item has; 0 where nothing is known."""
    return np.zeros(len(catalog), np.int64) if catalog.truth is None else catalog.truth.counts


def facts(catalog: Catalog, seen: Survey) -> list[tuple[str, str]]:
    """The numbers at the top of the page."""
    one, many = nouns(catalog)
    labelled = int(catalog.labelled.sum())
    found = [(count(len(catalog)), catalog.medium.noun + ("" if len(catalog) == 1 else "s"))]
    if catalog.truth is not None:
        found.append((count(len(catalog.truth)), one if len(catalog.truth) == 1 else many))
    found.append((count(labelled), "labelled"))
    if catalog.truth is not None and labelled and not isinstance(catalog.truth.shapes, Labels):
        found.append((share(int((objects(catalog)[catalog.labelled] == 0).sum()), labelled), "of these empty"))
    if catalog.group.n_unique() > 1:
        found.append((count(catalog.group.n_unique()), "groups"))
    if catalog.medium.noun == "recording" and np.isfinite(seen.extent[:, 0]).any():
        found.append((number(np.nansum(seen.extent[:, 0]) / 3600), "hours listened to"))
    found.append((count(catalog.files.null_count()), "files missing"))
    if seen.faults:
        found.append((count(len(seen.faults)), "files unreadable"))
    return found


def lead(catalog: Catalog, seen: Survey) -> str:
    """One sentence on the whole."""
    if not len(catalog):
        return "There is nothing in this data set."
    parts = sorted(catalog.split.value_counts(sort=True).rows(), key=lambda row: _rank(row[0]))
    said = ", ".join(f"{count(size)} in {name}" for name, size in parts)
    whole = f"{plural(len(catalog), catalog.medium.noun)}: {said}."
    there = len(catalog) - catalog.files.null_count()
    if len(seen.looked) < there:
        whole += f" Sizes and brightness are those of {count(len(seen.looked))} files drawn by lot from {count(there)}."
    return whole


def count_table(catalog: Catalog, seen: Survey, key: pl.Series, name: str) -> str:
    """A row for each value of a key: items, objects, how dense they are."""
    _, many = nouns(catalog)
    seconds = seen.extent[:, 0] if catalog.medium.noun == "recording" else np.full(len(catalog), np.nan)
    heard = np.where(np.isfinite(seconds), objects(catalog), 0)
    frame = pl.DataFrame(
        {"key": key, "labelled": catalog.labelled, "missing": catalog.files.is_null(), "objects": objects(catalog),
         "seconds": pl.Series(np.nan_to_num(seconds)), "heard": heard}
    ).with_columns(empty=pl.col("labelled") & (pl.col("objects") == 0))  # fmt: skip
    sums = (
        frame.group_by("key")
        .agg(pl.len().alias("items"), pl.exclude("items").sum())
        .sort("items", "key", descending=[True, False])
    )
    head = [name, f"{catalog.medium.noun}s", "labelled", "file missing"]
    counted = catalog.truth is not None and not isinstance(catalog.truth.shapes, Labels)
    head += [many, f"{many} each", "empty"] if counted else []
    sound = counted and catalog.medium.noun == "recording" and bool(np.isfinite(seconds).any())
    head += ["hours heard", "calls an hour"] if sound else []
    rows = []
    for row in sorted(sums.iter_rows(named=True), key=lambda row: _rank(row["key"])):
        cells = [row["key"], row["items"], row["labelled"], row["missing"]]
        if counted:
            mean = row["objects"] / row["labelled"] if row["labelled"] else None
            cells += [row["objects"], mean, share(row["empty"], row["labelled"])]
        if sound:
            hours = row["seconds"] / 3600
            cells += [round(hours, 2), row["heard"] / hours] if hours else [None, None]
        rows.append(cells)
    return table(head, rows)


def _rank(name: str) -> int:
    """Parts in the order of their use; groups stay as they are."""
    return PARTS.index(name) if name in PARTS else len(PARTS)


def group_charts(catalog: Catalog) -> str:
    """The mean number of objects by group, as bars."""
    truth = catalog.truth
    if truth is None or isinstance(truth.shapes, Labels) or catalog.group.n_unique() < 2:
        return ""
    frame = pl.DataFrame({"key": catalog.group, "objects": objects(catalog)}).filter(pl.Series(catalog.labelled))
    means = dict(frame.group_by("key").agg(pl.col("objects").mean()).iter_rows())
    _, many = nouns(catalog)
    title = f"Mean number of {many} in a {catalog.medium.noun}, by group"
    return plots.bars(means, title, many)


def class_balance(catalog: Catalog) -> str:
    """How many objects each class has, as bars and by part."""
    truth = catalog.truth
    if truth is None or truth.label is None or not truth.classes:
        return ""
    size = len(truth.classes)
    kind = truth.labels
    totals = np.bincount(kind, minlength=size)
    _, many = nouns(catalog)
    if size > 2 * plots.ENDS and (totals == totals[0]).all():
        drawn = quiet(f"Each of the {count(size)} classes has {plural(int(totals[0]), *nouns(catalog))}.")
    else:
        drawn = cards([plots.bars(_named(truth.classes, totals), f"{many.capitalize()} by class", many)])
    parts = catalog.split.unique(maintain_order=True).to_list()
    if len(parts) < 2:
        return drawn
    of_object = catalog.split.to_numpy()[truth.item]
    by_part = [np.bincount(kind[of_object == part], minlength=size).tolist() for part in parts]
    order = np.argsort(-totals, kind="stable").tolist()
    rows = [(truth.classes[at], int(totals[at]), *(column[at] for column in by_part)) for at in order]
    return drawn + folded("each class by part", table(["class", "all", *parts], rows))


def _named(classes: tuple[str, ...], totals: np.ndarray) -> dict[str, float]:
    """Totals by name; where two classes have one name, their numbers tell them apart."""
    found: dict[str, float] = {}
    for at, (name, total) in enumerate(zip(classes, totals.tolist(), strict=False)):
        found[f"{name} ({at})" if name in found else name] = total
    return found


def problem_tables(problems: Problems) -> str:
    """Counts of problems by kind, and the first few of each."""
    if not problems:
        return ""
    ranked = sorted(problems.counts.items(), key=lambda pair: -pair[1])
    parts = [table(["problem", "how often"], ranked)]
    for kind, amount in ranked:
        first = list(islice((problem for problem in problems if problem.kind == kind), FEW))
        rows = [
            (problem.place, problem.subject, shorten(problem.found, 90), problem.expected, problem.remedy)
            for problem in first
        ]
        shown = f"{kind}: " + (f"the first {FEW} of {count(amount)}" if amount > FEW else count(amount))
        parts.append(folded(shown, table(["where", "item", "found", "expected", "what to do"], rows)))
    return "".join(parts)


def quiet(words: str) -> str:
    """A sentence in place of something that is not there."""
    return f'<p class="quiet">{text(words)}</p>'
