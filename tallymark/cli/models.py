"""Models: train, predict, demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tallymark.cli.options import (
    DataFolder,
    Exclude,
    Json,
    Name,
    Readings,
    changes_of,
    choice_of,
    options_of,
    print_json,
    problems_as_output,
)


def train(
    challenge: Name,
    folder: DataFolder,
    changes: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Fields of the recipe: see `tallymark list CHALLENGE`."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write the run to.")] = Path("run"),
    preset: Annotated[str, typer.Option(help="tiny (a minute), small (a CPU) or full (a GPU).")] = "small",
    minutes: Annotated[float | None, typer.Option(min=0.1, help="Fit the training into this time.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what is in the folder.")] = False,
    exclude: Exclude = None,
    extra_data: Annotated[
        list[Path] | None, typer.Option(help="Another data set to train on. May be repeated.")
    ] = None,
    pseudo: Annotated[
        Path | None,
        typer.Option(help="A folder without truth: what the run `weights=RUN` finds in it is learned from too."),
    ] = None,
    folds: Annotated[Path | None, typer.Option(help="A table of folds, as `tallymark folds` writes it.")] = None,
    rule_options: Readings = None,
    json_: Json = False,
) -> None:
    """Train a model on official files, tune it by the official rule, and write all that predicting needs.

    The score that it prints is that of items which were held out. Several processes: torchrun -m tallymark train …
    """
    with problems_as_output(json_):
        from tallymark.api import models as api_models
        from tallymark.core.console import console, say, show_problems

        trained = api_models.train(
            challenge,
            folder,
            out,
            preset=preset,
            minutes=minutes,
            resume=resume,
            exclude=exclude,
            extra_data=extra_data or (),
            pseudo=pseudo,
            fold_table=folds,
            rule=options_of(rule_options),
            **changes_of(changes, api_models.train),
        )
        if trained is None:
            return
        if json_:
            print_json({"run": str(out), **trained.score.as_dict(), "passed_over": trained.problems.as_dict()})
            return
        if trained.problems:
            show_problems(trained.problems, console())
        trained.score.show(console())
        if trained.curve is not None:
            prices = " and ".join(f"{trained.curve.recall_at(price):.3f} at {price}" for price in (1, 10))
            say(f"recall {prices} false positives an hour; the whole curve is in {out / 'recall.html'}")
        say(f"written to {out}; next: tallymark predict {out} FOLDER --out submission.csv")


def predict(
    model: Annotated[
        str, typer.Argument(help="A run, a model.onnx, or a challenge that a model comes with.", show_default=False)
    ],
    folder: DataFolder,
    changes: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Fields of the recipe, e.g. tta=8 score_threshold=0.4."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The submission to write.")] = None,
    counts: Annotated[
        Path | None, typer.Option(help="Write how many there are in every item, and how large; calls: in every hour.")
    ] = None,
    objects: Annotated[Path | None, typer.Option(help="Write place, size and direction of every finding.")] = None,
    gsd: Annotated[
        float | None, typer.Option(help="Metres on the ground to a pixel: counts per square metre, sizes in metres.")
    ] = None,
    fp_per_hour: Annotated[
        float | None, typer.Option(help="Calls: the cut that cost at most so many false positives an hour in training.")
    ] = None,
    days: Annotated[Path | None, typer.Option(help="Calls: write how many there are on every day.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Calls: write a page on calls by hour and day.")] = None,
    raven: Annotated[Path | None, typer.Option(help="Calls: a folder for Raven selection tables.")] = None,
    audacity: Annotated[Path | None, typer.Option(help="Calls: a folder for Audacity label tracks.")] = None,
    clips: Annotated[
        Path | None, typer.Option(help="Calls: a new folder for sounds and spectrograms of those worth a look.")
    ] = None,
    clips_each: Annotated[
        int, typer.Option(min=1, help="Clips of the strongest, of the weakest and of the borderline calls.")
    ] = 10,
    journal: Annotated[
        Path | None,
        typer.Option(help="A folder to keep what models say: go on after an interruption; try cuts in no time."),
    ] = None,
    split: Annotated[str, typer.Option(help="train, val, test, all; auto: test if there is one.")] = "auto",
    runtime: Annotated[str, typer.Option(help="onnxruntime, or openvino (faster on most CPUs).")] = "onnxruntime",
    form: Annotated[str | None, typer.Option(help="Another published form of the submission.")] = None,
    rule_options: Readings = None,
    json_: Json = False,
) -> None:
    """Find things in a folder of official files, or of any pictures or recordings, and write a valid submission.

    What cannot be read is listed, and is empty in the submission.
    """
    with problems_as_output(json_):
        from tallymark.api import models as api_models
        from tallymark.api.exports import Outputs
        from tallymark.core.console import console, say, show_problems

        predictor = api_models.open_model(model, choice_of(runtime, ("onnxruntime", "openvino")))
        outputs = Outputs(counts, objects, gsd, days, plot, raven, audacity, clips, clips_each)
        outputs.refuse(predictor.metadata.recipe)
        predicted = api_models.predict(
            predictor,
            folder,
            out,
            split=split,
            form=form,
            fp_per_hour=fp_per_hour,
            journal=journal,
            rule=options_of(rule_options),
            **changes_of(changes, api_models.predict),
        )
        told = outputs.write(predicted)
        if json_:
            place, notes = None if out is None else str(out), list(predicted.notes)
            print_json({"out": place, **told, "notes": notes, **predicted.problems.as_dict()})
            return
        if predicted.problems:
            show_problems(predicted.problems, console())
        for note in predicted.notes:
            say(note)
        say(", ".join(f"{name.replace('_', ' ')} {_text(value)}" for name, value in told.items() if value is not None))
        for path in (out, *outputs.paths):
            if path is not None:
                say(f"written to {path}")


def _text(value: float) -> str:
    """A number without an exponent, however large."""
    return f"{value:.0f}" if abs(value) >= 1e5 else f"{value:g}"


def demo(
    challenges: Annotated[list[str] | None, typer.Argument(help="Which challenges; all by default.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the example files.")] = Path("demo"),
) -> None:
    """Make small data sets, train a tiny model on each, predict, hand in and score: some minutes for all five.

    It ends with the commands to type for your own data.
    """
    with problems_as_output(False):
        from tallymark.cli.demo import run
        from tallymark.core.console import console

        run(challenges or [], out, console())
