"""Submissions: score, compare, repair, convert, read and write them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from tallymark.core.outputs import replacing
from tallymark.core.problems import BadInput, Problem, Problems
from tallymark.core.registry import Challenge, Scoring, challenge
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Geometry
from tallymark.scoring.alignment import ChosenItems, PathLike, expected_items, read_pairs
from tallymark.scoring.baseline import beside_baseline
from tallymark.scoring.compare import Comparison, compare_scores
from tallymark.scoring.interval import RESAMPLES
from tallymark.scoring.score import Score
from tallymark.submission.dialect import Change, check_written, write_submission
from tallymark.submission.repair import repair_file

if TYPE_CHECKING:
    from tallymark.reporting.distances import Distances


def score(
    name: str,
    truth: PathLike,
    submission: PathLike,
    *,
    images: PathLike | None = None,
    fold_table: PathLike | None = None,
    fold: int | None = None,
    **options: object,
) -> Score:
    """Score a submission by the official rule.

    Parameters
    ----------
    name: the challenge.
    truth: the official annotations, or a data folder that has them.
    submission: the file to score.
    images: a sample submission or data folder that lists the ids to score; by default those of the truth.
    fold_table, fold: or score the items of one fold of a CSV table, as `folds` makes it; others may be in the file.
    options: rule options, e.g. `match="best_overall"`, and the challenge's score options, e.g. `audio="recordings"`;
        `tallymark list CHALLENGE` lists both.

    Examples
    --------
    >>> tallymark.score("wheat", "train.csv", "submission.csv").value  # doctest: +SKIP
    """
    what = challenge(name)
    problems = Problems()
    rule, extra = split_options(what, options)
    rule_options = what.parse_rule_options(rule, truth)
    chosen = choose_fold(fold_table, fold, images)
    expected, [pair] = read_pairs(what, truth, [submission], images, rule_options, problems, chosen)
    listed = images is not None or chosen is not None
    scoring = Scoring(Path(truth), expected, rule_options, rule | extra, problems, listed)
    rule_options = what.complete_rule_options(scoring)
    answers, predicted = problems.checked(pair)
    analyses = what.analyze(answers, predicted, replace(scoring, rule_options=rule_options))
    problems.raise_if_any()
    result = what.score(answers, predicted, rule_options)
    result = replace(result, analyses={**result.analyses, **analyses}, remarks=tuple(problems.remarks))
    return beside_baseline(result, answers, lambda truth, guess: what.score(truth, guess, rule_options), what.baseline)


def choose_fold(fold_table: PathLike | None, fold: int | None, images: PathLike | None) -> ChosenItems | None:
    """The items of a fold, and those of the others; None if no fold is asked for."""
    if fold_table is None and fold is None:
        return None
    if fold_table is None or fold is None or images is not None:
        given = {"folds": fold_table, "fold": fold, "images": images}
        found = " and ".join(f"--{option} {value}" for option, value in given.items() if value is not None)
        expected = "--folds FILE and --fold N together, without --images"
        raise BadInput(Problem("bad_option", "score", found, expected, "give both, or neither"))
    from tallymark.data.folds import read_folds

    folds = read_folds(fold_table)
    own = folds.fold == fold
    if not own.any():
        found, expected = f"no item in fold {fold}", f"a fold from 0 to {folds.count - 1}"
        raise BadInput(Problem("empty_fold", str(fold_table), found, expected, "count folds from 0 on"))
    inside, outside = (Items(folds.items.ids.filter(pl.Series(rows))) for rows in (own, ~own))
    return ChosenItems(inside, outside, fold_table)


def split_options(what: Challenge, options: Mapping[str, object]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Rule options and score options among those given; score options that are None count as not given."""
    own = {option.name for option in what.score_options} - {field.name for field in fields(what.rule_options)}
    rule = {name: value for name, value in options.items() if name not in own}
    extra = {name: value for name, value in options.items() if name in own and value is not None}
    return rule, extra


def by_distance(
    name: str,
    truth: PathLike,
    submission: PathLike,
    folder: PathLike,
    *,
    images: PathLike | None = None,
    min_points: int = 0,
    **rule_options: object,
) -> Distances:
    """Precision and recall of 3D boxes by class and by distance from the vehicle.

    Parameters
    ----------
    name, truth, submission, images, rule_options: as for `score`.
    folder: the data folder, which has the poses of the vehicle.
    min_points: lidar points that a 3D box must contain to count.
    """
    options: dict[str, Any] = {"by_distance": folder, "min_points": min_points, **rule_options}
    return cast("Distances", score(name, truth, submission, images=images, **options).analyses["distances"])


