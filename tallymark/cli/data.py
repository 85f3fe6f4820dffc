"""Data sets: explore, split, synth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tallymark.cli.options import (
    DataFolder,
    Exclude,
    Json,
    Name,
    Readings,
    changes_of,
    options_of,
    print_json,
    problems_as_output,
)


def explore(
    challenge: Name,
    folder: DataFolder,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("explore.html"),
    exclude: Exclude = None,
    rule_options: Readings = None,
) -> None:
    """What is in a data folder, as one page: counts, sizes, groups, and a gallery with the truth drawn in."""
    with problems_as_output(False):
        from tallymark.api import data as api_data
        from tallymark.core.console import say

        api_data.explore(challenge, folder, out, exclude=exclude, **options_of(rule_options))
        say(f"look at {out}")


def folds(
    challenge: Name,
    folder: DataFolder,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write `id,group,fold`.")] = Path("folds.csv"),
    folds: Annotated[int, typer.Option(min=2, help="How many folds.")] = 5,
    seed: Annotated[int, typer.Option(help="Another seed deals the groups out otherwise.")] = 0,
    leave_one_out: Annotated[bool, typer.Option("--leave-one-out", help="Every group is a fold of its own.")] = False,
    exclude: Exclude = None,
    rule_options: Readings = None,
    json_: Json = False,
) -> None:
    """Deal the training items into folds that tell the truth: what belongs together stays together.

    Groups are sources (wheat), days (upcalls), logs (lyft) and look-alike chips (ships).
    """
    with problems_as_output(json_):
        from tallymark.api import data as api_data
        from tallymark.core.console import console, say, show_table

        made = api_data.folds(
            challenge,
            folder,
            folds=folds,
            seed=seed,
            leave_one_out=leave_one_out,
            exclude=exclude,
            **options_of(rule_options),
        )
        made.save(out)
        table = made.table
        if json_:
            print_json({"out": str(out), "folds": table.to_dicts()})
        else:
            show_table("folds", table.columns, table.rows(), console())
            say(f"written to {out}")


def synth(
    challenge: Name,
    folder: Annotated[Path, typer.Argument(help="Where to write the data set.", show_default=False)],
    items: Annotated[int, typer.Option(min=1, help="Photographs, recordings, samples or chips in all.")] = 50,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")] = 0,
    scenes: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="What the scenes are like: see `tallymark list CHALLENGE`."),
    ] = None,
) -> None:
    """Make a synthetic data set in the official formats, for trying things without the official files."""
    with problems_as_output(False):
        from tallymark.api import data as api_data
        from tallymark.core.console import say

        rule_options = api_data.synth(challenge, folder, items=items, seed=seed, **changes_of(scenes, api_data.synth))
        needed = "".join(f" --rule {key}={value}" for key, value in rule_options.items())
        say(f"written to {folder}; next: tallymark check {challenge} {folder}{needed}")
