"""The files of an ensemble: submissions, candidate files and runs, brought under the same items and classes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tallymark.api.data import PathLike
from tallymark.api.predictions import stored_candidates, unthresholded
from tallymark.core.problems import BadInput, Problem, Problems, shorten
from tallymark.core.recipe import thresholds_by_class
from tallymark.core.registry import Challenge
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.detector.coders import CODERS
from tallymark.detector.label_coder import top_k
from tallymark.inference.candidate_files import StoredCandidates
from tallymark.inference.ensemble import Ensemble, Member
from tallymark.inference.postprocess import fuse, postprocess
from tallymark.inference.run import HELD_OUT
from tallymark.io.regular import read_regular
from tallymark.scoring.alignment import fit_items

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FLOOR = 0.25
"""Candidates below this share of their own score threshold are left out: no number of votes makes them an object."""


@dataclass(frozen=True, eq=False)
class FusionInputs:
    """ensemble: of all files. own: the predictions of each file as it would be submitted. group: of each item.

    fold: (n,) of each item, as the first training of several models held it out; None if there is no such file.
    notes: what the user should know about the files.
    """

    ensemble: Ensemble
    own: tuple[Annotations[Any], ...]
    group: pl.Series
    fold: np.ndarray | None = None
    notes: tuple[str, ...] = ()


def read_inputs(what: Challenge, files: Sequence[PathLike], rule_options: DataclassInstance) -> FusionInputs:
    """Read the files of an ensemble; a `BadInput` with all that does not go together."""
    if len(files) < 2:
        found = "1 file" if files else "no file"
        raise BadInput(Problem("bad_option", "fuse", found, "at least 2 files to fuse", "name more"))
    problems = Problems()
    stored = [stored_candidates(what, path, problems) for path in files]
    read = [
        None if one is not None else _read_submission(what, path, rule_options, problems)
        for one, path in zip(stored, files, strict=True)
    ]
    problems.raise_if_any()
    notes = _notes(files)
    known = [one for one in stored if one is not None]
    if len(known) == len(files):
        members = [_candidate_member(str(path), one) for path, one in zip(files, known, strict=True)]
        own = [_as_submitted(one) for one in known]
    else:
        submissions = [one for one in read if one is not None]
        scored = all(one.score is not None for one in submissions)
        if known and not scored:
            notes.append("some files have no scores: of the others, only what their thresholds leave counts, as votes")
        own = [one if one is not None else _as_submitted(file) for one, file in zip(read, stored, strict=True)]  # type: ignore[arg-type]
        every = [one if one is not None else unthresholded(file) for one, file in zip(read, stored, strict=True)]  # type: ignore[arg-type]
        chosen = every if scored else [replace(one, score=None) for one in own]
        members = [Member(str(path), one) for path, one in zip(files, chosen, strict=True)]
    items, group = _common_items(what, files, stored, [member.objects for member in members])
    members = [
        _aligned(what, member, one, items, rule_options, problems) for member, one in zip(members, stored, strict=True)
    ]
    _check_sizes(what, files, stored, rule_options, problems)
    members = _same_classes(members, problems)
    own = [fit_items(what, one, items, path, rule_options, Problems()) for one, path in zip(own, files, strict=True)]
    problems.raise_if_any()
    notes += [f"no predictions in {member.name}" for member in members if not len(member.objects)]
    finish = _finish_candidates(known, items) if len(known) == len(files) else _finish_submissions(members)
    scored = all(member.objects.score is not None for member in members)
    return FusionInputs(Ensemble(tuple(members), finish, scored), tuple(own), group, _folds(known, items), tuple(notes))


def _read_submission(
    what: Challenge, path: PathLike, rule_options: DataclassInstance, problems: Problems
) -> Annotations[Any] | None:
    if Path(path).is_dir():
        return None  # a run, whose problems are known
    predicted = what.dialect.read(path, rule_options, problems)
    if predicted is not None and predicted.weak:
        expected, remedy = "events with times", "fuse the candidate files instead: predict --candidates"
        problems.add(Problem("bad_option", str(path), "probabilities of clips", expected, remedy))
    elif predicted is not None and predicted.score is not None:
        odd = np.flatnonzero((predicted.score < 0) | (predicted.score > 1))
        expected, remedy = "scores from 0 to 1, which files share", "bring the scores to this range"
        problems.add_each(
            "score_range", str(path), odd.tolist(),
            lambda row: Problem(
                "score_range", str(path), f"{predicted.scores[row]:g}", expected, remedy,
                item=predicted.items.ids[int(predicted.item[row])],
            ),
        )  # fmt: skip
    return predicted


def _notes(files: Sequence[PathLike]) -> list[str]:
    """A note for each file that is there twice."""
    notes = []
    seen: dict[bytes, PathLike] = {}
    for path in files:
        file = Path(path) / HELD_OUT if Path(path).is_dir() else Path(path)
        content = hashlib.sha256(read_regular(os.path.realpath(file))).digest()
        if content in seen:
            notes.append(f"{path} is the same as {seen[content]}: it counts twice")
        seen.setdefault(content, path)
    return notes


def _candidate_member(name: str, stored: StoredCandidates) -> Member:
    """The candidates of a model, fused among themselves, without those that are far below its threshold."""
    recipe = stored.metadata.recipe
    if CODERS[recipe.task].ranked:
        return Member(name, stored.candidates.objects)
    objects = fuse(stored.candidates, recipe).objects
    thresholds = np.array(thresholds_by_class(recipe, objects.classes) or [recipe.score_threshold])
    near = objects.scores >= FLOOR * thresholds[objects.labels]
    present = stored.candidates.presence[objects.item] >= recipe.image_threshold
    return Member(name, objects.filter(near & present), thresholds)


def _as_submitted(stored: StoredCandidates) -> Annotations[Any]:
    recipe = stored.metadata.recipe
    return replace(postprocess(stored.candidates, recipe), classes=stored.metadata.classes)


def _common_items(
    what: Challenge,
    files: Sequence[PathLike],
    stored: Sequence[StoredCandidates | None],
    objects: Sequence[Annotations[Any]],
) -> tuple[Items, pl.Series]:
    """The items of the files, and the group of each.

    Where a file need not name every item, candidate files do; without one, items are those that any file names.
    """
    full = (
        [one.candidates.items for one in stored if one is not None] if what.sparse else [one.items for one in objects]
    )
    if not full:
        ids = pl.concat([one.items.ids for one in objects]).unique(maintain_order=True)
        return Items(ids), ids.alias("group")
    items = Items(full[0].ids)
    grouped = next((one for one in full if one.group is not None), None)
    if grouped is None or grouped.group is None:
        return items, items.ids.alias("group")
    at = grouped.find(items.ids)
    names = [grouped.group[int(k)] if k >= 0 else items.ids[number] for number, k in enumerate(at)]
    return items, pl.Series("group", names, dtype=pl.String)


def _folds(stored: Sequence[StoredCandidates], items: Items) -> np.ndarray | None:
    """The fold of each item in the first file that has several folds, and all of the items."""
    for one in stored:
        at = one.candidates.items.find(items.ids)
        if one.fold is not None and len(np.unique(one.fold)) > 1 and (at >= 0).all():
            return one.fold[at]
    return None


def _aligned(
    what: Challenge,
    member: Member,
    stored: StoredCandidates | None,
    items: Items,
    rule_options: DataclassInstance,
    problems: Problems,
) -> Member:
    """A member under the items of the ensemble; unknown and missing ids are problems, unless the options say so."""
    objects = fit_items(what, member.objects, items, member.name, rule_options, problems)
    missing = np.flatnonzero(member.objects.items.find(items.ids) < 0).tolist()
    if what.sparse and stored is not None:  # it names every item, whether or not something is in it
        remedy = "fuse files of the same items"
        problems.add_each(
            "missing_id", member.name, missing,
            lambda at: Problem(
                "missing_id", member.name, "no row", "every item of the first file", remedy, item=items.ids[at]
            ),
        )  # fmt: skip
    return replace(member, objects=objects)


def _check_sizes(
    what: Challenge,
    files: Sequence[PathLike],
    stored: Sequence[StoredCandidates | None],
    rule_options: DataclassInstance,
    problems: Problems,
) -> None:
    """Report items of one id and two sizes: they are not the same ones."""
    shape = what.mask_shape(rule_options)
    first = next((one.candidates for one in stored if one is not None), None)
    for path, one in zip(files, stored, strict=True):
        if one is None or first is None:
            continue
        own = one.candidates
        at = first.items.find(own.items.ids)
        expected = np.where((at < 0)[:, None], own.size, first.size[at]) if len(first.items) else own.size
        if shape is not None and None in stored:
            expected = np.tile(np.array(shape[::-1], float), (len(own.items), 1))
        other = np.flatnonzero((np.abs(own.size - expected) > 1).any(axis=1))
        if len(other):
            item = int(other[0])
            found = f"{_size(own.size[item])} as the size of {shorten(own.items.ids[item])}"
            remedy = "fuse predictions for the same files"
            problems.add(Problem("other_size", str(path), found, f"{_size(expected[item])}, as elsewhere", remedy))


def _size(size: np.ndarray) -> str:
    return " x ".join(f"{side:g}" for side in size[np.isfinite(size)])


def _same_classes(members: Sequence[Member], problems: Problems) -> list[Member]:
    """The members with one list of classes; other classes are a problem."""
    named = [member for member in members if member.objects.classes]
    if not named:
        return list(members)
    classes = named[0].objects.classes
    same = []
    for member in members:
        objects = member.objects
        own = objects.classes or classes
        ordered = own == classes or (objects.shapes.localized and sorted(own) == sorted(classes))
        if not ordered:
            found, expected = (shorten(", ".join(names)) for names in (own, classes))
            remedy = "fuse models that were trained on the same classes"
            problems.add(Problem("other_classes", member.name, found, f"{expected}, as in the first file", remedy))
            continue
        new = np.array([classes.index(name) for name in own], np.int64)
        thresholds = member.thresholds
        if thresholds is not None and len(thresholds) == len(new):
            thresholds = thresholds[np.argsort(new)]
        label = None if objects.label is None else new[objects.labels]
        same.append(replace(member, objects=replace(objects, label=label, classes=classes), thresholds=thresholds))
    return same


def _finish_candidates(stored: Sequence[StoredCandidates], items: Items) -> Any:
    """How fused candidates become predictions: clipped to their items, in the geometry of the challenge."""
    recipe = stored[0].metadata.recipe
    coder = CODERS[recipe.task]
    scale = float(np.mean([one.metadata.recipe.mask_scale for one in stored]))
    size = stored[0].candidates.size
    classes = stored[0].metadata.classes

    def finish(objects: Annotations[Any]) -> Annotations[Any]:
        own = size[items.find(objects.items.ids)]
        clipped = objects if coder.ranked else objects.clip(own)
        return replace(coder.to_truth_geometry(clipped, own, recipe.replace(mask_scale=scale)), classes=classes)

    return finish


def _finish_submissions(members: Sequence[Member]) -> Any:
    """How fused predictions become a valid submission: as many labels as the files have, or masks without overlap."""
    count = max(int(member.objects.counts.max(initial=0)) for member in members)

    def finish(objects: Annotations[Any]) -> Annotations[Any]:
        if not objects.shapes.localized:
            return _filled(top_k(objects, count), count)
        shapes, kept = objects.shapes.disjoint(objects.item, objects.scores)
        chosen = np.zeros(len(objects), bool)
        chosen[kept] = True
        return replace(objects.filter(chosen), shapes=shapes)

    return finish


def _filled(objects: Annotations[Any], count: int) -> Annotations[Any]:
    """As many labels of every item: the last one again where all files repeat labels, so that there are fewer."""
    times = np.ones(len(objects), np.int64)
    named = objects.counts > 0
    times[objects.offsets[1:][named] - 1] += count - objects.counts[named]
    rows = np.repeat(np.arange(len(objects)), times)
    return Annotations.from_rows(
        objects.items,
        objects.item[rows],
        objects.shapes.take(rows),
        label=objects.labels[rows],
        score=objects.scores[rows],
        classes=objects.classes,
    )
