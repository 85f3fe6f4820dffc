"""Folds: groups stay together, strata are balanced, and the same seed gives the same folds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import polars as pl
import pytest

import tallymark
from tallymark.data.catalog import NO_GROUP, Catalog
from tallymark.data.folds import groups_of, make_folds, read_folds, strata
from tallymark.data.items import Items
from tallymark.io.images import IMAGE
from tests.made import NAMES

FOLDS = {"wheat": 3, "upcalls": 3, "food": 4, "lyft": 2, "ships": 3}


def labelled(labels: np.ndarray, groups: list[str] | None = None) -> Catalog:
    """A catalog of labels, without files."""
    ids = pl.Series([f"{k:05d}" for k in range(len(labels))])
    items = Items(ids, None if groups is None else pl.Series(groups))
    truth = tallymark.Annotations.from_rows(items, np.arange(len(labels)), tallymark.Labels(labels))
    nothing = pl.repeat(None, len(labels), dtype=pl.String, eager=True)
    part = pl.repeat("train", len(labels), eager=True)
    return Catalog(Path(), IMAGE, items, nothing, part, np.ones(len(labels), bool), nothing, truth)


@pytest.mark.parametrize("name", NAMES)
def test_groups_are_never_split(name: str, sets: Path) -> None:
    folds = tallymark.folds(name, sets / name, folds=FOLDS[name], seed=1)
    catalog = tallymark.read(name, sets / name)
    assert folds.count == FOLDS[name]
    assert set(folds.items.ids) == set(catalog.items.ids.filter(catalog.split != "test"))
    for groups in (folds.group, catalog.group[catalog.items.find(folds.items.ids)]):
        dealt = pl.DataFrame({"group": groups, "fold": folds.fold}).filter(pl.col("group") != NO_GROUP)
        torn = dealt.group_by("group").agg(pl.n_unique("fold"))
        assert (torn["fold"] == 1).all()
    again = tallymark.folds(name, sets / name, folds=FOLDS[name], seed=1)
    assert again.fold.tolist() == folds.fold.tolist()


def test_classes_are_spread_evenly() -> None:
    rng = np.random.default_rng(0)
    labels = rng.choice(6, 600, p=[0.5, 0.3, 0.1, 0.05, 0.03, 0.02])
    folds = make_folds(labelled(labels), 5, 0)
    for kind in range(6):
        counts = np.bincount(folds.fold[labels == kind], minlength=5)
        assert counts.max() - counts.min() <= 1
    sizes = np.bincount(folds.fold)
    assert sizes.max() - sizes.min() <= 6


def test_strata_are_classes_or_object_counts() -> None:
    catalog, counts = labelled(np.array([4, 0, 4, 2, 1, 1, 0, 3])), np.array([0, 1, 2, 3, 4, 7, 8, 15])
    assert strata(catalog).tolist() == [4, 0, 4, 2, 1, 1, 0, 3]
    boxes = tallymark.Boxes.of(np.ones((counts.sum(), 4)))
    truth = tallymark.Annotations.from_rows(catalog.items, np.repeat(np.arange(8), counts), boxes)
    assert strata(replace(catalog, truth=truth)).tolist() == [0, 1, 2, 2, 3, 3, 4, 4]
    assert strata(replace(catalog, truth=None)).tolist() == [0] * 8


def test_uneven_groups_are_spread() -> None:
    rng = np.random.default_rng(1)
    groups = [f"g{int(g)}" for g in rng.geometric(0.08, 900)]
    folds = make_folds(labelled(rng.integers(0, 2, 900), groups), 4, 0)
    sizes = np.bincount(folds.fold)
    assert sizes.max() < 1.3 * sizes.min()


def test_another_seed_gives_other_folds() -> None:
    catalog = labelled(np.zeros(50, np.int64))
    assert make_folds(catalog, 5, 0).fold.tolist() != make_folds(catalog, 5, 1).fold.tolist()


def test_each_group_is_a_fold_and_lone_items_are_distributed() -> None:
    groups = ["b", "b", "a", NO_GROUP, "a", "c", NO_GROUP, "c", NO_GROUP, "alone"]
    folds = make_folds(labelled(np.zeros(10, np.int64), groups), leave_one_out=True)
    assert folds.fold.tolist() == [0, 0, 1, 0, 1, 2, 1, 2, 2, 0]


def test_each_day_is_a_fold(sets: Path) -> None:
    folds = tallymark.folds("upcalls", sets / "upcalls", leave_one_out=True)
    days = pl.DataFrame({"group": folds.group, "fold": folds.fold}).unique()
    sizes = folds.group.value_counts()["count"]
    assert folds.count == (sizes > 1).sum() >= 2
    assert days["group"].is_unique().all()


def test_too_few_groups() -> None:
    with pytest.raises(tallymark.BadInput, match="too_few_groups"):
        make_folds(labelled(np.zeros(9, np.int64), ["a", "b", "c"] * 3), 4)
    with pytest.raises(tallymark.BadInput, match="too_few_groups"):
        make_folds(labelled(np.zeros(9, np.int64), ["a"] * 9), leave_one_out=True)


def test_fewer_groups_than_folds_are_a_fold_each_where_that_is_allowed() -> None:
    folds = make_folds(labelled(np.zeros(9, np.int64), ["a", "b", "c"] * 3), 12, or_fewer=True)
    assert folds.count == 3
    with pytest.raises(tallymark.BadInput, match="too_few_groups"):  # nothing would be left to learn from
        make_folds(labelled(np.zeros(9, np.int64), ["a"] * 9), 12, or_fewer=True)


def test_near_duplicates_stay_together(tmp_path: Path) -> None:
    """Two scenes of a coast, two shifted chips of each, and two chips that are alone."""
    for number, seed in enumerate((1, 2, 3, 1, 2, 4)):
        shift = 128 if number > 2 else 0
        scene = np.clip(sum(blobs(seed, side) for side in (128, 64, 32)), 0, 255).astype(np.uint8)
        cv2.imwrite(str(tmp_path / f"{number}.png"), scene[shift : shift + 384, :384])
    items = Items.of([f"{number}.png" for number in range(6)])
    part = pl.repeat("train", 6, eager=True)
    catalog = Catalog(tmp_path, IMAGE, items, items.ids, part, np.ones(6, bool), items.ids, cells=3)
    group = make_folds(catalog, 2).group.to_list()
    assert group == ["0.png", "1.png", "2.png", "0.png", "1.png", "5.png"]
    assert groups_of(replace(catalog, cells=1)).to_list() == items.ids.to_list()


def blobs(seed: int, side: int) -> np.ndarray:
    """Squares of grey, 512 pixels in all."""
    grey = np.random.default_rng([seed, side]).normal(45, 20, (512 // side, 512 // side))
    return np.kron(grey, np.ones((side, side)))


def test_saved_and_read_back(sets: Path, tmp_path: Path) -> None:
    folds = tallymark.folds("wheat", sets / "wheat", folds=3)
    folds.save(tmp_path / "folds.csv")
    back = read_folds(tmp_path / "folds.csv")
    assert back.items.ids.to_list() == folds.items.ids.to_list()
    assert back.fold.tolist() == folds.fold.tolist()
    assert back.table.equals(folds.table)
    catalog = tallymark.read("wheat", sets / "wheat")
    train, validation = back.split(catalog, 0)
    assert len(train) + len(validation) == len(catalog.in_split("train"))
    assert not set(train.items.ids) & set(validation.items.ids)


def test_bad_fold_files(tmp_path: Path) -> None:
    path = tmp_path / "folds.csv"
    for text, kind in (
        ("id,fold\na,0\n", "bad_header"),
        ("id,group,fold,objects\na,g,x,0\n", "bad_fold"),
        ("id,group,fold,objects\na,g,1,0\na,g,1,0\n", "duplicate_id"),
    ):
        path.write_text(text)
        with pytest.raises(tallymark.BadInput, match=kind):
            read_folds(path)
