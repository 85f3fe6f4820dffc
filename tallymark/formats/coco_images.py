"""The images that COCO files list, matched to the image files in a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from tallymark.core.problems import Problem, Problems
from tallymark.formats.entries import Entry, base_name
from tallymark.io.finder import Finder
from tallymark.io.folders import Folder, distinct_names, split_of_path
from tallymark.io.images import IMAGE

S = TypeVar("S")


@dataclass
class CocoFile(Generic[S]):
    """The contents of one COCO file.

    names, lines, sizes: columns of its images: file name, line, (width, height) in pixels or nan.
    image, shape, category, line: columns of its objects: position in `names`, shape, class name, line.
    categories: the names of all its categories. labelled: whether it has annotations at all.
    """

    path: Path
    split: str
    names: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    sizes: list[tuple[float, float]] = field(default_factory=list)
    image: list[int] = field(default_factory=list)
    shape: list[S] = field(default_factory=list)
    category: list[str] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    labelled: bool = True


def match_images(
    files: Sequence[CocoFile[S]], listed: Folder, notes: Problems, problems: Problems
) -> tuple[list[Entry], dict[tuple[int, int], int]]:
    """An entry for each image, and the position of the entry of each (file, image).

    The id of an image is its `file_name`, or its path in the folder where several COCO files use the same name.
    Images that no file lists come last, as unlabelled entries.
    """
    paths = listed.ending(IMAGE.suffixes)
    finder = Finder(paths, listed.root)
    uses = Counter(name for file in files for name in file.names)
    entries: list[Entry] = []
    entry_of: dict[tuple[int, int], int] = {}
    claimed: dict[Path | str, int] = {}
    for at, file in enumerate(files):
        base_names = Counter(base_name(name) for name in file.names)
        for image, name in enumerate(file.names):
            unique = base_names[base_name(name)] == 1
            shared = uses[name] > 1
            path = _find_image(name, file, finder, listed, notes, unique=unique, shared=shared)
            entry = claimed.setdefault(path or name, len(entries))
            entry_of[at, image] = entry
            if entry < len(entries):
                problems.add(_listed_twice(name, file, file.lines[image]))
                continue
            key = path.relative_to(listed.root).as_posix() if path and shared else name
            entries.append(Entry(key, path, file.split, file.path, file.labelled, file.lines[image]))
    unlisted = [path for path in paths if path not in claimed]
    return entries + _unlabelled(unlisted, {entry.id for entry in entries}, listed.root), entry_of


def _find_image(
    name: str, file: CocoFile[S], finder: Finder, listed: Folder, notes: Problems, *, unique: bool, shared: bool
) -> Path | None:
    """The image file that a COCO file refers to by `name`; None if there is none, or more than one.

    unique: whether the name without folders occurs once in the COCO file, so that it suffices.
    shared: whether several COCO files use the name: then only images of the file's split match.
    """
    found = finder.candidates(name, file.path.parent, file.split, whole=not unique)
    if shared:
        found = [path for path in found if split_of_path(path, listed.root, file.split) == file.split]
    if len(found) > 1:
        candidates = " and ".join(path.relative_to(listed.root).as_posix() for path in found[:3])
        expected = f"one image '{name}'"
        remedy = "write file_name with its folder"
        notes.add(Problem("ambiguous_file", str(file.path), candidates, expected, remedy, item=name))
    return found[0] if len(found) == 1 else None


def _listed_twice(name: str, file: CocoFile[S], line: int) -> Problem:
    expected = "every image in one file only"
    remedy = "remove it from one of the two"
    return Problem("duplicate_item", str(file.path), f"{name} again", expected, remedy, line=line, item=name)


def _unlabelled(paths: list[Path], taken: set[str], root: Path) -> list[Entry]:
    """Entries of images that no COCO file lists; `taken` are the ids of those that are listed."""
    entries = []
    for path, name in distinct_names(paths, root, lambda path: path.name).items():
        key = path.relative_to(root).as_posix() if name in taken else name
        entries.append(Entry(key, path, split_of_path(path, root), None, labelled=False))
    return entries
