"""The command that tunes a run again: tune."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tallymark.cli.options import (
    Exclude,
    Json,
    Reviews,
    Rule,
    assignments_of,
    changes_of,
    print_json,
    problems_as_output,
)


def tune(
    run: Annotated[Path, typer.Argument(help="The folder of a training.", show_default=False)],
    recipe: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUE]...", help="Post-processing fields that are given and not tuned, e.g. fusion=wbf."
        ),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="The data set of the training. Default: where it was then.")] = None,
    exclude: Exclude = None,
    corrections: Reviews = None,
    write: Annotated[
        bool, typer.Option("--write", help="Put the tuned settings into the run. Without it, nothing is changed.")
    ] = False,
    rule: Rule = None,
    json_: Json = False,
) -> None:
    """Tune the thresholds, NMS overlap and mask scale of a run again, on its held-out candidates.

    No image, recording or sweep is read, and no network runs: the candidates are in held_out.parquet of the run.
    """
    with problems_as_output(json_):
        from tallymark.api.tune import tune as run_tune
        from tallymark.core.console import console, print_line, show_problems

        result = run_tune(
            run,
            data=data,
            exclude=exclude,
            corrections=corrections or (),
            write=write,
            rule_options=assignments_of(rule),
            **changes_of(recipe, run_tune),
        )
        if json_:
            print_json(result.as_dict())
            return
        result.show(console())
        for note in result.notes:
            print_line(note)
        if result.problems is not None:
            show_problems(result.problems, console())
        if write:
            print_line(f"written to {run}")
        else:
            print_line("nothing is changed; --write puts the tuned settings into the run")
