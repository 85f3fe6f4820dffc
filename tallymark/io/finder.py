"""Find the files that tables name, with or without their folders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from tallymark.io.folders import normalize_name, split_of_path


class Finder:
    """Files by the names in tables: by the whole path, else by the file name if it is unique.

    Backslashes count as slashes. If there is no exact match, upper and lower case and the Unicode form of accents are
    ignored: a.WAV is found as a.wav.
    """

    def __init__(self, paths: Sequence[Path], root: Path) -> None:
        self._root = root
        self._by_name: dict[str, list[Path]] = defaultdict(list)
        for path in paths:
            self._by_name[normalize_name(path.name)].append(path)
        self._by_end: dict[tuple[str, int], dict[str, list[Path]]] = {}

    def candidates(
        self, name: str, near: Path | None = None, split: str | None = None, *, whole: bool = False
    ) -> list[Path]:
        """The files that match a name: one, none, or several if it is ambiguous.

        near, split: of several matches, those in this folder and of this split are preferred.
        whole: whether the folders before the name have to match too.
        """
        wanted = PurePosixPath(name.replace("\\", "/"))
        similar = self._by_name.get(normalize_name(wanted.name), [])
        below = self._ending(similar, wanted)
        matches = [path for path in below if path.name == wanted.name]
        if not matches:
            exact = [path for path in similar if path.name == wanted.name]
            matches = ([] if exact else below) or ([] if whole else exact or similar)
        tests: list[Callable[[Path], bool]] = [
            lambda path: split is not None and split_of_path(path, self._root, split) == split,
            lambda path: path.parent == near,
        ]
        for test in tests:
            if len(matches) > 1:
                matches = [path for path in matches if test(path)] or matches
        return matches

    def _ending(self, similar: list[Path], wanted: PurePosixPath) -> list[Path]:
        """Of the files with a name, those whose path ends with these folders and it, in any spelling.

        They are looked up: thousands may have one name, as `1.jpg` in the folder of every class.
        """
        count = len(wanted.parts)
        if count < 2 or not similar:
            return similar
        key = normalize_name(wanted.name), count
        if key not in self._by_end:
            ends: dict[str, list[Path]] = defaultdict(list)
            for path in similar:
                ends[normalize_name(str(Path(*path.parts[-count:])))].append(path)
            self._by_end[key] = ends
        return self._by_end[key].get(normalize_name(str(Path(wanted))), [])
