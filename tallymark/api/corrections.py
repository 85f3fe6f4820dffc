"""Corrections from review pages: read before any work is done, applied before training and after prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.core.registry import Challenge
from tallymark.data.apply_corrections import apply_to_predictions, apply_to_truth
from tallymark.data.catalog import Catalog
from tallymark.data.corrections import Corrections, read_corrections
from tallymark.inference.predictor import PredictionResult

FATAL = ("bad_shape", "bad_class")
"""Entries that no data set could take: the file is not what a page saves."""


def read_files(what: Challenge, paths: Sequence[str | Path] | str | Path) -> list[Corrections]:
    """The corrections in files, in their order; `BadInput` with the problems of all."""
    problems = Problems()
    listed = [paths] if isinstance(paths, str | Path) else paths
    read = [read_corrections(path, what.name, problems) for path in listed]
    problems.raise_if_any()
    return [one for one in read if one is not None]


def correct_catalog(what: Challenge, catalog: Catalog, corrections: Sequence[Corrections]) -> tuple[Catalog, Problems]:
    """The catalog with corrected truth, and what the rules of the challenge say about it.

    Its remarks say how much each file changed, and its notes which entries do not fit.
    """
    warnings = Problems()
    notes = Problems(EVERY)
    notes.merge(catalog.notes)
    for one in corrections:
        found = Problems(EVERY)
        test = set(catalog.items.ids.filter(catalog.split == "test"))
        catalog, changes = apply_to_truth(one, catalog, found)
        if any(kind in FATAL for kind in found.counts):
            raise BadInput(found)
        notes.merge(found)
        catalog = replace(catalog, remarks=(*catalog.remarks, changes.sentence(one.file, catalog.medium.noun)))
        used = test.intersection(catalog.items.ids.filter(catalog.split == "train"))
        rule = what.forbidden.get("test_annotations", "")
        if used and rule:
            remedy = "do not submit this model, or train without them"
            annotated = f"annotations of {len(used)} items of the test set"
            warnings.add(Problem("against_rules", one.file, annotated, rule, remedy))
    return replace(catalog, notes=notes), warnings


def record_of(corrections: Sequence[Corrections]) -> tuple[dict[str, object], ...]:
    """Which files were used, for the record of a run."""
    return tuple({"file": one.file, "sha256": one.fingerprint, "items": len(one.complete)} for one in corrections)


def correct_result(result: PredictionResult, corrections: Sequence[Corrections]) -> PredictionResult:
    """The result with corrected predictions, which are counted as they are; entries that do not fit are problems."""
    for one in corrections:
        predictions, changes = apply_to_predictions(one, result.predictions, result.candidates.size, result.problems)
        sentence = changes.sentence(one.file, result.catalog.medium.noun)
        notes = (*result.notes, sentence)
        result = replace(result, predictions=predictions, counting=None, notes=notes, corrected=True)
    return result
