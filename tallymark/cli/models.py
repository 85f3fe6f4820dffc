"""The command models."""

from __future__ import annotations

from tallymark.cli.options import Json, print_json, problems_as_output

COLUMNS = ("model", "size", "trained on", "score", "evaluated on", "licence", "use it with")


def models(json_: Json = False) -> None:
    """List the pretrained models: data, score, licence and the command to use each; and challenges that have none."""
    with problems_as_output(json_):
        from tallymark.api.pretrained import models as list_models

        listed = list_models()
        if json_:
            print_json(listed.as_dict())
            return
        from tallymark.core.console import console, show_problems, show_table

        rows = [
            (
                one.challenge,
                f"{one.bytes / 1e6:.1f} MB",
                one.card.data or "not stated",
                "not stated" if one.card.score is None else one.card.score,
                one.card.evaluated_on or "not stated",
                one.card.licence or "not stated",
                one.command,
            )
            for one in listed.pretrained
        ]
        show_table("pretrained models", COLUMNS, rows, console())
        missing = [(one.challenge, one.reason or "not stated", one.command) for one in listed.missing]
        show_table("no pretrained model", ("challenge", "why", "train one with"), missing, console())
        if listed.problems:
            show_problems(listed.problems, console())
