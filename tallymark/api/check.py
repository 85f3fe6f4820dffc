"""Check submissions and data folders."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from tallymark.core.engines.choice import BY_DEFAULT, EngineChoice
from tallymark.core.humanize import plural
from tallymark.core.problems import EVERY, KEPT_PER_KIND, BadInput, Problem, Problems
from tallymark.core.registry import Challenge, challenge
from tallymark.data.catalog import unlabelled_remark
from tallymark.io.archives import is_folder
from tallymark.io.folders import is_media_file
from tallymark.scoring.alignment import PathLike, expected_items, fit_items

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True)
class CheckResult:
    """The number of items and of objects (None in a folder without truth), the problems, and remarks on the rest."""

    items: int
    objects: int | None
    problems: Problems
    remarks: tuple[str, ...] = ()

    @property
    def counts(self) -> str:
        """The numbers of items and objects, in words."""
        objects = "no truth" if self.objects is None else plural(self.objects, "object")
        return f"{plural(self.items, 'item')}, {objects}"

    @property
    def table(self) -> pl.DataFrame:
        """One row per problem that is kept in full. Without the rows of items to keep, it is a list for `exclude`."""
        names = [field.name for field in fields(Problem)]
        schema = {name: pl.Int64 if name in ("line", "number") else pl.String for name in names}
        return pl.DataFrame([asdict(problem) for problem in self.problems], schema=schema)


def check(
    name: str,
    path: PathLike,
    *,
    against: PathLike | None = None,
    exclude: PathLike | None = None,
    every: bool = False,
    engine: EngineChoice | None = None,
    **rule_options: object,
) -> CheckResult:
    """Check a submission without the answers, or a data folder.

    Parameters
    ----------
    name: the challenge.
    path: a submission, a data folder, or a single image, recording or sweep.
    against: for a submission, a sample submission or data folder: missing and unknown ids are problems too.
    exclude: for a folder, a CSV list of items and objects to ignore.
    every: for a submission, keep all of its problems; by default the first 100 of each kind, and the number of all.
    engine: for a folder, where its files are opened: by default on all cores of this machine.
    """
    what = challenge(name)
    data = is_folder(path) or is_media_file(path)
    _refuse_unused("against", against if data else None, "a submission")
    _refuse_unused("exclude", None if data else exclude, "a data folder")
    chosen = what.parse_rule_options(rule_options, path if data else against)
    if data:
        return _check_folder(what, Path(path), chosen, exclude, engine or BY_DEFAULT)
    return _check_submission(what, path, chosen, against, Problems(EVERY if every else KEPT_PER_KIND))


def _refuse_unused(option: str, value: PathLike | None, about: str) -> None:
    """Refuse an option that nothing would be done with. about: what it is for."""
    if value is not None:
        found, expected = f"{option} {value}", f"{about} with it"
        raise BadInput(Problem("bad_option", "check", found, expected, "leave it out"))


def _check_folder(
    what: Challenge, folder: Path, rule_options: DataclassInstance, exclude: PathLike | None, engine: EngineChoice
) -> CheckResult:
    from tallymark.api.data import read_folder
    from tallymark.data.checks import check_catalog

    problems = Problems(EVERY)
    catalog = read_folder(what, folder, rule_options, exclude, problems)
    if catalog is None:
        return CheckResult(0, 0, problems)
    check_catalog(catalog, problems, engine)
    objects = None if catalog.truth is None else len(catalog.truth)
    return CheckResult(len(catalog), objects, problems, (*catalog.remarks, *unlabelled_remark(catalog)))


def _check_submission(
    what: Challenge,
    submission: PathLike,
    rule_options: DataclassInstance,
    against: PathLike | None,
    problems: Problems,
) -> CheckResult:
    predicted = what.dialect.read(submission, rule_options, problems)
    if predicted is None:
        return CheckResult(0, 0, problems)
    if against is not None:
        expected = expected_items(what, against, rule_options, predicted.items, problems)
        if expected is not None:
            fit_items(what, predicted, expected, submission, rule_options, problems)
    note = what.name_note(submission)
    return CheckResult(len(predicted.items), len(predicted), problems, (note,) if note else ())
