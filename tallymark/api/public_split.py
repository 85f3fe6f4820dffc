"""The public and the private part of a leaderboard, of a truth file or of a data folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tallymark.api.data import read
from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.core.registry import challenge
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.geometry import Geometry
from tallymark.io.archives import is_folder

if TYPE_CHECKING:
    import polars as pl

    from tallymark.data.items import Items
    from tallymark.data.public_split import PublicPrivate

PathLike = str | Path
NO_GROUPS = (
    "the truth names no groups, so every item counts as one: "
    "name the folder with the media too, so that days, drives and near-duplicates stay together"
)


def public_private(
    name: str,
    truth: PathLike,
    *,
    public_share: float = 0.3,
    seed: int = 0,
    media: PathLike | None = None,
    exclude: PathLike | None = None,
    **rule_options: object,
) -> PublicPrivate:
    """Split the items of a truth into public and private ones, for a leaderboard; groups stay together, as in `folds`.

    Parameters
    ----------
    name, exclude, rule_options: as for `read`.
    truth: the solution, or a data folder, whose labelled items are split.
    public_share: of the items, as nearly as the groups allow. seed: of the assignment of groups.
    media: for a truth file, the data folder with the media of its items, for their days, drives and near-duplicates.
    """
    from tallymark.data.folds import groups_of, stated_groups, strata_of
    from tallymark.data.public_split import PublicPrivate, split_public

    notes = Problems(EVERY)
    if is_folder(truth):
        catalog = read(name, truth, exclude=exclude, **rule_options).with_media().with_truth()
        answers, group = catalog.truth, groups_of(catalog)
        notes.merge(catalog.notes)
        notes.remarks += catalog.remarks
    else:
        if exclude is not None:
            remedy = "remove the items from the file, or name the data folder"
            raise BadInput(Problem("bad_option", str(exclude), "a truth file", "exclusions of a data folder", remedy))
        listed = None if media is None else read(name, media, exclude=None, **rule_options)
        answers = _answers(name, truth, listed, rule_options, notes)
        group = stated_groups(answers.items) if listed is None else _groups_in(name, listed, answers.items, notes)
        if listed is None and answers.items.group is None:
            notes.remarks.append(NO_GROUPS)
    public = split_public(group, strata_of(answers), answers.counts, public_share, seed, str(truth))
    return PublicPrivate(answers.items, public, group, answers.counts, notes)


def _answers(
    name: str, truth: PathLike, listed: Catalog | None, rule_options: Mapping[str, object], notes: Problems
) -> Annotations[Geometry]:
    """The truth in a file; where a file names only items with objects, with the others of the same split."""
    what = challenge(name)
    problems = Problems()
    answers = problems.checked(what.dialect.read_truth(truth, what.parse_rule_options(rule_options, truth), problems))
    notes.remarks += problems.remarks
    if not what.sparse or answers.weak or listed is None:
        return answers
    at = listed.items.find(answers.items.ids)
    return answers.reindex(listed.in_split(*listed.split[at].unique()).items) if (at >= 0).all() else answers


def _groups_in(name: str, listed: Catalog, items: Items, notes: Problems) -> pl.Series:
    """The groups of items that truth or media state; an item without either is on its own."""
    import numpy as np

    from tallymark.data.folds import groups_of, join_groups, stated_groups

    catalog = listed.with_media()
    notes.merge(catalog.notes)
    known = catalog.items.spelled_like(items) if challenge(name).suffix_optional else catalog.items
    at = known.find(items.ids)
    present = np.flatnonzero(at >= 0)
    if not len(present):
        expected, remedy = "media of the items of the truth", "name the folder of these items, with ids written alike"
        raise BadInput(Problem("no_common_id", str(listed.root), "none of its items", expected, remedy))
    if len(present) < len(items):
        found = f"{len(items) - len(present)} of {len(items)} items without a file"
        expected, remedy = "a file for each item of the truth", "get them, or go on: each is a group of its own"
        notes.add(Problem("missing_media", str(listed.root), found, expected, remedy))
    by_media = items.ids.to_list()
    for position, group in zip(present.tolist(), groups_of(catalog.select(at[present])), strict=True):
        by_media[position] = group
    return join_groups(stated_groups(items), by_media)
