"""The truth that predictions are compared with: that of a table or a data folder, without exclusions, corrected."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from tallymark.api.corrections import correct_catalog, read_files
from tallymark.api.data import PathLike, read_folder
from tallymark.core.problems import BadInput, Problem, Problems, shorten
from tallymark.core.registry import Challenge
from tallymark.data.annotations import Annotations
from tallymark.data.corrections import Corrections
from tallymark.data.exclusions import read_exclusions
from tallymark.data.items import Items
from tallymark.geometry import Geometry
from tallymark.inference.run import HELD_OUT, Run
from tallymark.io.archives import is_folder
from tallymark.scoring.alignment import answers_and_others, read_answers_and_others

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class TruthChanges(NamedTuple):
    """exclude: a list of items and objects to ignore. corrections: those of review pages."""

    exclude: PathLike | None = None
    corrections: Sequence[Corrections] = ()

    @classmethod
    def of(cls, what: Challenge, exclude: PathLike | None, corrections: Sequence[PathLike]) -> TruthChanges:
        """Those of files; a `BadInput` if a file of corrections cannot be used."""
        return cls(exclude, read_files(what, corrections))

    def refuse_unused(self) -> None:
        """Refuse exclusions and corrections where there is no truth."""
        if self.exclude is not None or self.corrections:
            given = "--corrections" if self.corrections else f"--exclude {self.exclude}"
            expected, remedy = "a data folder, whose annotations are changed", "give it by --truth, or leave it out"
            raise BadInput(Problem("bad_option", "truth", f"{given} without truth", expected, remedy))

    def refuse_missing(self, run: Run) -> None:
        """Refuse to go without corrections or exclusions of a training: its held-out items had another truth."""
        ignored = run.facts.get("exclude")
        if ignored and self.exclude is None:
            expected, remedy = "the exclusions of the training", f"give --exclude {ignored}, or another list"
            raise BadInput(Problem("no_exclusions", str(run.folder), f"no {ignored}", expected, remedy))
        stated = run.facts.get("corrections")
        recorded = [one for one in stated if isinstance(one, dict)] if isinstance(stated, list) else []
        given = {one.fingerprint for one in self.corrections}
        missing = [str(one.get("file")) for one in recorded if one.get("sha256") not in given]
        if missing:
            expected, remedy = "the corrections of the training", f"give --corrections {missing[0]}, as it was then"
            found = f"no {shorten(', '.join(missing))}" if not given else f"others than {shorten(', '.join(missing))}"
            raise BadInput(Problem("no_corrections", str(run.folder), found, expected, remedy))


AS_IT_IS = TruthChanges()


class KnownTruth(NamedTuple):
    """answers: the truth, None if there is none. unknown: items whose truth is not known. excluded: by a list."""

    answers: Annotations[Geometry] | None
    unknown: Items
    excluded: Items


def read_known_truth(
    what: Challenge, path: PathLike, rule_options: DataclassInstance, changes: TruthChanges, problems: Problems
) -> KnownTruth:
    """The truth of a file, or of the labelled items of a data folder, which alone can be changed."""
    nothing = Items.of([])
    if changes.exclude is None and not changes.corrections:
        return KnownTruth(*read_answers_and_others(what, path, rule_options, problems), nothing)
    if not is_folder(path):
        option = "--corrections" if changes.corrections else f"--exclude {changes.exclude}"
        found, expected = f"{option} with the table {path}", "a data folder, whose annotations are changed"
        raise BadInput(Problem("bad_option", "truth", found, expected, "give the data folder as truth"))
    catalog = problems.checked(read_folder(what, Path(path), rule_options, changes.exclude, problems))
    catalog, _ = correct_catalog(what, catalog, changes.corrections)
    answers, unknown = answers_and_others(what, catalog, problems)
    listed = None if changes.exclude is None else read_exclusions(changes.exclude, Problems())
    excluded = nothing if listed is None else Items.of(listed.items.to_list())
    both = pl.concat([unknown.ids, excluded.ids]).unique(maintain_order=True)
    return KnownTruth(answers, Items(both), excluded)


def run_of(path: PathLike) -> Run | None:
    """The training whose held-out candidates a path stands for; None of other files."""
    given = Path(path)
    folder = given if given.is_dir() else given.parent
    return Run(folder) if given.is_dir() or given.name == HELD_OUT else None
