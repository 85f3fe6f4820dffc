"""The demo: synthetic official files, a tiny training, predictions, a checked submission and its official score."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from tallymark.api.check import check
from tallymark.api.data import explore, parse_scene_options, synth
from tallymark.api.exports import export_candidates
from tallymark.api.predict import predict
from tallymark.api.report import report
from tallymark.api.score import score
from tallymark.api.train import train
from tallymark.core.console import show_problems, show_table
from tallymark.core.humanize import plural
from tallymark.core.options import SceneOptions
from tallymark.core.outputs import holds_files, make_folder, write_bytes, writing_to
from tallymark.core.problems import BadInput, Problem, Problems
from tallymark.core.registry import Challenge, all_challenges, challenge
from tallymark.reporting.index_page import Entry, example_picture, write_index

ITEMS = 30
"""Items of a synthetic data set, unless its scene options have another number for the demo."""
SOLUTION = "solution.csv"
"""The truth of the test split of a synthetic data set."""
CANDIDATES = "predicted.parquet"
"""What the model considers possible in the test split, with scores."""
MARK = ".demo"
"""A file that marks folders of the demo: other folders are never written to."""


class Result(NamedTuple):
    """A row of the final table."""

    challenge: str
    baseline: float
    score: float
    better: str
    seconds: int


def run(names: Sequence[str], out: Path, console: Console, **recipe: Any) -> None:
    """Run the demo of some challenges, or of all, below the folder `out`.

    recipe: fields of the tiny presets to change.
    """
    chosen, problems = ([challenge(name) for name in names], Problems()) if names else all_challenges()
    _claim(out)
    results = []
    entries = []
    for what in chosen:
        console.rule(f"[bold]{what.name}[/bold]: {what.title}")
        folder = out / what.name
        if what.has("read") and what.has("synth"):
            data = _make_data(what, folder, console)
            if what.has("recipe"):
                result, entry = _train_and_score(what, data, folder, console, recipe)
                results.append(result)
                entries.append(entry)
        if (what.folder / "example").is_dir():
            _score_example(what, folder, console)
    columns = ("challenge", "baseline score", "model score", "better", "seconds")
    show_table("scores on the test split, after a tiny training", columns, results, console)
    if problems:
        show_problems(problems, console)
    if entries:
        index = out / "index.html"
        lead = "Tiny models, trained for a minute each on synthetic data. Open a report to see what they find and miss."
        write_index(entries, index, "Tallymark demo", lead)
        _print(console, f"open {index} in a browser: it links to the reports")


def _claim(out: Path) -> None:
    if out.exists() and not (out / MARK).exists() and (not out.is_dir() or holds_files(out)):
        expected, remedy = "a new folder, or one of an earlier demo", "name a new folder with --out"
        raise BadInput(Problem("not_empty", str(out), "other files", expected, remedy))
    write_bytes(make_folder(out) / MARK, b"")


def _make_data(what: Challenge, folder: Path, console: Console) -> Path:
    """A data set in the official formats, and a page about it."""
    data = folder / "data"
    page = folder / "explore.html"
    if not data.exists():
        items, options = _scene_options(what)
        _print(console, f"generating {data}: {plural(items, 'item')} in the official formats")
        synth(what.name, data, items=items, **options)
    rule_options = demo_rule_options(what)
    checked = check(what.name, data, **rule_options)
    _print(console, f"checked {data}: {checked.counts}, {plural(checked.problems.total, 'problem')}")
    explore(what.name, data, page, **rule_options)
    _print(console, f"wrote {page}: open it in a browser")
    return data


def _scene_options(what: Challenge) -> tuple[int, dict[str, Any]]:
    """The number of items and the scene options of the demo."""
    kind: type[SceneOptions] = what.module("synth").SceneOptions
    options = dict(kind.demo)
    return options.pop("items", ITEMS), options


def demo_rule_options(what: Challenge) -> dict[str, Any]:
    """The rule options that the data of the demo need."""
    return dict(parse_scene_options(what.name, _scene_options(what)[1]).rule_options)


def _train_and_score(
    what: Challenge, data: Path, folder: Path, console: Console, recipe: Mapping[str, Any]
) -> tuple[Result, Entry]:
    """Train, predict, write and check a submission, score it, and write a report."""
    started = time.monotonic()
    rule_options = demo_rule_options(what)
    trained = folder / "run"
    submission = folder / "predicted.csv"
    if trained.exists():
        with writing_to(trained):
            shutil.rmtree(trained)
    _print(console, f"training {trained} (preset tiny)")
    # Tiny networks gain nothing from a second thread, and lose a lot where another process uses that core.
    train(what.name, data, trained, preset="tiny", threads=1, rule_options=rule_options, **recipe)
    predicted = predict(trained, data, submission, rule_options=rule_options)
    checked = check(what.name, submission, against=data, **rule_options)
    checked.problems.raise_if_any()
    _print(console, f"{submission}: valid, {checked.counts}")
    trained_score = score(what.name, data / SOLUTION, submission, **rule_options)
    trained_score.show(console)
    page = folder / "report.html"
    export_candidates(predicted, folder / CANDIDATES)
    report(what.name, folder / CANDIDATES, page, media=data, truth=data / SOLUTION, **rule_options)
    _print(console, f"wrote {page}: open it in a browser")
    _suggest(
        console,
        f"check {what.name} FOLDER",
        f"train {what.name} FOLDER --out run",
        "predict run FOLDER --out submission.csv",
        f"check {what.name} submission.csv --against FOLDER",
    )
    seconds = round(time.monotonic() - started)
    value, baseline, better = trained_score.value, trained_score.baseline, trained_score.better
    entry = Entry(what.title, example_picture(predicted), value, baseline, better, f"{what.name}/{page.name}")
    return Result(what.name, baseline, value, better, seconds), entry


def _score_example(what: Challenge, folder: Path, console: Console) -> None:
    """Check and score the example files of a challenge."""
    with writing_to(folder):
        shutil.copytree(what.folder / "example", folder, dirs_exist_ok=True)
    truth = folder / "truth.csv"
    submission = folder / "submission.csv"
    checked = check(what.name, submission)
    checked.problems.raise_if_any()
    _print(console, f"{submission}: valid, {checked.counts}")
    score(what.name, truth, submission).show(console)
    _suggest(console, f"check {what.name} {submission}", f"score {what.name} {truth} {submission}")


def _suggest(console: Console, *commands: str) -> None:
    console.print("the same with your own files:", style="dim")
    for command in commands:
        _print(console, f"  tallymark {command}")
    console.print()


def _print(console: Console, text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True, markup=False)
