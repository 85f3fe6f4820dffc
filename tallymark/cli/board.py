"""The command of leaderboards: board."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tallymark.cli.options import (
    Address,
    Engine,
    Force,
    Images,
    Json,
    Name,
    Rule,
    Truth,
    Workers,
    engine_of,
    print_json,
    problems_as_output,
    rule_options_of,
)


def board(
    challenge: Name,
    folder: Annotated[
        Path, typer.Argument(help="The submissions, one file each, in folders or not.", show_default=False)
    ],
    truth: Truth,
    public: Annotated[
        Path | None,
        typer.Option(
            help="CSV file with the public ids, or of `tallymark folds --public-private`. Others are private."
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML page to write.")] = Path("board.html"),
    csv: Annotated[Path | None, typer.Option("--csv", help="Write the ranking to this CSV file too.")] = None,
    images: Images = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    resamples: Annotated[int, typer.Option(min=1, max=100_000, help="Bootstrap resamples of the items.")] = 1000,
    engine: Engine = "local",
    workers: Workers = None,
    address: Address = None,
    rule: Rule = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Rank a folder of submissions by the official rule, with intervals, on a page.

    Every submission is checked first; files with problems are listed with them and get no place. Neighbours whose
    difference may be chance are named.
    """
    with problems_as_output(json_):
        from tallymark.api.board import board as run_board
        from tallymark.core.console import console, print_line
        from tallymark.core.planned_outputs import refuse_outputs
        from tallymark.io.tables import write_frame

        refuse_outputs([out, csv], inputs=[folder, truth, public, images], force=force)
        options = rule_options_of(rule, challenge)
        made = run_board(
            challenge,
            folder,
            truth,
            out,
            public=public,
            images=images,
            seed=seed,
            resamples=resamples,
            engine=engine_of(engine, workers, address),
            **options,
        )
        if csv is not None:
            write_frame(csv, made.table)
        if json_:
            print_json({**made.as_dict(), "out": str(out)})
            return
        made.show(console())
        print_line(f"written to {out}")
