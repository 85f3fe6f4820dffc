"""Recorded hours for rules that count false positives per hour: as an option, or from the headers of recordings.

A challenge whose rule options have a field `hours` declares `HOURS_OPTIONS`, `complete_hours` and `hours_for_items`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tallymark.core.problems import Problem, Problems
from tallymark.core.registry import ScoreOption, Scoring
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.io.archives import is_folder
from tallymark.io.audio import total_hours
from tallymark.io.finder import Finder
from tallymark.io.folders import media_files
from tallymark.io.suffixes import AUDIO_SUFFIXES

HOURS_OPTIONS = (
    ScoreOption("hours", float, "Total length of the recordings in hours, for false positives per hour."),
    ScoreOption("audio", Path, "Folder of the recordings, whose headers give the hours."),
)
CLOCK_OPTIONS = (
    ScoreOption("time_pattern", str, "How file names state when recordings started, e.g. %Y%m%d_%H%M%S."),
    ScoreOption("time_zone", str, "Time zone of the recorders' clocks, e.g. UTC; add ,ZONE to show times in another."),
)


def complete_hours(scoring: Scoring, official: Callable[[list[str]], float | None]) -> Any:
    """Rule options with the hours of the folder `audio`, or of the recordings that a data folder has the truth of.

    Where the items to score are listed, they are the hours of these. Without a folder, `official` states them, given
    the names of the recordings, if it knows them; else they are unknown.
    """
    if scoring.truth is not None and scoring.truth.weak:
        return scoring.rule_options  # clips are scored by presence
    names = None if scoring.truth is None else scoring.truth.items.ids.to_list()
    if {"audio", "hours"} <= set(scoring.given):
        found, remedy = "hours and audio", "leave out one of the two"
        scoring.problems.add(Problem("bad_option", "score", found, "the hours, or the recordings", remedy))
    elif "audio" in scoring.given:
        hours = _hours_in(Path(scoring.given["audio"]), names, scoring.problems, named_only=scoring.listed)
        return _with_hours(scoring.rule_options, hours)
    if "hours" in scoring.given:
        return scoring.rule_options
    if not is_folder(scoring.truth_path):
        return _with_hours(scoring.rule_options, official(names or []) or 0.0)
    hours = _hours_in(scoring.truth_path, names, scoring.problems, named_only=True)
    return _with_hours(scoring.rule_options, hours)


def hours_for_items(catalog: Catalog, rule_options: Any, given: Mapping[str, Any]) -> Callable[[Items], Any]:
    """A function that returns the rule options with the hours of some items of a catalog, unless hours were given."""
    if "hours" in given or (catalog.truth is not None and catalog.truth.weak):
        return lambda items: rule_options
    paths = [catalog.path(item) for item in range(len(catalog))]
    lengths = np.array([0.0 if path is None else total_hours([path], Problems()) for path in paths])
    return lambda items: _with_hours(rule_options, round(float(lengths[catalog.items.find(items.ids)].sum()), 6))


def _with_hours(rule_options: Any, hours: float) -> Any:
    return replace(rule_options, hours=hours) if hours > 0 else rule_options


def _hours_in(folder: Path, names: list[str] | None, problems: Problems, *, named_only: bool = False) -> float:
    """The hours of all recordings in a folder, or of those named only; a name without a recording is a problem."""
    recordings = media_files(folder, AUDIO_SUFFIXES, problems)
    finder = Finder(recordings, folder)
    named = {name: finder.candidates(name) for name in names or ()}
    if named_only and names is not None:
        recordings = sorted({path for paths in named.values() for path in paths})
    hours = total_hours(recordings, problems)
    absent = [name for name, paths in named.items() if not paths]
    expected, remedy = "every recording that the truth names", "name the folder with all of them, or give --hours"
    problems.add_each(
        "missing_audio",
        str(folder),
        absent,
        lambda name: Problem("missing_audio", str(folder), f"no {name}", expected, remedy, item=name),
    )
    return hours
