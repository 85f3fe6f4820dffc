"""What the command line does, as plain functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from tallymark.core.console import plural
from tallymark.core.options import parse_options
from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.core.registry import Challenge, challenge
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.exclusions import read_exclusions
from tallymark.data.items import Items
from tallymark.scoring.alignment import PathLike, expected_items, fit_items, read_pairs, with_hours
from tallymark.scoring.compare import RESAMPLES, Comparison, compare_scores
from tallymark.scoring.score import Score
from tallymark.submission.dialect import Change, write_submission
from tallymark.submission.repair import repair_file

if TYPE_CHECKING:
    from tallymark.data.folds import Folds
    from tallymark.reporting.distances import Distances


def score(
    name: str,
    truth: PathLike,
    submission: PathLike,
    *,
    images: PathLike | None = None,
    audio: PathLike | None = None,
    **options: object,
) -> Score:
    """Score a submission by the official rule.

    Parameters
    ----------
    truth: the official annotations, or a data folder that has them.
    images: a sample submission (or data folder) that names the ids to score; without it those of the truth are.
    audio: (upcalls) the folder of recordings, whose headers give the hours; where the truth is a data folder, those
        of its labelled recordings count.
    options: the reading, e.g. `match="best_overall"`.

    Examples
    --------
    >>> tallymark.score("wheat", "train.csv", "submission.csv").value  # doctest: +SKIP
    """
    what, problems = challenge(name), Problems()
    rule_options: Any = parse_options(what.rule_options, options)
    expected, [pair] = read_pairs(what, truth, [submission], images, rule_options, problems)
    if audio is not None:
        rule_options = with_hours(what, rule_options, audio, expected, problems)
    elif hasattr(rule_options, "hours") and "hours" not in options and Path(truth).is_dir():
        rule_options = with_hours(what, rule_options, truth, expected, problems, named_only=True)
    return what.score(*problems.checked(pair), rule_options)


def by_distance(
    name: str,
    truth: PathLike,
    submission: PathLike,
    folder: PathLike,
    *,
    images: PathLike | None = None,
    least: int = 0,
    **options: object,
) -> Distances:
    """What was found of each class and by how far it is from the vehicle; for volumes in sweeps.

    folder: the data set, which knows where the vehicle stood. least: points that a volume must have inside to count.
    """
    from tallymark.geometry import Cuboids
    from tallymark.reporting.distances import score_by_distance

    what, problems = challenge(name), Problems()
    rule_options: Any = parse_options(what.rule_options, options)
    _, [pair] = read_pairs(what, truth, [submission], images, rule_options, problems)
    answers, predicted = problems.checked(pair)
    if not isinstance(answers.shapes, Cuboids):
        raise BadInput(Problem("bad_option", "by_distance", name, "a challenge of volumes: lyft", "leave it out"))
    catalog = problems.checked(_read_folder(what, Path(folder), rule_options, None, problems))
    return score_by_distance(
        answers, predicted, catalog, least=least, comparison=rule_options.iou_comparison, match=rule_options.match
    )


def compare(
    name: str,
    truth: PathLike,
    a: PathLike,
    b: PathLike,
    *,
    images: PathLike | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
    **options: object,
) -> Comparison:
    """Compare two submissions item by item; the interval comes from `resamples` draws of items."""
    what, problems = challenge(name), Problems()
    rule_options: Any = parse_options(what.rule_options, options)
    _, pairs = read_pairs(what, truth, [a, b], images, rule_options, problems)
    scores = (what.score(*problems.checked(pair), rule_options) for pair in pairs)
    return compare_scores(*scores, seed=seed, resamples=resamples)


@dataclass(frozen=True)
class Checked:
    """What a check found: how many items and objects (None in a folder without truth), and every problem."""

    items: int
    objects: int | None
    problems: Problems

    @property
    def counts(self) -> str:
        """How many items and objects, in words."""
        objects = "no truth" if self.objects is None else plural(self.objects, "object")
        return f"{plural(self.items, 'item')}, {objects}"

    @property
    def table(self) -> pl.DataFrame:
        """Every problem as a row; a fix list for `exclude`, once the rows of what should stay are deleted."""
        names = [field.name for field in fields(Problem)]
        schema = {name: pl.Int64 if name in ("line", "number") else pl.String for name in names}
        return pl.DataFrame([asdict(problem) for problem in self.problems], schema=schema)


def check(
    name: str,
    path: PathLike,
    *,
    against: PathLike | None = None,
    exclude: PathLike | None = None,
    **options: object,
) -> Checked:
    """Check a submission without the answers, or a data folder.

    against: for a submission, a sample submission or a data folder: then missing and unknown ids are problems too.
    exclude: for a folder, a list of items and objects that are known to be bad.
    """
    what = challenge(name)
    rule_options: Any = parse_options(what.rule_options, options)
    if Path(path).is_dir():
        return _check_folder(what, Path(path), rule_options, exclude)
    return _check_submission(what, path, rule_options, against)


def _check_folder(what: Challenge, folder: Path, rule_options: Any, exclude: PathLike | None) -> Checked:
    from tallymark.data.checks import check_catalog

    problems = Problems(EVERY)
    catalog = _read_folder(what, folder, rule_options, exclude, problems)
    if catalog is None:
        return Checked(0, 0, problems)
    check_catalog(catalog, problems)
    return Checked(len(catalog), None if catalog.truth is None else len(catalog.truth), problems)


def _check_submission(what: Challenge, submission: PathLike, rule_options: Any, against: PathLike | None) -> Checked:
    problems = Problems()
    predicted = what.dialect.read(submission, rule_options, problems)
    if predicted is None:
        return Checked(0, 0, problems)
    if against is not None:
        expected = expected_items(what, against, rule_options, predicted.items, problems)
        if expected is not None:
            fit_items(what, predicted, expected, submission, rule_options, problems)
    return Checked(len(predicted.items), len(predicted), problems)


def repair(
    name: str, submission: PathLike, out: PathLike, *, against: PathLike | None = None, **options: object
) -> list[Change]:
    """Write a valid form of a submission to `out`; returns everything that was changed."""
    what, problems = challenge(name), Problems()
    rule_options: Any = parse_options(what.rule_options, options)
    if Path(submission).resolve() == Path(out).resolve():
        remedy = "name another file: a repair keeps the original"
        raise BadInput(Problem("same_file", str(out), "the submission itself", "another file", remedy))
    expected = None
    if against is not None:
        readable = what.dialect.read(submission, rule_options, Problems())
        like = Items.of([]) if readable is None else readable.items
        expected = problems.checked(expected_items(what, against, rule_options, like, problems)).ids.to_list()
    changes = repair_file(what.dialect, submission, out, expected, rule_options)
    what.dialect.read(out, rule_options, problems)
    problems.raise_if_any()
    return changes


def convert(name: str, submission: PathLike, out: PathLike, *, form: str | None = None, **options: object) -> None:
    """Write a submission in another of its published forms."""
    write(name, read_submission(name, submission, **options), out, form=form, **options)


def write(
    name: str, annotations: Annotations[Any], path: PathLike, *, form: str | None = None, **options: object
) -> None:
    """Write predictions as a submission that is known to be valid."""
    what = challenge(name)
    write_submission(what.dialect, annotations, path, parse_options(what.rule_options, options), form)


def read(name: str, folder: PathLike, *, exclude: PathLike | None = None, **options: object) -> Catalog:
    """The data set in a folder: items, media, parts and truth, without what the list `exclude` names.

    Annotations that cannot be read are a `BadInput`; missing files and odd contents are for `check`.

    Examples
    --------
    >>> tallymark.read("wheat", "global-wheat-detection").of("train").truth  # doctest: +SKIP
    """
    what, problems = challenge(name), Problems()
    rule_options: Any = parse_options(what.rule_options, options)
    return problems.checked(_read_folder(what, Path(folder), rule_options, exclude, problems))


def _read_folder(
    what: Challenge, folder: Path, rule_options: Any, exclude: PathLike | None, problems: Problems
) -> Catalog | None:
    """The data set without what is excluded; problems of excluded items do not count."""
    exclusions = None if exclude is None else read_exclusions(exclude, problems)
    found = Problems(EVERY)
    catalog: Catalog | None = what.module("read").read(folder, rule_options, found)
    if exclusions is None:
        problems.merge(found)
        return catalog
    problems.merge(found.without(exclusions.covers))
    return None if catalog is None else exclusions.apply(catalog, found)


def folds(
    name: str,
    folder: PathLike,
    *,
    folds: int = 5,
    seed: int = 0,
    leave_one_out: bool = False,
    exclude: PathLike | None = None,
    **options: object,
) -> Folds:
    """Folds for validation: groups (source, day, log, look-alikes) stay together, kinds of items are spread evenly.

    leave_one_out: every group is a fold of its own.
    """
    from tallymark.data.folds import make_folds

    return make_folds(read(name, folder, exclude=exclude, **options), folds, seed, leave_one_out=leave_one_out)


def explore(
    name: str, folder: PathLike, out: PathLike, *, exclude: PathLike | None = None, seed: int = 0, **options: object
) -> None:
    """Write one page that shows what is in a data folder: counts, sizes, groups, typical and odd items.

    What cannot be read is listed on the page; only if nothing can be read is that a `BadInput`.
    """
    from tallymark.reporting.explore import write_page

    what, problems = challenge(name), Problems(EVERY)
    catalog = _read_folder(what, Path(folder), parse_options(what.rule_options, options), exclude, problems)
    if catalog is None:
        raise BadInput(problems)
    problems.merge(catalog.notes)
    write_page(catalog, f"{what.title}: {folder}", Path(out), problems=problems, seed=seed)


def synth(name: str, folder: PathLike, *, items: int = 50, seed: int = 0, **options: object) -> dict[str, str]:
    """Write a synthetic data set in the challenge's official formats; the same seed gives the same bytes.

    options: what the scenes are like, e.g. `size=1024`; see `tallymark list CHALLENGE`.
    Returns how the set has to be read, where that is not as the official one.
    """
    scenes, place = make_scenes(name, options), Path(folder)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        remedy = "name a new folder: two sets in one would be read as one"
        raise BadInput(Problem("not_empty", str(place), "something", "a new or empty folder", remedy))
    if items < 1 or seed < 0:
        found, expected = f"items={items}, seed={seed}", "items from 1 on and a seed from 0 on"
        raise BadInput(Problem("bad_option", "synth", found, expected, "give e.g. items=50, seed=0"))
    challenge(name).module("synth").write(place, items, seed, scenes)
    return reading_of(scenes)


def make_scenes(name: str, options: Mapping[str, object]) -> Any:
    """What a challenge's synthetic scenes are like, with these options."""
    return parse_options(challenge(name).module("synth").Scenes, options)


def reading_of(scenes: object) -> dict[str, str]:
    """The reading that files of such scenes need, where they differ from the official ones."""
    return dict(getattr(scenes, "reading", {}))


def read_truth(name: str, path: PathLike, **options: object) -> Annotations[Any]:
    """The official annotations of a challenge."""
    what, problems = challenge(name), Problems()
    return problems.checked(what.dialect.read_truth(path, parse_options(what.rule_options, options), problems))


def read_submission(name: str, path: PathLike, **options: object) -> Annotations[Any]:
    """The predictions in a submission."""
    what, problems = challenge(name), Problems()
    return problems.checked(what.dialect.read(path, parse_options(what.rule_options, options), problems))
