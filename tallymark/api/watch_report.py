"""The report of the last files of a watched folder, from candidates that are kept on the disk, also across restarts."""

from __future__ import annotations

import time
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from tallymark.api.report import export_report
from tallymark.core.humanize import plural
from tallymark.core.outputs import make_folder
from tallymark.core.problems import EVERY, Problems
from tallymark.data.loose_files import catalog_of_files
from tallymark.data.recording_clock import RecordingClock
from tallymark.inference.candidate_files import SUFFIX, read_candidates, write_candidates
from tallymark.inference.candidates import Candidates, concat_candidates
from tallymark.inference.counting import CountCalibration
from tallymark.inference.metadata import ModelMetadata
from tallymark.inference.postprocess import postprocess
from tallymark.inference.predictor import PredictionResult
from tallymark.modalities import modality_of


class RecentCandidates:
    """The candidates of the last `window` files, in pages of those that were predicted together.

    known: files that count; what is on a page besides them was not finished. A page that cannot be read is left out.
    """

    def __init__(self, folder: Path, metadata: ModelMetadata, window: int, known: Container[str]) -> None:
        self.folder = folder
        self.metadata = metadata
        self.window = window
        self._of_file: dict[str, Candidates] = {}
        self._page_of: dict[str, Path] = {}
        self._pages = 0
        for page in sorted(folder.glob(f"*{SUFFIX}")):
            stored = read_candidates(page, Problems())
            self._pages = int(page.stem) if page.stem.isdecimal() else self._pages
            if stored is not None:
                self._keep(stored.candidates, page, known)
        self._prune()

    def __len__(self) -> int:
        return len(self._of_file)

    def add(self, candidates: Sequence[Candidates]) -> None:
        """Write a page with the candidates of some files, one each."""
        if not candidates:
            return
        self._pages += 1
        page = make_folder(self.folder) / f"{self._pages:09}{SUFFIX}"
        together = concat_candidates(candidates)
        write_candidates(together, page, self.metadata)
        self._keep(together, page, set(together.items.ids))
        self._prune()

    def write_report(self, path: Path, root: Path, clock: RecordingClock, total: int) -> None:
        """Write the report. root: the watched folder. total: files that have arrived."""
        recipe = self.metadata.recipe
        candidates = concat_candidates(list(self._of_file.values()))
        catalog = catalog_of_files(root, modality_of(recipe).medium, list(self._of_file), clock)
        predictions = replace(postprocess(candidates, recipe), classes=self.metadata.classes)
        share = f"the last {len(catalog)} of {plural(total, 'file')}"
        note = f"{share} that arrived; written {time.strftime('%Y-%m-%d %H:%M:%S')}"
        problems = Problems(EVERY)
        counting = CountCalibration.of(self.metadata.counts)
        result = PredictionResult(predictions, candidates, recipe, problems, catalog, self.metadata, (note,), counting)
        export_report(result, path)

    def _keep(self, candidates: Candidates, page: Path, known: Container[str]) -> None:
        for at, name in enumerate(candidates.items.ids):
            if name in known:
                self._of_file.pop(name, None)
                self._of_file[name] = candidates.select(np.array([at]))
                self._page_of[name] = page

    def _prune(self) -> None:
        """Forget older files, and delete pages without any other."""
        for name in list(self._of_file)[: -self.window]:
            del self._of_file[name], self._page_of[name]
        needed = set(self._page_of.values())
        for page in self.folder.glob(f"*{SUFFIX}"):
            if page not in needed:
                with suppress(OSError):
                    page.unlink()
