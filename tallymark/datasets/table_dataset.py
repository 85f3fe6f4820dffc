"""Data sets of CSV tables and media files: which tables there are, their media, and their splits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tallymark.core.problems import EVERY, Problem, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog, Split, concat_splits, file_ids
from tallymark.datasets.named_files import ids_of_files
from tallymark.geometry import Geometry
from tallymark.io.folders import Folder, distinct_names, split_of_path
from tallymark.io.media import Medium

ReadTruth = Callable[[Path], Annotations[Geometry] | None]


def read_table_dataset(
    listed: Folder,
    medium: Medium,
    tables: Mapping[str, Sequence[str]],
    read_truth: ReadTruth,
    problems: Problems,
    *,
    name: Callable[[Path], str],
    unnamed_are_empty: bool = False,
) -> Catalog | None:
    """A data set of tables and media; None if there is neither a table nor a file.

    Parameters
    ----------
    tables: for each split the names that its table may have, the preferred one first.
    name: the id of a file; without a table, files of the same id are distinguished by their folders.
    unnamed_are_empty: whether a file without a row is known to have no objects.
    """
    chosen = {split: choose_table(listed, names, problems) for split, names in tables.items()}
    present = {split: path for split, path in chosen.items() if path is not None}
    all_names = [name for names in tables.values() for name in names]
    notes = Problems(EVERY)
    media = _without_nested_sets(listed, set(present.values()), all_names, notes).ending(medium.suffixes)
    by_split: dict[str, list[Path]] = {split: [] for split in ("train", "val", "test")}
    distinct = {} if present else distinct_names(media, listed.root, name)
    for path in media:
        by_split[split_of_path(path, listed.root, "train" if present else "test")].append(path)
    splits = []
    for split, paths in by_split.items():
        table = present.get(split)
        truth = None if table is None else read_truth(table)
        if paths or truth is not None:
            own = distinct or ids_of_files(paths, listed.root, name, _ids(truth))
            files = file_ids(paths, own.__getitem__, notes, _ids(truth))
            splits.append(Split(split, files, truth, table, unnamed_are_empty))
    if not splits:
        _report_empty(listed, medium, all_names, problems)
        return None
    catalog = concat_splits(listed.root, medium, splits, problems)
    catalog.notes.merge(notes)
    return catalog


def _ids(truth: Annotations[Geometry] | None) -> list[str]:
    return [] if truth is None else truth.items.ids.to_list()


def _report_empty(listed: Folder, medium: Medium, tables: Sequence[str], problems: Problems) -> None:
    """A problem that lists the files that would have been used."""
    usable = [*tables, f"{medium.noun}s ({', '.join(sorted(medium.suffixes))})"]
    expected = " or ".join(usable)
    problems.add(Problem("empty_folder", str(listed.root), "none", expected, "name the folder that holds them"))


def choose_table(listed: Folder, names: Sequence[str], problems: Problems) -> Path | None:
    """The table of one of these names that is nearest to the root; two in different folders are a problem."""
    candidates = listed.named(*names)
    if not candidates:
        return None
    first = candidates[0]
    rivals = [path for path in candidates if len(path.parts) == len(first.parts) and path.parent != first.parent]
    if rivals:
        found = f"also {rivals[0]}"
        problems.add(Problem("ambiguous_table", str(first), found, "one such table", "name the folder of one of them"))
    return first


def _without_nested_sets(listed: Folder, tables: set[Path], names: Sequence[str], notes: Problems) -> Folder:
    """The files, except those in subfolders with such a table of their own, which is noted."""
    used = {table.parent for table in tables}
    others = [path for path in listed.named(*names) if path.parent not in used]
    for path in others:
        found, expected = "another data set, nested in this one", "one data set in a folder"
        notes.add(Problem("unused_table", str(path), found, expected, "none, or name its folder to read that data set"))
    if not others:
        return listed
    nested = {path.parent for path in others}
    return Folder(listed.root, tuple(path for path in listed.files if not nested.intersection(path.parents)))
