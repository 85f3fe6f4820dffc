"""The command export-metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tallymark.cli.options import Name, problems_as_output


def export_metrics(
    challenge: Name,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file to write. Default: the script's own name, here.")
    ] = None,
) -> None:
    """Write the scoring script that the organisers ask for, as a Python file that needs nothing else."""
    with problems_as_output(False):
        from tallymark.api.metrics import export_metrics as write_metrics
        from tallymark.core.console import print_line

        written = write_metrics(challenge, out)
        print_line(f"written to {written}; next: python {written} ANNOTATIONS.csv DETECTIONS.csv")
