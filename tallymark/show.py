"""Results as tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tallymark.problems import Problems
from tallymark.reading import describe
from tallymark.scoring.compare import Comparison
from tallymark.scoring.score import Score
from tallymark.submit.dialect import Change

SHOWN = 40
"""Rows of a long list that are printed; files and --json have all."""


def show_problems(problems: Problems, console: Console) -> None:
    kept = list(problems)
    table = Table(title=_plural(problems.total, "problem"), title_justify="left", title_style="bold red")
    for name in ("where", "item", "problem", "found", "expected", "what to do"):
        table.add_column(name, overflow="fold")
    for problem in kept[:SHOWN]:
        column = f" {problem.column}" if problem.column else ""
        cells = (problem.place + column, problem.item or "", problem.kind, problem.found, problem.expected)
        table.add_row(*map(escape, cells), escape(problem.remedy))
    console.print(table)
    if problems.total > SHOWN:
        counts = ", ".join(f"{count} {kind}" for kind, count in problems.counts.items())
        console.print(f"… {problems.total - min(SHOWN, len(kept))} more not shown; in all: {counts}")


def show_score(score: Score, console: Console) -> None:
    number = f"{score.value:.6f}" if math.isfinite(score.value) else score.note
    console.print(f"[bold]{score.challenge}[/bold]  score [bold]{number}[/bold]  ({score.better} is better)")
    reading = "  ".join(f"{name}={value}" for name, value in describe(score.reading).items())
    console.print(f"reading: {escape(reading)}", highlight=False)
    show_table("counts", score.counts, console)
    if score.classes is not None:
        show_table("classes", score.classes, console)
    if score.groups is not None:
        show_table("groups", score.groups, console)
    shown = [name for name in score.items.columns if not name.startswith("tp_") or name in ("tp_50", "tp_75")]
    show_table(f"worst of {_plural(score.items.height, 'item')}", score.worst().select(shown), console)


def show_official_lines(score: Score) -> None:
    """The six lines of the published upcalls script, and what it promises but does not print."""
    detail = score.details
    print("True Positives (TP):", detail["tp"])
    print("False Positives (FP):", detail["fp"])
    print("False Negatives (FN):", detail["fn"])
    print("Precision:", detail["precision"])
    print("Recall:", detail["recall"])
    print("F1 Score:", detail["f1"])
    hours = describe(score.reading)["hours"]
    print(f"False positives per hour: {detail['fp_per_hour']} ({hours} h)")
    print("One-to-one F1:", detail["one_to_one_f1"])


def show_comparison(comparison: Comparison, console: Console) -> None:
    a, b = comparison.a.value, comparison.b.value
    console.print(
        f"[bold]{comparison.a.challenge}[/bold]  A {a:.6f}  B {b:.6f}  B - A [bold]{comparison.difference:+.6f}[/bold]"
    )
    console.print(f"95 % interval {comparison.low:+.6f} … {comparison.high:+.6f}: [bold]{comparison.verdict}[/bold]")
    show_table(
        f"greatest of {_plural(comparison.changes.height, 'changed item')}", comparison.changes.head(10), console
    )


def show_changes(changes: list[Change], console: Console) -> None:
    table = Table(title=_plural(len(changes), "change"), title_justify="left")
    for name in ("line", "item", "what", "before", "after"):
        table.add_column(name, overflow="fold")
    for change in changes[:SHOWN]:
        line = "" if change.line is None else str(change.line)
        table.add_row(line, *map(escape, (change.item, change.what, change.before, change.after)))
    console.print(table)
    if len(changes) > SHOWN:
        console.print(f"… {len(changes) - SHOWN} more not shown")


def show_table(title: str, frame: pl.DataFrame, console: Console) -> None:
    if frame.is_empty():
        return
    table = Table(title=title, title_justify="left")
    for name, kind in frame.schema.items():
        table.add_column(name, justify="right" if kind.is_numeric() else "left", overflow="fold")
    for row in frame.iter_rows():
        table.add_row(*map(_cell, row))
    console.print(table)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else escape(str(value))


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def show_rows(columns: Iterable[str], rows: Iterable[Iterable[str]], console: Console) -> None:
    table = Table()
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)
