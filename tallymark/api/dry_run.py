"""What a training would take: minutes, memory and steps, measured before it is begun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallymark.api.corrections import correct_catalog, read_files
from tallymark.api.data import PathLike, read
from tallymark.api.leave_one_out import choose_folds
from tallymark.api.train import changed_preset, check_minutes, require_packages
from tallymark.core.registry import challenge

if TYPE_CHECKING:
    from tallymark.training.dry_run import DryRun


def dry_run(
    name: str,
    folder: PathLike,
    *,
    preset: str = "small",
    minutes: float | None = None,
    threads: int | None = None,
    exclude: PathLike | None = None,
    corrections: Sequence[PathLike] = (),
    extra_data: Sequence[PathLike] = (),
    fold_table: PathLike | None = None,
    rule_options: Mapping[str, Any] | None = None,
    **recipe: object,
) -> DryRun:
    """Measure what `train` would take with the same arguments: a few steps are trained, and nothing is written.

    Examples
    --------
    >>> print(tallymark.dry_run("wheat", "global-wheat-detection", preset="full"))  # doctest: +SKIP
    """
    require_packages("torch")
    from tallymark.training import dry_run as measured
    from tallymark.training.train import TrainingPlan

    what = challenge(name)
    given = dict(rule_options or {})
    chosen = changed_preset(name, preset, recipe)
    check_minutes(minutes)
    reviews = read_files(what, corrections)
    catalog, _ = correct_catalog(what, read(name, folder, exclude=exclude, **given).with_media(), reviews)
    folds, chosen = choose_folds(catalog, chosen, recipe, fold_table)
    also = [read(name, path, **given).with_media() for path in extra_data]
    classes = catalog.with_truth().truth.classes
    plan = TrainingPlan(
        challenge=name,
        rule=what.rule_on(catalog, what.parse_rule_options(given, folder, classes), given),
        catalog=catalog,
        recipe=chosen,
        folder=Path(),
        extra_data=tuple(one.select(one.labelled) for one in also),
        minutes=minutes,
        threads=threads,
        folds=folds,
    )
    return measured.dry_run(plan)
