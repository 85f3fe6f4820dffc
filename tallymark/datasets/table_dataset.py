"""How a data set lies in a folder: which tables there are, which media belong to them, and to which part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tallymark.core.problems import EVERY, Problem, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog, Split, concat_splits, file_ids
from tallymark.io.folders import Folder, distinct_names, split_of_path
from tallymark.io.media import Medium

ReadTruth = Callable[[Path], Annotations[Any] | None]


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
    """A data set of tables and media: `tables` has the names that a part's table may have, the best first.

    name: the id of a file; without a table, files of several folders may share it, and these are told apart by their
    folders. unnamed_are_empty: whether a file without a row is known to hold nothing.
    None if there is neither a table nor a file.
    """
    chosen = {part: choose_table(listed, names, problems) for part, names in tables.items()}
    found = {part: path for part, path in chosen.items() if path is not None}
    every_name = [word for names in tables.values() for word in names]
    notes = Problems(EVERY)
    media = _without_other_sets(listed, set(found.values()), every_name, notes).ending(medium.suffixes)
    by_part: dict[str, list[Path]] = {part: [] for part in ("train", "val", "test")}
    own_name = name if found else distinct_names(media, listed.root, name).__getitem__
    for path in media:
        by_part[split_of_path(path, listed.root, "train" if found else "test")].append(path)
    parts = []
    for part, paths in by_part.items():
        table = found.get(part)
        truth = None if table is None else read_truth(table)
        if paths or truth is not None:
            parts.append(Split(part, file_ids(paths, own_name, notes, _ids(truth)), truth, table, unnamed_are_empty))
    if not parts:
        report_nothing(listed, medium, every_name, problems)
        return None
    catalog = concat_splits(listed.root, medium, parts, problems)
    catalog.notes.merge(notes)
    return catalog


def _ids(truth: Annotations[Any] | None) -> list[str]:
    return [] if truth is None else truth.items.ids.to_list()


def report_nothing(listed: Folder, medium: Medium, tables: Sequence[str], problems: Problems) -> None:
    """Say what would have been used."""
    wanted = [*tables, f"{medium.noun}s ({', '.join(sorted(medium.suffixes))})"]
    expected = " or ".join(wanted)
    problems.add(Problem("empty_folder", str(listed.root), "none", expected, "name the folder that holds them"))


def choose_table(listed: Folder, names: Sequence[str], problems: Problems) -> Path | None:
    """The table of one of these names that is nearest to the top; two in different folders are a problem."""
    candidates = listed.named(*names)
    if not candidates:
        return None
    first = candidates[0]
    rivals = [path for path in candidates if len(path.parts) == len(first.parts) and path.parent != first.parent]
    if rivals:
        found = f"also {rivals[0]}"
        problems.add(Problem("ambiguous_table", str(first), found, "one such table", "name the folder of one of them"))
    return first


def _without_other_sets(listed: Folder, tables: set[Path], names: Sequence[str], notes: Problems) -> Folder:
    """The files but for those in folders that have such a table of their own, which is noted."""
    used = {table.parent for table in tables}
    others = [path for path in listed.named(*names) if path.parent not in used]
    for path in others:
        found, expected = "another set, below the one that is read", "one set in a folder"
        notes.add(Problem("unused_table", str(path), found, expected, "nothing, or name its folder to read that set"))
    strange = {path.parent for path in others}
    return Folder(listed.root, tuple(path for path in listed.files if not strange.intersection(path.parents)))
