"""One file that has arrived: read, predicted by itself, and turned into rows.

Each file is predicted alone, so that its rows do not depend on which others arrived with it, or on a restart.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tallymark.api.watch_output import FileOutcome, KnownFile
from tallymark.api.watch_rows import OBJECTS, PROBLEMS, problem_rows, rows_of
from tallymark.core.problems import BadInput, Problems
from tallymark.data.catalog import Catalog
from tallymark.data.loose_files import catalog_of_files
from tallymark.data.recording_clock import RecordingClock
from tallymark.inference.predictor import Predictor
from tallymark.inference.read_items import only_read
from tallymark.io.arrivals import Fingerprint, fingerprint
from tallymark.io.ground_resolution import ground_sampling_distance
from tallymark.io.images import image_size
from tallymark.io.media import READ_FAILED, BadMedia, digest
from tallymark.io.names import usable_files
from tallymark.io.regular import open_regular
from tallymark.modalities import modality_of

DAMAGED_PAGE = "damaged_page"
"""The kind of problem of candidates that could not be read back from the journal."""
REFUSED = {READ_FAILED, "unreadable_media", DAMAGED_PAGE}
"""Kinds of problems with the system, and not with a file: it is tried again, though it does not change."""
TRUNCATED = "truncated_media"
"""The kind of problem of a file that is shorter than it says: whoever writes it may have been interrupted."""
BLOCK = 1 << 20
"""Bytes that are read at a time."""


class NotReadable(Exception):
    """A file that vanished, changed while it was read, or that the system failed to read: to try later."""


@dataclass(frozen=True, eq=False)
class FilePrediction:
    """How files of a folder are predicted.

    gsd: metres per pixel, if known. changes: fields of the recipe.
    scales: of images of each size, as `WatchOutput` has them; those that are estimated are added.
    journal: a folder with one for the file that is being predicted. After a kill that is left, and the file may have
        been the cause: it is then predicted by another process, and is a problem if it ends that too.
    """

    predictor: Predictor
    root: Path
    clock: RecordingClock
    gsd: float | None
    changes: Mapping[str, Any]
    scales: dict[str, int]
    journal: Path

    def outcome(self, path: str, found: Fingerprint, before: KnownFile | None) -> FileOutcome:
        """What becomes of a file; `NotReadable` to try it later. before: as the ledger has it, if it does."""
        version = 1 if before is None else before.version + 1
        _, odd = usable_files([str(self.root / path)], self.root)
        if odd:
            known = KnownFile(*found, version, b"")
            return FileOutcome(path, known, "damaged", {PROBLEMS: problem_rows(odd, path, version)})
        if before is not None and before.size == found.size and before.digest == self._digest(path, found):
            return FileOutcome(path, before._replace(mtime_ns=found.mtime_ns), "touched")
        for again in (True, False):
            try:
                return self._predict(path, found, version)
            except BadInput as bad:
                if again and DAMAGED_PAGE in bad.problems.counts:  # inferred anew
                    continue
                _stop_if_refused(bad.problems)
                raise
        raise AssertionError("the second try returns or raises")

    def _predict(self, path: str, found: Fingerprint, version: int) -> FileOutcome:
        medium = modality_of(self.predictor.metadata.recipe).medium
        catalog = catalog_of_files(self.root, medium, [path], self.clock)
        scale = self._scale(catalog)
        changes = {**self.changes, **({} if scale is None else {"image_size": scale[1]})}
        journal = self.journal / digest([path.encode()]).hex()
        result = only_read(self.predictor.predict(catalog, journal, gsd=self.gsd, **changes))
        candidates = result.candidates.load()
        result = replace(result, candidates=candidates)
        shutil.rmtree(journal, ignore_errors=True)
        _stop_if_refused(result.problems)
        complete = len(result.catalog) > 0 and TRUNCATED not in result.problems.counts
        rows = rows_of(result, version, self.gsd) if complete else {}
        if result.problems:
            rows[PROBLEMS] = problem_rows(result.problems, path, version)
        known = KnownFile(*found, version, self._digest(path, found))
        if not complete:
            return FileOutcome(path, known, "damaged", rows)
        objects = rows[OBJECTS].data.count(b"\n")
        return FileOutcome(path, known, "predicted", rows, objects, candidates, scale)

    def _scale(self, catalog: Catalog) -> tuple[str, int] | None:
        """The size of an image, and the longer side to show it at, if that has to be estimated.

        The first image of a size in which objects can be measured decides for all: one camera has one scale.
        """
        recipe, path = self.predictor.metadata.recipe, catalog.path(0)
        if path is None or "image_size" not in recipe.names_at("prediction") or "image_size" in self.changes:
            return None
        try:
            size = "{} x {}".format(*image_size(path))
            if size not in self.scales and 0 in (plan := self.predictor.plan_inputs(catalog, self.gsd)).estimated:
                shown = recipe if plan.recipes is None else plan.recipes[0]
                self.scales[size] = int(str(shown.at("prediction")["image_size"]))
            by_ground = self.predictor.metadata.scale.get("gsd") and ground_sampling_distance(path)
        except BadMedia:  # prediction will report it
            return None
        return (size, self.scales[size]) if size in self.scales and not by_ground else None

    def _digest(self, path: str, found: Fingerprint) -> bytes:
        """The digest of a file that is still as it was found."""
        try:
            made = digest(_blocks(self.root / path))
        except OSError as error:
            raise NotReadable((error.strerror or type(error).__name__).lower()) from None
        if fingerprint(self.root / path) != found:
            raise NotReadable("it changed while it was read")
        return made


def _stop_if_refused(problems: Problems) -> None:
    for problem in problems:
        if problem.kind in REFUSED:
            raise NotReadable(problem.found) from None


def _blocks(path: Path) -> Iterator[bytes]:
    with open_regular(path) as file:
        while block := file.read(BLOCK):
            yield block
