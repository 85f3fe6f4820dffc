"""Corrections applied to the truth of a data set, and to predictions: wrong objects go, right and missed ones come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from tallymark.core.humanize import plural
from tallymark.core.problems import Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.checks.media import inspect_all, media_sizes
from tallymark.data.corrections import Corrections, Mark, class_index, unknown_class
from tallymark.data.items import Items
from tallymark.geometry.coincidence import match_closest

CERTAIN = 1.0
"""The score of an object that a reviewer found."""


@dataclass(frozen=True)
class Changes:
    """What corrections changed: items with a change, objects removed and added, items labelled for the first time."""

    items: int = 0
    removed: int = 0
    added: int = 0
    labelled: int = 0

    def sentence(self, file: str, noun: str) -> str:
        """The numbers in words; noun: of an item."""
        text = f"{file}: {self.removed} removed and {self.added} added in {plural(self.items, noun)}"
        return text + (f", {plural(self.labelled, noun)} labelled for the first time" if self.labelled else "")


def apply_to_truth(corrections: Corrections, catalog: Catalog, notes: Problems) -> tuple[Catalog, Changes]:
    """The catalog with corrected truth; entries that do not fit are noted, and change nothing.

    An item without truth becomes labelled, for training, only if the reviewer says that nothing else is in it.
    """
    truth = catalog.truth
    if truth is None or truth.weak:
        found = "no truth" if truth is None else "clips with a yes or no"
        expected = "a data set with annotated objects, which say what they look like"
        notes.add(corrections.problem("unused_correction", "", "items", found, expected, "train without corrections"))
        return catalog, Changes()
    known = _known_items(corrections, catalog.items, notes)
    if not truth.shapes.localized:
        return _relabel_truth(corrections, catalog, truth, known, notes)
    complete = np.zeros(len(catalog), bool)
    complete[[known[item] for item, whole in corrections.complete.items() if whole and item in known]] = True
    new = complete & ~catalog.labelled
    usable = catalog.labelled | new
    _note_partly_reviewed(corrections, catalog, known, usable, notes)
    kept_known = {item: at for item, at in known.items() if usable[at]}
    wrong, there = (_shaped(corrections, truth, kept_known, there=there, notes=notes) for there in (False, True))
    there = _inside(corrections, there, _sizes(catalog, there.objects.item), notes)
    corrected, touched, changes = _exchange(truth, wrong, there)
    touched |= new
    catalog = replace(catalog, truth=corrected, labelled=usable, split=_splits(catalog, new))
    return catalog, replace(changes, items=int(touched.sum()), labelled=int(new.sum()))


def apply_to_predictions(
    corrections: Corrections, predictions: Annotations[Any], size: np.ndarray, notes: Problems
) -> tuple[Annotations[Any], Changes]:
    """The predictions without those marked wrong, with those marked right or missed; the latter have score 1.

    size: (n, 2) width and height of all items, nan where they are not known; of recordings, seconds first.
    """
    known = _known_items(corrections, predictions.items, notes)
    if not predictions.shapes.localized:
        return _rank_again(corrections, predictions, known, notes)
    wrong, there = (_shaped(corrections, predictions, known, there=there, notes=notes) for there in (False, True))
    there = _inside(corrections, there, size, notes)
    corrected, touched, changes = _exchange(predictions, wrong, there)
    return corrected, replace(changes, items=int(touched.sum()))


@dataclass(frozen=True, eq=False)
class _Marked:
    """Marks as columns: `objects` with label -1 where any class is meant, and the mark of each row."""

    objects: Annotations[Any]
    marks: Sequence[Mark]


def _known_items(corrections: Corrections, items: Items, notes: Problems) -> dict[str, int]:
    """The index of each reviewed item; those that are not in the data set are noted."""
    reviewed = list(corrections.complete)
    at = items.find(pl.Series("id", reviewed, dtype=pl.String)).tolist() if reviewed else []
    for item, index in zip(reviewed, at, strict=True):
        if index < 0:
            expected, remedy = "an item of the data set", "give the corrections of this data set, or go on without"
            notes.add(corrections.problem("unused_correction", item, "items", "no such item", expected, remedy))
    return {item: index for item, index in zip(reviewed, at, strict=True) if index >= 0}


def _note_partly_reviewed(
    corrections: Corrections, catalog: Catalog, known: dict[str, int], usable: np.ndarray, notes: Problems
) -> None:
    """An item without truth that was reviewed in part stays without: elsewhere in it nobody has looked."""
    for item, at in known.items():
        if not usable[at]:
            found, expected = "an unlabelled item, reviewed in part", "a complete review, or a labelled item"
            remedy = f"review all of the {catalog.medium.noun}, and mark it complete"
            notes.add(corrections.problem("partly_reviewed", item, "complete", found, expected, remedy))


def _shaped(
    corrections: Corrections, like: Annotations[Any], known: dict[str, int], *, there: bool, notes: Problems
) -> _Marked:
    """The marks of known items as annotations; shapes and classes that do not fit are noted."""
    shapes = like.shapes.take(np.empty(0, np.int64))
    parsed, kept, labels = [], [], []
    for mark in corrections.marks:
        if mark.there != there or mark.item not in known:
            continue
        label = class_index(mark.label, like.classes)
        try:
            shape = like.shapes.from_json(mark.shape)
        except ValueError as error:
            where = f"{mark.where}.shape"
            notes.add(corrections.problem("bad_shape", mark.item, where, repr(mark.shape)[:80], str(error)))
            continue
        if label is None or (label < 0 and there and len(like.classes) > 1):
            found, expected = unknown_class(mark.label, like.classes)
            notes.add(corrections.problem("bad_class", mark.item, f"{mark.where}.label", found, expected))
            continue
        parsed.append(shape)
        kept.append(mark)
        labels.append(label)
    while len(parsed) > 1:  # pairwise, which copies each shape only log2(n) times
        last = parsed[-1:] if len(parsed) % 2 else []
        parsed = [one.concat(other) for one, other in zip(parsed[::2], parsed[1::2], strict=False)] + last
    item = np.array([known[mark.item] for mark in kept], np.int64)
    order = np.argsort(item, kind="stable")
    objects = Annotations.from_rows(
        like.items,
        item,
        shapes.concat(parsed[0]) if parsed else shapes,
        label=np.array(labels, np.int64),
        score=np.array([CERTAIN if mark.score is None else mark.score for mark in kept], float),
        classes=like.classes,
    )
    return _Marked(objects, [kept[at] for at in order.tolist()])


def _sizes(catalog: Catalog, items: np.ndarray) -> np.ndarray:
    """(n, 2) width and height of all items, as the data set states them, or as the files of these items have them."""
    size = np.full((len(catalog), 2), np.nan) if catalog.size is None else catalog.size.copy()
    unknown = np.unique(items[~np.isfinite(size[items, 0])])
    if len(unknown):
        size[unknown] = media_sizes(inspect_all(catalog.select(unknown)))
    return size


def _inside(corrections: Corrections, marked: _Marked, size: np.ndarray, notes: Problems) -> _Marked:
    """The marked objects, clipped to their items of `size`; those that lie outside are noted and left out."""
    objects = marked.objects
    if not len(objects):
        return marked
    room = np.where(np.isfinite(size), size, np.inf)[objects.item]
    clipped, kept = objects.shapes.clip(room)
    same = clipped.coincide(objects.shapes, kept, np.arange(len(objects))).second  # not much was cut off
    inside = np.isin(np.arange(len(objects)), same)
    for mark in (marked.marks[at] for at in np.flatnonzero(~inside).tolist()):
        where, found = f"{mark.where}.shape", repr(mark.shape)[:80]
        notes.add(corrections.problem("outside", mark.item, where, found, "a shape inside its item"))
    left = replace(objects.filter(inside), shapes=clipped.take(np.flatnonzero(inside[kept])))
    return _Marked(left, [marked.marks[at] for at in np.flatnonzero(inside).tolist()])


def _exchange(
    present: Annotations[Any], wrong: _Marked, there: _Marked
) -> tuple[Annotations[Any], np.ndarray, Changes]:
    """Objects without the wrong ones, with those that are there and not present yet; and which items changed."""
    gone = np.zeros(len(present), bool)
    gone[_same_objects(present, wrong.objects)[0]] = True
    left = present.filter(~gone)
    found = there.objects
    missing = np.ones(len(found), bool)
    missing[_same_objects(left, found)[1]] = False
    added = found.filter(missing)
    shapes, kept = left.shapes.beside(added.shapes, left.item, added.item)
    added = replace(added.filter(np.isin(np.arange(len(added)), kept)), shapes=shapes)
    touched = np.zeros(len(present.items), bool)
    touched[present.item[gone]] = True
    touched[added.item] = True
    joined = Annotations.from_rows(
        present.items,
        np.concatenate([left.item, added.item]),
        left.shapes.concat(added.shapes),
        label=None if present.label is None else np.concatenate([left.labels, np.maximum(added.labels, 0)]),
        score=None if present.score is None else np.concatenate([left.scores, added.scores]),
        classes=present.classes,
    )
    return joined, touched, Changes(removed=int(gone.sum()), added=len(added))


def _same_objects(present: Annotations[Any], marked: Annotations[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of a present and a marked object that are the same; of a class, where the mark states one."""
    pairs = present.shapes.coincide(marked.shapes, present.item, marked.item)
    label = marked.labels[pairs.second]
    alike = (label < 0) | (label == present.labels[pairs.first]) | (len(present.classes) < 2)
    return match_closest(type(pairs)(*(column[alike] for column in pairs)))


