"""Outputs appear whole or not at all: each is written beside its place, brought to the disk, and renamed.

So a full disk, a lost connection or a kill never damages a file that was there before, and never leaves half a file
under the name of a whole one. What cannot be written is a `BadInput` with the file, the reason and what to do.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from tallymark.core.problems import BadInput, Problem, Problems

REMEDIES = {
    errno.ENOSPC: "free some space, or name a folder on another disk",
    errno.EDQUOT: "free some space, or name a folder on another disk",
    errno.EFBIG: "name a folder on a disk that takes larger files",
    errno.EACCES: "change its permissions, or name another folder",
    errno.EPERM: "change its permissions, or name another folder",
    errno.EROFS: "name a folder on a disk that can be written to",
    errno.ENOENT: "make the folder first, or check the path",
    errno.ENOTDIR: "check the path: a part of it is a file",
    errno.EISDIR: "name a file",
    errno.ENAMETOOLONG: "choose a shorter name",
}
LIMITS = {
    errno.ENOMEM: "close other programs",
    errno.EMFILE: "close other programs, or raise the limit by `ulimit -n`",
    errno.ENFILE: "close other programs",
    errno.EAGAIN: "close other programs, or raise the limit by `ulimit -u`",
}
TRY_AGAIN = "check the disk and the connection to it, then run the same command again"
UNFINISHED = ".unfinished"
"""Suffix of files and folders that are being written; a kill may leave some, which nothing reads."""
LEFTOVER = re.compile(rf"\..*\.(\d+)-\d+{re.escape(UNFINISHED)}", re.DOTALL)
"""Their names, with the number of the process that made them."""
LEFTOVER_AGE = 24 * 3600
"""Seconds after which one may be removed. Its process may be one of another machine that shares the folder."""
NOT_SYNCED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP}
"""What file systems answer that cannot bring a file to the disk on request."""
_numbers = itertools.count()
_cleaned: set[Path] = set()


@contextmanager
def replacing(path: str | Path, *, sync: bool = True) -> Iterator[Path]:
    """A path to write to, beside `path`; without an error in the block, the new file takes its place at the end.

    sync: wait until it is on the disk; not needed where a set of many files is worth nothing without the last.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    if target.suffix == UNFINISHED:  # whoever made it will rename it
        with writing_to(path):
            yield Path(path)
        return
    if is_special(path):
        with writing_to(path):
            yield Path(path)  # /dev/stdout, a pipe: nothing to keep, nothing to rename
        return
    remove_leftovers(target.parent)
    unfinished = unfinished_beside(target)
    try:
        with writing_to(path), _named(unfinished, path):
            yield unfinished
            if sync:
                _bring_to_disk(unfinished)
            with suppress(OSError):  # a new file has the permissions of the one that it replaces
                unfinished.chmod(stat.S_IMODE(target.stat().st_mode))
            unfinished.replace(target)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


@contextmanager
def filling(folder: str | Path) -> Iterator[Path]:
    """A folder to write to; without an error in the block, it becomes the new `folder`, by one rename.

    With an error, nothing is left, and the same command can be run again. An empty `folder` that exists stays the same
    folder, since it may be the current one: the content moves there. One that holds files is itself written to, file
    by file.
    """
    target = Path(folder)
    exists = target.exists()
    with writing_to(folder, expected="a new folder"):
        in_use = target.is_dir() and holds_files(target)
    if in_use:
        yield target
        return
    new = [path for path in (target, *target.parents) if not path.exists()]
    unfinished = unfinished_beside(target / "folder" if exists else target)
    remove_leftovers(unfinished.parent)
    moved: list[Path] = []
    try:
        with _named(unfinished, folder):
            make_folder(unfinished)
            yield unfinished
        with writing_to(folder):
            if not exists:
                unfinished.rename(target)
                return
            for entry in sorted(unfinished.iterdir()):
                moved.append(entry.replace(target / entry.name))
            unfinished.rmdir()
    except BaseException:
        for path in (unfinished, *moved):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        for path in new:
            with suppress(OSError):  # not empty: another command writes there too
                path.rmdir()
        raise


def holds_files(folder: Path) -> bool:
    """Whether there is anything in a folder but what a killed command has left."""
    return any(path.suffix != UNFINISHED for path in folder.iterdir())


