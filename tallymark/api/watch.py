"""Watch a folder: predict what arrives in it, once each file is complete, and never twice."""

from __future__ import annotations

import hashlib
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tallymark.api.data import PathLike
from tallymark.api.exports import Exports
from tallymark.api.models import open_model
from tallymark.api.watch_file import FilePrediction, NotReadable
from tallymark.api.watch_output import FileOutcome, WatchOutput
from tallymark.core.humanize import plural
from tallymark.core.locks import FolderLock
from tallymark.core.outputs import make_folder, system_problem, writing_to
from tallymark.core.planned_outputs import refuse_outputs
from tallymark.core.problems import BadInput, Problem
from tallymark.data.loose_files import catalog_of_files
from tallymark.data.recording_clock import RecordingClock
from tallymark.inference.predictor import CHOSEN_THRESHOLDS, Predictor, changed_recipe
from tallymark.io.arrivals import Arrivals, Fingerprint, fingerprint, list_arrivals
from tallymark.io.regular import found_at
from tallymark.modalities import modality_of
from tallymark.modalities.base import Modality
from tallymark.reporting.measurements import check_gsd

BATCH_SECONDS = 10.0
"""Seconds of work after which rows are written to the disk: no more is done again after a kill."""
LISTING_SHARE = 0.1
"""Share of the time that may go into listing the folder; the pause between listings grows with their duration."""
JOURNAL = ".journal"
Tell = Callable[[str], None]


def watch(
    model: PathLike | Predictor,
    folder: PathLike,
    out: PathLike,
    *,
    once: bool = False,
    settle: float = 10.0,
    poll: float = 5.0,
    report_every: float = 10.0,
    report_items: int = 200,
    gsd: float | None = None,
    time_pattern: str = "",
    time_zone: str = "",
    stop: threading.Event | None = None,
    tell: Tell | None = None,
    **recipe: object,
) -> dict[str, int]:
    """Predict the files that arrive in a folder, and append to tables; resumes where the last call ended.

    Parameters
    ----------
    model: a run, a model file, the name of a challenge with a pretrained model, or the result of `open_model`.
    folder: where images, recordings or single sweeps arrive, at any depth. It may be out of reach for a while.
    out: the folder of the tables, the report and the ledger that says which files are done.
    once: predict what is there and complete, and return.
    settle: seconds that a file must not have changed for. poll: seconds between listings of the folder.
    report_every: minutes between reports, at least. report_items: files that the report is about, the last ones.
    gsd: (images) ground sampling distance in metres per pixel.
    time_pattern, time_zone: how names of files state when they were made, as the rule options of recordings.
    stop: when it is set, the call returns after the file that is being predicted.
    tell: is called with a sentence about each thing that happens.
    recipe: fields to change, e.g. `tta=1` or `score_threshold=0.4`.

    Returns
    -------
    The number of files `predicted`, of `objects` in them, of files `damaged`, `touched` (of another time, with the same
    bytes) and `waiting`, of which the system failed to read those `unread`, and of files `known` from all calls.

    Examples
    --------
    >>> tallymark.watch("wheat", "camera", "counted", once=True)["objects"]  # doctest: +SKIP
    """
    root, output = Path(folder), Path(out)
    refuse_outputs(filled=[output], inputs=[root])
    _check_numbers(settle=settle, poll=poll, report_every=report_every, report_items=report_items)
    predictor = model if isinstance(model, Predictor) else open_model(model)
    chosen = changed_recipe(predictor.metadata.recipe, recipe)
    clock = RecordingClock(time_pattern, time_zone)
    clock.validate()
    check_gsd(gsd)
    Exports(gsd=gsd).check(chosen)
    _check_folder(root, modality_of(chosen))
    make_folder(output)
    settings = {
        "challenge": predictor.metadata.challenge,
        "models": [_digest_of(session.path) for session in predictor.sessions],
        **chosen.at("prediction", "postprocessing"),
        "gsd": gsd,
        "time_pattern": time_pattern,
        "time_zone": time_zone,
        "folder": str(root.resolve()),
    }
    with writing_to(output):
        lock = FolderLock(output)
    try:
        own = {} if CHOSEN_THRESHOLDS & recipe.keys() else predictor.metadata.counts
        metadata = replace(predictor.metadata, recipe=chosen, counts=own)
        written = WatchOutput(output, settings, metadata, report_items)
        files = FilePrediction(predictor, root, clock, gsd, recipe, written.scales, output / JOURNAL)
        watcher = _Watcher(files, written, Arrivals(settle), stop or threading.Event(), tell or (lambda text: None))
        watcher.report_seconds = 60 * report_every
        return watcher.run_once() if once else watcher.run(poll)
    finally:
        lock.release()


