"""The command export-metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tallymark.cli.options import Force, Name, problems_as_output


def export_metrics(
    challenge: Name,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file to write. Default: the script's own name, here.")
    ] = None,
    force: Force = False,
) -> None:
    """Write the scoring script that the organisers ask for, as a Python file that needs nothing else."""
    with problems_as_output(False):
        from tallymark.api.metrics import export_metrics as write_metrics
        from tallymark.core.console import print_line
        from tallymark.core.planned_outputs import refuse_outputs
        from tallymark.core.registry import challenge as find

        if (script := find(challenge).script) is not None:
            target = out or Path(script.name)
            refuse_outputs([target / script.name if target.is_dir() else target], force=force)
        written = write_metrics(challenge, out)
        print_line(f"written to {written}; next: python {written} ANNOTATIONS.csv DETECTIONS.csv")
