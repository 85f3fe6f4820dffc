"""The command line: every command, in the order in which one needs them."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tallymark.cli import (
    bench,
    board,
    data,
    fuse,
    kit,
    metrics,
    models,
    predict,
    quantize,
    report,
    scores,
    train,
    tune,
    watch,
)
from tallymark.cli.options import problems_as_output
from tallymark.cli.score_options import RuleCommand, ScoreCommand
from tallymark.cli.streams import final_code, open_streams
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
app.command()(models.models)
app.command(cls=RuleCommand)(scores.check)
app.command(cls=ScoreCommand)(scores.score)
app.command(cls=RuleCommand)(scores.compare)
app.command(cls=RuleCommand)(board.board)
app.command()(scores.repair)
app.command()(scores.convert)
app.command("export-metrics")(metrics.export_metrics)
app.command(cls=RuleCommand)(data.explore)
app.command(cls=RuleCommand)(data.folds)
app.command()(data.synth)
app.command(cls=RuleCommand)(train.train)
app.command(cls=RuleCommand)(predict.predict)
app.command()(watch.watch)
app.command(cls=RuleCommand)(bench.bench)
app.command(cls=RuleCommand)(tune.tune)
app.command(cls=RuleCommand)(quantize.quantize)
app.command(cls=RuleCommand)(fuse.fuse)
app.command(cls=ScoreCommand)(report.report)
app.command()(kit.kit)
app.command()(train.demo)
app.command()(data.new)


def main() -> None:
    """Run the command line."""
    output = open_streams()
    try:
        refuse_arguments(sys.argv[1:])
        app(prog_name="tallymark")
    except SystemExit as end:
        raise SystemExit(final_code(end.code, output)) from None


def refuse_arguments(words: list[str]) -> None:
    """End with a problem where an argument, such as the name of a file, is not UTF-8: no table could hold it."""
    from tallymark.core.problems import BadInput, Problem, printable

    problems = [
        Problem("bad_name", "command line", printable(word), "arguments in UTF-8", "rename the file or folder")
        for word in words
        if not word.isascii() and any("\ud800" <= letter <= "\udfff" for letter in word)
    ]
    if problems:
        try:
            with problems_as_output("--json" in words):
                raise BadInput(problems[0])
        except typer.Exit as end:
            raise SystemExit(end.exit_code) from None
