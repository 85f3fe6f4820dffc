"""Commands on models: train, predict, demo."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from tallymark.cli import STARTED
from tallymark.cli.options import (
    DataFolder,
    Exclude,
    Force,
    Json,
    Name,
    Reviews,
    Rule,
    Threads,
    assignments_of,
    changes_of,
    choice_of,
    command_line,
    print_json,
    problems_as_output,
)

if TYPE_CHECKING:
    from tallymark.api.exports import Exports
    from tallymark.inference.predictor import PredictionResult
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
    exclude: Exclude = None,
    corrections: Reviews = None,
    extra_data: Annotated[list[Path] | None, typer.Option(help="Another data set to train on. Repeatable.")] = None,
    pseudo: Annotated[
        Path | None,
        typer.Option(help="A folder to pseudo-label with the run weights=RUN: its unlabelled items are trained on."),
    ] = None,
    folds: Annotated[Path | None, typer.Option(help="CSV file of folds, as `tallymark folds` writes it.")] = None,
    gsd: Annotated[
        float | None,
        typer.Option(help="Ground sampling distance of the images in metres per pixel, for the model to remember."),
    ] = None,
    rule: Rule = None,
    json_: Json = False,
) -> None:
    """Train a model, tune it by the official rule, and write a run: everything that prediction needs.

    The score is that of held-out items, which the model was not trained on. On several GPUs:
    torchrun -m tallymark train …
    """
    with problems_as_output(json_, resume=lambda: f"to resume from the last checkpoint: {command_line('--resume')}"):
        from tallymark.api.models import train as run_train
        from tallymark.core.planned_outputs import refuse_outputs

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
            fold_table=folds,
            gsd=gsd,
            rule_options=assignments_of(rule),
            **changes_of(recipe, run_train),
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


def predict(
    model: Annotated[
        str,
        typer.Argument(help="A run, a model.onnx, or a challenge that has a pretrained model.", show_default=False),
    ],
    folder: DataFolder,
    recipe: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Recipe fields, e.g. tta=8 score_threshold=0.4."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The submission to write.")] = None,
    force: Force = False,
    form: Annotated[str | None, typer.Option(help="The published form of the submission. Default: the first.")] = None,
    sample: Annotated[
        Path | None,
        typer.Option(help="A sample submission: write exactly its ids, in its order. Default: that of the folder."),
    ] = None,
    split: Annotated[str, typer.Option(help="train, val, test or all; auto: test if there is one, else all.")] = "auto",
    journal: Annotated[
        Path | None,
        typer.Option(help="Folder to cache raw predictions: runs resume, and thresholds can be changed instantly."),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(min=0.01, help="Time limit in minutes: test-time augmentation is dropped first, then items."),
    ] = None,
    corrections: Reviews = None,
    runtime: Annotated[str, typer.Option(help="onnxruntime, or openvino (faster on most CPUs).")] = "onnxruntime",
    threads: Threads = None,
    rule: Rule = None,
    json_: Json = False,
    counts: Annotated[
        Path | None,
        typer.Option(help="CSV file of counts per item, or per hour of recordings.", rich_help_panel=EXPORTS),
    ] = None,
    objects: Annotated[
        Path | None,
        typer.Option(help="CSV file of all predictions: position, size, heading, score.", rich_help_panel=EXPORTS),
    ] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(
            help="Parquet file of all candidates with their scores, to fuse and to report from.",
            rich_help_panel=EXPORTS,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="HTML page with pictures of the predictions, and with their score where items are labelled.",
            rich_help_panel=EXPORTS,
        ),
    ] = None,
    export: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMAT=PATH",
            help="Predictions for other tools: coco, yolo, voc, kitti, nuscenes, raven, audacity, geojson, photos "
            "or csv. Repeatable.",
            rich_help_panel=EXPORTS,
        ),
    ] = None,
    draw: Annotated[
        Path | None,
        typer.Option(
            help="New folder for drawings of the predictions: in images, sweeps and camera images, and spectrograms.",
            rich_help_panel=EXPORTS,
        ),
    ] = None,
    gsd: Annotated[
        float | None,
        typer.Option(
            help="Ground sampling distance in metres per pixel, for densities and sizes in metres.",
            rich_help_panel=EXPORTS,
        ),
    ] = None,
    fp_per_hour: Annotated[
        float | None,
        typer.Option(
            help="Use the score threshold that had at most this many false positives per hour in training.",
            rich_help_panel=RECORDINGS,
        ),
    ] = None,
    days: Annotated[Path | None, typer.Option(help="CSV file of counts per day.", rich_help_panel=RECORDINGS)] = None,
    plot: Annotated[
        Path | None, typer.Option(help="HTML page of counts by hour and day.", rich_help_panel=RECORDINGS)
    ] = None,
    raven: Annotated[
        Path | None, typer.Option(help="Folder for Raven selection tables.", rich_help_panel=RECORDINGS)
    ] = None,
    audacity: Annotated[
        Path | None, typer.Option(help="Folder for Audacity label tracks.", rich_help_panel=RECORDINGS)
    ] = None,
    clips: Annotated[
        Path | None,
        typer.Option(help="New folder for sound clips and spectrograms to review.", rich_help_panel=RECORDINGS),
    ] = None,
    clips_each: Annotated[
        int,
        typer.Option(
            min=1,
            help="Number of clips with the highest, the lowest and borderline scores each.",
            rich_help_panel=RECORDINGS,
        ),
    ] = 10,
) -> None:
    """Predict the items of a data set, or of any folder of images or recordings.

    Writes a valid submission, tables and exports. Unreadable files are skipped and reported; they are empty in the
    submission. The exit code is 2 if a disk or a share failed to read some: the same command tries them again.
    """

    def how_to_resume() -> str:
        if journal is None:
            return "with --journal FOLDER, raw predictions are kept, and the same command resumes"
        return f"to resume with what is in {journal}: {command_line()}"

    with problems_as_output(json_, resume=how_to_resume):
        from tallymark.api.export import parse_exports, writes_folder
        from tallymark.api.exports import Exports
        from tallymark.api.incomplete import incomplete_outputs, remember_incomplete
        from tallymark.api.models import open_model
        from tallymark.api.models import predict as run_predict
        from tallymark.core.planned_outputs import refuse_outputs
        from tallymark.inference.time_limit import TimeLimit
        from tallymark.io.media import READ_FAILED

        chosen = cast(Literal["onnxruntime", "openvino"], choice_of(runtime, ("onnxruntime", "openvino")))
        formats = tuple(parse_exports(export or []))
        exported_folders = [path for name, path in formats if writes_folder(name, path)]
        exported_files = [path for name, path in formats if not writes_folder(name, path)]
        outputs = [
            out,
            counts,
            objects,
            days,
            plot,
            candidates,
            report,
            raven,
            audacity,
            *exported_files,
            *exported_folders,
        ]
        refuse_outputs(
            [out, counts, objects, days, plot, candidates, report, *exported_files],
            [raven, audacity, *exported_folders],
            filled=[clips, draw, journal],
            replaced=incomplete_outputs(journal, outputs),
            inputs=[model, folder, sample, *(corrections or ())],
            force=force,
        )
        predictor = open_model(model, chosen, threads)
        exports = Exports(
            counts=counts,
            objects=objects,
            days=days,
            plot=plot,
            raven=raven,
            audacity=audacity,
            clips=clips,
            draw=draw,
            gsd=gsd,
            clips_per_kind=clips_each,
            candidates=candidates,
            report=report,
            formats=formats,
            rule_options=assignments_of(rule),
        )
        exports.check(predictor.metadata.recipe)
        result = run_predict(
            predictor,
            folder,
            out,
            split=split,
            form=form,
            sample=sample,
            fp_per_hour=fp_per_hour,
            gsd=gsd,
            journal=journal,
            minutes=None if minutes is None else TimeLimit(60 * minutes, spent=time.monotonic() - STARTED),
            corrections=corrections or (),
            rule_options=assignments_of(rule),
            **changes_of(recipe, run_predict),
        )
        left_out = exports.write(result)
        incomplete = READ_FAILED in result.problems.counts
        if journal is not None:
            remember_incomplete(journal, outputs if incomplete else [])
        notes = [*result.notes, *left_out]
        if incomplete:
            overwrite = [] if journal is not None or not any(outputs) else ["--force"]
            notes.append(f"to try again what could not be read: {command_line(*overwrite)}")
        _print_prediction(replace(result, notes=tuple(notes)), exports, out, json_)
        if incomplete:  # all else is written, but a script should know
            raise typer.Exit(2)


def _print_prediction(result: PredictionResult, exports: Exports, out: Path | None, json_: bool) -> None:
    from tallymark.api.exports import counting_note, summarize
    from tallymark.core.console import console, print_line, show_problems

    numbers = summarize(result, gsd=exports.gsd)
    notes = [*result.notes, *filter(None, [counting_note(result)])]
    if json_:
        submission = None if out is None else str(out)
        print_json({"out": submission, **numbers, "notes": notes, **result.problems.as_dict()})
        return
    if result.problems:
        show_problems(result.problems, console())
    for note in notes:
        print_line(note)
    known = {name.replace("_", " "): value for name, value in numbers.items() if value is not None}
    print_line(", ".join(f"{name} {_number(value)}" for name, value in known.items()))
    for path in (*([] if out is None else [out]), *exports.paths.values(), *(path for _, path in exports.formats)):
        print_line(f"written to {path}")


def _number(value: float) -> str:
    """A number without an exponent, however large."""
    return f"{value:.0f}" if abs(value) >= 1e5 else f"{value:g}"


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