def _check_numbers(**given: float) -> None:
    for name, value in given.items():
        lowest = 1 if name == "report_items" else 0
        if not lowest <= value < float("inf"):
            expected, remedy = f"a number from {lowest} on", "give e.g. 10, or leave it out"
            raise BadInput(Problem("bad_option", "watch", f"{name}={value:g}", expected, remedy))


def _digest_of(model: Path) -> str:
    try:
        return hashlib.sha256(model.read_bytes()).hexdigest()
    except OSError as error:
        found, remedy = (error.strerror or type(error).__name__).lower(), "check the disk, then try again"
        raise BadInput(Problem("no_model", str(model), found, "a model that can be read", remedy)) from None


def _check_folder(root: Path, modality: Modality) -> None:
    """Refuse what is no folder, and a data set whose tables link its files."""
    if not root.is_dir():
        expected, remedy = "a folder that files arrive in", "make it first, or check the path"
        raise BadInput(Problem("no_folder", str(root), found_at(root), expected, remedy))
    for name in modality.linking_tables:
        for table in [*root.glob(name), *root.glob(f"*/{name}"), *root.glob(f"*/*/{name}")][:1]:
            found = f"a table that links {modality.medium.noun}s, which cannot arrive one by one"
            remedy = "use `tallymark predict` once the data set is complete"
            raise BadInput(Problem("linked_items", str(table), found, f"single {modality.medium.noun}s", remedy))


