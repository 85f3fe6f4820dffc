"""A kit for code competitions: model, packages, script and notebook that write a submission without internet access."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import tallymark
from tallymark.api import kit_predict
from tallymark.api.data import PathLike
from tallymark.api.models import find_models, open_model
from tallymark.api.wheels import download, pack
from tallymark.core.outputs import filling, holds_files, make_folder, write_bytes, write_text, writing_to
from tallymark.core.problems import BadInput, Problem
from tallymark.core.registry import Challenge, challenge
from tallymark.inference.run import MODEL, SCORE
from tallymark.io.regular import files_below, read_regular

SUBMISSION = "submission.csv"
"""The name of the submission where the organisers want no certain one."""
COPIED = ("recipe.toml", SCORE, "ACKNOWLEDGEMENTS.md", "model.md")
"""Files of a run, or beside a pretrained model, that go with it."""
README = """# {title}: prediction without internet access

    python predict.py DATA

installs the packages in `wheels/`, predicts the test items of the folder DATA with `model/`, and writes `{submission}`.
`--minutes N` keeps a time limit, installation included; other options are those of `tallymark predict`.
`notebook.ipynb` does the same: upload this folder as a data set, add it to the notebook, and set the two folders in
its first cell.

The packages are for Python {python}. For another one, write the kit again with `tallymark kit … --python VERSION`.
{terms}"""
CELLS = (
    "# Where this kit and the data of the competition are, and the time limit in minutes (None: no limit).\n"
    "from pathlib import Path\n\n"
    'INPUT = Path("/kaggle/input") if Path("/kaggle/input").exists() else Path(".")\n'
    'KIT = next(INPUT.rglob("kit.json")).parent\n'
    'DATA = next(path.parent for path in INPUT.rglob("sample_submission*.csv") if KIT not in path.parents)\n'
    "MINUTES = {minutes}\n",
    "# What cannot be read is empty in the submission, and said below: no reason to end without one.\n"
    "import subprocess\nimport sys\n\n"
    'Path("{submission}").unlink(missing_ok=True)\n'
    'limit = [] if MINUTES is None else ["--minutes", str(MINUTES)]\n'
    'command = [sys.executable, str(KIT / "predict.py"), str(DATA), "--out", "{submission}", *limit]\n'
    "done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)\n"
    "print(done.stdout)\n"
    'if not Path("{submission}").exists():\n'
    '    raise RuntimeError("no submission was written")\n',
)


@dataclass(frozen=True)
class Kit:
    """folder: of all files. submission: what the script writes. wheels: the number of packages. bytes: of all files."""

    folder: Path
    submission: str
    wheels: int
    bytes: int


def kit(model: PathLike, out: PathLike, *, minutes: float | None = None, python: str | None = None) -> Kit:
    """Write a folder that predicts on a machine without internet access, as code competitions ask for.

    Parameters
    ----------
    model: a run, a model file, or the name of a challenge with a pretrained model.
    out: a new folder. It gets `predict.py`, `notebook.ipynb`, `model/`, `wheels/` and a README.
    minutes: the time limit that the script and the notebook keep unless they are given another.
    python: the version of Python on the other machine, e.g. `3.11`, if that is a Linux machine other than this one.
    """
    folder = Path(out)
    if folder.exists() and (not folder.is_dir() or holds_files(folder)):
        raise BadInput(Problem("not_empty", str(out), "files", "a new or empty folder", "name a new folder"))
    models = find_models(model)
    what = challenge(open_model(model, "onnxruntime").metadata.challenge)
    packages = _packages(what)
    with filling(folder) as unfinished:
        _fill(unfinished, what, models, Path(model), packages, minutes, python)
        with writing_to(unfinished):
            sizes = {path: path.stat().st_size for path in files_below(unfinished)}
    wheels = sum(path.suffix == ".whl" for path in sizes)
    return Kit(folder, what.submission_name or SUBMISSION, wheels, sum(sizes.values()))


def _fill(
    folder: Path,
    what: Challenge,
    models: list[Path],
    source: Path,
    packages: list[tuple[Distribution, Path]],
    minutes: float | None,
    python: str | None,
) -> None:
    """Write all files of a kit."""
    wheels = make_folder(folder / "wheels")
    download([pack(one, package, wheels) for one, package in packages], wheels, python)
    _copy_models(models, source, folder / "model")
    submission = what.submission_name or SUBMISSION
    requirements = [f"{one.name}=={one.version}" for one, _ in packages]
    facts = {"challenge": what.name, "submission": submission, "requirements": requirements, "minutes": minutes}
    _write_json(folder / "kit.json", facts)
    _copy(Path(kit_predict.__file__), folder / "predict.py")
    cells = [cell.format(minutes=minutes, submission=submission) for cell in CELLS]
    _write_json(folder / "notebook.ipynb", notebook(cells))
    write_text(folder / "README.md", _readme(what, submission, python))


def _packages(what: Challenge) -> list[tuple[Distribution, Path]]:
    """This package and, for a challenge that another one provides, that one too."""
    try:
        found = [(distribution("tallymark"), Path(tallymark.__file__).parent)]
    except PackageNotFoundError:
        remedy = "pip install . in the checkout, and try again"
        raise BadInput(Problem("not_installed", "kit", "no tallymark", "an installed package", remedy)) from None
    for point in entry_points(group="tallymark.challenges", name=what.name):
        spec = find_spec(point.module.partition(".")[0])
        if point.dist is not None and spec is not None and spec.origin is not None:
            found.append((point.dist, Path(spec.origin).parent))
    return found


def _copy_models(models: list[Path], source: Path, folder: Path) -> None:
    """The models under the names that a run gives them, and what a reader may want to know of them."""
    for number, path in enumerate(models):
        place = folder if len(models) == 1 else folder / f"fold-{number}"
        _copy(path, make_folder(place) / MODEL)
    beside = source if source.is_dir() and source in models[0].parents else models[0].parent
    for name in COPIED:
        if (beside / name).exists():
            _copy(beside / name, folder / name)


def notebook(cells: list[str]) -> dict[str, Any]:
    """A Jupyter notebook of code cells."""
    return {
        "cells": [
            {
                "cell_type": "code",
                "execution_count": None,
                "id": f"cell-{number}",
                "metadata": {},
                "outputs": [],
                "source": text.splitlines(keepends=True),
            }
            for number, text in enumerate(cells)
        ],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _readme(what: Challenge, submission: str, python: str | None) -> str:
    version = python or ".".join(platform.python_version_tuple()[:2])
    terms = "".join(f"\n- {name}: {value}" for name, value in what.terms.items())
    heading = f"\n## Terms of {what.title}\n{terms}\n" if terms else ""
    return README.format(title=what.title, submission=submission, python=version, terms=heading)


def _write_json(path: Path, value: object) -> None:
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def _copy(source: Path, target: Path) -> None:
    write_bytes(target, read_regular(source))
