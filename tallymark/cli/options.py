"""What the commands have in common: arguments, and how problems and results are printed."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from tallymark.core.problems import Problems

Name = Annotated[str, typer.Argument(help="wheat, upcalls, food, lyft or ships.", show_default=False)]
Truth = Annotated[
    Path, typer.Argument(help="The official annotations, e.g. train.csv, or a data folder.", show_default=False)
]
Submission = Annotated[Path, typer.Argument(help="The file to hand in.", show_default=False)]
Readings = Annotated[
    list[str] | None,
    typer.Option(
        "--rule",
        "-r",
        metavar="KEY=VALUE",
        help="How to read a point that the official text leaves open: see `tallymark list CHALLENGE`. May be repeated.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Images = Annotated[
    Path | None,
    typer.Option(help="A sample submission or data folder that names the ids to score; else those of the truth."),
]
Against = Annotated[
    Path | None,
    typer.Option(help="A sample submission or data folder: its ids must all be there, and no others."),
]
DataFolder = Annotated[Path, typer.Argument(help="The data set, as you unzipped it.", show_default=False)]
Exclude = Annotated[
    Path | None,
    typer.Option(help="A list of items and objects to leave out, as `tallymark check … --out` writes it."),
]


def choice_of(value: str, allowed: tuple[str, ...]) -> Any:
    from tallymark.core.problems import BadInput, Problem, nearest

    if value not in allowed:
        raise BadInput(Problem("bad_option", "command line", value, " or ".join(allowed), nearest(value, allowed)))
    return value


def options_of(assignments: list[str] | None) -> dict[str, Any]:
    from tallymark.core.options import parse_assignments

    return dict(parse_assignments(assignments or []))


def changes_of(assignments: list[str] | None, verb: Callable[..., object]) -> dict[str, Any]:
    """What `verb` is to get beside its own arguments, which the command line has as options."""
    from tallymark.core.problems import BadInput, Problem

    changes = options_of(assignments)
    for name in inspect.signature(verb).parameters.keys() & changes.keys():
        found, remedy = f"{name}={changes[name]}", f"give --{name} {changes[name]}"
        raise BadInput(Problem("bad_option", "command line", found, f"--{name}, an option of its own", remedy))
    return changes


@contextmanager
def problems_as_output(json_: bool) -> Iterator[None]:
    """Bad input is a table (or JSON) and exit code 2, not a traceback."""
    from tallymark.core.problems import BadInput, Problem

    try:
        yield
    except BadInput as bad:
        _print_problems(bad.problems, json_)
        raise typer.Exit(2) from None
    except BrokenPipeError:  # whoever reads our output has seen enough
        raise
    except OSError as error:  # reading reports its own; this is about writing
        found, remedy = f"{error.strerror}", "check that the folder is there and may be written to"
        problem = Problem("cannot_write", f"{error.filename}", found, "a new file", remedy)
        _print_problems(BadInput(problem).problems, json_)
        raise typer.Exit(2) from None


def _print_problems(problems: Problems, json_: bool) -> None:
    if json_:
        print_json(problems.as_dict())
        return
    from tallymark.core.console import console, show_problems

    show_problems(problems, console())


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False))
