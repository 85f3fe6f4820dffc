"""The command `watch`: predict what arrives in a folder."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tallymark.cli.options import (
    Json,
    Model,
    RuntimeName,
    Threads,
    changes_of,
    command_line,
    print_json,
    problems_as_output,
    runtime_of,
)

if TYPE_CHECKING:
    from types import FrameType


def watch(
    model: Model,
    folder: Annotated[
        Path, typer.Argument(help="The folder that images, recordings or sweeps arrive in.", show_default=False)
    ],
    recipe: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Recipe fields, e.g. tta=1 score_threshold=0.4."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of tables, report and ledger.")] = Path("watched"),
    once: Annotated[bool, typer.Option("--once", help="Predict what is there and complete, and end.")] = False,
    settle: Annotated[float, typer.Option(min=0, help="Seconds that a complete file has not changed for.")] = 10.0,
    poll: Annotated[float, typer.Option(min=0.01, help="Seconds between two looks at the folder.")] = 5.0,
    report_every: Annotated[float, typer.Option(min=0, help="Minutes between two reports, at least.")] = 10.0,
    report_items: Annotated[int, typer.Option(min=1, help="Files in the report: the last ones.")] = 200,
    gsd: Annotated[
        float | None, typer.Option(help="Ground sampling distance of images in metres per pixel, for sizes in metres.")
    ] = None,
    time_pattern: Annotated[
        str, typer.Option(help="Time in the names of files, e.g. %Y%m%d_%H%M%S. Default: usual forms are tried.")
    ] = "",
    time_zone: Annotated[
        str, typer.Option(help="Of the clocks, e.g. UTC or +02:00; with a second one, times are shown in that.")
    ] = "",
    runtime: RuntimeName = "auto",
    threads: Threads = None,
    json_: Json = False,
) -> None:
    """Predict what arrives in a folder, once each file is complete and never twice, and append to tables.

    Ends after the current file at SIGTERM or Ctrl-C. The same command resumes where it ended, even after a kill.
    """
    with problems_as_output(json_, resume=lambda: f"to resume: {command_line()}"):
        from tallymark.api.models import open_model
        from tallymark.api.watch import watch as run_watch
        from tallymark.core.console import print_line
        from tallymark.core.planned_outputs import refuse_outputs

        refuse_outputs(filled=[out], inputs=[folder])
        changes = changes_of(recipe, run_watch)
        predictor = open_model(model, runtime_of(runtime), threads)
        with _ending_softly() as stop:
            result = run_watch(
                predictor,
                folder,
                out,
                once=once,
                settle=settle,
                poll=poll,
                report_every=report_every,
                report_items=report_items,
                gsd=gsd,
                time_pattern=time_pattern,
                time_zone=time_zone,
                stop=stop,
                tell=None if json_ else _print_at_once,
                **changes,
            )
        if json_:
            print_json({"out": str(out), **result})
        else:
            print_line(", ".join(f"{name} {value}" for name, value in result.items()))
            print_line(f"written to {out}")
        if once and result["unread"]:  # all else is written, but a script should know
            raise typer.Exit(2)


def _print_at_once(text: str) -> None:
    """Print a line so that a log has it now: the next one may come in hours."""
    from tallymark.core.console import print_line

    print_line(text)
    sys.stdout.flush()


@contextmanager
def _ending_softly() -> Iterator[threading.Event]:
    """An event that is set by the first SIGTERM or Ctrl-C; a second Ctrl-C interrupts at once."""
    stop = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        stop.set()
        signal.signal(number, before[signal.Signals(number)])

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
