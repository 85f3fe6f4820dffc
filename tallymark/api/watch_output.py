"""The output folder of `watch`: growing tables, the ledger of the files that they are about, and the report.

objects.csv        a row for each prediction, as `export_objects` writes it
counts.csv         a row for each file
objects.geojsonl   a line of GeoJSON for each object in a georeferenced image
problems.csv       files that could not be used
state.jsonl        the ledger: settings first, then a line for each file
recent.parquet     the candidates of the last files, which report.html is about
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tallymark.api.watch_report import RecentCandidates
from tallymark.api.watch_rows import TABLES
from tallymark.core.problems import BadInput, Problem, Problems
from tallymark.data.recording_clock import RecordingClock
from tallymark.inference.candidates import Candidates
from tallymark.inference.metadata import ModelMetadata
from tallymark.io.arrivals import Fingerprint
from tallymark.io.growing_files import GrowingFiles, Json, Rows

LEDGER, RECENT, REPORT = "state.jsonl", "recent", "report.html"


class KnownFile(NamedTuple):
    """A file in the ledger. version: how often it was predicted. digest: of its bytes, empty if they were not read."""

    size: int
    mtime_ns: int
    version: int
    digest: bytes

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint(self.size, self.mtime_ns)


@dataclass(frozen=True, eq=False)
class FileOutcome:
    """What became of a file: `predicted`, `damaged`, or `touched` if its bytes are those of before.

    rows: for the tables. objects: its rows of objects.csv. candidates: of a file that was predicted.
    scale: the size of an image, and the longer side that images of that size are shown at, where it was estimated.
    """

    path: str
    known: KnownFile
    outcome: str
    rows: Mapping[str, Rows] = field(default_factory=dict)
    objects: int = 0
    candidates: Candidates | None = None
    scale: tuple[str, int] | None = None


class WatchOutput:
    """The tables and the ledger as the last watch left them, without what a kill left unfinished.

    settings: of the predictions; a `BadInput` if the folder was begun with others.
    scales: the longer side that images of a size are shown at, where it was estimated once for all.
    """

    def __init__(self, folder: Path, settings: Json, metadata: ModelMetadata, window: int) -> None:
        self.folder = folder
        self.known: dict[str, KnownFile] = {}
        self.scales: dict[str, int] = {}
        self._files = GrowingFiles(folder, LEDGER, TABLES)
        settings = json.loads(json.dumps(settings))
        lines = self._files.recover()
        if (begun := next(lines, None)) is None:
            self._files.append([({}, {"settings": settings})])
        else:
            _compare(folder / LEDGER, begun.get("settings", {}), settings)
        for line in lines:
            try:
                digest = bytes.fromhex(line["digest"])
                self.known[line["path"]] = KnownFile(line["size"], line["mtime_ns"], line["version"], digest)
                self.scales.update([line["scale"]] if "scale" in line else [])
            except (KeyError, ValueError, TypeError):
                expected, remedy = "path, size, mtime_ns, version and digest", "restore it, or name another folder"
                found = "a line without them"
                raise BadInput(Problem("bad_ledger", str(folder / LEDGER), found, expected, remedy)) from None
        self._recent = RecentCandidates(folder / RECENT, metadata, window, self.known)
        self._unreported = len(self._recent) > 0 and self._report_is_old()

    def knows(self, path: str, found: Fingerprint) -> bool:
        """Whether a file is in the ledger as it is now."""
        known = self.known.get(path)
        return known is not None and known.size == found.size and known.mtime_ns == found.mtime_ns

    def commit(self, outcomes: list[FileOutcome]) -> None:
        """Write the rows of some files, then their lines of the ledger; on the disk when it returns."""
        new = [one.candidates for one in outcomes if one.candidates is not None]
        self._recent.add(new)
        self._files.append([(one.rows, _line(one)) for one in outcomes])
        self.known.update((one.path, one.known) for one in outcomes)
        self._unreported |= bool(new)

    def write_report(self, root: Path, clock: RecordingClock) -> bool:
        """Write the report of the last files, unless nothing is new since it was written; returns whether it was."""
        if not self._unreported:
            return False
        self._recent.write_report(self.folder / REPORT, root, clock, len(self.known))
        self._unreported = False
        return True

    def _report_is_old(self) -> bool:
        """Whether files are in the ledger that the report was written before."""
        try:
            return (self.folder / REPORT).stat().st_mtime < (self.folder / LEDGER).stat().st_mtime
        except FileNotFoundError:
            return True


def _line(one: FileOutcome) -> Json:
    known = one.known
    numbers: Json = {"size": known.size, "mtime_ns": known.mtime_ns, "version": known.version}
    scale: Json = {} if one.scale is None else {"scale": one.scale}
    outcome: Json = {"outcome": one.outcome, "objects": one.objects}
    return {"path": one.path, **numbers, "digest": known.digest.hex(), **outcome, **scale}


def _compare(ledger: Path, begun: Json, settings: Json) -> None:
    """Refuse settings that differ from those of the rows that are there."""
    problems = Problems()
    for name, value in settings.items():
        if begun.get(name) != value:
            found, expected = f"{name} {begun.get(name)}", f"{name} {value}"
            remedy = "give the same model and options as before, or name another folder by --out"
            problems.add(Problem("other_settings", str(ledger), found, expected, remedy))
    problems.raise_if_any()
