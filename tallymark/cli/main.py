"""The command line: every command, in the order in which one needs them."""

from __future__ import annotations

from typing import Annotated

import typer

from tallymark.cli import data, kit, metrics, models, scores
from tallymark.cli.score_options import RuleCommand, ScoreCommand
from tallymark.cli.suggestions import Commands

app = typer.Typer(
    name="tallymark",
    cls=Commands,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _print_version(asked: bool) -> None:
    if asked:
        import tallymark

        print(f"tallymark {tallymark.__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
]


@app.callback()
def root(version: Version = False) -> None:
    """Detect, count and score objects in photographs, recordings, lidar sweeps and satellite images."""


app.command("list")(scores.list_)
app.command(cls=RuleCommand)(scores.check)
app.command(cls=ScoreCommand)(scores.score)
app.command(cls=RuleCommand)(scores.compare)
app.command()(scores.repair)
app.command()(scores.convert)
app.command("export-metrics")(metrics.export_metrics)
app.command(cls=RuleCommand)(data.explore)
app.command(cls=RuleCommand)(data.folds)
app.command()(data.synth)
app.command(cls=RuleCommand)(models.train)
app.command(cls=RuleCommand)(models.predict)
app.command()(kit.kit)
app.command()(models.demo)
app.command()(data.new)


def main() -> None:
    """Run the command line."""
    app(prog_name="tallymark")
