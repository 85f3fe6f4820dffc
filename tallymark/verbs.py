"""What the command line does, as plain functions."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tallymark.data.annotations import Annotations
from tallymark.data.audio import hours_of
from tallymark.data.catalog import Catalog
from tallymark.data.exclusions import read_exclusions
from tallymark.data.folders import RECORDINGS, media_files
from tallymark.data.items import Items
from tallymark.problems import EVERY, BadInput, Problem, Problems
from tallymark.reading import parse_reading
from tallymark.registry import Challenge, challenge
from tallymark.scoring.compare import RESAMPLES, Comparison, compare_scores
from tallymark.scoring.score import Score
from tallymark.submit.dialect import Change, write_submission
from tallymark.submit.repair import repair_file
from tallymark.submit.rows import align, report_unknown

if TYPE_CHECKING:
    from tallymark.data.splits import Folds

Source = str | Path
TOGETHER = 1 << 26
"""Bytes up to which files are read at the same time; larger ones one after the other, to save memory."""


def score(
    name: str,
    truth: Source,
    submission: Source,
    *,
    images: Source | None = None,
    audio: Source | None = None,
    **options: object,
) -> Score:
    """Score a submission by the official rule.

    Parameters
    ----------
    truth: the official annotations. images: a sample submission (or data folder) that names the ids to score;
        without it the ids of the truth are scored.
    audio: (upcalls) the folder of recordings, whose headers give the hours.
    options: the reading, e.g. `match="best_overall"`.

    Examples
    --------
    >>> tallymark.score("wheat", "train.csv", "submission.csv").value  # doctest: +SKIP
    """
    what, problems = challenge(name), Problems()
    reading: Any = parse_reading(what.reading, options)
    expected, [pair] = _read(what, truth, [submission], images, reading, problems)
    if audio is not None:
        reading = _with_hours(what, reading, audio, expected, problems)
    return what.score(*problems.checked(pair), reading)


def compare(
    name: str,
    truth: Source,
    a: Source,
    b: Source,
    *,
    images: Source | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
    **options: object,
) -> Comparison:
    """Compare two submissions item by item; the interval comes from `resamples` draws of items."""
    what, problems = challenge(name), Problems()
    reading: Any = parse_reading(what.reading, options)
    _, pairs = _read(what, truth, [a, b], images, reading, problems)
    scores = (what.score(*problems.checked(pair), reading) for pair in pairs)
    return compare_scores(*scores, seed=seed, resamples=resamples)


@dataclass(frozen=True)
class Checked:
    """What a check found: how many items and objects, and every problem."""

    items: int
    objects: int
    problems: Problems

    @property
    def table(self) -> pl.DataFrame:
        """Every problem as a row; a fix list for `exclude`, once the rows of what should stay are deleted."""
        names = [field.name for field in fields(Problem)]
        schema = {name: pl.Int64 if name in ("line", "number") else pl.String for name in names}
        return pl.DataFrame([asdict(problem) for problem in self.problems], schema=schema)


def check(
    name: str,
    path: Source,
    *,
    against: Source | None = None,
    exclude: Source | None = None,
    **options: object,
) -> Checked:
    """Check a submission without the answers, or a data folder.

    against: for a submission, a sample submission or a data folder: then missing and unknown ids are problems too.
    exclude: for a folder, a list of items and objects that are known to be bad.
    """
    what = challenge(name)
    reading: Any = parse_reading(what.reading, options)
    if Path(path).is_dir():
        return _check_folder(what, Path(path), reading, exclude)
    return _check_submission(what, path, reading, against)


def _check_folder(what: Challenge, folder: Path, reading: Any, exclude: Source | None) -> Checked:
    from tallymark.data.checks import check_catalog

    problems = Problems(EVERY)
    exclusions = None if exclude is None else read_exclusions(exclude, problems)
    catalog = what.module("read").read(folder, reading, problems)
    if catalog is None:
        return Checked(0, 0, problems)
    if exclusions is not None:
        catalog = exclusions.apply(catalog)
    check_catalog(catalog, problems)
    objects = 0 if catalog.truth is None else len(catalog.truth)
    return Checked(len(catalog), objects, problems)


def _check_submission(what: Challenge, submission: Source, reading: Any, against: Source | None) -> Checked:
    problems = Problems()
    predicted = what.dialect.read(submission, reading, problems)
    if predicted is None:
        return Checked(0, 0, problems)
    if against is not None:
        expected = _expected_items(what, against, reading, predicted.items, problems)
        if expected is not None:
            _fit(what, predicted, expected, submission, reading, problems)
    return Checked(len(predicted.items), len(predicted), problems)


def repair(
    name: str, submission: Source, out: Source, *, against: Source | None = None, **options: object
) -> list[Change]:
    """Write a valid form of a submission to `out`; returns everything that was changed."""
    what, problems = challenge(name), Problems()
    reading: Any = parse_reading(what.reading, options)
    if Path(submission).resolve() == Path(out).resolve():
        remedy = "name another file: a repair keeps the original"
        raise BadInput(Problem("same_file", str(out), "the submission itself", "another file", remedy))
    expected = None
    if against is not None:
        readable = what.dialect.read(submission, reading, Problems())
        like = Items.of([]) if readable is None else readable.items
        expected = problems.checked(_expected_items(what, against, reading, like, problems)).ids.to_list()
    changes = repair_file(what.dialect, submission, out, expected, reading)
    what.dialect.read(out, reading, problems)
    problems.raise_if_any()
    return changes


def write(
    name: str, annotations: Annotations[Any], path: Source, *, form: str | None = None, **options: object
) -> None:
    """Write predictions as a submission that is known to be valid."""
    what = challenge(name)
    write_submission(what.dialect, annotations, path, parse_reading(what.reading, options), form)


def read(name: str, folder: Source, *, exclude: Source | None = None, **options: object) -> Catalog:
    """The data set in a folder: items, media, parts and truth, without what the list `exclude` names.

    Annotations that cannot be read are a `BadInput`; missing files and odd contents are for `check`.

    Examples
    --------
    >>> tallymark.read("wheat", "global-wheat-detection").of("train").truth  # doctest: +SKIP
    """
    what, problems = challenge(name), Problems()
    reading: Any = parse_reading(what.reading, options)
    exclusions = None if exclude is None else read_exclusions(exclude, problems)
    catalog: Catalog = problems.checked(what.module("read").read(Path(folder), reading, problems))
    return catalog if exclusions is None else exclusions.apply(catalog)


def split(
    name: str,
    folder: Source,
    *,
    folds: int = 5,
    seed: int = 0,
    leave_one_out: bool = False,
    exclude: Source | None = None,
    **options: object,
) -> Folds:
    """Folds for validation: groups (source, day, log, look-alikes) stay together, kinds of items are spread evenly.

    leave_one_out: every group is a fold of its own.
    """
    from tallymark.data.splits import make_folds

    return make_folds(read(name, folder, exclude=exclude, **options), folds, seed, leave_one_out=leave_one_out)


def explore(
    name: str, folder: Source, out: Source, *, exclude: Source | None = None, seed: int = 0, **options: object
) -> None:
    """Write one page that shows what is in a data folder: counts, sizes, groups, typical and odd items."""
    from tallymark.reporting.explore import write_page

    catalog = read(name, folder, exclude=exclude, **options)
    write_page(catalog, f"{challenge(name).title}: {folder}", Path(out), seed=seed)


def synth(name: str, folder: Source, *, items: int = 50, seed: int = 0, **options: object) -> None:
    """Write a synthetic data set in the challenge's official formats; the same seed gives the same bytes.

    options: what the scenes are like, e.g. `size=1024`; see `tallymark list CHALLENGE`.
    """
    maker = challenge(name).module("synth")
    scenes = parse_reading(maker.Scenes, options)
    maker.write(Path(folder), items, seed, scenes)


def read_truth(name: str, path: Source, **options: object) -> Annotations[Any]:
    """The official annotations of a challenge."""
    what, problems = challenge(name), Problems()
    return problems.checked(what.dialect.read_truth(path, parse_reading(what.reading, options), problems))


def read_submission(name: str, path: Source, **options: object) -> Annotations[Any]:
    """The predictions in a submission."""
    what, problems = challenge(name), Problems()
    return problems.checked(what.dialect.read(path, parse_reading(what.reading, options), problems))


Pair = tuple[Annotations[Any], Annotations[Any]]
"""Truth and predictions under the same items."""


def _read(
    what: Challenge,
    truth: Source,
    submissions: Sequence[Source],
    images: Source | None,
    reading: Any,
    problems: Problems,
) -> tuple[Annotations[Any] | None, list[Pair | None]]:
    """The truth, and for each submission a pair; None for what cannot be used."""
    own = [Problems() for _ in (truth, *submissions)]
    large = sum(map(_size, (truth, *submissions))) > TOGETHER
    with ThreadPoolExecutor(1 if large else len(own)) as pool:  # polars and NumPy work outside Python's lock
        jobs = [pool.submit(what.dialect.read_truth, truth, reading, own[0])]
        jobs += [
            pool.submit(what.dialect.read, path, reading, mine) for path, mine in zip(submissions, own[1:], strict=True)
        ]
        found = [job.result() for job in jobs]
    for mine in own:
        problems.merge(mine)
    expected = _listed(what, found[0], truth, images, reading, problems)
    files = zip(submissions, found[1:], strict=True)
    return expected, [_pair(what, expected, predicted, path, images, reading, problems) for path, predicted in files]


def _size(path: Source) -> int:
    return Path(path).stat().st_size if Path(path).is_file() else 0


def _listed(
    what: Challenge,
    truth: Annotations[Any] | None,
    path: Source,
    images: Source | None,
    reading: Any,
    problems: Problems,
) -> Annotations[Any] | None:
    """The truth under the items that are to be scored."""
    if truth is None or images is None:
        return truth
    items = _expected_items(what, images, reading, truth.items, problems)
    if items is None:
        return None
    at = truth.items.find(items.ids)
    if len(truth.items) and not (at >= 0).any():
        found, expected = f"no id of {path}", "ids that the truth has too"
        remedy = "give the list of the same set, with ids written alike"
        problems.add(Problem("no_common_id", str(images), found, expected, remedy))
    if truth.items.group is None:
        return truth.onto(items)
    group = pl.Series([truth.items.group[int(k)] if k >= 0 else "(none)" for k in at], dtype=pl.String)
    return truth.onto(replace(items, group=group))


def _pair(
    what: Challenge,
    truth: Annotations[Any] | None,
    predicted: Annotations[Any] | None,
    file: Source,
    images: Source | None,
    reading: Any,
    problems: Problems,
) -> Pair | None:
    if truth is None or predicted is None:
        return None
    if what.sparse and images is None:  # whatever either of them names is part of the set
        items = Items(pl.concat([truth.items.ids, predicted.items.ids]).unique(maintain_order=True))
        return truth.onto(items), predicted.onto(items)
    return truth, _fit(what, predicted, truth.items, file, reading, problems)


def _fit(
    what: Challenge, predicted: Annotations[Any], items: Items, file: Source, reading: Any, problems: Problems
) -> Annotations[Any]:
    """The predictions under the expected items, with unknown and missing ones as problems."""
    if not what.sparse:
        return align(predicted, items, reading, str(file), problems)
    unknown = np.flatnonzero(items.find(predicted.items.ids) < 0)
    report_unknown(unknown, predicted.items, str(file), problems, remedy="drop the row")
    return predicted.onto(items)


def _expected_items(what: Challenge, source: Source, reading: Any, like: Items, problems: Problems) -> Items | None:
    """The ids that a sample submission or a data folder names; None if it cannot be used.

    A folder's file names lose their suffix where the ids in `like` are written so.
    """
    path, before = Path(source), problems.total
    samples = sorted(path.glob("sample_submission*.csv"))
    if path.is_dir() and len(samples) != 1:
        items = Items.of(what.dialect.folder_ids(path, problems))
        if not (items.find(like.ids) >= 0).any():
            stems = Items.of(list(dict.fromkeys(Path(name).stem for name in items.ids)))
            items = stems if len(stems) == len(items) and (stems.find(like.ids) >= 0).any() else items
    else:
        sample = what.dialect.read(samples[0] if path.is_dir() else path, reading, problems)
        items = Items.of([]) if sample is None else Items(sample.items.ids)
    return items if problems.total == before else None


def _with_hours(
    what: Challenge, reading: Any, audio: Source, truth: Annotations[Any] | None, problems: Problems
) -> Any:
    """The reading with the hours of the recordings in a folder."""
    if not hasattr(reading, "hours"):
        raise BadInput(Problem("bad_option", "audio", what.name, "a challenge of recordings", "leave it out"))
    recordings = media_files(Path(audio), RECORDINGS, problems)
    hours = hours_of(recordings, problems)
    names = {path.name for path in recordings}
    absent = [] if truth is None else [name for name in truth.items.ids if Path(name).name not in names]
    expected, remedy = "every recording that the truth names", "name the folder with all of them, or give --hours"
    problems.add_each(
        "missing_audio",
        str(audio),
        absent,
        lambda name: Problem("missing_audio", str(audio), f"no {name}", expected, remedy, item=name),
    )
    return replace(reading, hours=hours) if hours > 0 else reading
