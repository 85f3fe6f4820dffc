"""The command line: one small function per verb. Heavy imports happen inside, so that --help is quick."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    name="tallymark",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

Name = Annotated[str, typer.Argument(help="wheat, upcalls, food, lyft or ships.", show_default=False)]
Truth = Annotated[Path, typer.Argument(help="The official annotations, e.g. train.csv.", show_default=False)]
Submission = Annotated[Path, typer.Argument(help="The file to hand in.", show_default=False)]
Readings = Annotated[
    list[str] | None,
    typer.Option(
        "--reading",
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
    """Find, count and score things in photographs, recordings, lidar and satellite images."""


@app.command("list")
def list_(
    challenge: Annotated[str | None, typer.Argument(help="One challenge: its options.")] = None,
    json_: Json = False,
) -> None:
    """The challenges with their rules in a line; or of one of them, what can be chosen in scoring and in synth."""
    with _problems_as_output(json_):
        from tallymark.reading import Option, options
        from tallymark.registry import challenge as find
        from tallymark.registry import challenge_names
        from tallymark.terminal import console, show_table

        found = [find(name) for name in ([challenge] if challenge else challenge_names())]
        if json_:
            listed = [
                {
                    "name": c.name,
                    "title": c.title,
                    "file": c.file,
                    "rule": c.rule,
                    "readings": _as_dicts(c.reading),
                    "scenes": _as_dicts(c.module("synth").Scenes) if c.has("synth") else [],
                }
                for c in found
            ]
            _print_json({"challenges": listed})
            return
        show_table("", ("challenge", "file", "rule"), [(c.name, c.file, c.rule) for c in found], console())
        if challenge:
            show_table("readings", Option._fields, options(found[0].reading), console())
            if found[0].has("synth"):
                show_table("scenes of synth", Option._fields, options(found[0].module("synth").Scenes), console())


@app.command()
def check(
    challenge: Name,
    path: Annotated[Path, typer.Argument(help="A data folder, or a submission.", show_default=False)],
    against: Against = None,
    exclude: Exclude = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write every problem to this CSV file.")] = None,
    reading: Readings = None,
    json_: Json = False,
) -> None:
    """Check a data folder, or a submission without the answers: every problem, and what to do. Exit code 2 on any.

    The list that --out writes can be given to --exclude, here and in training, after you deleted the rows of what
    you want to keep.
    """
    with _problems_as_output(json_):
        from tallymark import verbs
        from tallymark.terminal import console, show_problems

        checked = verbs.check(challenge, path, against=against, exclude=exclude, **_options(reading))
        if out is not None:
            from tallymark.data.tables import write_frame

            write_frame(out, checked.table)
        outcome = {"valid": not checked.problems, "items": checked.items, "objects": checked.objects}
        if json_:
            _print_json({**outcome, **checked.problems.as_dict()})
        elif checked.problems:
            show_problems(checked.problems, console())
        else:
            console().print(f"[bold green]valid[/bold green]: {checked.counts}", highlight=False)
        if checked.problems:
            raise typer.Exit(2)


@app.command()
def score(
    challenge: Name,
    truth: Truth,
    submission: Submission,
    reading: Readings = None,
    images: Images = None,
    per_item: Annotated[Path | None, typer.Option(help="Write the score of every item to this CSV file.")] = None,
    pairs: Annotated[Path | None, typer.Option(help="Write the matched pairs to this CSV file.")] = None,
    hours: Annotated[float | None, typer.Option(help="upcalls: length of all recordings in hours.")] = None,
    audio: Annotated[
        Path | None, typer.Option(help="upcalls: folder of recordings; their headers give the hours.")
    ] = None,
    json_: Json = False,
) -> None:
    """Score a submission exactly as the challenge does, and say where it lost."""
    with _problems_as_output(json_):
        from tallymark import verbs
        from tallymark.data.tables import write_frame
        from tallymark.terminal import console

        options = _options(reading) | ({} if hours is None else {"hours": hours})
        result = verbs.score(challenge, truth, submission, images=images, audio=audio, **options)
        if per_item is not None:
            write_frame(per_item, result.items)
        if pairs is not None:
            write_frame(pairs, result.pairs)
        if json_:
            _print_json(result.as_dict())
        else:
            result.show(console())


@app.command()
def compare(
    challenge: Name,
    truth: Truth,
    a: Annotated[Path, typer.Argument(help="One submission.", show_default=False)],
    b: Annotated[Path, typer.Argument(help="The other.", show_default=False)],
    reading: Readings = None,
    images: Images = None,
    seed: Annotated[int, typer.Option(help="Seed of the resampling.")] = 0,
    resamples: Annotated[int, typer.Option(min=1, help="Draws of items that give the interval.")] = 2000,
    json_: Json = False,
) -> None:
    """The difference of two submissions with its 95 % interval, and the items that changed most."""
    with _problems_as_output(json_):
        from tallymark import verbs
        from tallymark.terminal import console

        options = _options(reading)
        result = verbs.compare(challenge, truth, a, b, images=images, seed=seed, resamples=resamples, **options)
        _print_json(result.as_dict()) if json_ else result.show(console())


@app.command()
def repair(
    challenge: Name,
    submission: Submission,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write the mended file.", show_default=False)],
    against: Against = None,
    reading: Readings = None,
    json_: Json = False,
) -> None:
    """Write a valid form of a submission to another file, and say everything that was changed."""
    with _problems_as_output(json_):
        from rich.markup import escape

        from tallymark import verbs
        from tallymark.submit.dialect import Change
        from tallymark.terminal import console, plural, show_table

        changes = verbs.repair(challenge, submission, out, against=against, **_options(reading))
        if json_:
            _print_json({"out": str(out), "changes": [change._asdict() for change in changes]})
        else:
            rows = [tuple(change) for change in changes]
            show_table(plural(len(changes), "change"), Change._fields, rows, console())
            console().print("[bold green]valid[/bold green]:", escape(str(out)), highlight=False, soft_wrap=True)


@app.command()
def explore(
    challenge: Name,
    folder: DataFolder,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("explore.html"),
    exclude: Exclude = None,
    reading: Readings = None,
) -> None:
    """What is in a data folder, as one page: counts, sizes, groups, and a gallery with the truth drawn in."""
    with _problems_as_output(False):
        from tallymark import verbs
        from tallymark.terminal import say

        verbs.explore(challenge, folder, out, exclude=exclude, **_options(reading))
        say(f"look at {out}")


@app.command()
def split(
    challenge: Name,
    folder: DataFolder,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write `id,group,fold`.")] = Path("folds.csv"),
    folds: Annotated[int, typer.Option(min=2, help="How many folds.")] = 5,
    seed: Annotated[int, typer.Option(help="Another seed deals the groups out otherwise.")] = 0,
    leave_one_out: Annotated[bool, typer.Option("--leave-one-out", help="Every group is a fold of its own.")] = False,
    exclude: Exclude = None,
    reading: Readings = None,
    json_: Json = False,
) -> None:
    """Deal the training items into folds that tell the truth: what belongs together stays together.

    Groups are sources (wheat), days (upcalls), logs (lyft) and look-alike chips (ships).
    """
    with _problems_as_output(json_):
        from tallymark import verbs
        from tallymark.terminal import console, say, show_table

        made = verbs.split(
            challenge, folder, folds=folds, seed=seed, leave_one_out=leave_one_out, exclude=exclude, **_options(reading)
        )
        made.save(out)
        table = made.table
        if json_:
            _print_json({"out": str(out), "folds": table.to_dicts()})
        else:
            show_table("folds", table.columns, table.rows(), console())
            say(f"written to {out}")


@app.command()
def synth(
    challenge: Name,
    folder: Annotated[Path, typer.Argument(help="Where to write the data set.", show_default=False)],
    items: Annotated[int, typer.Option(min=1, help="Photographs, recordings, samples or chips in all.")] = 50,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")] = 0,
    scenes: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="What the scenes are like: see `tallymark list CHALLENGE`."),
    ] = None,
) -> None:
    """Make a synthetic data set in the official formats, for trying things without the official files."""
    with _problems_as_output(False):
        from tallymark import verbs
        from tallymark.terminal import say

        verbs.synth(challenge, folder, items=items, seed=seed, **_options(scenes))
        say(f"written to {folder}; next: tallymark check {challenge} {folder}")


@app.command()
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
    also: Annotated[list[Path] | None, typer.Option(help="Another data set to learn from. May be repeated.")] = None,
    pseudo: Annotated[
        Path | None,
        typer.Option(help="A folder without truth: what the run `weights=RUN` finds in it is learned from too."),
    ] = None,
    folds: Annotated[Path | None, typer.Option(help="A table of folds, as `tallymark split` writes it.")] = None,
    reading: Readings = None,
    json_: Json = False,
) -> None:
    """Train a model on official files, tune it by the official rule, and write all that predicting needs.

    The score that it prints is that of items which were held out. Several processes: torchrun -m tallymark train …
    """
    with _problems_as_output(json_):
        from tallymark import modelling
        from tallymark.terminal import console, say, show_problems

        trained = modelling.train(
            challenge,
            folder,
            out,
            preset=preset,
            minutes=minutes,
            resume=resume,
            exclude=exclude,
            also=also or (),
            pseudo=pseudo,
            folds=folds,
            reading=_options(reading),
            **_options(changes),
        )
        if trained is None:
            return
        if json_:
            passed_over = trained.problems.as_dict()
            _print_json({"run": str(out), **trained.score.as_dict(), **passed_over})
            return
        if trained.problems:
            show_problems(trained.problems, console())
        trained.score.show(console())
        say(f"written to {out}; next: tallymark predict {out} FOLDER --out submission.csv")


@app.command()
def predict(
    model: Annotated[
        str, typer.Argument(help="A run, a model.onnx, or a challenge that a model comes with.", show_default=False)
    ],
    folder: DataFolder,
    changes: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Fields of the recipe, e.g. views=8 cut=0.4.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The submission to write.")] = None,
    counts: Annotated[Path | None, typer.Option(help="Write how many there are in every item, and how large.")] = None,
    objects: Annotated[Path | None, typer.Option(help="Write place, size and direction of every finding.")] = None,
    ground: Annotated[
        float | None, typer.Option(help="Metres on the ground to a pixel: counts per square metre, sizes in metres.")
    ] = None,
    part: Annotated[str, typer.Option(help="train, val, test, all; auto: test if there is one.")] = "auto",
    runtime: Annotated[str, typer.Option(help="onnxruntime, or openvino (faster on most CPUs).")] = "onnxruntime",
    form: Annotated[str | None, typer.Option(help="Another published form of the submission.")] = None,
    reading: Readings = None,
    json_: Json = False,
) -> None:
    """Find things in a folder of official files, or of any pictures, and write a submission that is known to be valid.

    Pictures that cannot be read are listed, and count as empty.
    """
    with _problems_as_output(json_):
        from tallymark import modelling
        from tallymark.data.tables import write_frame
        from tallymark.reporting.tallies import summary, tally_items, tally_objects
        from tallymark.terminal import console, say, show_problems

        predicted = modelling.predict(
            model,
            folder,
            out,
            part=part,
            runtime=_choice(runtime, ("onnxruntime", "openvino")),
            form=form,
            reading=_options(reading),
            **_options(changes),
        )
        table = tally_items(predicted.found, predicted.raw.size, ground)
        if counts is not None:
            write_frame(counts, table)
        if objects is not None:
            write_frame(objects, tally_objects(predicted.found, ground))
        told = summary(table)
        if json_:
            _print_json({"out": None if out is None else str(out), **told, **predicted.problems.as_dict()})
            return
        if predicted.problems:
            show_problems(predicted.problems, console())
        say(", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in told.items() if value is not None))
        for path in (out, counts, objects):
            if path is not None:
                say(f"written to {path}")


@app.command()
def demo(
    challenges: Annotated[list[str] | None, typer.Argument(help="Which challenges; all by default.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the example files.")] = Path("demo"),
) -> None:
    """Make small data sets and submissions, check, explore and score them, and name the next commands to type."""
    with _problems_as_output(False):
        from tallymark.demo import run
        from tallymark.terminal import console

        run(challenges or [], out, console())


def _as_dicts(reading: type) -> list[dict[str, str]]:
    from tallymark.reading import options

    return [option._asdict() for option in options(reading)]


def _choice(value: str, allowed: tuple[str, ...]) -> Any:
    from tallymark.problems import BadInput, Problem, nearest

    if value not in allowed:
        raise BadInput(Problem("bad_option", "command line", value, " or ".join(allowed), nearest(value, allowed)))
    return value


def _options(assignments: list[str] | None) -> dict[str, Any]:
    from tallymark.reading import parse_assignments

    return dict(parse_assignments(assignments or []))


@contextmanager
def _problems_as_output(json_: bool) -> Iterator[None]:
    """Bad input is a table (or JSON) and exit code 2, not a traceback."""
    from tallymark.problems import BadInput

    try:
        yield
    except BadInput as bad:
        if json_:
            _print_json(bad.problems.as_dict())
        else:
            from tallymark.terminal import console, show_problems

            show_problems(bad.problems, console())
        raise typer.Exit(2) from None
    except BrokenPipeError:  # whoever reads our output has seen enough
        raise
    except OSError as error:  # reading reports its own; this is about writing
        print(f"cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        raise typer.Exit(2) from None


def _print_json(value: object) -> None:
    print(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False))


def main() -> None:
    app()