def _relabel_truth(
    corrections: Corrections, catalog: Catalog, truth: Annotations[Any], known: dict[str, int], notes: Problems
) -> tuple[Catalog, Changes]:
    """The classes of whole items; one whose class is wrong, and not known, is without truth."""
    chosen = _item_labels(corrections, truth, known, notes)
    before = np.full(len(catalog), -1)
    before[truth.item] = truth.shapes.label
    after = before.copy()
    for at, label in chosen.items():
        after[at] = label
    changed = (after != before) & (after >= 0) | (after < 0) & (before >= 0)
    labelled = np.where(after != before, after >= 0, catalog.labelled)
    item = np.flatnonzero(after >= 0)
    shapes = replace(truth.shapes, label=after[item])
    corrected = Annotations.from_rows(truth.items, item, shapes, classes=truth.classes)
    new = labelled & ~catalog.labelled
    catalog = replace(catalog, truth=corrected, labelled=labelled, split=_splits(catalog, new))
    removed, added = int((changed & (before >= 0)).sum()), int((changed & (after >= 0)).sum())
    return catalog, Changes(int(changed.sum()), removed, added, int(new.sum()))


def _rank_again(
    corrections: Corrections, predictions: Annotations[Any], known: dict[str, int], notes: Problems
) -> tuple[Annotations[Any], Changes]:
    """The ranking of each item with the right class first, or with the wrong one last; as many classes as before."""
    chosen = _item_labels(corrections, predictions, known, notes)
    label, score = predictions.shapes.label.copy(), predictions.scores.copy()
    touched = 0
    for at, right in chosen.items():
        rows = slice(int(predictions.offsets[at]), int(predictions.offsets[at + 1]))
        old = label[rows].tolist()
        if not old or right == old[0]:
            continue
        rest = [one for one in old if one != right]
        label[rows] = [right, *rest][: len(old)] if right >= 0 else [*old[1:], old[0]]
        score[rows.start] = CERTAIN if right >= 0 else score[rows.start]
        touched += 1
    shapes = replace(predictions.shapes, label=label)
    scores = None if predictions.score is None else score
    return replace(predictions, shapes=shapes, score=scores), Changes(touched, touched, touched)


def _splits(catalog: Catalog, new: np.ndarray) -> pl.Series:
    """The split of each item: one of the test split that has truth now is there to train on."""
    moved = pl.Series(new) & (catalog.split == "test")
    return pl.select(pl.when(moved).then(pl.lit("train")).otherwise(catalog.split)).to_series().alias("split")


def _item_labels(
    corrections: Corrections, like: Annotations[Any], known: dict[str, int], notes: Problems
) -> dict[int, int]:
    """The class of each corrected item; -1 where only the present one is wrong."""
    chosen = {}
    for item, stated in corrections.labels.items():
        label = class_index(stated.name, like.classes)
        if label is None:
            found, expected = unknown_class(stated.name, like.classes)
            notes.add(corrections.problem("bad_class", item, f"{stated.where}.label", found, expected))
        elif item in known:
            chosen[known[item]] = label
    for mark in corrections.marks:  # a page of rankings marks its rows
        label = class_index(mark.label, like.classes)
        if mark.there and label is not None and label >= 0 and mark.item in known:
            chosen.setdefault(known[mark.item], label)
    return chosen
