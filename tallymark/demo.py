"""The demo: a synthetic data set of each challenge, checked and explored; example files, checked and scored."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from tallymark import verbs
from tallymark.registry import Challenge, challenge, challenge_names
from tallymark.terminal import plural

ITEMS = 30


def run(names: Sequence[str], out: Path, console: Console) -> None:
    """Write each challenge's files below `out`, and show what can be done with them."""
    for what in [challenge(name) for name in names or challenge_names()]:
        console.rule(f"[bold]{what.name}[/bold]: {what.title}")
        if what.has("read") and what.has("synth"):
            _show_data(what, out / what.name, console)
        _show_score(what, out / what.name, console)


def _show_data(what: Challenge, folder: Path, console: Console) -> None:
    """A data set in the official formats, and a page of what is in it."""
    data, page = folder / "data", folder / "explore.html"
    if not data.exists():
        verbs.synth(what.name, data, items=ITEMS, **getattr(what.module("synth"), "DEMO", {}))
    checked = verbs.check(what.name, data)
    faults = f", {plural(checked.problems.total, 'problem')}" if checked.problems else ", no problem"
    _say(console, f"{data}: {checked.counts}{faults}")
    verbs.explore(what.name, data, page)
    _say(console, f"look at {page}")
    _suggest(console, f"check {what.name} {data}", f"explore {what.name} {data}", f"split {what.name} {data}")


def _show_score(what: Challenge, folder: Path, console: Console) -> None:
    """A truth and a submission, with the official score."""
    shutil.copytree(what.folder / "example", folder, dirs_exist_ok=True)
    truth, submission = folder / "truth.csv", folder / "submission.csv"
    checked = verbs.check(what.name, submission)
    checked.problems.raise_if_any()
    _say(console, f"{submission}: valid, {checked.counts}")
    verbs.score(what.name, truth, submission).show(console)
    _suggest(console, f"check {what.name} {submission}", f"score {what.name} {truth} {submission}")


def _suggest(console: Console, *commands: str) -> None:
    console.print("do the same with your own files:", style="dim")
    for command in commands:
        _say(console, f"  tallymark {command}")
    console.print()


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True, markup=False)
