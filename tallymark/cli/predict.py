"""The command predict."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tallymark.cli import STARTED
from tallymark.cli.options import (
    Address,
    DataFolder,
    Engine,
    Force,
    Json,
    Model,
    Reviews,
    Rule,
    RuntimeName,
    Threads,
    Workers,
    assignments_of,
    changes_of,
    command_line,
    engine_of,
    print_json,
    problems_as_output,
    runtime_of,
)

if TYPE_CHECKING:
    from tallymark.api.exports import Exports
    from tallymark.inference.predictor import PredictionResult

EXPORTS = "Exports"
RECORDINGS = "Exports and options for recordings"


def predict(
    model: Model,
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
    speed: Annotated[
        str | None, typer.Option(help="fast, balanced or best. Default: as the model was trained and tuned.")
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option(
            help="Folder to keep raw predictions in, so that thresholds can be changed instantly. "
            "Default: beside the first output, until all are written.",
            show_default=False,
        ),
    ] = None,
    engine: Engine = "local",
    workers: Workers = None,
    address: Address = None,
    minutes: Annotated[
        float | None,
        typer.Option(min=0.01, help="Time limit in minutes: test-time augmentation is dropped first, then items."),
    ] = None,
    corrections: Reviews = None,
    runtime: RuntimeName = "auto",
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
    submission, and the exit code is 2. If a disk or a share failed to read some, the same command tries them again.
    """

    outputs = [out, counts, objects, days, plot, candidates, report, raven, audacity, clips, draw]

    def how_to_resume() -> str:
        if journal is None and not any(outputs):
            return "with --out FILE or --journal FOLDER, the same command would resume"
        return f"to resume with what is done: {command_line()}"

    with problems_as_output(json_, resume=how_to_resume):
        from tallymark.api.export import parse_exports, writes_folder
        from tallymark.api.exports import Exports
        from tallymark.api.incomplete import incomplete_outputs, remember_incomplete
        from tallymark.api.models import open_model
        from tallymark.api.predict import predict as run_predict
        from tallymark.core.planned_outputs import refuse_outputs
        from tallymark.inference.journal_folder import journal_place
        from tallymark.inference.time_limit import TimeLimit

        formats = tuple(parse_exports(export or []))
        exported_folders = [path for name, path in formats if writes_folder(name, path)]
        exported_files = [path for name, path in formats if not writes_folder(name, path)]
        outputs += [*exported_files, *exported_folders]
        place = journal_place(journal, outputs, limited=minutes is not None)
        replaced = incomplete_outputs(place.path, outputs)
        refuse_outputs(
            [out, counts, objects, days, plot, candidates, report, *exported_files],
            [raven, audacity, *exported_folders],
            filled=[clips, draw, journal],
            replaced=replaced,
            inputs=[model, folder, sample, *(corrections or ())],
            force=force,
        )
        predictor = open_model(model, runtime_of(runtime), threads)
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
            replaced=replaced,
        )
        exports.check(predictor.metadata.recipe)
        result = run_predict(
            predictor,
            folder,
            out,
            split=split,
            speed=speed,
            form=form,
            sample=sample,
            fp_per_hour=fp_per_hour,
            gsd=gsd,
            journal=place,
            engine=engine_of(engine, workers, address),
            minutes=None if minutes is None else TimeLimit(60 * minutes, spent=time.monotonic() - STARTED),
            corrections=corrections or (),
            rule_options=assignments_of(rule),
            before=partial(exports.check_items, predictor.metadata.recipe),
            **changes_of(recipe, run_predict),
        )
        left_out = exports.write(result)
        remember_incomplete(place.path, outputs if result.incomplete else [])
        notes = [*result.notes, *left_out]
        if result.incomplete:
            overwrite = ["--force"] if minutes is not None and any(outputs) else []
            notes.append(f"to try again what could not be read: {command_line(*overwrite)}")
        else:
            place.complete()
        _print_prediction(replace(result, notes=tuple(notes)), exports, out, json_)
        if result.unread or result.incomplete:  # all else is written, but a script should know
            raise typer.Exit(2)


def _print_prediction(result: PredictionResult, exports: Exports, out: Path | None, json_: bool) -> None:
    from tallymark.api.exports import counting_note, summarize
    from tallymark.core.console import console, print_line, show_problems

    numbers = summarize(result, gsd=exports.gsd)
    notes = [*result.notes, *filter(None, [result.file_note, counting_note(result)])]
    if json_:
        submission = None if out is None else str(out)
        print_json({"out": submission, **numbers, "notes": notes, **result.problems.as_dict()})
        return
    if result.problems:
        show_problems(result.problems, console())
    for note in notes:
        print_line(note)
    small = {"square_metres", "per_square_metre"} if "square_kilometres" in numbers else set()
    known = {name: value for name, value in numbers.items() if value is not None and name not in small}
    print_line(", ".join(f"{name.replace('_', ' ')} {_number(value)}" for name, value in known.items()))
    for path in (*([] if out is None else [out]), *exports.paths.values(), *(path for _, path in exports.formats)):
        print_line(f"written to {path}")


def _number(value: float) -> str:
    """A number without an exponent, however large."""
    return f"{value:.0f}" if abs(value) >= 1e5 else f"{value:g}"
