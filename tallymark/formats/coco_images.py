"""The pictures that COCO files list, joined to those in a folder."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tallymark.core.problems import Problem, Problems
from tallymark.formats.entries import Entry, bare_name
from tallymark.io.finder import Finder
from tallymark.io.folders import Folder, distinct_names, split_of_path
from tallymark.io.images import IMAGE


@dataclass
class File:
    """One COCO file: its pictures, and the objects in them as columns."""

    path: Path
    split: str
    names: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    sizes: list[tuple[float, float]] = field(default_factory=list)
    image: list[int] = field(default_factory=list)
    shape: list[Any] = field(default_factory=list)
    kind: list[str] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    labelled: bool = True


def join_pictures(
    files: list[File], listed: Folder, notes: Problems, problems: Problems
) -> tuple[list[Entry], dict[tuple[int, int], int]]:
    """An entry for each picture, and the number of the entry of each (file, image).

    Pictures are known by `file_name`, and by their path below the folder where several files state the same name.
    """
    pictures = listed.ending(IMAGE.suffixes)
    finder = Finder(pictures, listed.root)
    shared = Counter(name for file in files for name in file.names)
    entries: list[Entry] = []
    position: dict[tuple[int, int], int] = {}
    claimed: dict[Path | str, int] = {}
    for at, file in enumerate(files):
        bare = Counter(bare_name(name) for name in file.names)
        for image, name in enumerate(file.names):
            alone = bare[bare_name(name)] == 1
            path = _picture(name, file, finder, listed, notes, alone=alone, shared=shared[name] > 1)
            mine = position[at, image] = claimed.setdefault(path or name, len(entries))
            if mine < len(entries):
                expected, remedy = "every picture in one file only", "remove it from one of the two"
                place, line = str(file.path), file.lines[image]
                problems.add(Problem("duplicate_item", place, f"{name} again", expected, remedy, line=line, item=name))
                continue
            key = path.relative_to(listed.root).as_posix() if path and shared[name] > 1 else name
            entries.append(Entry(key, path, file.split, file.path, file.labelled, file.lines[image]))
    return entries + _rest(pictures, claimed, entries, listed.root), position


def _picture(
    name: str, file: File, finder: Finder, listed: Folder, notes: Problems, *, alone: bool, shared: bool
) -> Path | None:
    """The picture that a file means by a name; None if there is none, or more than one.

    A bare name is enough where it is `alone` in the file; one that is `shared` by files means a picture of its part.
    """
    found = finder.candidates(name, file.path.parent, file.split, whole=not alone)
    if shared:
        found = [path for path in found if split_of_path(path, listed.root, file.split) == file.split]
    if len(found) > 1:
        rivals = " and ".join(path.relative_to(listed.root).as_posix() for path in found[:3])
        expected, remedy = f"one picture '{name}'", "write file_name with its folder in front"
        notes.add(Problem("ambiguous_file", str(file.path), rivals, expected, remedy, item=name))
    return found[0] if len(found) == 1 else None


def _rest(pictures: list[Path], claimed: dict[Path | str, int], entries: list[Entry], root: Path) -> list[Entry]:
    """Entries of pictures that no file lists: nothing is known of them."""
    taken = {entry.id for entry in entries}
    rest = distinct_names([path for path in pictures if path not in claimed], root, lambda path: path.name)
    return [
        Entry(
            path.relative_to(root).as_posix() if name in taken else name, path, split_of_path(path, root), None, False
        )
        for path, name in rest.items()
    ]
