"""Candidate files: what was written comes back as it was, and anything else is a problem that says what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tallymark.core.problems import Problems
from tallymark.inference.candidate_files import KEY, is_candidate_file, read_candidates, write_candidates
from tests.inference.made_candidates import NAMES, made_candidates, made_metadata


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("group", [False, True])
def test_candidates_come_back_as_they_were_written(name: str, group: bool, tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    candidates = made_candidates(name, group=group)
    fold = np.arange(len(candidates.items)) % 2 if group else None
    write_candidates(candidates, path, made_metadata(name), fold)
    problems = Problems()
    stored = problems.checked(read_candidates(path, problems))
    assert is_candidate_file(path)
    assert stored.metadata == made_metadata(name)
    assert stored.candidates.items.ids.to_list() == candidates.items.ids.to_list()
    assert (stored.candidates.items.group is None) == (not group)
    assert (stored.fold is None) if fold is None else stored.fold.tolist() == fold.tolist()
    np.testing.assert_array_equal(stored.candidates.size, candidates.size)
    np.testing.assert_array_equal(stored.candidates.presence, candidates.presence)
    ours, theirs = stored.candidates.objects, candidates.objects
    np.testing.assert_array_equal(ours.offsets, theirs.offsets)
    np.testing.assert_array_equal(ours.scores, theirs.scores)
    np.testing.assert_array_equal(ours.labels, theirs.labels)
    for column, value in vars(theirs.shapes).items():
        np.testing.assert_array_equal(getattr(ours.shapes, column), value)


def test_no_items_and_no_candidates_are_fine(tmp_path: Path) -> None:
    for items in (0, 1, 2):
        candidates = made_candidates("wheat", items=items)
        candidates = candidates.select(np.arange(items)[1:])
        write_candidates(candidates, tmp_path / "some.parquet", made_metadata("wheat"))
        problems = Problems()
        stored = problems.checked(read_candidates(tmp_path / "some.parquet", problems))
        assert len(stored.candidates.items) == max(items - 1, 0)
        assert len(stored.candidates.objects) == 0


def null(column: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda table: table.with_columns(
        pl.when(pl.int_range(pl.len()) == 0).then(None).otherwise(pl.col(column)).alias(column)
    )


def value(column: str, number: float) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda table: table.with_columns(
        pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(number)).otherwise(pl.col(column)).alias(column)
    )


DAMAGE: dict[str, tuple[Callable[[pl.DataFrame], pl.DataFrame], str]] = {
    "no scores": (lambda table: table.drop("score"), "no column score"),
    "no shapes": (lambda table: table.drop("x"), "no column x"),
    "another column": (lambda table: table.with_columns(more=1), "a column 'more'"),
    "ids as numbers": (lambda table: table.with_columns(item=pl.int_range(pl.len())), "Int64 in column item"),
    "scores as text": (lambda table: table.with_columns(pl.col("score").cast(pl.String)), "String in column score"),
    "labels with fractions": (lambda table: table.with_columns(pl.col("label") + 0.5), "Float64 in column label"),
    "lists": (lambda table: table.with_columns(x=pl.concat_list("x")), "List(Float64) in column x"),
    "NaN in a score": (value("score", np.nan), "NaN or infinity in row 0"),
    "infinity in a shape": (value("width", np.inf), "NaN or infinity in row 0"),
    "NaN in a presence": (value("presence", np.nan), "NaN or infinity in row 0"),
    "an item without a name": (null("item"), "an empty cell in row 0"),
    "an item without a width": (null("item_width"), "an empty cell in row 0"),
    "a candidate without an x": (null("x"), "an empty cell in row 0"),
    "a row without a score": (null("score"), "a value in a row without a score"),
    "an item in two places": (lambda table: pl.concat([table, table.head(1)]), "the item '1e5' in two places"),
    "two presences of an item": (value("presence", 0.123), "several values for one item"),
    "a label of no class": (value("label", 7), "labels or sizes that cannot be"),
    "a negative label": (value("label", -1), "labels or sizes that cannot be"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_not_as_it_was_written_is_a_problem(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    write_candidates(made_candidates("wheat", seed=3), path, made_metadata("wheat"))
    table, facts = pl.read_parquet(path), pl.read_parquet_metadata(path)[KEY]
    assert table["item"].to_list().count("1e5") > 1
    change, found = DAMAGE[damage]
    changed = change(table)
    if "label" in changed.columns and "label" in damage and "fraction" not in damage:
        changed = changed.with_columns(pl.col("label").cast(pl.Int64))
    changed.write_parquet(path, metadata={KEY: facts})
    problems = Problems()
    assert read_candidates(path, problems) is None
    assert found in next(iter(problems)).found
    assert {problem.kind for problem in problems} == {"bad_candidates"}


def test_a_row_without_a_score_beside_others_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    write_candidates(made_candidates("wheat", seed=3), path, made_metadata("wheat"))
    table, facts = pl.read_parquet(path), pl.read_parquet_metadata(path)[KEY]
    empty = ["score", "label", "x", "y", "width", "height"]
    blank = table.head(1).with_columns(pl.lit(None, table.schema[name]).alias(name) for name in empty)
    pl.concat([blank, table]).write_parquet(path, metadata={KEY: facts})
    problems = Problems()
    assert read_candidates(path, problems) is None
    assert "beside others" in next(iter(problems)).found


def test_other_files_are_problems(tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    write_candidates(made_candidates("wheat"), path, made_metadata("wheat"))
    whole = path.read_bytes()
    foreign = tmp_path / "foreign.parquet"
    pl.DataFrame({"a": [1]}).write_parquet(foreign)
    cases = {
        whole[:-9]: "only a part of one",
        whole[: len(whole) // 2]: "only a part of one",
        whole[:4]: "only a part of one",
        b"": "only a part of one",
        b"item,score\n": "only a part of one",
        foreign.read_bytes(): "something else",
    }
    for content, found in cases.items():
        path.write_bytes(content)
        problems = Problems()
        assert read_candidates(path, problems) is None
        assert found in next(iter(problems)).found
    problems = Problems()
    assert read_candidates(tmp_path / "missing.parquet", problems) is None
    assert next(iter(problems)).found == "no such file or directory"
    assert not is_candidate_file(tmp_path / "missing.parquet")
    assert not is_candidate_file(tmp_path)


@pytest.mark.parametrize("facts", ["", "[]", "{}", '{"challenge": "nonsense", "recipe": {}, "classes": []}', "\0"])
def test_damaged_facts_are_a_problem(facts: str, tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    write_candidates(made_candidates("wheat"), path, made_metadata("wheat"))
    pl.read_parquet(path).write_parquet(path, metadata={KEY: facts})
    problems = Problems()
    assert read_candidates(path, problems) is None
    assert next(iter(problems)).kind == "bad_candidates"


def test_flipped_bytes_never_raise(tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    write_candidates(made_candidates("lyft"), path, made_metadata("lyft"))
    whole = np.frombuffer(path.read_bytes(), np.uint8)
    rng = np.random.default_rng(0)
    for _ in range(150):
        damaged = whole.copy()
        damaged[rng.integers(4, len(whole), 3)] = rng.integers(0, 256, 3)
        path.write_bytes(damaged.tobytes())
        problems = Problems()
        stored = read_candidates(path, problems)
        assert (stored is None) == bool(problems)
