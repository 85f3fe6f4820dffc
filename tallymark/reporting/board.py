"""The page of a board: the ranking with intervals, public and private places, groups, and what was refused."""

from __future__ import annotations

import math
from pathlib import Path

from tallymark.core.humanize import count
from tallymark.core.options import as_assignments
from tallymark.drawing.charts import intervals
from tallymark.reporting.blocks import Block, Paragraph, Section, figure, table
from tallymark.reporting.page import Fact, write_html
from tallymark.scoring.board import Board, Entry

DRAWN = 40
"""Submissions that the chart shows; the table has all."""


def write_page(board: Board, out: Path) -> None:
    """Write one self-contained HTML file about a board."""
    write_html(out, f"{board.title}: leaderboard", _lead(board), _facts(board), _sections(board))


def _lead(board: Board) -> str:
    part = f"{count(board.items)} private items" if board.public_items else f"{count(board.items)} items"
    return f"Ranked by {board.rule}, {board.better} is better, on {part}. Rule: {as_assignments(board.rule_options)}."


def _facts(board: Board) -> list[Fact]:
    facts = [(count(len(board.entries)), "ranked"), (count(len(board.refused)), "refused")]
    if board.entries:
        facts.append((f"{board.entries[0].score:.4f}", "best score"))
    facts.append((_number(board.baseline.score), board.baseline.name))
    facts.append((count(board.items), "private items" if board.public_items else "items"))
    if board.public_items:
        facts.append((count(board.public_items), "public items"))
    return facts


def _sections(board: Board) -> list[Section]:
    return [
        Section("Ranking", _ranking(board), " ".join(board.verdicts)),
        Section("Intervals", _chart(board), _about_intervals(board)),
        Section("Public and private", _shake_up(board), "Shake-up: places gained from public to private."),
        Section("Groups", _groups(board), _about_groups(board)),
        Section("Refused", _refused(board), "Files with problems: they are not scored and have no place."),
        Section("Other files", table(("file", "why it is no submission"), board.others)),
        Section("Remarks", [Paragraph(f"{remark[:1].upper()}{remark[1:]}.") for remark in board.remarks]),
    ]


def _ranking(board: Board) -> list[Block]:
    columns = ["place", "submission", "private score" if board.public_items else "score", "95 % interval",
               "ahead of the next", "note"]  # fmt: skip
    rows: list[tuple[object, ...]] = [
        (one.place, one.name, f"{one.score:.6f}", _span(one.low, one.high), _lead_over_next(one), one.note)
        for one in board.entries
    ]
    low = board.baseline
    rows.append((None, low.name, _number(low.score, 6), _span(low.low, low.high), "", "reference, without a place"))
    return table(columns, rows)


def _chart(board: Board) -> list[Block]:
    shown = [(f"{one.place}. {one.name}", one.score, one.low, one.high) for one in board.entries[:DRAWN]]
    more = len(board.entries) - len(shown)
    note = f"the first {DRAWN} of {count(len(board.entries))}; " if more else ""
    note += f"{board.baseline.name}: {_number(board.baseline.score)}, dashed where the axis reaches it"
    return figure(intervals(shown, "Scores with 95 % intervals", note, reference=board.baseline.score))


def _about_intervals(board: Board) -> str:
    return (
        f"From {count(board.resamples)} bootstrap samples of the items, the same for all submissions. "
        "Two neighbours can be told apart if the interval of their paired difference does not contain 0, "
        "even if their own intervals overlap. Each comparison is at 95 %, whatever their number."
    )


def _shake_up(board: Board) -> list[Block]:
    if not board.public_items:
        return []
    columns = ("private place", "public place", "shake-up", "submission", "private score", "public score", "all items")
    return table(
        columns,
        [
            (one.place, one.public_place or None, "-" if one.shake_up is None else f"{one.shake_up:+d}", one.name,
             _number(one.score, 6), _number(one.public, 6), _number(one.whole, 6))
            for one in board.entries
        ],
    )  # fmt: skip


def _groups(board: Board) -> list[Block]:
    if not board.group_names:
        return []
    entries = [*board.entries, board.baseline]
    rows = [(one.place or None, one.name, *(_number(value) for value in one.groups)) for one in entries]
    return table(("place", "submission", *board.group_names), rows)


def _about_groups(board: Board) -> str:
    items = ", ".join(
        f"{name} {count(number)}" for name, number in zip(board.group_names, board.group_items, strict=True)
    )
    return f"Scores of the items of each group; items: {items}."


def _refused(board: Board) -> list[Block]:
    rows = [(one.name, one.problems.total, " · ".join(one.reasons), one.note) for one in board.refused]
    return table(("file", "problems", "what", "note"), rows)


def _lead_over_next(one: Entry) -> str:
    if one.ahead is None:
        return ""
    gain, low, high = one.ahead
    return f"{gain:.4f} ({low:.4f} … {high:.4f})" if math.isfinite(low) else f"{gain:.4f}"


def _span(low: float, high: float) -> str:
    return f"{low:.4f} … {high:.4f}" if math.isfinite(low) else "-"


def _number(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else "-"
