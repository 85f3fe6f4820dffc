"""Outputs that a journal remembers, so that the same command may replace them: those that lack items which could not
be read, and those of a command that was killed while it wrote them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tallymark.core.outputs import write_json
from tallymark.core.problems import BadInput, Problems
from tallymark.io.json_text import read_json

NAME = "incomplete.json"

Outputs = Iterable[Path | None]


def remember_planned(journal: Path, outputs: Outputs) -> None:
    """Note which outputs are going to be written: those that are new, or incomplete by an earlier command."""
    given = [path for path in outputs if path is not None]
    replaced = incomplete_outputs(journal, given)
    planned = {_name(path): None for path in given if path in replaced or not path.exists()}
    with suppress(OSError, BadInput):  # then the next command asks for --force
        if planned:
            write_json(journal / NAME, planned)


def remember_incomplete(journal: Path, outputs: Outputs) -> None:
    """Note what was written without some items; without outputs, that there is nothing incomplete any more."""
    written = {_name(path): _stamp(path) for path in outputs if path is not None}
    with suppress(OSError, BadInput):  # then the next command asks for --force
        if written:
            write_json(journal / NAME, written)
        else:
            (journal / NAME).unlink(missing_ok=True)


def incomplete_outputs(journal: Path | None, outputs: Outputs) -> dict[Path, bool]:
    """Those outputs that lack items, or whose command did not come to its end.

    Returns
    -------
    Of each, whether it is known to be as it was written: then nothing of anybody else's is in a folder.
    """
    if journal is None or not (journal / NAME).is_file():
        return {}
    known = read_json(journal / NAME, Problems())
    if not isinstance(known, dict):
        return {}
    existing = [path for path in outputs if path is not None and path.exists()]
    noted = {path: known[_name(path)] for path in existing if _name(path) in known}
    unchanged = {path: stamp is not None and stamp == _stamp(path) for path, stamp in noted.items()}
    return {path: same for path, same in unchanged.items() if same or noted[path] is None}


def _name(path: Path) -> str:
    return os.path.realpath(path)


def _stamp(path: Path) -> list[list[object]]:
    """Name, size and time of change of a file, or of all files in a folder."""
    stamps = list[list[object]]()
    with suppress(OSError):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            status = file.stat()
            stamps.append([file.name, status.st_size, status.st_mtime_ns])
    return stamps
