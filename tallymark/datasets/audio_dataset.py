"""Data sets of recordings and tables of their events, joined by file names with or without folders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tallymark.core.problems import EVERY, Problem, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog, Split, concat_splits
from tallymark.data.recording_clock import DATE
from tallymark.data.recording_days import grouped_by_day
from tallymark.datasets.clips import as_clips
from tallymark.geometry import Geometry
from tallymark.io.finder import Finder
from tallymark.io.folders import Folder, relative_path, split_of_path
from tallymark.io.media import Medium


def read_audio_dataset(
    listed: Folder,
    medium: Medium,
    tables: Sequence[Path],
    read_truth: Callable[[Path], Annotations[Geometry] | None],
    problems: Problems,
) -> Catalog | None:
    """A data set of recordings and tables; recordings that no table of their split names have no events.

    If two tables name the same recording, the one with more recordings is used, and the other is noted. Further
    recordings of that one, and those that an ambiguous name may mean, are unlabelled.
    """
    recordings = listed.ending(medium.suffixes)
    notes = Problems(EVERY)
    annotated = [(path, truth) for path in tables if (truth := read_truth(path)) is not None]
    annotated.sort(key=lambda pair: -len(pair[1].items))
    finder = Finder(recordings, listed.root)
    taken: dict[Path, Path] = {}
    splits: list[Split] = []
    unknown: set[Path] = set()
    for table, truth in annotated:
        split, ambiguous = _split(table, truth, finder, listed.root, notes)
        unknown |= ambiguous
        rivals = sorted({taken[path].name for path in split.files.values() if path in taken})
        if rivals:
            found = f"recordings that {', '.join(rivals)} names too"
            _note_unused(table, found, "each recording in one table", notes)
            unknown |= set(split.files.values())
            continue
        if not split.files and len(annotated) > 1 and recordings:
            _note_unused(table, f"none of its {len(truth.items)} recordings is here", "recordings of the folder", notes)
            continue
        taken |= dict.fromkeys(split.files.values(), table)
        splits.append(split)
    splits = _with_unnamed(splits, [path for path in recordings if path not in taken], unknown, listed.root)
    if not splits:
        expected = f"recordings ({', '.join(sorted(medium.suffixes))}) or tables of events"
        problems.add(Problem("empty_folder", str(listed.root), "none", expected, "name the folder that holds them"))
        return None
    catalog = concat_splits(listed.root, medium, splits, problems)
    catalog.notes.merge(notes)
    if catalog.truth is not None and catalog.truth.weak:
        return as_clips(catalog)
    return grouped_by_day(catalog)


def _split(
    table: Path, truth: Annotations[Geometry], finder: Finder, root: Path, notes: Problems
) -> tuple[Split, set[Path]]:
    """The names in a table with their recordings: by the whole path, else by the file name if it is unique.

    Of names that are not, the recordings that they may mean come second.
    """
    files: dict[str, Path] = {}
    ambiguous: set[Path] = set()
    for name in truth.items.ids:
        candidates = finder.candidates(name)
        if len(candidates) == 1:
            files[name] = candidates[0]
        elif candidates:
            ambiguous.update(candidates)
            found = " and ".join(str(relative_path(path, root)) for path in candidates[:3])
            remedy = "put the folder before the name"
            notes.add(Problem("ambiguous_file", str(table), found, f"one recording '{name}'", remedy, item=name))
    names = {split_of_path(path, root) for path in files.values()}
    name = names.pop() if len(names) == 1 else "train"
    return Split(name, files, truth, table, unnamed_are_empty=not truth.weak), ambiguous


def _with_unnamed(splits: list[Split], unnamed: list[Path], unknown: set[Path], root: Path) -> list[Split]:
    """With recordings that no table names, in the split of their folder; without any table that is test.

    unknown: those that may have events all the same, which are unlabelled.
    """
    default = "train" if splits else "test"
    taken = {name for split in splits if split.truth is not None for name in split.truth.items.ids}
    for path in unnamed:
        name = split_of_path(path, root, default)
        fitting = (one for one in splits if one.name == name and not (path in unknown and one.unnamed_are_empty))
        split = next(fitting, None)
        if split is None:
            split = Split(name, {})
            splits.append(split)
        own = _name(path, root)
        own = relative_path(path, root).as_posix() if own in taken else own
        taken.add(own)
        split.files[own] = path
    return splits


def _name(path: Path, root: Path) -> str:
    """The file name, preceded by its folder if the name of that has a date."""
    folder = relative_path(path, root).parent.name
    return f"{folder}/{path.name}" if DATE.search(folder) else path.name


def _note_unused(table: Path, found: str, expected: str, notes: Problems) -> None:
    remedy = "none, if the other table is right; else remove that one"
    notes.add(Problem("unused_table", str(table), found, expected, remedy))
