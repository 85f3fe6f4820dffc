"""The skeleton of a new challenge: a package that works as it is, to be changed file by file."""

from __future__ import annotations

import importlib.util
import keyword
import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from tallymark.core.outputs import filling, holds_files, make_folder, write_text
from tallymark.core.problems import BadInput, Problem
from tallymark.core.registry import challenge_names

PathLike = str | Path

EXAMPLE = "bees"
"""The name of the challenge in the skeleton."""
EXAMPLE_TITLE = "Bees at the hive entrance"
ID_COLUMN = "frame"
"""The column of ids in its tables; that of the objects is named like the challenge."""
NAME = re.compile("[a-z][a-z0-9_]*")


def new(name: str, folder: PathLike | None = None) -> Path:
    """Write the package of a new challenge: metric, files, data, synthetic data, recipe, page, example and tests.

    Parameters
    ----------
    name: of the challenge and of its package: lower-case letters, digits and underscores.
    folder: a new or empty folder; by default one of that name, here.

    Returns
    -------
    The folder. Installed by `pip install -e FOLDER`, the challenge is known to every command.
    """
    _check_name(name)
    out = Path(name if folder is None else folder)
    if out.exists() and (not out.is_dir() or holds_files(out)):
        raise BadInput(Problem("not_empty", str(out), "files", "a new or empty folder", "name a new folder with --out"))
    with filling(out) as unfinished:
        _write(files("tallymark.api") / "skeleton", unfinished, name)
    return out


def _check_name(name: str) -> None:
    remedy = "choose another name"
    if not NAME.fullmatch(name) or keyword.iskeyword(name):
        expected = "lower-case letters, digits and underscores, as in the name of a Python package"
        raise BadInput(Problem("bad_name", "command line", f"'{name}'", expected, remedy))
    if name in challenge_names():
        raise BadInput(Problem("bad_name", "command line", f"the challenge '{name}'", "a new name", remedy))
    if name == ID_COLUMN:
        raise BadInput(Problem("bad_name", "command line", f"the column '{name}'", "a name of its own", remedy))
    if name == "tests" or importlib.util.find_spec(name) is not None:
        raise BadInput(Problem("bad_name", "command line", f"the package '{name}'", "a name of its own", remedy))


def _write(source: Traversable, target: Path, name: str) -> None:
    """Write a folder of the skeleton: `package` under the name of the challenge, files without their suffix `.txt`."""
    make_folder(target)
    for entry in source.iterdir():
        if entry.is_dir():
            _write(entry, target / (name if entry.name == "package" else entry.name), name)
        elif entry.name.endswith(".txt"):
            text = entry.read_text("utf-8").replace(EXAMPLE_TITLE, name.replace("_", " ").capitalize())
            write_text(target / entry.name.removesuffix(".txt"), text.replace(EXAMPLE, name))
