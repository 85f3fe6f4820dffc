"""Outputs that cannot be written are refused before any work is done, all of a command at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from tallymark.core.outputs import cannot_write, holds_files, is_special, unfinished_beside
from tallymark.core.problems import Problem, Problems

BLOCK = 4096
"""Bytes that must have room wherever an output goes."""

Paths = Iterable[str | Path | None]


def refuse_outputs(
    files: Paths = (),
    folders: Paths = (),
    *,
    filled: Paths = (),
    replaced: Paths = (),
    inputs: Paths = (),
    force: bool = False,
) -> None:
    """Raise `BadInput` for outputs that exist or cannot be written; None stands for one that is not wanted.

    Parameters
    ----------
    files: to be written in folders that exist.
    folders: to be made if necessary. filled: folders that may hold files, whether or not `force` is given.
    replaced: files and folders of those above that may be overwritten without it.
    inputs: files and folders that are read; none of them is an output too, even with `force`.
    force: whether files may exist, and folders hold files.
    """
    problems = Problems()
    read = {_real(path) for path in _given(inputs)}
    seen = set[str]()
    wanted = [(path, _check_file) for path in _given(files)]
    wanted += [(path, _check_folder) for path in (*_given(folders), *_given(filled))]
    may_exist = {*_given(filled), *_given(replaced)}
    tops = {_real(path) for path in _given(files)}
    for path, check in wanted:
        real = _real(path)
        if is_special(path):
            continue  # a pipe or a device takes whatever comes
        above = {str(parent) for parent in Path(real).parents}
        if real in read:
            remedy = "name another: what is read is never overwritten"
            problems.add(Problem("same_file", str(path), "an input of this command", "another file or folder", remedy))
        elif real in seen or above & tops:
            found, remedy = "the path of another output, or below it", "name another"
            problems.add(Problem("same_file", str(path), found, "a path of its own for each output", remedy))
        else:
            try:
                for problem in check(path, force=force or path in may_exist):
                    problems.add(problem)
            except OSError as error:
                problems.add(cannot_write(path, error))
        seen.add(real)
    problems.raise_if_any()


def _check_file(path: Path, *, force: bool) -> Iterator[Problem]:
    expected = "a file in an existing folder"
    target = Path(os.path.realpath(path))
    if path.is_dir():
        yield Problem("bad_path", str(path), "a folder", expected, "name a file in it")
    elif path.exists() and not force:
        yield _exists(path, "a file")
    elif not target.parent.is_dir():
        folder = path.parent if not path.is_symlink() else target.parent
        found = f"a file {folder}" if folder.exists() else f"no folder {folder}"
        remedy = "name a file in a folder" if folder.exists() else f"mkdir -p {folder}"
        yield Problem("bad_path", str(path), found, expected, remedy)
    else:
        if path.exists():
            os.close(os.open(path, os.O_WRONLY))  # a file that is write-protected stays, even though its folder is not
        _try_to_write(target)


def _check_folder(path: Path, *, force: bool) -> Iterator[Problem]:
    expected = "a folder, existing or new"
    if path.is_dir():
        if not force and holds_files(path):
            yield _exists(path, "a folder with files")
        else:
            _try_to_write(path / "file")
    elif path.exists():
        yield Problem("bad_path", str(path), "a file", expected, "name another")
    else:
        _try_to_write(_first_new(path))


def _first_new(path: Path) -> Path:
    """The topmost folder that has to be made for a path."""
    while not os.path.lexists(path.parent):
        path = path.parent
    return path


def _try_to_write(path: Path) -> None:
    """Raise the error of the system if no file can be written beside this one. Permissions alone do not tell."""
    probe = unfinished_beside(path)
    try:
        with probe.open("xb") as file:
            file.write(bytes(BLOCK))
    finally:
        probe.unlink(missing_ok=True)


def _exists(path: Path, found: str) -> Problem:
    remedy = "name another, or add --force to overwrite it"
    return Problem("exists", str(path), found, "a new file or folder", remedy)


def _given(paths: Paths) -> list[Path]:
    return [Path(path) for path in paths if path is not None]


def _real(path: Path) -> str:
    return os.path.realpath(path)
