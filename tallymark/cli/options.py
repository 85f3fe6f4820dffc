"""Arguments and options that several commands share, and how problems and results are printed."""

from __future__ import annotations

import inspect
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

if TYPE_CHECKING:
    from tallymark.core.engines.choice import EngineChoice
    from tallymark.core.problems import Problems
    from tallymark.inference.session import Runtime


def _challenge_names() -> list[str]:
    from tallymark.core.registry import challenge_names

    return list(challenge_names())


Name = Annotated[
    str,
    typer.Argument(
        help="The challenge: `tallymark list` names them.", show_default=False, autocompletion=_challenge_names
    ),
]
Truth = Annotated[
    Path, typer.Argument(help="The official annotations, e.g. train.csv, or a data folder.", show_default=False)
]
Submission = Annotated[Path, typer.Argument(help="The submission.", show_default=False)]
Rule = Annotated[
    list[str] | None,
    typer.Option(
        "--rule",
        "-r",
        metavar="KEY=VALUE",
        help="A rule option, for a point that the official text leaves open: `tallymark list CHALLENGE` lists them. "
        "Repeatable.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Images = Annotated[
    Path | None,
    typer.Option(help="A sample submission or data folder with the ids to score. Default: those of the truth."),
]
Against = Annotated[
    Path | None,
    typer.Option(help="A sample submission or data folder: exactly its ids must be there."),
]
DataFolder = Annotated[
    Path, typer.Argument(help="The data set, unpacked or in zip archives; or a single file.", show_default=False)
]
Exclude = Annotated[
    Path | None,
    typer.Option(help="CSV list of items and objects to ignore, as `tallymark check --out` writes it."),
]
Reviews = Annotated[
    list[Path] | None,
    typer.Option("--corrections", help="corrections.json, as a review page saves it. Repeatable."),
]
Model = Annotated[
    str, typer.Argument(help="A run, a model.onnx, or a challenge that has a pretrained model.", show_default=False)
]
Threads = Annotated[
    int | None,
    typer.Option(min=1, max=1024, help="CPU threads. Default: as many as there are free cores.", show_default=False),
]
RuntimeName = Annotated[
    str, typer.Option(help="onnxruntime, openvino or openvino-f32; auto: the fastest on this machine.")
]
ENGINE = "Processes and machines"
Engine = Annotated[
    str, typer.Option(help="local: processes of this machine. ray: a Ray cluster.", rich_help_panel=ENGINE)
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=100_000,
        help="Worker processes. Default: one for each free core.",
        show_default=False,
        rich_help_panel=ENGINE,
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="Address of a running Ray cluster, or `auto`. Default: one is started here.",
        show_default=False,
        rich_help_panel=ENGINE,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]


def choice_of(value: str, allowed: tuple[str, ...]) -> str:
    """The value, if it is one of those allowed; else a `BadInput` that names the nearest."""
    from tallymark.core.problems import BadInput, Problem, nearest

    if value not in allowed:
        raise BadInput(Problem("bad_option", "command line", value, " or ".join(allowed), nearest(value, allowed)))
    return value


def runtime_of(name: str) -> Runtime:
    """The runtime of this name; else a `BadInput` that names the nearest."""
    from tallymark.inference import session

    return cast("Runtime", choice_of(name, get_args(session.Runtime)))


def engine_of(name: str, workers: int | None, address: str | None) -> EngineChoice:
    """The engine that --engine, --workers and --address choose."""
    from tallymark.core.engines.choice import EngineChoice, EngineName

    return EngineChoice(cast("EngineName", choice_of(name, ("local", "ray"))), workers, address)


def assignments_of(texts: list[str] | None) -> dict[str, Any]:
    """`KEY=VALUE` arguments as a dictionary."""
    from tallymark.core.options import parse_assignments

    return dict(parse_assignments(texts or []))


def rule_options_of(texts: list[str] | None, name: str) -> dict[str, Any]:
    """The values of --rule; those that are no rule options of the named challenge are a `BadInput`."""
    from dataclasses import fields

    from tallymark.core.options import parse_options
    from tallymark.core.registry import challenge

    given = assignments_of(texts)
    kind = challenge(name).rule_options
    known = {field.name for field in fields(kind)}
    parse_options(kind, {option: value for option, value in given.items() if option not in known})
    return given


def changes_of(texts: list[str] | None, function: Callable[..., object]) -> dict[str, Any]:
    """`KEY=VALUE` arguments for the `**` parameter of a function; its own parameters are options, so not allowed."""
    from tallymark.core.problems import BadInput, Problem

    changes = assignments_of(texts)
    for name in inspect.signature(function).parameters.keys() & changes.keys():
        found, remedy = f"{name}={changes[name]}", f"give --{name} {changes[name]}"
        raise BadInput(Problem("bad_option", "command line", found, f"the option --{name}", remedy))
    return changes


@contextmanager
def problems_as_output(json_: bool, *, resume: Callable[[], str] | None = None) -> Iterator[None]:
    """Print bad input as a table or JSON and exit with code 2, without a traceback.

    resume: says how to resume an interrupted command, which ends with code 130.
    """
    from tallymark.core.outputs import memory_problem, system_problem
    from tallymark.core.problems import BadInput

    try:
        yield
    except BadInput as bad:
        _print_problems(bad.problems, json_)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        raise _interrupted(resume) from None
    except BrokenPipeError:  # the reader of our output has stopped
        raise
    except OSError as error:
        _print_problems(BadInput(system_problem(error)).problems, json_)
        raise typer.Exit(2) from None
    except MemoryError:
        _print_problems(BadInput(memory_problem()).problems, json_)
        raise typer.Exit(2) from None
    except Exception as error:  # any, to look at its cause; all but one kind are raised again
        if not isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            raise
        raise _interrupted(resume) from None  # while a compiled package was imported, which raises its own error


def _interrupted(resume: Callable[[], str] | None) -> typer.Exit:
    print("\ninterrupted" + ("" if resume is None else f"; {resume()}"), file=sys.stderr)
    return typer.Exit(130)


def command_line(*more: str) -> str:
    """This command as it was typed, with further words, unless it has them."""
    words = sys.argv[1:]
    return shlex.join(["tallymark", *words, *(word for word in more if word not in words)])


def _print_problems(problems: Problems, json_: bool) -> None:
    if json_:
        print_json(problems.as_dict())
        return
    from tallymark.core.console import console, show_problems

    show_problems(problems, console())


def print_json(value: object) -> None:
    """Print one JSON object, in ASCII where standard output is not Unicode."""
    from tallymark.core.problems import as_json

    unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    print(as_json(value, ensure_ascii=not unicode))
