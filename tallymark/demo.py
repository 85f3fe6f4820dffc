"""The demo: example files of each challenge, checked and scored."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from tallymark import verbs
from tallymark.registry import challenge, challenge_names
from tallymark.terminal import plural


def run(names: Sequence[str], out: Path, console: Console) -> None:
    """Write each challenge's example files below `out`, check the submission and score it."""
    for what in [challenge(name) for name in names or challenge_names()]:
        folder = out / what.name
        shutil.copytree(what.folder / "example", folder, dirs_exist_ok=True)
        truth, submission = folder / "truth.csv", folder / "submission.csv"
        console.rule(f"[bold]{what.name}[/bold]: {what.title}")
        checked = verbs.check(what.name, submission)
        checked.problems.raise_if_any()
        counts = f"{plural(checked.items, 'item')}, {plural(checked.objects, 'object')}"
        console.print(f"{submission}: valid, {counts}", highlight=False, soft_wrap=True)
        result = verbs.score(what.name, truth, submission)
        result.show(console)
        console.print("do the same with your own files:", style="dim")
        console.print(f"  tallymark check {what.name} {submission}", highlight=False, soft_wrap=True)
        console.print(f"  tallymark score {what.name} {truth} {submission}\n", highlight=False, soft_wrap=True)