def compare(
    name: str,
    truth: PathLike,
    a: PathLike,
    b: PathLike,
    *,
    images: PathLike | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
    **rule_options: object,
) -> Comparison:
    """Compare two submissions item by item, with a 95 % bootstrap interval of their difference.

    Parameters
    ----------
    name, truth, images, rule_options: as for `score`.
    a, b: the two submissions.
    seed, resamples: of the bootstrap over items.
    """
    what = challenge(name)
    problems = Problems()
    chosen = what.parse_rule_options(rule_options, truth)
    _, pairs = read_pairs(what, truth, [a, b], images, chosen, problems)
    scores = (what.score(*problems.checked(pair), chosen) for pair in pairs)
    return replace(compare_scores(*scores, seed=seed, resamples=resamples), remarks=tuple(problems.remarks))


def repair(
    name: str, submission: PathLike, out: PathLike, *, against: PathLike | None = None, **rule_options: object
) -> list[Change]:
    """Write a valid version of a submission to another file.

    Parameters
    ----------
    out: the file to write. against: a sample submission or data folder, whose ids the file must have.

    Returns
    -------
    Every change that was made.
    """
    what = challenge(name)
    problems = Problems()
    chosen = what.parse_rule_options(rule_options, against)
    if os.path.realpath(submission) == os.path.realpath(out):
        remedy = "name another file: the original is kept"
        raise BadInput(Problem("same_file", str(out), "the submission itself", "another file", remedy))
    expected = None
    if against is not None:
        readable = what.dialect.read(submission, chosen, Problems())
        like = Items.of([]) if readable is None else readable.items
        expected = problems.checked(expected_items(what, against, chosen, like, problems)).ids.to_list()
    with replacing(out) as unchecked:
        changes = repair_file(what.dialect, submission, unchecked, expected, chosen, what.suffix_optional)
        check_written(what.dialect, unchecked, chosen)
    return changes


def convert(
    name: str,
    submission: PathLike,
    out: PathLike,
    *,
    form: str | None = None,
    to: str | None = None,
    media: PathLike | None = None,
    gsd: float | None = None,
    **rule_options: object,
) -> tuple[str, ...]:
    """Write a submission in another of its published forms, or in a format of other tools.

    Parameters
    ----------
    submission: the file; with `to` also a data folder, whose truth is written.
    out: the file or folder to write. form: the published form, by default the first.
    to: the format of other tools: `coco`, `yolo`, `voc`, `kitti`, `nuscenes`, `raven`, `audacity`, `geojson`,
        `photos` or `csv`.
    media: (with `to`) the folder of the images, recordings or sweeps that a submission is about.
    gsd: (with `to`) ground sampling distance in metres per pixel, for tables with sizes in metres.

    Returns
    -------
    Sentences about what was left out.
    """
    if to is not None and form is not None:
        found, remedy = f"form={form} and to={to}", "leave out one of the two"
        raise BadInput(Problem("bad_option", "convert", found, "a form, or a format of other tools", remedy))
    if to is not None:
        from tallymark.api.export import convert_to

        return convert_to(name, submission, out, to, media, gsd, **rule_options)
    for option, value in (("media", media), ("gsd", gsd)):
        if value is not None:
            found, remedy = f"{option}={value}", "leave it out, or add --to FORMAT"
            raise BadInput(Problem("bad_option", "convert", found, "a format of other tools with it", remedy))
    write(name, read_submission(name, submission, **rule_options), out, form=form, **rule_options)
    return ()


def write(
    name: str, annotations: Annotations[Geometry], path: PathLike, *, form: str | None = None, **rule_options: object
) -> None:
    """Write predictions as a submission; the file is checked before it gets its name."""
    what = challenge(name)
    chosen = what.parse_rule_options(rule_options, classes=annotations.classes)
    shapes: Any = annotations.shapes
    expected = what.mask_shape(chosen)
    if expected is not None and len(shapes) and shapes.shape != expected:
        # Runs in the rows of a smaller image are valid in those of a larger one, and other pixels there.
        (height, width), (high, wide) = shapes.shape, expected
        found, expected_size = f"masks in images of {width} x {height} px", f"{wide} x {high} px, to write them"
        remedy = f"give --rule shape={height}x{width}, if all images have this size"
        raise BadInput(Problem("other_size", str(path), found, expected_size, remedy))
    write_submission(what.dialect, annotations, path, chosen, form)


def read_truth(name: str, path: PathLike, **rule_options: object) -> Annotations[Geometry]:
    """Read the official annotations of a challenge."""
    what = challenge(name)
    problems = Problems()
    return problems.checked(what.dialect.read_truth(path, what.parse_rule_options(rule_options, path), problems))


def read_submission(name: str, path: PathLike, **rule_options: object) -> Annotations[Geometry]:
    """Read the predictions in a submission."""
    what = challenge(name)
    problems = Problems()
    return problems.checked(what.dialect.read(path, what.parse_rule_options(rule_options), problems))
