"""Folders of data sets: their files, splits and names."""

from __future__ import annotations

import fnmatch
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from tallymark.core.problems import Problem, Problems, printable
from tallymark.io import recent_listings
from tallymark.io.archive_listing import HIDDEN, as_unpacked, list_archives
from tallymark.io.archives import SUFFIX, is_archive, is_file, is_folder, packed_table
from tallymark.io.names import NOT_UTF8, UNUSABLE, bad_name, usable_files
from tallymark.io.regular import found_at
from tallymark.io.retries import may_pass, retry
from tallymark.io.suffixes import AUDIO_SUFFIXES, IMAGE_SUFFIXES, LIDAR_SUFFIXES

UNLISTED = "unreadable_folder"


@dataclass(frozen=True)
class Folder:
    """All files below a folder, those in zip archives too, sorted, without hidden ones; listed once.

    notes: what cannot be listed or read, or has a name that cannot be an id.
    remarks: archives that are not needed, since their files lie beside them.
    """

    root: Path
    files: tuple[Path, ...]
    notes: tuple[Problem, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def unlisted(self) -> list[Problem]:
        """The folders in it that cannot be listed."""
        return [note for note in self.notes if note.kind == UNLISTED]

    def named(self, *names: str) -> list[Path]:
        """Files with one of these names, those nearest to the root first, then in the order of the names."""
        rank = {name: at for at, name in enumerate(names)}
        found = [path for path in self.files if path.name in rank]
        return sorted(found, key=lambda path: (len(path.parts), rank[path.name], path))

    def ending(self, suffixes: Iterable[str]) -> list[Path]:
        """Files with one of these suffixes."""
        wanted = set(suffixes)
        return [path for path in self.files if path.suffix.lower() in wanted]

    def below(self, folder: Path) -> Folder:
        """The files below a subfolder."""
        start = f"{folder}{os.sep}"
        return Folder(folder, tuple(path for path in self.files if str(path).startswith(start)))


def open_folder(path: Path, problems: Problems) -> Folder | None:
    """List a folder, or an archive; a media file is a folder of that file only. None, with a problem, without any."""
    if NOT_UTF8.search(str(path)):
        remedy = "rename it, or change into it and name it ."
        problems.add(replace(bad_name(path), expected="a folder with a name in UTF-8", remedy=remedy))
        return None
    if not path.is_dir():
        if is_folder(path):
            return _open_archive(path)
        if is_media_file(path):
            files, odd = usable_files([str(path)], path.parent)
            return Folder(path.parent, _sorted_paths(files), tuple(odd))
        problems.add(Problem("no_folder", str(path), found_at(path), "a folder", "check the path"))
        return None

    if (listed := recent_listings.get(path)) is None:
        with recent_listings.remember(path) as remember:
            listed = remember.folder = _list_folder(path, remember.places)
            remember.whole = not listed.unlisted
    if whole := [note for note in listed.unlisted if note.file == printable(str(path))]:
        problems.add(whole[0])  # nothing is known about it: not a folder without files
        return None
    return listed


def _list_folder(path: Path, places: list[str]) -> Folder:
    """List a folder. places: is filled with all folders and archives in it."""
    files: list[str] = []
    errors: list[OSError] = []

    def walk() -> None:
        for filled in (files, errors, places):
            filled.clear()
        for place, folders, names in os.walk(path, onerror=errors.append, followlinks=True):
            visible = sorted(name for name in folders if not name.startswith(HIDDEN))
            folders[:] = [name for name in visible if not is_cycle(path, Path(place, name))]
            places.append(place)
            files.extend([os.path.join(place, name) for name in names if not name.startswith(".")])  # noqa: PTH118  # fast
        if passing := [error for error in errors if may_pass(error)]:
            raise passing[0]

    with suppress(OSError):  # what cannot be listed to the end is said, and the rest is used
        retry(walk)
    notes = [_unlisted(error) for error in errors]
    files, odd = usable_files(files, path)
    archives = [file for file in files if file.lower().endswith(SUFFIX)]
    places += archives
    unpacked = [file for file in files if not file.lower().endswith(SUFFIX)] if archives else files
    packed = list_archives(sorted(archives), unpacked)
    members, odd_members = usable_files(packed.files, path)
    notes += [*odd, *packed.notes, *odd_members]
    return Folder(path, _sorted_paths(unpacked + members), tuple(notes), tuple(packed.remarks))


def _unlisted(error: OSError) -> Problem:
    found, remedy = (error.strerror or type(error).__name__).lower(), "change its permissions, or check the disk"
    return Problem(UNLISTED, printable(str(error.filename)), found, "a folder that can be listed", remedy)


def _sorted_paths(files: list[str]) -> tuple[Path, ...]:
    """Paths in the order of their parts; texts are much faster to sort."""
    return tuple(map(Path, sorted(files, key=lambda file: file.replace(os.sep, "\0"))))


def is_media_file(path: str | Path) -> bool:
    """Whether a path is that of an image, a recording or a sweep, which stands for a folder of it alone."""
    suffixes = IMAGE_SUFFIXES | AUDIO_SUFFIXES | LIDAR_SUFFIXES
    return Path(path).suffix.lower() in suffixes and is_file(path)


def _open_archive(path: Path) -> Folder:
    """The files of an archive, or of a folder in one."""
    archive = next(place for place in (path, *path.parents) if is_archive(place))
    packed = list_archives([str(archive)], [])
    members, odd = usable_files(packed.files, archive)
    whole = Folder(archive, _sorted_paths(members), (*packed.notes, *odd))
    return whole if archive == path else whole.below(path)


def is_cycle(root: Path, folder: Path) -> bool:
    """Whether a folder is a symbolic link to one that contains it."""
    if not folder.is_symlink():
        return False
    target = folder.resolve()
    above = [root, *(parent for parent in folder.parents if parent.is_relative_to(root))]
    return any(parent.resolve().is_relative_to(target) for parent in above)


def subfolders(folder: Path) -> list[Path]:
    """The folders in a folder whose files are listed, sorted; none if it cannot be listed."""
    try:
        folders = [path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(HIDDEN)]
    except OSError:
        return []
    return sorted(path for path in folders if not UNUSABLE.search(path.name))


def media_files(folder: Path, suffixes: set[str], problems: Problems) -> list[Path]:
    """All files with these suffixes, at any depth, sorted, without hidden ones. None at all is a problem."""
    listed = open_folder(folder, problems)
    found = [] if listed is None else listed.ending(suffixes)
    for note in () if listed is None else listed.unlisted:
        problems.add(note)
    if listed is not None and not found:
        expected = f"files ending in {', '.join(sorted(suffixes))}"
        problems.add(Problem("empty_folder", str(folder), "none", expected, "name the folder that holds them"))
    return found


def normalize_name(name: str) -> str:
    """A name for comparison: in lower case, and with accents in one Unicode form (macOS writes é as two characters)."""
    return unicodedata.normalize("NFC", name).casefold()


def distinct_names(paths: Sequence[Path], root: Path, name: Callable[[Path], str]) -> dict[Path, str]:
    """An id for each file: `name(path)`, preceded by its folders below the root where several files share it."""
    short = {path: name(path) for path in paths}
    shared = Counter(short.values())
    return {
        path: word if shared[word] == 1 else (relative_path(path, root).parent / word).as_posix()
        for path, word in short.items()
    }


def relative_names(paths: Iterable[Path], root: Path) -> list[str]:
    """The paths of files below the root, with slashes."""
    start = f"{root}{os.sep}"  # texts are much faster than paths
    texts = ((path, str(path)) for path in paths)
    return [
        text[len(start) :].replace(os.sep, "/") if text.startswith(start) else path.relative_to(root).as_posix()
        for path, text in texts
    ]


def relative_path(path: Path, root: Path) -> Path:
    """The path of a file below the root; that of a file in an archive is the same as after unpacking."""
    return as_unpacked(path.relative_to(root))


def test_folder(folder: Path) -> Path:
    """The folder of a data set that a submission is about: its test folder, or archive, if there is exactly one."""
    tests = {path for path in subfolders(folder) if path.name.startswith("test")}
    if not tests:
        listed = open_folder(folder, Problems())
        for file in () if listed is None else listed.files:
            top, *below = file.relative_to(folder).parts
            if top.startswith("test") and below:
                tests.add(folder / top)
            elif top.lower().endswith(SUFFIX) and len(below) > 1 and below[0].startswith("test"):
                tests.add(folder / top / below[0])
    tests = {path for path in tests if is_folder(path)}
    return tests.pop() if len(tests) == 1 else folder


def tables_at(folder: Path, pattern: str) -> list[Path]:
    """The tables at the top of a folder or an archive whose names match a pattern, also those packed by themselves."""
    if folder.is_dir():
        plain = _matching(folder, pattern)
        packed = [packed_table(path) for path in _matching(folder, f"{pattern}{SUFFIX}")]
        known = {path.name for path in plain}
        return plain + [path for path in packed if path is not None and path.name not in known]
    listed = open_folder(folder, Problems())
    return [] if listed is None else [path for path in listed.files if path.parent == folder and path.match(pattern)]


def _matching(folder: Path, pattern: str) -> list[Path]:
    """What a folder has under names of a pattern, sorted; nothing if it cannot be listed."""
    try:
        names = fnmatch.filter((path.name for path in folder.iterdir()), pattern)
    except OSError:
        return []
    return [folder / name for name in sorted(names)]


def split_of_path(path: Path, root: Path, default: str = "train") -> str:
    """The split of a file, by the outermost folder that names one: train, val or test."""
    return _split_of_folder(os.path.dirname(path), root) or default  # noqa: PTH120  # fast


@lru_cache(maxsize=1_000)
def _split_of_folder(folder: str, root: Path) -> str | None:
    """The same for the folder that many files are in; None if no folder names a split."""
    splits = map(names_a_split, Path(folder).relative_to(root).parts)
    return next((split for split in splits if split is not None), None)


def names_a_split(folder: str) -> str | None:
    """The split that a folder is named after: train, val or test."""
    word = FIRST_WORD.match(folder.lower())
    return SPLIT_WORDS.get(word[1]) if word else None


FIRST_WORD = re.compile(r"(?:v\d+\.\d+-)?([a-z]+)")
"""After the version of the data set, which nuScenes has in the names of its folders: `v1.0-test`."""
SPLIT_WORDS = {
    "train": "train", "training": "train",
    "val": "val", "valid": "val", "validation": "val", "dev": "val", "development": "val",
    "test": "test", "testing": "test", "eval": "test", "evaluation": "test",
}  # fmt: skip
"""First words of the names of folders of a split: `val_set` is one, `valley_farm` is not."""
