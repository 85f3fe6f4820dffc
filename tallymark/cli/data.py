"""Commands on data sets, and on new challenges: explore, folds, synth, new."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from tallymark.cli.options import (
    Address,
    DataFolder,
    Engine,
    Exclude,
    Force,
    Json,
    Name,
    Rule,
    Workers,
    changes_of,
    engine_of,
    print_json,
    problems_as_output,
    rule_options_of,
)


def explore(
    challenge: Name,
    folder: DataFolder,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML page to write.")] = Path("explore.html"),
    predictions: Annotated[
        Path | None, typer.Option(help="A submission or candidates, to be shown beside the truth.")
    ] = None,
    exclude: Exclude = None,
    force: Force = False,
    engine: Engine = "local",
    workers: Workers = None,
    address: Address = None,
    rule: Rule = None,
) -> None:
    """Write an HTML page about a data folder: counts, sizes, groups, and a gallery with the truth drawn in."""
    with problems_as_output(False):
        from tallymark.api.data import explore as run_explore
        from tallymark.core.console import print_line
        from tallymark.core.planned_outputs import refuse_outputs

        refuse_outputs([out], inputs=[folder, exclude, predictions], force=force)
        unread = run_explore(
            challenge,
            folder,
            out,
            exclude=exclude,
            predictions=predictions,
            engine=engine_of(engine, workers, address),
            **rule_options_of(rule, challenge),
        )
        print_line(f"written to {out}")
        unread.raise_if_any()


def folds(
    challenge: Name,
    folder: DataFolder,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="CSV file to write. Default: folds.csv, or split.csv with --public-private."),
    ] = None,
    folds: Annotated[int | None, typer.Option(min=2, max=1000, help="Number of folds. Default: 5.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the assignment of groups to folds.")] = 0,
    leave_one_out: Annotated[bool, typer.Option("--leave-one-out", help="Make every group a fold of its own.")] = False,
    public_private: Annotated[
        bool,
        typer.Option("--public-private", help="Split the items, or those of a truth file, for a leaderboard instead."),
    ] = False,
    public_share: Annotated[
        float | None, typer.Option(help="With --public-private: the share of public items. Default: 0.3.")
    ] = None,
    media: Annotated[
        Path | None,
        typer.Option(help="With --public-private and a truth file: the data folder with the media of its items."),
    ] = None,
    exclude: Exclude = None,
    force: Force = False,
    rule: Rule = None,
    json_: Json = False,
) -> None:
    """Create leakage-free cross-validation folds, grouped by source, day or drive.

    Near-duplicates stay together too. `tallymark train --folds` uses the file. With --public-private, the file says
    which items are public and which private; `tallymark board --public` uses it.
    """
    with problems_as_output(json_):
        from tallymark.api.data import folds as make_folds
        from tallymark.api.public_split import public_private as make_split
        from tallymark.core.console import console, print_line, show_problems, show_table
        from tallymark.core.planned_outputs import refuse_outputs

        given: dict[str, object] = {"--folds": folds, "--leave-one-out": leave_one_out or None}
        for_split: dict[str, object] = {"--public-share": public_share, "--media": media}
        _refuse_options(given if public_private else for_split, public_private)
        out = out or Path("split.csv" if public_private else "folds.csv")
        refuse_outputs([out], inputs=[folder, exclude, media], force=force)
        options = rule_options_of(rule, challenge)
        if public_private:
            share = 0.3 if public_share is None else public_share
            split = make_split(
                challenge, folder, public_share=share, seed=seed, media=media, exclude=exclude, **options
            )
            split.save(out)
            title, table, notes, remarks = "split", split.table, split.notes, split.notes.remarks
        else:
            made = make_folds(
                challenge, folder, folds=folds or 5, seed=seed, leave_one_out=leave_one_out, exclude=exclude, **options
            )
            made.save(out)
            title, table, notes, remarks = "folds", made.table, made.notes, []
        if json_:
            more = {"remarks": remarks} if public_private else {}
            print_json({"out": str(out), title: table.to_dicts(), "notes": notes.as_dict(), **more})
        else:
            if notes:
                show_problems(notes, console())
            show_table(title, table.columns, table.rows(), console())
            for remark in remarks:
                print_line(remark)
            print_line(f"written to {out}")


def _refuse_options(given: Mapping[str, object], public_private: bool) -> None:
    """A `BadInput` for options that belong to the other of the two: folds, or a public and private split."""
    from tallymark.core.problems import Problem, Problems

    problems = Problems()
    expected = "folds or --public-private, not both" if public_private else "--public-private with it"
    for option in (name for name, value in given.items() if value is not None):
        remedy = "leave one of the two out" if public_private else "add --public-private"
        problems.add(Problem("bad_option", "command line", option, expected, remedy))
    problems.raise_if_any()


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
    engine: Engine = "local",
    workers: Workers = None,
    address: Address = None,
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
        chosen = engine_of(engine, workers, address)
        rule_options = run_synth(challenge, folder, items=items, seed=seed, zipped=zipped, engine=chosen, **options)
        needed = "".join(f" --rule {key}={value}" for key, value in rule_options.items())
        print_line(f"written to {folder}; next: tallymark check {challenge} {folder}{needed}")
