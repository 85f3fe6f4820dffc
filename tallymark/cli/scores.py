"""Commands on submissions: list, check, score, compare, repair, convert."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tallymark.cli.options import (
    Address,
    Against,
    Engine,
    Exclude,
    Force,
    Images,
    Json,
    Name,
    Rule,
    Submission,
    Truth,
    Workers,
    choice_of,
    engine_of,
    print_json,
    problems_as_output,
    rule_options_of,
)
from tallymark.cli.score_options import score_options_of

if TYPE_CHECKING:
    from tallymark.core.registry import Challenge


def list_(
    challenge: Annotated[
        str | None, typer.Argument(help="A challenge, to list its terms, options and recipes.")
    ] = None,
    json_: Json = False,
) -> None:
    """List the challenges and their rules, or the terms, options and recipes of one challenge."""
    with problems_as_output(json_):
        from tallymark.core.problems import Problems
        from tallymark.core.registry import all_challenges
        from tallymark.core.registry import challenge as find

        listed, problems = ([find(challenge)], Problems()) if challenge else all_challenges()
        if json_:
            print_json({"challenges": [_as_dict(one) for one in listed], **problems.as_dict()})
            return
        from tallymark.core.console import console, show_problems, show_table

        show_table("", ("challenge", "file", "rule"), [(one.name, one.file, one.rule) for one in listed], console())
        if challenge:
            _show_options(listed[0])
        if problems:
            show_problems(problems, console())


def check(
    challenge: Name,
    path: Annotated[
        Path, typer.Argument(help="A submission, a data folder, or an image, recording or sweep.", show_default=False)
    ],
    against: Against = None,
    exclude: Exclude = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write every problem to this CSV file.")] = None,
    force: Force = False,
    engine: Engine = "local",
    workers: Workers = None,
    address: Address = None,
    rule: Rule = None,
    json_: Json = False,
) -> None:
    """Check a submission without the answers, or a data folder.

    Every problem is listed with its file and line, what was found and expected, and what to do. The exit code is 2 if
    there are any. The list that --out writes, without the rows of items you want to keep, can be given to --exclude
    here and in training.
    """
    with problems_as_output(json_):
        from tallymark.api.check import check as run_check
        from tallymark.core.console import console, print_line, show_problems
        from tallymark.core.planned_outputs import refuse_outputs

        refuse_outputs([out], inputs=[path, against, exclude], force=force)
        chosen = engine_of(engine, workers, address)
        checked = run_check(
            challenge,
            path,
            against=against,
            exclude=exclude,
            every=out is not None,
            engine=chosen,
            **rule_options_of(rule, challenge),
        )
        if out is not None:
            from tallymark.io.tables import write_frame

            write_frame(out, checked.table)
        outcome = {"valid": not checked.problems, "items": checked.items, "objects": checked.objects}
        if json_:
            print_json({**outcome, **checked.problems.as_dict(), "remarks": list(checked.remarks)})
        elif checked.problems:
            show_problems(checked.problems, console())
        else:
            console().print(f"[bold green]valid[/bold green]: {checked.counts}", highlight=False)
        for remark in () if json_ else checked.remarks:
            print_line(remark)
        if out is not None and not json_:
            print_line(f"written to {out}")
        if checked.problems:
            raise typer.Exit(2)


def score(
    ctx: typer.Context,
    challenge: Name,
    truth: Truth,
    submission: Submission,
    rule: Rule = None,
    images: Images = None,
    folds: Annotated[
        Path | None, typer.Option(help="CSV file of folds, as `tallymark folds` writes it, to score one of them.")
    ] = None,
    fold: Annotated[int | None, typer.Option(min=0, help="With --folds: the fold to score, counted from 0.")] = None,
    per_item: Annotated[Path | None, typer.Option(help="Write the score of every item to this CSV file.")] = None,
    pairs: Annotated[Path | None, typer.Option(help="Write the matched pairs to this CSV file.")] = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Score a submission exactly as the challenge does.

    Prints the score, the rule options behind it, TP, FP and FN at each threshold, and the items with the worst scores.
    """
    with problems_as_output(json_):
        from tallymark.api.score import score as run_score
        from tallymark.core.console import console, print_line
        from tallymark.core.planned_outputs import refuse_outputs
        from tallymark.io.tables import write_frame

        refuse_outputs([per_item, pairs], inputs=[truth, submission, images, folds], force=force)
        options = rule_options_of(rule, challenge) | score_options_of(ctx, challenge)
        result = run_score(challenge, truth, submission, images=images, fold_table=folds, fold=fold, **options)
        if per_item is not None:
            write_frame(per_item, result.items)
        if pairs is not None:
            write_frame(pairs, result.pairs)
        print_json(result.as_dict()) if json_ else result.show(console())
        for path in () if json_ else filter(None, (per_item, pairs)):
            print_line(f"written to {path}")


def compare(
    challenge: Name,
    truth: Truth,
    a: Annotated[Path, typer.Argument(help="The first submission.", show_default=False)],
    b: Annotated[Path, typer.Argument(help="The second submission.", show_default=False)],
    rule: Rule = None,
    images: Images = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    resamples: Annotated[int, typer.Option(min=1, max=1_000_000, help="Bootstrap resamples of the items.")] = 2000,
    json_: Json = False,
) -> None:
    """Compare two submissions: the difference of their scores with a 95 % interval, and the items that differ most."""
    with problems_as_output(json_):
        from tallymark.api.score import compare as run_compare
        from tallymark.core.console import console

        options = rule_options_of(rule, challenge)
        result = run_compare(challenge, truth, a, b, images=images, seed=seed, resamples=resamples, **options)
        print_json(result.as_dict()) if json_ else result.show(console())


