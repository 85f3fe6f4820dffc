"""The pages and tables that a training adds to its run: a report, label errors, recall against false positives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tallymark.api.report import report_training
from tallymark.detector.coders import CODERS

if TYPE_CHECKING:
    from tallymark.training.train import TrainingResult


REPORT = "report.html"
"""The page about the held-out predictions of a training."""
SCENES = 24
"""Its pictures: three of each kind. `tallymark report` draws more of the same predictions."""


def write_reports(name: str, result: TrainingResult, rule_options: Mapping[str, object]) -> None:
    """The report on held-out predictions, the label errors of a classifier, the recall curve of an event detector."""
    report_training(name, result, result.run.folder / REPORT, rule_options, scenes=SCENES)
    if CODERS[result.tuning.recipe.task].ranked:
        _write_label_errors(result)
    if result.curve is not None:
        from tallymark.reporting.call_pages import write_recall_page

        threshold = result.tuning.recipe.score_threshold
        folder = result.run.folder
        write_recall_page(result.curve, threshold, folder / "recall.html", title=f"Recall of {folder}")


def _write_label_errors(result: TrainingResult) -> None:
    """Which labels are probably wrong, and how often those of each class agree with the held-out predictions."""
    from tallymark.inference.label_errors import agreement, find_label_errors
    from tallymark.io.tables import write_frame
    from tallymark.reporting.label_errors import write_label_errors
    from tallymark.scoring.by_class import Confusions

    candidates = result.candidates
    readable = candidates.readable
    catalog = result.evaluated.select(readable)
    if catalog.truth is None or not len(catalog):
        return
    label = catalog.truth.shapes.label[catalog.truth.offsets[:-1]]
    classes = catalog.truth.classes
    probabilities = candidates.probabilities[readable]
    folder = result.run.folder
    write_frame(folder / "agreement.csv", agreement(probabilities, label, classes))
    noise = None if result.noise is None else result.noise.select(readable)
    errors = find_label_errors(probabilities, label, catalog.items, classes, most=len(catalog), noise=noise)
    write_frame(folder / "label_errors.csv", errors)
    confusions = result.score.analyses.get("confusions")
    write_label_errors(
        catalog,
        errors,
        folder / "label_errors.html",
        title=f"Suspected label errors in {catalog.root}",
        classes=result.score.classes,
        confused_labels=confusions.table if isinstance(confusions, Confusions) else None,
    )
