"""Commands on data sets, and on new challenges: explore, folds, synth, new."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tallymark.cli.options import (
    DataFolder,
    Exclude,
    Force,
    Json,
    Name,
    Rule,
    assignments_of,
    changes_of,
    print_json,
    problems_as_output,
)


def explore(
    challenge: Name,
    folder: DataFolder,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML page to write.")] = Path("explore.html"),
    exclude: Exclude = None,
    force: Force = False,
    rule: Rule = None,
) -> None:
    """Write an HTML page about a data folder: counts, sizes, groups, and a gallery with the truth drawn in."""
    with problems_as_output(False):
        from tallymark.api.data import explore as run_explore
        from tallymark.core.console import print_line
        from tallymark.core.planned_outputs import refuse_outputs

        refuse_outputs([out], inputs=[folder, exclude], force=force)
        run_explore(challenge, folder, out, exclude=exclude, **assignments_of(rule))
        print_line(f"written to {out}")


def folds(
    challenge: Name,
    folder: DataFolder,
    out: Annotated[Path, typer.Option("--out", "-o", help="CSV file to write: id, group, fold.")] = Path("folds.csv"),
    folds: Annotated[int, typer.Option(min=2, max=1000, help="Number of folds.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the assignment of groups to folds.")] = 0,
    leave_one_out: Annotated[bool, typer.Option("--leave-one-out", help="Make every group a fold of its own.")] = False,
    exclude: Exclude = None,
    force: Force = False,
    rule: Rule = None,
    json_: Json = False,
) -> None:
    """Create leakage-free cross-validation folds, grouped by source, day or drive.

    Near-duplicates stay together too. `tallymark train --folds` uses the file.
    """
    with problems_as_output(json_):
        from tallymark.api.data import folds as make_folds
        from tallymark.core.console import console, print_line, show_problems, show_table
        from tallymark.core.planned_outputs import refuse_outputs

        refuse_outputs([out], inputs=[folder, exclude], force=force)
        options = assignments_of(rule)
        made = make_folds(
            challenge, folder, folds=folds, seed=seed, leave_one_out=leave_one_out, exclude=exclude, **options
        )
        made.save(out)
        if json_:
            print_json({"out": str(out), "folds": made.table.to_dicts(), "notes": made.notes.as_dict()})
        else:
            if made.notes:
                show_problems(made.notes, console())
            show_table("folds", made.table.columns, made.table.rows(), console())
            print_line(f"written to {out}")


def new(
    name: Annotated[str, typer.Argument(help="The name of the new challenge, e.g. bees.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A new folder for the package. Default: the name, here.")
    ] = None,
) -> None:
    """Write the package of a new challenge, with tests: it works as it is, and is yours to change."""
    with problems_as_output(False):
        from tallymark.api.new import new as write_skeleton
        from tallymark.core.console import print_line
        from tallymark.core.planned_outputs import refuse_outputs

        refuse_outputs(filled=[name if out is None else out])
        folder = write_skeleton(name, out)
        print_line(f"written to {folder}; next: pip install -e {folder} && tallymark list {name}")


def synth(
    challenge: Name,
    folder: Annotated[Path, typer.Argument(help="A new folder for the data set.", show_default=False)],
    items: Annotated[int, typer.Option(min=1, help="Number of images, recordings or sweeps.")] = 50,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")] = 0,
    zipped: Annotated[
        bool, typer.Option("--zip", help="Write zip archives, as the official data are published.")
    ] = False,
    scene_options: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="How the data look: `tallymark list CHALLENGE` lists the keys."),
    ] = None,
) -> None:
    """Generate a synthetic data set in the official formats, to try everything without the official files."""
    with problems_as_output(False):
        from tallymark.api.data import synth as run_synth
        from tallymark.core.console import print_line
        from tallymark.core.planned_outputs import refuse_outputs

        refuse_outputs(filled=[folder])
        options = changes_of(scene_options, run_synth)
        rule_options = run_synth(challenge, folder, items=items, seed=seed, zipped=zipped, **options)
        needed = "".join(f" --rule {key}={value}" for key, value in rule_options.items())
        print_line(f"written to {folder}; next: tallymark check {challenge} {folder}{needed}")
