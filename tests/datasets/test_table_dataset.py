"""Data sets of tables and images: which table is read, which files belong to it, and to which split they belong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tallymark.core.problems import Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.datasets.table_dataset import choose_table, read_table_dataset
from tallymark.geometry import Labels
from tallymark.io.folders import Folder, open_folder
from tallymark.io.images import IMAGE

TABLES = {"train": ("train.csv", "training.csv"), "val": ("val.csv",)}


def write(folder: Path, *names: str) -> None:
    """Files by their paths; `train.csv: a b` is a table that lists ids."""
    for name in names:
        path, _, ids = name.partition(": ")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("\n".join(ids.split()))


def read_ids(path: Path) -> Annotations[Any]:
    """A truth with one label for each id in a table, whose value is the id's line."""
    ids = path.read_text().split()
    return Annotations.from_rows(Items.of(ids), np.arange(len(ids)), Labels(np.arange(len(ids))))


def listed(folder: Path) -> Folder:
    found = open_folder(folder, Problems())
    assert found is not None
    return found


def read(folder: Path, problems: Problems | None = None, **options: Any) -> Catalog:
    own = Problems()
    catalog = read_table_dataset(listed(folder), IMAGE, TABLES, read_ids, own, name=lambda path: path.stem, **options)
    assert catalog is not None
    if problems is None:
        assert not own
    else:
        problems.merge(own)
    return catalog


def splits(catalog: Catalog) -> dict[str, str]:
    return dict(zip(catalog.items.ids, catalog.split, strict=True))


def files(catalog: Catalog) -> dict[str, str | None]:
    return dict(zip(catalog.items.ids, catalog.files, strict=True))


def test_rows_and_files_are_joined_by_id(tmp_path: Path) -> None:
    write(tmp_path, "train.csv: b a missing", "train/a.jpg", "train/b.png", "test/c.jpg")
    catalog = read(tmp_path)
    assert catalog.items.ids.to_list() == ["b", "a", "missing", "c"]
    assert files(catalog) == {"b": "train/b.png", "a": "train/a.jpg", "missing": None, "c": "test/c.jpg"}
    assert splits(catalog) == {"b": "train", "a": "train", "missing": "train", "c": "test"}
    assert catalog.labelled.tolist() == [True, True, True, False]
    assert catalog.truth is not None
    assert catalog.truth.shapes.label.tolist() == [0, 1, 2]
    assert catalog.tables.to_list() == [str(tmp_path / "train.csv")] * 3 + [None]


@pytest.mark.parametrize("empty", [True, False])
def test_a_file_without_a_row_is_empty_only_where_the_challenge_says_so(tmp_path: Path, empty: bool) -> None:
    write(tmp_path, "train.csv: a", "train/a.jpg", "train/b.jpg", "test/c.jpg")
    catalog = read(tmp_path, unnamed_are_empty=empty)
    assert dict(zip(catalog.items.ids, catalog.labelled.tolist(), strict=True)) == {"a": True, "b": empty, "c": False}


def test_each_split_has_its_table(tmp_path: Path) -> None:
    write(tmp_path, "train.csv: a", "val.csv: b", "train/a.jpg", "validation/b.jpg", "test/c.jpg")
    catalog = read(tmp_path)
    assert splits(catalog) == {"a": "train", "b": "val", "c": "test"}
    assert catalog.labelled.tolist() == [True, True, False]
    assert catalog.truth is not None
    assert catalog.truth.counts.tolist() == [1, 1, 0]


def test_an_id_in_two_splits_is_a_problem_and_belongs_to_the_first(tmp_path: Path) -> None:
    write(tmp_path, "train.csv: a b", "val.csv: x b", "train/a.jpg", "train/b.jpg", "val/x.jpg")
    problems = Problems()
    catalog = read(tmp_path, problems)
    assert [(problem.kind, problem.item) for problem in problems] == [("duplicate_item", "b")]
    assert splits(catalog) == {"a": "train", "b": "train", "x": "val"}
    assert catalog.truth is not None
    assert catalog.truth.counts.tolist() == [1, 1, 1]


def test_images_alone_are_a_test_set(tmp_path: Path) -> None:
    write(tmp_path, "a.jpg", "sub/b.PNG", "notes.txt")
    catalog = read(tmp_path)
    assert splits(catalog) == {"a": "test", "b": "test"}
    assert catalog.truth is None
    assert not catalog.labelled.any()


