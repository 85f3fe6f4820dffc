"""The demo: synthetic official files, a tiny training, predictions, a submission, its check and its official score."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from tallymark.api import data as api_data
from tallymark.api import models as api_models
from tallymark.core.console import plural, show_table
from tallymark.core.problems import BadInput, Problem
from tallymark.core.registry import Challenge, challenge, challenge_names
from tallymark.inference.baseline import baseline_for

ITEMS = 30
"""Unless a challenge's synth.py has a DEMO that says otherwise."""
SOLUTION = "solution.csv"
"""Where a synthetic data set has the answers for its test part."""


MARK = ".demo"
"""A file by which a folder of the demo is known: what lies in others is never overwritten."""


def run(names: Sequence[str], out: Path, console: Console) -> None:
    """Write each challenge's files below `out`, and show what can be done with them."""
    chosen, results = [challenge(name) for name in names or challenge_names()], []
    _claim(out)
    for what in chosen:
        console.rule(f"[bold]{what.name}[/bold]: {what.title}")
        folder = out / what.name
        if what.has("read") and what.has("synth"):
            data = _make_data(what, folder, console)
            if what.has("recipe"):
                results.append(_learn(what, data, folder, console))
        _show_score(what, folder, console)
    columns = ("challenge", "trivial score", "our score", "better is", "seconds")
    show_table("after a tiny training, on test items that were never seen", columns, results, console)


def _claim(out: Path) -> None:
    if out.exists() and not (out / MARK).exists() and (not out.is_dir() or any(out.iterdir())):
        remedy = "name a new folder with --out"
        raise BadInput(Problem("not_empty", str(out), "something", "a new folder, or one of a demo before", remedy))
    out.mkdir(parents=True, exist_ok=True)
    (out / MARK).touch()


def _make_data(what: Challenge, folder: Path, console: Console) -> Path:
    """A data set in the official formats, and a page of what is in it."""
    data, page = folder / "data", folder / "explore.html"
    if not data.exists():
        items, settings = _settings(what)
        _say(console, f"making {data}: {items} items in the official formats")
        api_data.synth(what.name, data, items=items, **settings)
    options = reading_of(what)
    checked = api_data.check(what.name, data, **options)
    faults = f", {plural(checked.problems.total, 'problem')}" if checked.problems else ", no problem"
    _say(console, f"checked {data}: {checked.counts}{faults}")
    api_data.explore(what.name, data, page, **options)
    _say(console, f"look at {page}")
    return data


def _settings(what: Challenge) -> tuple[int, dict[str, Any]]:
    """How many items the demo makes, and what they are like."""
    settings = dict(getattr(what.module("synth"), "DEMO", {}))
    return settings.pop("items", ITEMS), settings


def reading_of(what: Challenge) -> dict[str, Any]:
    """How the demo's own data are to be read, where they differ from the official ones."""
    return api_data.reading_of(api_data.make_scenes(what.name, _settings(what)[1]))


def _learn(what: Challenge, data: Path, folder: Path, console: Console) -> tuple[str, float, float, str, int]:
    """Train, predict, hand in, score; with the score of a guess beside."""
    begun, options = time.monotonic(), reading_of(what)
    trained, submission = folder / "run", folder / "predicted.csv"
    if trained.exists():
        shutil.rmtree(trained)
    _say(console, f"training {trained} (preset tiny)")
    api_models.train(what.name, data, trained, preset="tiny", rule=options)
    predicted = api_models.predict(trained, data, submission, rule=options)
    checked = api_data.check(what.name, submission, against=data, **options)
    checked.problems.raise_if_any()
    _say(console, f"{submission}: valid, {checked.counts}")
    guessed = folder / "trivial.csv"
    catalog = api_data.read(what.name, data, **options)
    baseline = baseline_for(catalog, predicted.predictions.items, predicted.candidates.size)
    api_data.write(what.name, baseline, guessed, **options)
    truth = data / SOLUTION
    trivial, ours = (api_data.score(what.name, truth, path, **options) for path in (guessed, submission))
    ours.show(console)
    _suggest(
        console,
        f"check {what.name} FOLDER",
        f"train {what.name} FOLDER --out run",
        "predict run FOLDER --out submission.csv",
        f"check {what.name} submission.csv --against FOLDER",
    )
    return what.name, trivial.value, ours.value, ours.better, round(time.monotonic() - begun)


def _show_score(what: Challenge, folder: Path, console: Console) -> None:
    """A truth and a submission, with the official score."""
    shutil.copytree(what.folder / "example", folder, dirs_exist_ok=True)
    truth, submission = folder / "truth.csv", folder / "submission.csv"
    checked = api_data.check(what.name, submission)
    checked.problems.raise_if_any()
    _say(console, f"{submission}: valid, {checked.counts}")
    api_data.score(what.name, truth, submission).show(console)
    _suggest(console, f"check {what.name} {submission}", f"score {what.name} {truth} {submission}")


def _suggest(console: Console, *commands: str) -> None:
    console.print("do the same with your own files:", style="dim")
    for command in commands:
        _say(console, f"  tallymark {command}")
    console.print()


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True, markup=False)
