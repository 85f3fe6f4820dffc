"""The command that quantises the models of a run: quantize."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tallymark.cli.options import Force, Json, Rule, Threads, assignments_of, print_json, problems_as_output


def quantize(
    run: Annotated[
        str,
        typer.Argument(help="A run, a model.onnx, or a challenge that has a pretrained model.", show_default=False),
    ],
    calibrate: Annotated[
        Path,
        typer.Option(help="A folder of items like those to predict, to calibrate on; annotated, to score on too."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The new run, or a model file (.onnx). Default: the run with -int8."),
    ] = None,
    items: Annotated[int, typer.Option(min=1, help="Number of items to calibrate on.")] = 64,
    force: Force = False,
    threads: Threads = None,
    rule: Rule = None,
    json_: Json = False,
) -> None:
    """Write the models of a run in int8: smaller and faster, with what that costs in score.

    Prints size and speed of both and, where items are annotated, their scores. `predict` takes the new run as any
    other.
    """
    with problems_as_output(json_):
        from tallymark.api.quantize import quantize as run_quantize
        from tallymark.core.console import console, print_line, show_problems

        result = run_quantize(
            run, calibrate, out, items=items, threads=threads, force=force, rule_options=assignments_of(rule)
        )
        if json_:
            print_json(result.as_dict())
            return
        if result.problems:
            show_problems(result.problems, console())
        result.show(console())
        print_line(f"written to {result.out}; next: tallymark predict {result.out} FOLDER --out submission.csv")
