"""Recordings: what their headers say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tallymark.problems import Problem, Problems


def hours_of(recordings: Sequence[Path], problems: Problems) -> float:
    """The length of all recordings together, from their headers."""
    import soundfile

    seconds = 0.0
    for path in recordings:
        try:
            header = soundfile.info(str(path))
            seconds += header.frames / header.samplerate
        except (soundfile.LibsndfileError, ZeroDivisionError) as error:
            remedy = "replace the file, or give --hours"
            problems.add(Problem("corrupt_audio", str(path), str(error), "a readable recording", remedy))
    return seconds / 3600
