"""Finding the files that tables name, whatever stands in front of their names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from tallymark.io.folders import normalize_name, split_of_path


class Finder:
    """Files by the names that tables give them: by the whole path, else by the bare name if only one has it.

    Slashes may lean either way, and a.WAV serves for a.wav if that is not there, as does another way to write é.
    """

    def __init__(self, paths: Sequence[Path], root: Path) -> None:
        self._root, self._by_name = root, defaultdict(list)
        for path in paths:
            self._by_name[normalize_name(path.name)].append(path)

    def candidates(
        self, name: str, near: Path | None = None, part: str | None = None, *, whole: bool = False
    ) -> list[Path]:
        """The files that a name may mean: one, none, or several rivals.

        near, part: of rivals, those in this folder and of this part are meant.
        whole: whether the folders in front of the name have to fit too.
        """
        wanted = PurePosixPath(name.replace("\\", "/"))
        alike = self._by_name.get(normalize_name(wanted.name), [])
        same = [path for path in alike if path.name == wanted.name] or alike
        tests: list[Callable[[Path], bool]] = [
            lambda path: _ends(path, wanted),
            lambda path: part is not None and split_of_path(path, self._root, part) == part,
            lambda path: path.parent == near,
        ]
        if whole:
            same = [path for path in same if tests[0](path)]
        for fits in tests:
            if len(same) > 1:
                same = [path for path in same if fits(path)] or same
        return same


def _ends(path: Path, wanted: PurePosixPath) -> bool:
    """Whether a path ends with these folders and this name, however they are written."""
    return normalize_name(str(Path(*path.parts[-len(wanted.parts) :]))) == normalize_name(str(Path(wanted)))
