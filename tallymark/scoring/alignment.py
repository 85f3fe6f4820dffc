"""Truth and submissions brought under the same items, with what is missing or unknown as problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
import polars as pl

from tallymark.core.humanize import plural
from tallymark.core.problems import BadInput, Problem, Problems, shorten
from tallymark.core.registry import Challenge
from tallymark.core.resources import release_memory
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog, missing_media
from tallymark.data.items import Items
from tallymark.geometry import Geometry
from tallymark.io.archives import is_folder
from tallymark.io.folders import tables_at
from tallymark.submission.table_checks import align, report_unknown

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from tallymark.core.options import RuleOptions

T = TypeVar("T")
PathLike = str | Path
TOGETHER = 24 << 20
"""Bytes up to which files are read at the same time; larger ones one after the other, to save memory.

Smaller ones need little memory either way: 20 MB of cuboids 160 MB instead of 125 MB."""

Pair = tuple[Annotations[Geometry], Annotations[Geometry]]
"""Truth and predictions under the same items."""


@dataclass(frozen=True, eq=False)
class ChosenItems:
    """The items to score, out of a list of known ones, such as those of one fold.

    items: those to score. others: known ones that are not scored, whether or not a submission has them.
    source: the file that has the list.
    """

    items: Items
    others: Items
    source: PathLike


def read_pairs(
    what: Challenge,
    truth: PathLike,
    submissions: Sequence[PathLike],
    images: PathLike | None,
    rule_options: DataclassInstance,
    problems: Problems,
    chosen: ChosenItems | None = None,
) -> tuple[Annotations[Geometry] | None, list[Pair | None]]:
    """The truth, and for each submission a pair; None for what cannot be used.

    images: a sample submission or data folder with the items to score. chosen: or these themselves.
    """
    own = [Problems() for _ in (truth, *submissions)]
    large = sum(map(_size, (truth, *submissions))) > TOGETHER
    read_truth = partial(read_answers_and_others, what, truth, rule_options, own[0])
    reads = [
        partial(what.dialect.read, path, rule_options, mine) for path, mine in zip(submissions, own[1:], strict=True)
    ]
    if large:
        answers, unknown = _and_release(read_truth)
        found = [_and_release(read) for read in reads]
    else:
        with ThreadPoolExecutor(len(own)) as pool:  # polars and NumPy work outside Python's lock
            started = pool.submit(read_truth)
            found = [*pool.map(lambda read: read(), reads)]
            answers, unknown = started.result()
    for mine in own:
        problems.merge(mine)
    listed = None if images is None else expected_items(what, images, rule_options, items_of(answers), problems)
    if chosen is not None:
        listed, images = chosen.items, chosen.source
    expected = listed_answers(what, answers, truth, images, listed, problems)
    del answers
    pairs = []
    for path in submissions:
        predicted = _known(what, found.pop(0), chosen)  # its own ids are not needed in memory beside those of the truth
        pairs.append(pair_answers(what, expected, predicted, path, images, rule_options, problems, unknown))
    del predicted
    if large:
        release_memory()
    return expected, pairs


def items_of(annotations: Annotations[Geometry] | None) -> Items:
    """The items of annotations; none where these could not be read."""
    return Items.of([]) if annotations is None else annotations.items


def _known(
    what: Challenge, predicted: Annotations[Geometry] | None, chosen: ChosenItems | None
) -> Annotations[Geometry] | None:
    """Predictions without those of known items that are not scored."""
    if predicted is None or chosen is None:
        return predicted
    items = predicted.items
    known = items.spelled_like(chosen.items).spelled_like(chosen.others) if what.suffix_optional else items
    kept = np.flatnonzero(chosen.others.find(known.ids) < 0)
    return predicted.reindex(Items(items.ids[kept], line=None if items.line is None else items.line[kept]))


def _and_release(read: Callable[[], T]) -> T:
    """What was read of a large file; what reading it needed besides is free for the next one."""
    found = read()
    release_memory()
    return found


def read_answers(
    what: Challenge, path: PathLike, rule_options: DataclassInstance, problems: Problems
) -> Annotations[Geometry] | None:
    """The truth of a file, or of the labelled items of a data folder; None, with problems, if there is none."""
    return read_answers_and_others(what, path, rule_options, problems)[0]


def read_answers_and_others(
    what: Challenge, path: PathLike, rule_options: DataclassInstance, problems: Problems
) -> tuple[Annotations[Geometry] | None, Items]:
    """The truth as of `read_answers`, and the items of a data folder whose truth is not known."""
    if not is_folder(path):
        return what.dialect.read_truth(path, rule_options, problems), Items.of([])
    catalog: Catalog | None = what.module("read").read(Path(path), rule_options, problems)
    return (None, Items.of([])) if catalog is None else answers_and_others(what, catalog, problems)


def answers_and_others(
    what: Challenge, catalog: Catalog, problems: Problems
) -> tuple[Annotations[Geometry] | None, Items]:
    """The truth of the labelled items of a data set, and the others; None, with problems, if there is none."""
    problems.remarks += catalog.remarks
    every = catalog.items
    if what.sparse and 0 < catalog.files.null_count() < len(catalog):  # nobody can have found anything in the others
        problems.remarks.append(f"{missing_media(catalog).found}: not scored")
        catalog = catalog.with_media()
    try:
        truth = catalog.with_truth().truth
    except BadInput as bad:
        problems.merge(bad.problems)
        return None, Items.of([])
    return truth, Items(every.ids.filter(pl.Series(truth.items.find(every.ids) < 0)))


def _size(path: PathLike) -> int:
    return Path(path).stat().st_size if Path(path).is_file() else 0


def listed_answers(
    what: Challenge,
    truth: Annotations[Geometry] | None,
    path: PathLike,
    images: PathLike | None,
    items: Items | None,
    problems: Problems,
) -> Annotations[Geometry] | None:
    """The truth under the items that are to be scored; `images` is where these are listed."""
    if truth is None or images is None:
        return truth
    if items is None:
        return None
    if what.suffix_optional:
        items = items.spelled_like(truth.items)
    at = truth.items.find(items.ids)
    if len(truth.items) and not (at >= 0).any():
        found, expected = f"no id of {path}", "ids that the truth has too"
        remedy = "give the list of the same set, with ids written alike"
        problems.add(Problem("no_common_id", str(images), found, expected, remedy))
    elif (at < 0).any() and (truth.weak or not truth.shapes.localized):
        # Without objects in the truth an item is empty; without a label nothing is known about it.
        found = f"no label of {int((at < 0).sum())} of {len(items)} items of {images}, as {items.ids[int(at.argmin())]}"
        expected, remedy = "a label of each item that is scored", "list labelled items only, or give all labels"
        problems.add(Problem("missing_truth", str(path), found, expected, remedy))
    if truth.items.group is None:
        return truth.reindex(items)
    group = pl.Series([truth.items.group[int(k)] if k >= 0 else "(none)" for k in at], dtype=pl.String)
    return truth.reindex(replace(items, group=group))


def pair_answers(
    what: Challenge,
    truth: Annotations[Geometry] | None,
    predicted: Annotations[Geometry] | None,
    file: PathLike,
    images: PathLike | None,
    rule_options: DataclassInstance,
    problems: Problems,
    unknown: Items | None = None,
) -> Pair | None:
    """Truth and predictions under the same items; None, with problems, where they cannot be.

    unknown: items of the data folder whose truth is not known.
    """
    if truth is None or predicted is None:
        return None
    if truth.weak or predicted.weak:
        return _clip_pair(what, truth, predicted, file, rule_options, problems)
    if what.sparse and images is None:  # the items are those of either file
        predicted = without_unknown(predicted, unknown, file, problems)
        _remark_on_other_names(truth.items, predicted.items, file, problems)
        items = Items(pl.concat([truth.items.ids, predicted.items.ids]).unique(maintain_order=True))
        return truth.reindex(items), predicted.reindex(items)
    return truth, fit_items(what, predicted, truth.items, file, rule_options, problems)


def without_unknown(
    predicted: Annotations[Geometry], unknown: Items | None, file: PathLike, problems: Problems
) -> Annotations[Geometry]:
    """Predictions without items of which nobody knows whether they have objects; a remark says how many."""
    named = predicted.items.ids
    kept = np.ones(len(named), bool) if unknown is None else unknown.find(named) < 0
    if kept.all():
        return predicted
    left = f"{int((~kept).sum())} of {plural(len(kept), 'predicted item')}"
    problems.remarks.append(f"{left} in {Path(file).name} without annotations or media: not scored")
    return predicted.reindex(Items(named.filter(pl.Series(kept))))


def _remark_on_other_names(truth: Items, predicted: Items, file: PathLike, problems: Problems) -> None:
    """Say so if a submission that need not name every item names none of the truth."""
    if len(truth) and len(predicted) and not (truth.find(predicted.ids) >= 0).any():
        problems.remarks.append(
            f"{Path(file).name} has no item of the truth, which has names as {shorten(truth.ids[0])}, and not as "
            f"{shorten(predicted.ids[0])}: they must be equal, with the folders"
        )


def _clip_pair(
    what: Challenge,
    truth: Annotations[Geometry],
    predicted: Annotations[Geometry],
    file: PathLike,
    rule_options: DataclassInstance,
    problems: Problems,
) -> Pair | None:
    """A pair of clips: those of the truth, every one of which needs a probability if predictions are such."""
    if not truth.weak:
        expected, remedy = "times, as the truth has them", "predict times, or give the labels of clips as truth"
        problems.add(Problem("other_truth", str(file), "probabilities of clips", expected, remedy))
        return None
    missing = np.flatnonzero(predicted.items.find(truth.items.ids) < 0).tolist() if predicted.weak else []
    problems.add_each(
        "missing_id", str(file), missing,
        lambda at: Problem(
            "missing_id", str(file), "no row", "one for each clip", "add the row", item=truth.items.ids[at]
        ),
    )  # fmt: skip
    return truth, fit_items(what, predicted, truth.items, file, rule_options, problems)


def fit_items(
    what: Challenge,
    predicted: Annotations[Geometry],
    items: Items,
    file: PathLike,
    rule_options: DataclassInstance,
    problems: Problems,
) -> Annotations[Geometry]:
    """The predictions under the expected items, with unknown and missing ones as problems."""
    if not what.sparse:
        stated = cast("RuleOptions", rule_options)  # where every item has a row, the options say what a missing one is
        return align(predicted, items, stated, str(file), problems, what.suffix_optional)
    unknown = np.flatnonzero(items.find(predicted.items.ids) < 0)
    report_unknown(unknown, predicted.items, items, str(file), problems, remedy="drop the row")
    return predicted.reindex(items)


def expected_items(
    what: Challenge, source: PathLike, rule_options: DataclassInstance, like: Items, problems: Problems
) -> Items | None:
    """The ids that a sample submission or a data folder names; None if it cannot be used.

    A folder's file names lose their suffix where the ids in `like` are written so.
    """
    path, before = Path(source), problems.total
    folder = is_folder(path)
    samples = tables_at(path, "sample_submission*.csv") if folder else [path]
    if folder and (what.sparse or len(samples) != 1):  # a sparse sample need not name every item
        items = Items.of(what.dialect.folder_ids(path, problems))
        if not (items.find(like.ids) >= 0).any():
            stems = Items.of(list(dict.fromkeys(Path(name).stem for name in items.ids)))
            items = stems if len(stems) == len(items) and (stems.find(like.ids) >= 0).any() else items
    else:
        found = Problems()
        sample = what.dialect.read(samples[0], rule_options, found)
        items = Items.of([]) if sample is None else Items(sample.items.ids)
        headers = [problem for problem in found if problem.kind == "bad_header"]  # such as those of the truth
        for problem in headers:
            problems.add(replace(problem, remedy="give a sample submission, or the data folder"))
        if not headers:
            problems.merge(found)
    return items if problems.total == before else None
