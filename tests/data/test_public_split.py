"""Public and private items: groups stay together, the share is met, and lists of public ids are read strictly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tallymark
from tallymark.core.problems import Problems
from tallymark.data.folds import join_groups
from tallymark.data.public_split import read_public, split_public
from tests.made import NAMES


def split(
    groups: list[str],
    share: float = 0.3,
    seed: int = 0,
    stratum: np.ndarray | None = None,
    objects: np.ndarray | None = None,
) -> np.ndarray:
    strata = np.zeros(len(groups), np.int64) if stratum is None else stratum
    counts = np.ones(len(groups), np.int64) if objects is None else objects
    return split_public(pl.Series(groups), strata, counts, share, seed, "here")


def test_groups_stay_together_and_the_share_is_met() -> None:
    rng = np.random.default_rng(3)
    groups = [f"g{int(g)}" for g in rng.integers(0, 60, 900)]
    public = split(groups)
    sides = pl.DataFrame({"group": groups, "public": public}).group_by("group").agg(pl.n_unique("public"))
    assert (sides["public"] == 1).all()
    assert abs(public.mean() - 0.3) < 0.02
    assert split(groups).tolist() == public.tolist()
    assert split(groups, seed=1).tolist() != public.tolist()


def test_strata_are_in_both_parts_by_their_share() -> None:
    rng = np.random.default_rng(0)
    stratum = rng.choice(4, 400, p=[0.6, 0.3, 0.07, 0.03])
    public = split([f"{at}" for at in range(400)], stratum=stratum)
    for kind in range(4):
        assert abs(public[stratum == kind].mean() - 0.3) <= 0.04


@pytest.mark.parametrize("share", [0.01, 0.1, 0.9, 0.99])
def test_neither_part_is_empty(share: float) -> None:
    public = split(["a"] * 55 + ["b"] * 45, share)
    assert 0 < public.sum() < 100


def test_both_parts_have_objects_where_two_groups_do() -> None:
    groups = ["a"] * 2 + ["b"] * 2 + ["c"] * 3 + ["d"]
    objects = np.array([0, 0, 30, 30, 0, 0, 4, 1])
    for seed in range(5):
        public = split(groups, seed=seed, objects=objects)
        assert 0 < objects[public].sum() < objects.sum()
        assert 1 <= public.sum() <= 4


@pytest.mark.parametrize(
    ("groups", "share", "kind"),
    [(["a", "a"], 0.3, "too_few_groups"), (["a", "b"], 0.0, "bad_option"), (["a", "b"], float("nan"), "bad_option")],
)
def test_what_cannot_be_split_is_refused(groups: list[str], share: float, kind: str) -> None:
    with pytest.raises(tallymark.BadInput) as bad:
        split(groups, share)
    assert [problem.kind for problem in bad.value.problems] == [kind]


def test_joined_groups_split_neither() -> None:
    joined = join_groups(pl.Series(["a", "a", "b", "c", "d"]), ["1", "2", "2", "3", "3"])
    assert joined.to_list() == ["a", "a", "a", "c", "c"]


@pytest.mark.parametrize("name", NAMES)
def test_data_folders_and_truth_files_are_split(name: str, sets: Path, tmp_path: Path) -> None:
    whole = tallymark.public_private(name, sets / name, public_share=0.4)
    assert set(whole.table["split"]) == {"public", "private"}
    solution = sets / name / "solution.csv"
    if name != "lyft":  # whose test split has one sweep
        made = tallymark.public_private(name, solution, media=sets / name)
        assert set(tallymark.read_truth(name, solution).items.ids) <= set(made.items.ids)
        made.save(tmp_path / "split.csv")
        ids = read_public(tmp_path / "split.csv", Problems())
        assert ids is not None
        assert ids.to_list() == made.items.ids.filter(pl.Series(made.public)).to_list()


def test_the_groups_of_the_truth_stay_beside_those_of_the_media(sets: Path) -> None:
    solution = sets / "wheat" / "solution.csv"
    source = tallymark.read_truth("wheat", solution).items.group
    made = tallymark.public_private("wheat", solution, media=sets / "wheat")
    assert source is not None
    assert made.group.to_list() == source.to_list()


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("id\na\n,\n", {"field_count"}),
        ("id\na\na\n", {"duplicate_id"}),
        ("id,split\na,public\nb,secret\n", {"bad_split"}),
        ("id,split\na,private\n", {"no_public_id"}),
        ("name,share\na,1\n", {"bad_header"}),
    ],
)
def test_bad_lists_of_public_ids_are_refused(text: str, kinds: set[str], tmp_path: Path) -> None:
    (tmp_path / "public.csv").write_text(text)
    problems = Problems()
    assert read_public(tmp_path / "public.csv", problems) is None
    assert set(problems.counts) == kinds


def test_a_list_of_one_column_may_have_any_name(tmp_path: Path) -> None:
    (tmp_path / "public.csv").write_text("anything\nx\ny\n")
    ids = read_public(tmp_path / "public.csv", Problems())
    assert ids is not None
    assert ids.to_list() == ["x", "y"]
