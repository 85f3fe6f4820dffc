"""The report page: written from its subject, with the charts as files where they are wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tallymark.core.problems import EVERY, Problems
from tallymark.drawing.charts import Chart
from tallymark.reporting.blocks import Block, Charts, Details, Figure, Section, SideBySide
from tallymark.reporting.figures import check_figures, write_figures
from tallymark.reporting.page import write_html
from tallymark.reporting.report.page_data import page_data
from tallymark.reporting.report.scenes import draw_scenes, pictures
from tallymark.reporting.report.sections import facts, lead, sections
from tallymark.reporting.report.selection import select
from tallymark.reporting.report.subject import Subject
from tallymark.reporting.report_page import LiveReport
from tallymark.reporting.summary_tables import problem_tables

SCENES = 48
"""Pictures on a page, unless another number is asked for."""


def write_report(
    subject: Subject, out: Path, *, figures: Path | None = None, scenes: int = SCENES, seed: int = 0
) -> Problems:
    """Write one self-contained HTML file; returns the items that could not be drawn.

    figures: a folder for the charts as SVG and PNG. scenes: pictures at most. seed: of the choice among items.
    """
    if figures is not None:
        check_figures()
    problems = Problems(EVERY)
    live = live_report(subject, scenes, seed, problems)
    below = sections(subject)
    shown = [
        Section("Predictions", [live]),
        *below,
        Section("Not drawn", problem_tables(problems), "Files that could not be read for a picture."),
    ]
    write_html(out, subject.title, lead(subject), facts(subject), shown)
    if figures is not None:
        write_figures(_charts([block for section in below for block in section.blocks]), figures)
    return problems


def live_report(subject: Subject, scenes: int, seed: int, problems: Problems) -> LiveReport:
    """The live part of a page: score, gallery, viewer and review. Items that cannot be drawn are problems."""
    drawn = draw_scenes(subject, pictures(subject, select(subject, scenes, seed)), problems)
    return LiveReport(page_data(subject, drawn))


def _charts(blocks: Sequence[Block]) -> Iterator[Chart]:
    """All charts in blocks, in their order."""
    for block in blocks:
        match block:
            case Charts(charts):
                yield from charts
            case Figure(chart):
                yield chart
            case Details(_, inner) | SideBySide(inner):
                yield from _charts(inner)
