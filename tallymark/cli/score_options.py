"""The options that challenges declare: all of them for `score`, and those that are rule options wherever rules apply.

Declarations are found by importing challenges, which takes longer than all the rest of `tallymark --help`. So they are
added while a command line is parsed: those of the challenge that it names, or those of all challenges for
`score --help` and for an option that the named one does not have.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from tallymark.core.registry import ScoreOption

    Declared = dict[str, tuple[ScoreOption, list[str]]]

PARAMETERS = "tallymark.score_parameters"
"""Where a context has the declared options, as parameters of the command."""
VALUES = "tallymark.score_values"
"""Where it has their values, with the challenges that declare them."""


class ScoreCommand(TyperCommand):
    """A command that takes the score options of the challenge it is called with."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        declared = _declared_for(args, {flag for param in self.params for flag in param.opts})
        ctx.meta[PARAMETERS] = _parameters(declared)
        rest: list[str] = super().parse_args(ctx, args)
        values = {name: ctx.params.pop(name, None) for name in declared}
        ctx.meta[VALUES] = {
            name: (declared[name][0].type(value), declared[name][1])
            for name, value in values.items()
            if value is not None
        }
        return rest

    def get_params(self, ctx: Any) -> list[Any]:
        return [*super().get_params(ctx), *ctx.meta.get(PARAMETERS, ())]


class RuleCommand(TyperCommand):
    """A command with `--rule`, which takes the declared options that are short for a rule option too."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own = {flag for param in self.params for flag in param.opts} | {"--help"}
        unknown = {arg.partition("=")[0] for arg in args if arg.startswith("--")} - own
        declared = _rule_options(_declared_for(args, own)) if unknown or "--help" in args else {}
        ctx.meta[PARAMETERS] = _parameters(declared)
        rest: list[str] = super().parse_args(ctx, args)
        values = {name: ctx.params.pop(name, None) for name in declared}
        given = [f"{name}={value}" for name, value in values.items() if value is not None]
        if given:
            ctx.params["rule"] = [*(ctx.params["rule"] or ()), *given]
        return rest

    def get_params(self, ctx: Any) -> list[Any]:
        return [*super().get_params(ctx), *ctx.meta.get(PARAMETERS, ())]


def _rule_options(declared: Declared) -> Declared:
    """Those that are short for a rule option of every challenge that declares them."""
    from dataclasses import fields

    from tallymark.core.registry import challenge

    return {
        name: (option, owners)
        for name, (option, owners) in declared.items()
        if all(name in {field.name for field in fields(challenge(owner).rule_options)} for owner in owners)
    }


def score_options_of(ctx: typer.Context, name: str) -> dict[str, Any]:
    """The score options on the command line; those that the named challenge does not have are a `BadInput`."""
    from tallymark.core.problems import Problem, Problems
    from tallymark.core.registry import challenge

    own = {option.name: option for option in challenge(name).score_options}
    given: Mapping[str, tuple[Any, list[str]]] = ctx.meta.get(VALUES, {})
    problems = Problems()
    for option, (_, owners) in given.items():
        if option not in own:
            found = f"--{option.replace('_', '-')}"
            remedy = f"leave it out: it is an option of {' and '.join(owners)}"
            problems.add(Problem("bad_option", "command line", found, f"an option of {name}", remedy))
    problems.raise_if_any()
    return {option: value for option, (value, _) in given.items()}


def _declared_for(args: list[str], known: set[str]) -> Declared:
    """The options that a command line needs, with the challenges that declare them."""
    from tallymark.core.registry import challenge_names

    named = [name for name in args if name in challenge_names()][:1]
    declared = _declared_by(named)
    flags = {arg.partition("=")[0] for arg in args if arg.startswith("--")}
    unknown = flags - known - {"--help"} - {option.flag for option, _ in declared.values()}
    return declared if named and not unknown else _declared_by(challenge_names())


def _declared_by(names: list[str] | tuple[str, ...]) -> Declared:
    from tallymark.core.problems import BadInput
    from tallymark.core.registry import challenge

    declared: Declared = {}
    for name in names:
        try:
            options = challenge(name).score_options
        except BadInput:  # said when it is used; the options of the others are known all the same
            continue
        for option in options:
            declared.setdefault(option.name, (option, []))[1].append(name)
    return declared


def _parameters(declared: Declared) -> list[Any]:
    """The declared options as parameters of a command: those that Typer makes of a function that has them."""

    def command(**values: object) -> None: ...

    annotations = {
        name: Annotated[
            option.type | None,
            typer.Option(option.flag, help=option.help, rich_help_panel=f"Options of {', '.join(owners)}"),
        ]
        for name, (option, owners) in declared.items()
    }
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(name, keyword, default=None, annotation=annotations[name]) for name in declared]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what inspect reads
    command.__annotations__ = annotations
    app = typer.Typer(add_completion=False)
    app.command()(command)
    return list(typer.main.get_command(app).params)
