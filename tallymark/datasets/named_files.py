"""Which file a table means by an id: with or without folders, and with or without its suffix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from tallymark.io.finder import Finder
from tallymark.io.folders import distinct_names


def ids_of_files(
    paths: Sequence[Path], root: Path, name: Callable[[Path], str], known: Sequence[str]
) -> dict[Path, str]:
    """An id for each file: that of the table, if it names the file, else `name(path)`.

    Of files that the table does not name, several may have the same name; then their folders precede it.
    known: the ids in the table. They may contain folders (`apple_pie/x.jpg`), and lack the suffix of the file.
    """
    own = {path: name(path) for path in paths}
    wanted = set(known)
    others = sorted(wanted - set(own.values()))
    finders = [_Files({path: path for path in paths}, root), _Files(_without_suffix(paths), root)] if others else []
    for key in others:
        path = next((found for found in (finder.find(key) for finder in finders) if found is not None), None)
        if path is not None and own[path] not in wanted:
            own[path] = key
    unnamed = [path for path in paths if own[path] not in wanted]
    return own | distinct_names(unnamed, root, name)


def _without_suffix(paths: Sequence[Path]) -> dict[Path, Path]:
    """The files by their paths without suffix, where only one has it."""
    count = Counter(path.with_suffix("") for path in paths)
    return {path.with_suffix(""): path for path in paths if count[path.with_suffix("")] == 1}


class _Files:
    """Files to be found by the end of their path."""

    def __init__(self, files: dict[Path, Path], root: Path) -> None:
        self._files = files
        self._root = root
        self._finder = Finder(list(files), root)

    def find(self, key: str) -> Path | None:
        """The only file that an id means; its folders have to agree, except the name of the root."""
        wanted = PurePosixPath(key.replace("\\", "/"))
        tails = [wanted]
        if wanted.parts[:1] == (self._root.resolve().name,):
            tails.append(PurePosixPath(*wanted.parts[1:]))
        for tail in tails:
            found = self._finder.candidates(str(tail), whole=len(tail.parts) > 1)
            if len(found) == 1:
                return self._files[found[0]]
        return None
