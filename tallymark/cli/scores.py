"""Scoring: list, check, score, compare, repair, convert."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tallymark.cli.options import (
    Against,
    Exclude,
    Images,
    Json,
    Name,
    Readings,
    Submission,
    Truth,
    choice_of,
    options_of,
    print_json,
    problems_as_output,
)


def list_(
    challenge: Annotated[str | None, typer.Argument(help="One challenge: its options.")] = None,
    json_: Json = False,
) -> None:
    """The challenges with their rules in a line; or of one of them, what can be chosen in scoring, synth and train."""
    with problems_as_output(json_):
        from tallymark.core.console import console, show_table
        from tallymark.core.options import Option, options
        from tallymark.core.registry import challenge as find
        from tallymark.core.registry import challenge_names

        found = [find(name) for name in ([challenge] if challenge else challenge_names())]
        if json_:
            listed = [
                {
                    "name": c.name,
                    "title": c.title,
                    "file": c.file,
                    "rule": c.rule,
                    "readings": _as_dicts(c.rule_options),
                    "scenes": _as_dicts(c.module("synth").Scenes) if c.has("synth") else [],
                    "presets": _presets(c) if c.has("recipe") else {},
                }
                for c in found
            ]
            print_json({"challenges": listed})
            return
        show_table("", ("challenge", "file", "rule"), [(c.name, c.file, c.rule) for c in found], console())
        if challenge:
            show_table("readings", Option._fields, options(found[0].rule_options), console())
            if found[0].has("synth"):
                show_table("scenes of synth", Option._fields, options(found[0].module("synth").Scenes), console())
            if found[0].has("recipe"):
                columns, rows = ("field", "values", *_presets(found[0])), _recipe_rows(found[0])
                show_table("recipe of train", columns, rows, console(), most=len(rows))


def check(
    challenge: Name,
    path: Annotated[Path, typer.Argument(help="A data folder, or a submission.", show_default=False)],
    against: Against = None,
    exclude: Exclude = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write every problem to this CSV file.")] = None,
    rule_options: Readings = None,
    json_: Json = False,
) -> None:
    """Check a data folder, or a submission without the answers: every problem, and what to do. Exit code 2 on any.

    The list that --out writes can be given to --exclude, here and in training, after you deleted the rows of what
    you want to keep.
    """
    with problems_as_output(json_):
        from tallymark.api import data as api_data
        from tallymark.core.console import console, show_problems

        checked = api_data.check(challenge, path, against=against, exclude=exclude, **options_of(rule_options))
        if out is not None:
            from tallymark.io.tables import write_frame

            write_frame(out, checked.table)
        outcome = {"valid": not checked.problems, "items": checked.items, "objects": checked.objects}
        if json_:
            print_json({**outcome, **checked.problems.as_dict()})
        elif checked.problems:
            show_problems(checked.problems, console())
        else:
            console().print(f"[bold green]valid[/bold green]: {checked.counts}", highlight=False)
        if checked.problems:
            raise typer.Exit(2)


def score(
    challenge: Name,
    truth: Truth,
    submission: Submission,
    rule_options: Readings = None,
    images: Images = None,
    per_item: Annotated[Path | None, typer.Option(help="Write the score of every item to this CSV file.")] = None,
    pairs: Annotated[Path | None, typer.Option(help="Write the matched pairs to this CSV file.")] = None,
    hours: Annotated[float | None, typer.Option(help="upcalls: length of all recordings in hours.")] = None,
    audio: Annotated[
        Path | None, typer.Option(help="upcalls: folder of recordings; their headers give the hours.")
    ] = None,
    by_distance: Annotated[
        Path | None, typer.Option(help="lyft: the data folder; say what was found how far from the vehicle.")
    ] = None,
    least_points: Annotated[
        int, typer.Option(min=0, help="With --by-distance: volumes with fewer points inside do not count there.")
    ] = 0,
    json_: Json = False,
) -> None:
    """Score a submission exactly as the challenge does, and say where it lost."""
    with problems_as_output(json_):
        from tallymark.api import data as api_data
        from tallymark.core.console import console
        from tallymark.io.tables import write_frame

        options = options_of(rule_options) | ({} if hours is None else {"hours": hours})
        result = api_data.score(challenge, truth, submission, images=images, audio=audio, **options)
        if per_item is not None:
            write_frame(per_item, result.items)
        if pairs is not None:
            write_frame(pairs, result.pairs)
        near_and_far = None
        if by_distance is not None:
            near_and_far = api_data.by_distance(
                challenge, truth, submission, by_distance, images=images, least=least_points, **options
            )
        if json_:
            more = {} if near_and_far is None else {"distances": near_and_far.as_dict()}
            print_json(result.as_dict() | more)
        else:
            result.show(console())
            if near_and_far is not None:
                near_and_far.show(console())


def compare(
    challenge: Name,
    truth: Truth,
    a: Annotated[Path, typer.Argument(help="One submission.", show_default=False)],
    b: Annotated[Path, typer.Argument(help="The other.", show_default=False)],
    rule_options: Readings = None,
    images: Images = None,
    seed: Annotated[int, typer.Option(help="Seed of the resampling.")] = 0,
    resamples: Annotated[int, typer.Option(min=1, help="Draws of items that give the interval.")] = 2000,
    json_: Json = False,
) -> None:
    """The difference of two submissions with its 95 % interval, and the items that changed most."""
    with problems_as_output(json_):
        from tallymark.api import data as api_data
        from tallymark.core.console import console

        options = options_of(rule_options)
        result = api_data.compare(challenge, truth, a, b, images=images, seed=seed, resamples=resamples, **options)
        print_json(result.as_dict()) if json_ else result.show(console())


def repair(
    challenge: Name,
    submission: Submission,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write the mended file.", show_default=False)],
    against: Against = None,
    rule_options: Readings = None,
    json_: Json = False,
) -> None:
    """Write a valid form of a submission to another file, and say everything that was changed."""
    with problems_as_output(json_):
        from rich.markup import escape

        from tallymark.api import data as api_data
        from tallymark.core.console import console, plural, show_table
        from tallymark.submission.dialect import Change

        changes = api_data.repair(challenge, submission, out, against=against, **options_of(rule_options))
        if json_:
            print_json({"out": str(out), "changes": [change._asdict() for change in changes]})
        else:
            rows = [tuple(change) for change in changes]
            show_table(plural(len(changes), "change"), Change._fields, rows, console())
            console().print("[bold green]valid[/bold green]:", escape(str(out)), highlight=False, soft_wrap=True)


def convert(
    challenge: Name,
    submission: Submission,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write it.", show_default=False)],
    form: Annotated[
        str | None, typer.Option(help="lyft: official or nuscenes; food: seed or kaggle. The first without it.")
    ] = None,
    rule_options: Readings = None,
) -> None:
    """Write a submission in another published form; `score`, `check` and `compare` read all of them."""
    with problems_as_output(False):
        from tallymark.api import data as api_data
        from tallymark.core.console import say
        from tallymark.core.registry import challenge as find

        forms = find(challenge).dialect.FORMS
        form = choice_of(form or forms[0], forms)
        api_data.convert(challenge, submission, out, form=form, **options_of(rule_options))
        say(f"written to {out}")


def _presets(challenge: Any) -> dict[str, dict[str, Any]]:
    from dataclasses import asdict

    return {name: asdict(recipe) for name, recipe in challenge.module("recipe").PRESETS.items()}


def _recipe_rows(challenge: Any) -> list[tuple[str, ...]]:
    """Every field of the recipe, what it may be, and what each preset has."""
    from tallymark.core.options import options, text_of

    presets = challenge.module("recipe").PRESETS
    known = options(type(presets["small"]))
    rows = [[text_of(getattr(preset, name)) for preset in presets.values()] for name, _, _ in known]
    return [(name, values, *row) for (name, values, _), row in zip(known, rows, strict=True)]


def _as_dicts(rule_options: type) -> list[dict[str, str]]:
    from tallymark.core.options import options

    return [option._asdict() for option in options(rule_options)]
