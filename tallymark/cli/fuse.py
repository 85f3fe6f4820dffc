"""The command that fuses predictions: fuse."""

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


def fuse(
    challenge: Name,
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Submissions, Parquet files of `predict --candidates`, or runs (their held-out candidates).",
            show_default=False,
        ),
    ],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The submission to write.")] = None,
    truth: Annotated[
        Path | None,
        typer.Option(help="Annotations or a data folder: tune the settings, and measure what fusing gains."),
    ] = None,
    exclude: Exclude = None,
    corrections: Reviews = None,
    settings: Annotated[
        Path | None, typer.Option(help="TOML file: with --truth to write the tuned settings, else to use them.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="wbf, nms or soft_nms; of labels mean, geometric or votes.")
    ] = None,
    weights: Annotated[str | None, typer.Option(help="Weights of the files, e.g. 1,2. Default: equal.")] = None,
    iou: Annotated[
        float | None, typer.Option(min=0, max=1, help="IoU above which detections are of one object.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="Recordings: distance up to which events are one.")
    ] = None,
    calibration: Annotated[
        str | None, typer.Option(help="How scores of different models are made comparable: none, threshold or rank.")
    ] = None,
    score_threshold: Annotated[float | None, typer.Option(min=0, max=1, help="Least fused score.")] = None,
    form: Annotated[str | None, typer.Option(help="The published form of the submission. Default: the first.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the halves and of the bootstrap.")] = 0,
    force: Force = False,
    rule: Rule = None,
    json_: Json = False,
) -> None:
    """Fuse the predictions of several models or submissions into one.

    With --truth, method, weights, overlap and score threshold are tuned by the official rule. Each fold of the runs, or
    else each half of the items, is scored with settings that were tuned on the others, and the gain over the best file
    alone is printed with its 95 % interval.
    """
    with problems_as_output(json_):
        from tallymark.api.fuse import fuse as run_fuse
        from tallymark.core.console import console, print_line
        from tallymark.core.planned_outputs import refuse_outputs
        from tallymark.core.problems import BadInput, Problem

        if out is None and truth is None:
            found, remedy = "neither --out nor --truth", "name the submission to write: --out FILE"
            raise BadInput(Problem("bad_option", "fuse", found, "something to do with the result", remedy))
        written = settings if truth is not None else None
        read = None if truth is not None else settings
        refuse_outputs([out, written], inputs=[*files, truth, read, exclude, *(corrections or ())], force=force)
        result = run_fuse(
            challenge,
            files,
            out,
            truth=truth,
            exclude=exclude,
            corrections=corrections or (),
            settings=settings,
            method=method,
            weights=_numbers(weights),
            iou=iou,
            seconds=seconds,
            calibration=calibration,
            score_threshold=score_threshold,
            seed=seed,
            form=form,
            **rule_options_of(rule, challenge),
        )
        if json_:
            print_json({"out": None if out is None else str(out), **result.as_dict()})
            return
        result.show(console())
        for path in (out, written):
            if path is not None:
                print_line(f"written to {path}")


def _numbers(text: str | None) -> list[float] | None:
    """Weights as they are typed, separated by commas."""
    from tallymark.core.problems import BadInput, Problem

    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        found, remedy = f"--weights {text}", "give e.g. 1,2"
        raise BadInput(Problem("bad_option", "command line", found, "numbers between commas", remedy)) from None
