"""The command `report`: a page about predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tallymark.cli.options import (
    Exclude,
    Force,
    Json,
    Name,
    Reviews,
    Rule,
    print_json,
    problems_as_output,
    rule_options_of,
)
from tallymark.cli.score_options import score_options_of


def report(
    ctx: typer.Context,
    challenge: Name,
    predictions: Annotated[
        Path,
        typer.Argument(help="A submission, or candidates with scores: held_out.parquet of a run.", show_default=False),
    ],
    media: Annotated[
        Path | None, typer.Option(help="Data folder with the images, recordings or sweeps, for pictures.")
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(help="Annotations, or a folder that has them. Default: those of --media.")
    ] = None,
    exclude: Exclude = None,
    corrections: Reviews = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML page to write.")] = Path("report.html"),
    figures: Annotated[Path | None, typer.Option(help="Folder for the charts as SVG and PNG.")] = None,
    scenes: Annotated[int, typer.Option(min=0, max=2000, help="Pictures on the page, at most.")] = 48,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random choice among items.")] = 0,
    force: Force = False,
    rule: Rule = None,
    json_: Json = False,
) -> None:
    """Write a page about predictions: pictures, counts and, with the truth, the score and the causes of error.

    The page is one file that needs no server. Its threshold can be moved, and predictions can be reviewed in it.
    """
    with problems_as_output(json_):
        from tallymark.api.report import report as write_report
        from tallymark.core.console import console, print_line, show_problems
        from tallymark.core.planned_outputs import refuse_outputs

        inputs = [predictions, media, truth, exclude, *(corrections or ())]
        refuse_outputs([out], filled=[figures], inputs=inputs, force=force)
        problems = write_report(
            challenge,
            predictions,
            out,
            media=media,
            truth=truth,
            exclude=exclude,
            corrections=corrections or (),
            figures=figures,
            scenes=scenes,
            seed=seed,
            **rule_options_of(rule, challenge) | score_options_of(ctx, challenge),
        )
        if json_:
            print_json({"out": str(out), **problems.as_dict()})
            return
        if problems:
            show_problems(problems, console())
        for path in (out, *([] if figures is None else [figures])):
            print_line(f"written to {path}")