def test_without_a_table_equal_names_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    write(tmp_path, "monday/1.jpg", "tuesday/1.jpg", "tuesday/2.jpg")
    assert files(read(tmp_path)) == {
        "monday/1": "monday/1.jpg",
        "tuesday/1": "tuesday/1.jpg",
        "2": "tuesday/2.jpg",
    }


def test_with_a_table_the_first_of_two_files_is_used_and_noted(tmp_path: Path) -> None:
    write(tmp_path, "train.csv: a", "train/a.jpg", "train/copy/a.jpg")
    catalog = read(tmp_path)
    assert files(catalog) == {"a": "train/a.jpg"}
    assert [problem.kind for problem in catalog.notes] == ["ambiguous_file"]


def test_an_id_matches_a_file_in_another_case(tmp_path: Path) -> None:
    write(tmp_path, "train.csv: IMG_1", "train/img_1.jpg")
    assert files(read(tmp_path)) == {"IMG_1": "train/img_1.jpg"}


def test_a_table_alone_is_a_data_set_without_files(tmp_path: Path) -> None:
    write(tmp_path, "deep/er/train.csv: a b")
    catalog = read(tmp_path)
    assert files(catalog) == {"a": None, "b": None}
    assert catalog.labelled.all()


def test_an_empty_folder_is_a_problem_that_names_what_is_needed(tmp_path: Path) -> None:
    write(tmp_path, "notes.txt")
    problems = Problems()
    catalog = read_table_dataset(
        listed(tmp_path), IMAGE, TABLES, read_ids, problems, name=lambda path: path.stem, unnamed_are_empty=True
    )
    assert catalog is None
    [problem] = problems
    assert problem.kind == "empty_folder"
    assert problem.file == str(tmp_path)
    for word in ("train.csv", "training.csv", "val.csv", IMAGE.noun, ".jpg"):
        assert word in problem.expected


def test_a_truth_that_cannot_be_read_leaves_the_files(tmp_path: Path) -> None:
    write(tmp_path, "train.csv: a", "train/a.jpg")
    catalog = read_table_dataset(
        listed(tmp_path), IMAGE, TABLES, lambda path: None, Problems(), name=lambda path: path.stem
    )
    assert catalog is not None
    assert splits(catalog) == {"a": "train"}
    assert not catalog.labelled.any()


def test_a_data_set_inside_another_is_not_mixed_in(tmp_path: Path) -> None:
    write(tmp_path, "train.csv: a", "train/a.jpg", "old/train.csv: a z", "old/train/a.jpg", "old/train/z.jpg")
    catalog = read(tmp_path)
    assert files(catalog) == {"a": "train/a.jpg"}
    [note] = catalog.notes
    assert note.kind == "unused_table"
    assert note.file == str(tmp_path / "old" / "train.csv")


def test_the_table_nearest_to_the_top_is_chosen(tmp_path: Path) -> None:
    write(tmp_path, "deep/train.csv: a", "training.csv: b")
    problems = Problems()
    assert choose_table(listed(tmp_path), TABLES["train"], problems) == tmp_path / "training.csv"
    assert not problems


def test_of_two_names_in_a_folder_the_first_is_chosen(tmp_path: Path) -> None:
    write(tmp_path, "training.csv: b", "train.csv: a")
    problems = Problems()
    assert choose_table(listed(tmp_path), TABLES["train"], problems) == tmp_path / "train.csv"
    assert not problems


def test_equal_tables_in_two_folders_are_a_problem(tmp_path: Path) -> None:
    write(tmp_path, "one/train.csv: a", "two/train.csv: b")
    problems = Problems()
    assert choose_table(listed(tmp_path), TABLES["train"], problems) == tmp_path / "one" / "train.csv"
    [problem] = problems
    assert problem.kind == "ambiguous_table"
    assert str(tmp_path / "two" / "train.csv") in problem.found


def test_no_table_is_no_problem(tmp_path: Path) -> None:
    write(tmp_path, "a.jpg")
    problems = Problems()
    assert choose_table(listed(tmp_path), TABLES["train"], problems) is None
    assert not problems