class _Watcher:
    """The loop: list the folder, predict what is complete, write rows, now and then the report."""

    def __init__(
        self, files: FilePrediction, output: WatchOutput, arrivals: Arrivals, stop: threading.Event, tell: Tell
    ) -> None:
        self.files = files
        self.output = output
        self.arrivals = arrivals
        self.stop = stop
        self.tell = tell
        self._medium = modality_of(files.predictor.metadata.recipe).medium
        self._totals: Counter[str] = Counter()
        self._told: set[str] = set()
        self._unread: set[str] = set()
        self.report_seconds = 600.0
        self._reported = time.monotonic()
        self._begin()

    def run(self, poll: float) -> dict[str, int]:
        """Until `stop` is set."""
        away = False
        while not self.stop.is_set():
            begun = time.monotonic()
            try:
                complete = self._list()
            except OSError as error:
                if not away:
                    reason = (error.strerror or type(error).__name__).lower()
                    self.tell(f"{self.files.root} is out of reach ({reason}): waiting until it is back")
                away = True
            else:
                if away:
                    self.tell(f"{self.files.root} is back")
                away = False
                pause = max(poll, (time.monotonic() - begun) / LISTING_SHARE)
                self._predict(complete)
            self._report_if_due()
            self.stop.wait(poll if away else pause)
        return self._end()

    def run_once(self) -> dict[str, int]:
        """What is there: new files are looked at twice, `settle` seconds apart."""
        try:
            complete = self._list()
            if len(complete) < len(self.arrivals) and not self.stop.wait(self.arrivals.settle):
                complete = self._list()
        except OSError as error:
            raise BadInput(system_problem(error)) from None
        self._predict(complete)
        return self._end()

    def _list(self) -> list[tuple[str, Fingerprint]]:
        """The complete files that are not in the ledger as they are now; an `OSError` if the folder is out of reach."""
        errors: list[OSError] = []
        listed = list_arrivals(self.files.root, self._medium.suffixes, errors, self.output.folder)
        new = [(path, found) for path, found in listed if not self.output.knows(path, found)]
        for error in errors:
            self._tell_once(str(error.filename), f"{(error.strerror or '').lower()}: a folder that cannot be listed")
        return self.arrivals.observe(new, time.monotonic())

    def _predict(self, complete: list[tuple[str, Fingerprint]]) -> None:
        """Predict files one by one; rows are written every few seconds, and at the end."""
        done: list[FileOutcome] = []
        begun = time.monotonic()
        for path, found in complete:
            if self.stop.is_set():
                break
            try:
                done.append(self.files.outcome(path, found, self.output.known.get(path)))
                self.arrivals.done(path)
                self._unread.discard(path)
            except NotReadable as reason:
                self._try_later(path, found, str(reason))
            if time.monotonic() - begun >= BATCH_SECONDS:
                self._commit(done)
                self._report_if_due()
                done, begun = [], time.monotonic()
        self._commit(done)

    def _try_later(self, path: str, found: Fingerprint, reason: str) -> None:
        """Wait for a file anew; unless it vanished or changed, the system failed to read it, which is said once."""
        now = fingerprint(self.files.root / path)
        if now is None:
            self.arrivals.done(path)
            return
        self.arrivals.again(path, time.monotonic())
        if now == found:
            self._tell_once(path, f"{reason}; it will be tried again")
            self._unread.add(path)

    def _commit(self, done: list[FileOutcome]) -> None:
        if not done:
            return
        self.output.commit(done)
        for one in done:
            if one.scale is not None:
                shown = f"shown to the network with a longer side of {one.scale[1]} px"
                self._tell_once(f"images of {one.scale[0]} px", f"{shown} (estimated; image_size=PIXELS sets another)")
        outcomes = Counter(one.outcome for one in done)
        objects = sum(one.objects for one in done)
        self._totals.update(outcomes)
        self._totals["objects"] += objects
        parts = [f"{plural(outcomes['predicted'], self._medium.noun)} predicted, {plural(objects, 'object')}"]
        if outcomes["damaged"]:
            parts.append(f"{plural(outcomes['damaged'], 'file')} damaged")
        newer = sum(one.known.version > 1 and one.outcome != "touched" for one in done)
        if newer:
            parts.append(f"{plural(newer, 'file')} changed since an earlier version")
        if outcomes["predicted"] or outcomes["damaged"]:
            self.tell("; ".join(parts))

    def _report_if_due(self) -> None:
        if time.monotonic() - self._reported >= self.report_seconds and self._report():
            self._reported = time.monotonic()

    def _report(self) -> bool:
        return self.output.write_report(self.files.root, self.files.clock)

    def _begin(self) -> None:
        self.tell(f"watching {self.files.root}; {plural(len(self.output.known), 'file')} known in {self.output.folder}")
        recipe = self.files.predictor.metadata.recipe
        single = catalog_of_files(self.files.root, self._medium, ["single"], self.files.clock)
        for source in modality_of(recipe).missing_inputs(single, recipe):
            lacking = f"which a single {self._medium.noun} lacks: expect a lower score"
            self.tell(f"the model was trained with a {source}, {lacking}")

    def _end(self) -> dict[str, int]:
        self._report()
        shutil.rmtree(self.files.journal, ignore_errors=True)
        counts = {name: self._totals[name] for name in ("predicted", "objects", "damaged", "touched")}
        return {**counts, "waiting": len(self.arrivals), "unread": len(self._unread), "known": len(self.output.known)}

    def _tell_once(self, path: str, text: str) -> None:
        if path not in self._told:
            self._told.add(path)
            self.tell(f"{path}: {text}")
