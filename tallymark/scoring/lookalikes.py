"""Look-alikes: groups of classes that are confused with each other."""

from __future__ import annotations

import numpy as np
import polars as pl

from tallymark.scoring.by_class import Confusions

LEAST_SHARE = 0.05
"""Share of the items of two classes that must be confused for the classes to look alike."""


def lookalikes(confusions: Confusions, least_share: float = LEAST_SHARE) -> pl.DataFrame:
    """Groups of two or more classes that look alike, those with most confused items first.

    Two classes are as similar as the share of their items that are taken for the other one. Groups are merged by
    average linkage, as long as the mean similarity between the classes of two groups is at least `least_share`; so a
    chain of pairwise confusions does not become one large group. No random number is drawn.

    Returns
    -------
    classes: the names, the class with most confused items first. items: with one of these labels. confused: items that
    are taken for another class of the group. share: of the items.
    """
    labelled = confusions.label[confusions.label >= 0]  # also where nothing was predicted
    known = (confusions.label >= 0) & (confusions.predicted >= 0)
    label, predicted = confusions.label[known], confusions.predicted[known]
    used = np.unique(np.concatenate([labelled, predicted]))
    count = len(used)
    pairs = np.searchsorted(used, label) * count + np.searchsorted(used, predicted)
    taken = np.bincount(pairs, minlength=count * count).reshape(count, count)
    items = np.bincount(np.searchsorted(used, labelled), minlength=count)
    rows = []
    for group in _groups(taken, items, least_share):
        inside = taken[np.ix_(group, group)]
        confused = inside.sum() - np.trace(inside)
        own = inside.sum(axis=1) + inside.sum(axis=0) - 2 * np.diag(inside)
        names = [confusions.name(int(used[group[at]])) for at in np.lexsort((group, -own))]
        rows.append((names, int(items[group].sum()), int(confused), float(confused / items[group].sum())))
    rows.sort(key=lambda row: (-row[2], row[0]))
    counts = {"items": pl.Int64, "confused": pl.Int64, "share": pl.Float64}
    return pl.DataFrame(rows, schema={"classes": pl.List(pl.String), **counts}, orient="row")


def _groups(taken: np.ndarray, items: np.ndarray, least_share: float) -> list[np.ndarray]:
    """Groups of two or more classes by average linkage of the share of items that are confused."""
    if len(items) < 2:
        return []
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    both = items[:, None] + items
    shares = np.divide(taken + taken.T, both, out=np.zeros(both.shape), where=both > 0)
    distance = 1 - np.minimum(shares, 1)
    np.fill_diagonal(distance, 0)
    group = fcluster(linkage(squareform(distance, checks=False), "average"), 1 - least_share + 1e-12, "distance")
    members = [np.flatnonzero(group == one) for one in np.unique(group)]
    return [own for own in members if len(own) > 1]
