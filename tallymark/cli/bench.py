"""The command that measures a model: bench."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tallymark.cli.options import (
    DataFolder,
    Force,
    Json,
    Model,
    Rule,
    Threads,
    assignments_of,
    changes_of,
    print_json,
    problems_as_output,
)


def bench(
    model: Model,
    folder: DataFolder,
    recipe: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Recipe fields that are not varied, e.g. tta=1."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="HTML page with a plot of speed and score.")] = None,
    force: Force = False,
    items: Annotated[int, typer.Option(min=1, help="Items to measure at most, from the whole folder.")] = 96,
    minutes: Annotated[float, typer.Option(min=0.01, help="Time to measure, in minutes.")] = 2.0,
    runtime: Annotated[
        list[str] | None, typer.Option(help="A runtime to measure. Repeatable. Default: each that is installed.")
    ] = None,
    threads: Threads = None,
    write: Annotated[
        bool, typer.Option("--write", help="Put fast, balanced and best into the model, for predict --speed.")
    ] = False,
    rule: Rule = None,
    json_: Json = False,
) -> None:
    """Measure speed and score of a model on this machine: by runtime, test-time augmentation and image size.

    Settings take turns, and numbers are medians. Where the folder has annotations, each setting is scored by the
    official rule.
    """
    with problems_as_output(json_):
        from tallymark.api.bench import bench as run_bench
        from tallymark.core.console import console, print_line
        from tallymark.core.planned_outputs import refuse_outputs

        refuse_outputs([out], inputs=[model, folder], force=force)
        result = run_bench(
            model,
            folder,
            out,
            items=items,
            minutes=minutes,
            runtimes=runtime,
            threads=threads,
            write=write,
            rule_options=assignments_of(rule),
            **changes_of(recipe, run_bench),
        )
        if json_:
            print_json({**result.as_dict(), "out": None if out is None else str(out)})
            return
        result.show(console())
        for path in filter(None, [out, model if write else None]):
            print_line(f"written to {path}")
