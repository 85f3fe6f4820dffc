"""Class subfolders, the usual layout for classification: `apple_pie/x.jpg`, or `train/apple_pie/x.jpg` with splits."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from tallymark.core.problems import Problem, Problems, nearest
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog, Split, concat_splits
from tallymark.data.items import Items
from tallymark.geometry import Labels
from tallymark.io.folders import (
    SPLIT_WORDS,
    Folder,
    distinct_names,
    names_a_split,
    relative_path,
    subfolders,
)
from tallymark.io.media import Medium

SPLIT_FOLDER = re.compile(f"(?:{'|'.join(SPLIT_WORDS)})(?:_set|_images)?", re.IGNORECASE)
"""A folder that is a whole split, and whose neighbours may be others."""
Parts = tuple[str, ...]


def read_class_folders(listed: Folder, medium: Medium, names: Sequence[str], problems: Problems) -> Catalog | None:
    """A data set whose labels are the names of folders; None if the folders do not look like classes.

    The class of a file is the first folder below its split, or below folders that all files share. Files without such
    a folder are unlabelled. Ids are file names, preceded by their folders where several files have the same name.

    Parameters
    ----------
    names: the classes in order, where a list of them is known: folders are named by a class or its number, and others
        are problems. Without a list, the folders in alphabetical order are the classes, and there must be at least two.
    """
    media = listed.ending(medium.suffixes)
    if not media:
        return None
    one_of = {os.path.dirname(path): path for path in media}  # noqa: PTH120  # fast
    parts_of = {folder: relative_path(path, listed.root).parts[:-1] for folder, path in one_of.items()}
    splits_of = _SplitFolders(parts_of.values())
    divided = {folder: splits_of.divide(parts) for folder, parts in parts_of.items()}
    by_split: dict[str, dict[Path, Parts]] = {}
    for path in media:
        split, below = divided[os.path.dirname(path)]  # noqa: PTH120  # as above
        by_split.setdefault(split, {})[path] = below
    folder_of = {path: name for paths in by_split.values() for path, name in _class_folders(paths).items()}
    used = sorted(set(folder_of.values()))
    classes = tuple(names) or tuple(sorted({*used, *_beside(listed.root)}))
    number = _numbers(used, classes)
    if (not number if names else len(classes) < 2) or 2 * len(folder_of) < len(media):
        return None
    for unknown in sorted(set(used) - set(number)):
        place = next(path.parent for path, name in folder_of.items() if name == unknown)
        problems.add(
            Problem("unknown_class", str(place), unknown, "a folder named by a class", nearest(unknown, classes))
        )
    ids = distinct_names(media, listed.root, lambda path: path.name)
    splits = []
    for split in sorted(by_split, key=("train", "val", "test").index):
        paths = list(by_split[split])
        labelled = [path for path in paths if folder_of.get(path) in number]
        label = np.array([number[folder_of[path]] for path in labelled], np.int64)
        items = Items.of([ids[path] for path in labelled])
        truth = Annotations.from_rows(items, np.arange(len(label)), Labels(label), label=label, classes=classes)
        splits.append(Split(split, {ids[path]: path for path in paths}, truth))
    return concat_splits(listed.root, medium, splits, problems)


class _SplitFolders:
    """Which folders are splits: those called `train`, `val_set` and the like; others only beside nothing but splits.

    So `train_2019` is one beside `test_2019`, and a class beside `airport`, as `train_station` is.
    """

    def __init__(self, folders: Iterable[Parts]) -> None:
        self._inside: dict[Parts, set[str]] = {}
        for parts in set(folders):
            for at, name in enumerate(parts):
                self._inside.setdefault(parts[:at], set()).add(name)

    def divide(self, parts: Parts) -> tuple[str, Parts]:
        """The split of a folder, and the folders below that of the split."""
        for at, name in enumerate(parts):
            split = names_a_split(name)
            if split and (SPLIT_FOLDER.fullmatch(name) or all(map(names_a_split, self._inside[parts[:at]]))):
                return split, parts[at + 1 :]
        return "train", parts


def _class_folders(paths: Mapping[Path, Parts]) -> dict[Path, str]:
    """The class folder of each file of one split, where it has one. paths: with the folders below that of the split."""
    below = dict(paths)
    tails = set(below.values())
    while len(tails) > 1 and all(len(tail) > 1 for tail in tails) and len({tail[0] for tail in tails}) == 1:
        tails = {tail[1:] for tail in tails}
        below = {path: tail[1:] for path, tail in below.items()}
    return {path: tail[0] for path, tail in below.items() if tail}


def _beside(root: Path) -> set[str]:
    """Of a folder that is one split of a data set: the class folders of all its splits, so that numbers agree."""
    if not root.is_dir() or not SPLIT_FOLDER.fullmatch(root.resolve().name):
        return set()
    splits = [folder for folder in subfolders(root.resolve().parent) if SPLIT_FOLDER.fullmatch(folder.name)]
    return {folder.name for split in splits for folder in subfolders(split)}


def _numbers(folders: Sequence[str], classes: Sequence[str]) -> dict[str, int]:
    """The class number of each folder that is named by a class, in any spelling, or by its number."""
    by_name = {_plain(name): number for number, name in enumerate(classes)}
    by_name = {**{str(number): number for number in range(len(classes))}, **by_name}
    return {name: by_name[_plain(name)] for name in folders if _plain(name) in by_name}


def _plain(name: str) -> str:
    """A class name in lower case, with underscores between its words."""
    return re.sub(r"[\s_-]+", "_", name.strip()).casefold()
