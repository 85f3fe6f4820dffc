"""The command kit: what a code competition needs, in one folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tallymark.cli.options import Json, print_json, problems_as_output


def kit(
    model: Annotated[
        str,
        typer.Argument(help="A run, a model.onnx, or a challenge that has a pretrained model.", show_default=False),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="A new folder for the kit.")] = Path("kit"),
    minutes: Annotated[
        float | None, typer.Option(min=0.1, help="The time limit that its script keeps, in minutes.")
    ] = None,
    python: Annotated[
        str | None,
        typer.Option(help="Python of the other machine, e.g. 3.11, if it is a Linux machine other than this one."),
    ] = None,
    json_: Json = False,
) -> None:
    """Write a kit for a code competition: packages, model, script and notebook that need no internet access.

    The script installs the packages and writes the submission. pip fetches the packages, so this command needs the
    internet, or PIP_FIND_LINKS.
    """
    with problems_as_output(json_):
        from tallymark.api.kit import kit as write_kit
        from tallymark.core.console import print_line
        from tallymark.core.planned_outputs import refuse_outputs

        refuse_outputs(filled=[out], inputs=[model])
        made = write_kit(model, out, minutes=minutes, python=python)
        if json_:
            files = {"submission": made.submission, "wheels": made.wheels, "bytes": made.bytes}
            print_json({"out": str(out), **files})
            return
        print_line(f"{made.wheels} packages, {made.bytes / 1e6:.0f} MB in all")
        print_line(f"written to {out}; next: python {out / 'predict.py'} FOLDER --out {made.submission}")