def stamps(folder: Path) -> dict[str, tuple[int, ...]]:
    """Number, size and time of change of each file below a folder, by its path: another if it was written since."""
    files = sorted(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    states = [(path.relative_to(folder).as_posix(), path.lstat()) for path in files]
    return {name: (state.st_ino, state.st_size, state.st_ctime_ns) for name, state in states}


def write_bytes(path: str | Path, data: bytes | memoryview, *, sync: bool = True) -> None:
    """Write a file whole or not at all."""
    with replacing(path, sync=sync) as unfinished:
        unfinished.write_bytes(data)


def write_text(path: str | Path, text: str, *, sync: bool = True) -> None:
    """Write a text as UTF-8 with LF line ends, whole or not at all."""
    write_bytes(path, text.encode("utf-8"), sync=sync)


def write_json(path: str | Path, value: object) -> None:
    """Write a value as indented JSON, whole or not at all."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def make_folder(path: str | Path) -> Path:
    """Make a folder, with those above it, unless it exists."""
    with writing_to(path, expected="a new folder"):
        Path(path).mkdir(parents=True, exist_ok=True)
    return Path(path)


@contextmanager
def writing_to(path: str | Path, *, expected: str = "a file that can be written") -> Iterator[None]:
    """Errors of the system while an output is written, as a `BadInput` that names it, or the file below it."""
    try:
        yield
    except BrokenPipeError:  # the reader of our output has stopped, which is not an error
        raise
    except OSError as error:
        below = isinstance(error.filename, str) and Path(path) in Path(error.filename).parents
        raise BadInput(cannot_write(error.filename if below else path, error, expected)) from error


@contextmanager
def writing(*, remedy: str) -> Iterator[None]:
    """Failures to write, with another remedy: where work can be resumed, it is not to be begun anew elsewhere."""
    try:
        yield
    except BadInput as bad:
        if "cannot_write" not in bad.problems.counts:
            raise
        problems = Problems()
        for problem in bad.problems:
            problems.add(replace(problem, remedy=remedy) if problem.kind == "cannot_write" else problem)
        raise BadInput(problems) from bad


def cannot_write(path: str | Path, error: OSError, expected: str = "a file that can be written") -> Problem:
    """What a failure of writing is to the user."""
    remedy = REMEDIES.get(error.errno or 0, TRY_AGAIN)
    return Problem("cannot_write", str(path), _reason(error), expected, remedy)


def system_problem(error: OSError) -> Problem:
    """What any other error of the system is to the user, such as a file that vanished while it was read."""
    file = "this machine" if error.filename is None else os.fsdecode(error.filename)
    remedy = LIMITS.get(error.errno or 0, TRY_AGAIN)
    return Problem("system_error", file, _reason(error), "files that can be opened and read", remedy)


def memory_problem() -> Problem:
    """What a lack of memory is to the user."""
    expected, remedy = "enough memory", "close other programs, or give smaller files or values"
    return Problem("no_memory", "this machine", "not enough memory", expected, remedy)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error) or type(error).__name__).lower()


def unfinished_beside(path: Path) -> Path:
    """A hidden path that no other thread or process uses, and that is not too long whatever the letters."""
    return path.with_name(f".{path.name[:40]}.{os.getpid()}-{next(_numbers)}{UNFINISHED}")


def remove_leftovers(folder: Path) -> None:
    """Remove what killed commands have left in a folder, if it is a day old and its process is gone.

    Once for each folder, since a command may write thousands of files to one.
    """
    folder = Path(os.path.realpath(folder))
    if folder in _cleaned:
        return
    _cleaned.add(folder)
    with suppress(OSError):  # there is no such folder yet, or it cannot be listed: the output itself will tell
        for entry in os.scandir(folder):
            name = LEFTOVER.fullmatch(entry.name)
            if name is None or entry.is_symlink() or _runs(int(name[1])) or _age(Path(entry)) < LEFTOVER_AGE:
                continue
            with suppress(OSError):
                shutil.rmtree(entry) if entry.is_dir() else Path(entry).unlink()


def _runs(process: int) -> bool:
    """Whether a process of this number runs on this machine; where that cannot be asked, False."""
    if os.name != "posix":  # elsewhere, asking would end it
        return False
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def _age(path: Path) -> float:
    """Seconds since a file, or anything in a folder, was written."""
    inside = path.rglob("*") if path.is_dir() else ()
    return time.time() - max(one.lstat().st_mtime for one in (path, *inside))


def is_special(path: str | Path) -> bool:
    """Whether something other than a regular file or a folder is there, such as a pipe or a device."""
    if str(path).startswith(("/dev/std", "/dev/fd/")):  # it may lead to a regular file, which must not be replaced
        return True
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextmanager
def _named(unfinished: Path, path: str | Path) -> Iterator[None]:
    """Problems with an unfinished file or folder, as problems with what it is going to be."""
    try:
        yield
    except BadInput as bad:
        raise BadInput(bad.problems.moved(str(unfinished), str(path))) from bad


def _bring_to_disk(path: Path) -> None:
    with path.open("rb+") as file:
        try:
            os.fsync(file.fileno())
        except OSError as error:
            if error.errno not in NOT_SYNCED:
                raise
