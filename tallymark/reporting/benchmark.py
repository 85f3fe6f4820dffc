"""The page of a benchmark: the Pareto front of speed and score, every setting, and where the time goes."""

from __future__ import annotations

from pathlib import Path

from tallymark.core.humanize import number, percentage, plural
from tallymark.drawing.charts import bars
from tallymark.drawing.scatter import Point, scatter
from tallymark.inference.benchmark import Benchmark
from tallymark.reporting.blocks import Block, Paragraph, Section, charts, figure, table
from tallymark.reporting.page import Fact, write_html


def write_page(result: Benchmark, out: Path) -> None:
    """Write one self-contained HTML file about a benchmark."""
    lead = f"{plural(result.items, result.noun)} on {plural(result.cores, 'core')}, from files to predictions."
    write_html(out, f"Speed and score of {result.model}", lead, _facts(result), _sections(result))


def _facts(result: Benchmark) -> list[Fact]:
    fastest = min(result.measurements, key=lambda one: one.seconds)
    facts = [(number(fastest.per_second), f"{result.unit} per second, at most")]
    if result.unit != "h":
        facts.append((number(fastest.prize_minutes), "minutes for 40,000, at least"))
    if result.front:
        facts.append((f"{result.front[-1].tuned:.4f}", "best score"))
    return [*facts, (percentage(result.noise, 1), "noise of the machine")]


def _sections(result: Benchmark) -> list[Section]:
    return [
        Section("Speed and score", _front(result), "Settings on the line are beaten by none in both."),
        Section("Settings", table(*result.table())),
        Section("Stages", _stages(result), "One after the other; prediction does several at once."),
        Section("Remarks", [Paragraph(f"{remark[:1].upper()}{remark[1:]}.") for remark in result.remarks()]),
    ]


def _front(result: Benchmark) -> list[Block]:
    front = result.front
    points = [Point(one.name, one.per_second, one.tuned, one in front) for one in result.measurements if result.scored]
    units = (f"{result.unit} per second", f"score, {result.better} is better")
    return figure(scatter(points, "Speed against score", units, "point at a setting for its name"))


def _stages(result: Benchmark) -> list[Block]:
    return [
        *table(*result.stage_table()),
        *charts(
            bars({stage: 1000 * seconds for stage, seconds in spent.items()}, runtime, "ms per item")
            for runtime, spent in result.stages.items()
        ),
    ]