def repair(
    challenge: Name,
    submission: Submission,
    out: Annotated[Path, typer.Option("--out", "-o", help="The repaired file to write.", show_default=False)],
    against: Against = None,
    force: Force = False,
    rule: Rule = None,
    json_: Json = False,
) -> None:
    """Write a valid version of a submission to another file, and list every change."""
    with problems_as_output(json_):
        from rich.markup import escape

        from tallymark.api.score import repair as run_repair
        from tallymark.core.console import console, show_table
        from tallymark.core.humanize import plural
        from tallymark.core.planned_outputs import refuse_outputs
        from tallymark.submission.dialect import Change

        refuse_outputs([out], inputs=[submission, against], force=force)
        changes = run_repair(challenge, submission, out, against=against, **rule_options_of(rule, challenge))
        if json_:
            print_json({"out": str(out), "changes": [change._asdict() for change in changes]})
        else:
            rows = [tuple(change) for change in changes]
            show_table(plural(len(changes), "change"), Change._fields, rows, console())
            console().print("[bold green]valid[/bold green]:", escape(str(out)), highlight=False, soft_wrap=True)


def convert(
    challenge: Name,
    submission: Annotated[
        Path,
        typer.Argument(
            help="The submission; with --to also a data folder, whose truth is written.", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file or folder to write.", show_default=False)],
    form: Annotated[
        str | None, typer.Option(help="The form to write: `tallymark list CHALLENGE` lists them. Default: the first.")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(help="A format of other tools: coco, yolo, voc, kitti, nuscenes, raven, audacity, geojson, …"),
    ] = None,
    media: Annotated[
        Path | None, typer.Option(help="With --to: the folder of the media that the submission is about.")
    ] = None,
    gsd: Annotated[
        float | None, typer.Option(help="With --to csv: ground sampling distance in metres per pixel.")
    ] = None,
    force: Force = False,
    rule: Rule = None,
) -> None:
    """Write a submission in another of its published forms, or a submission or truth in a format of other tools.

    All commands read every form.
    """
    with problems_as_output(False):
        from tallymark.api.score import convert as run_convert
        from tallymark.core.console import print_line
        from tallymark.core.planned_outputs import refuse_outputs
        from tallymark.core.registry import challenge as find

        folder = False
        if to is not None:
            from tallymark.api.export import writes_folder

            folder = writes_folder(to, out)
        inputs = [submission, media]
        refuse_outputs([] if folder else [out], [out] if folder else [], inputs=inputs, force=force)
        forms = find(challenge).dialect.FORMS
        chosen = choice_of(form or forms[0], forms) if to is None or form is not None else None
        options = rule_options_of(rule, challenge)
        notes = run_convert(challenge, submission, out, form=chosen, to=to, media=media, gsd=gsd, **options)
        for note in notes:
            print_line(note)
        print_line(f"written to {out}")


def _as_dict(challenge: Challenge) -> dict[str, Any]:
    from dataclasses import asdict

    from tallymark.core.options import list_options

    scenes = list_options(challenge.module("synth").SceneOptions) if challenge.has("synth") else []
    presets = challenge.module("recipe").PRESETS if challenge.has("recipe") else {}
    return {
        "name": challenge.name,
        "title": challenge.title,
        "file": challenge.file,
        "forms": list(challenge.dialect.FORMS),
        "submission_name": challenge.submission_name or None,
        "rule": challenge.rule,
        "terms": challenge.terms,
        "rule_options": [option._asdict() for option in list_options(challenge.rule_options)],
        "score_options": [{"option": option.flag, "help": option.help} for option in challenge.score_options],
        "synthetic_data": [option._asdict() for option in scenes],
        "presets": {name: asdict(recipe) for name, recipe in presets.items()},
    }


def _show_options(challenge: Challenge) -> None:
    from tallymark.core.console import console, print_line, show_table
    from tallymark.core.options import Option, list_options, meanings

    def show_options(title: str, kind: type[Any]) -> None:
        meaning = meanings(kind)
        rows = [(*option, meaning.get(option.option, "")) for option in list_options(kind)]
        show_table(title, (*Option._fields, "meaning"), rows, to)

    to = console()
    print_line(f"forms of a submission: {', '.join(challenge.dialect.FORMS)}")
    terms = list(challenge.terms.items())
    show_table("terms", ("what", "terms"), terms, to, limit=len(terms))
    show_options("rule options", challenge.rule_options)
    score_options = [(option.flag, option.help) for option in challenge.score_options]
    show_table("score options", ("option", "meaning"), score_options, to)
    if challenge.has("synth"):
        show_options("synthetic data", challenge.module("synth").SceneOptions)
    if challenge.has("recipe"):
        presets = challenge.module("recipe").PRESETS
        rows = _recipe_rows(presets)
        show_table("recipe", ("field", "values", *presets), rows, to, limit=len(rows))


def _recipe_rows(presets: dict[str, Any]) -> list[tuple[str, ...]]:
    """Each field of the recipe with its possible values, and its value in every preset."""
    from dataclasses import asdict

    from tallymark.core.options import list_options, text_of

    values = [asdict(recipe) for recipe in presets.values()]
    kind = type(next(iter(presets.values())))
    return [
        (field.option, field.values, *(text_of(recipe[field.option]) for recipe in values))
        for field in list_options(kind)
    ]
