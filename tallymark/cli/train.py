"""The commands train and demo."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tallymark.cli.options import (
    Address,
    DataFolder,
    Engine,
    Exclude,
    Json,
    Name,
    Reviews,
    Rule,
    Threads,
    Workers,
    changes_of,
    command_line,
    engine_of,
    print_json,
    problems_as_output,
    rule_options_of,
)

if TYPE_CHECKING:
    from tallymark.training.dry_run import DryRun
    from tallymark.training.train import TrainingResult

EXPORTS = "Exports"
RECORDINGS = "Exports and options for recordings"


def train(
    challenge: Name,
    folder: DataFolder,
    recipe: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Recipe fields: `tallymark list CHALLENGE` lists them."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write the run to.")] = Path("run"),
    preset: Annotated[str, typer.Option(help="tiny (a minute), small (for a CPU) or full (for a GPU).")] = "small",
    minutes: Annotated[float | None, typer.Option(min=0.1, help="Time budget for the training, in minutes.")] = None,
    threads: Threads = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume from the last checkpoint.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Train a few steps to measure minutes and memory of the whole, write nothing."),
    ] = False,
    exclude: Exclude = None,
    corrections: Reviews = None,
    extra_data: Annotated[list[Path] | None, typer.Option(help="Another data set to train on. Repeatable.")] = None,
    pseudo: Annotated[
        Path | None,
        typer.Option(help="A folder to pseudo-label with the run weights=RUN: its unlabelled items are trained on."),
    ] = None,
    folds: Annotated[Path | None, typer.Option(help="CSV file of folds, as `tallymark folds` writes it.")] = None,
    leave_one_out: Annotated[
        bool,
        typer.Option(
            "--leave-one-out",
            help="A model without each source, day or drive (fold_by=folders: folder), scored on that one.",
        ),
    ] = False,
    gsd: Annotated[
        float | None,
        typer.Option(help="Ground sampling distance of the images in metres per pixel, for the model to remember."),
    ] = None,
    engine: Engine = "local",
    workers: Workers = None,
    address: Address = None,
    rule: Rule = None,
    json_: Json = False,
) -> None:
    """Train a model, tune it by the official rule, and write a run: everything that prediction needs.

    The score is that of held-out items, which the model was not trained on. On several GPUs:
    torchrun -m tallymark train … The engine is for --pseudo; the training itself stays in its processes.
    """
    with problems_as_output(json_, resume=lambda: f"to resume from the last checkpoint: {command_line('--resume')}"):
        from tallymark.api.train import train as run_train
        from tallymark.core.planned_outputs import refuse_outputs

        changes = changes_of(recipe, run_train) | ({"leave_one_out": True} if leave_one_out else {})
        if dry_run:
            from tallymark.api.dry_run import dry_run as measure
            from tallymark.core.problems import BadInput, Problem

            if pseudo is not None:
                found, expected = "--pseudo with --dry-run", "a training on annotations alone"
                remedy = "leave out one of the two: pseudo-labels would have to be predicted first"
                raise BadInput(Problem("bad_option", "train", found, expected, remedy))
            measured = measure(
                challenge,
                folder,
                preset=preset,
                minutes=minutes,
                threads=threads,
                exclude=exclude,
                corrections=corrections or (),
                extra_data=extra_data or (),
                fold_table=folds,
                rule_options=rule_options_of(rule, challenge),
                **changes,
            )
            _show_dry_run(measured, json_)
            return
        refuse_outputs(filled=[out], inputs=[folder, exclude, *(corrections or ()), *(extra_data or ()), pseudo, folds])
        result = run_train(
            challenge,
            folder,
            out,
            preset=preset,
            minutes=minutes,
            threads=threads,
            resume=resume,
            exclude=exclude,
            corrections=corrections or (),
            extra_data=extra_data or (),
            pseudo=pseudo,
            engine=engine_of(engine, workers, address),
            fold_table=folds,
            gsd=gsd,
            rule_options=rule_options_of(rule, challenge),
            **changes,
        )
        if result is None:  # another process of a distributed training prints it
            return
        if json_:
            print_json(
                {
                    "run": str(out),
                    **result.score.as_dict(),
                    "skipped": result.problems.as_dict(),
                    "remarks": list(result.evaluated.remarks),
                }
            )
        else:
            _show_training(result, out)


def _show_dry_run(measured: DryRun, json_: bool) -> None:
    from tallymark.core.console import console

    if json_:
        print_json(measured.as_dict())
    else:
        measured.show(console())


def _show_training(result: TrainingResult, out: Path) -> None:
    from tallymark.core.console import console, print_line, show_problems

    if result.problems:
        show_problems(result.problems, console())
    for remark in result.evaluated.remarks:
        print_line(remark)
    result.score.show(console())
    if result.curve is not None:
        rates = " and ".join(f"{result.curve.recall_at(rate):.3f} at {rate}" for rate in (1, 10))
        print_line(f"recall {rates} false positives per hour; the whole curve is in {out / 'recall.html'}")
    print_line(f"open {out / 'report.html'} to see what was found, missed and mistaken")
    print_line(f"written to {out}; next: tallymark predict {out} FOLDER --out submission.csv")


def demo(
    challenges: Annotated[list[str] | None, typer.Argument(help="Challenges to show. Default: all.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the files.")] = Path("demo"),
) -> None:
    """Run every step on synthetic data: generate, check, explore, train a tiny model, predict and score.

    Takes a few minutes for all challenges, and ends with the commands for your own data.
    """
    with problems_as_output(False):
        from tallymark.cli.demo import run
        from tallymark.core.console import console
        from tallymark.core.planned_outputs import refuse_outputs

        refuse_outputs(filled=[out])
        run(challenges or [], out, console())
