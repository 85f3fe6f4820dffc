"""The rows of a submission: one for every id that is expected, whether its file could be read or not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tallymark.core.problems import BadInput, Problem, Problems
from tallymark.core.registry import Challenge
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import SHOWN, Catalog
from tallymark.data.checks.media import FEW
from tallymark.data.items import Items
from tallymark.detector.coders import CODERS
from tallymark.detector.label_coder import TOP_K
from tallymark.inference.predictor import PredictionResult
from tallymark.io.archives import is_folder
from tallymark.io.folders import open_folder, split_of_path, tables_at
from tallymark.submission.sample import Sample, find_samples, read_sample

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, eq=False)
class ExpectedRows:
    """The ids that a submission has rows for, in their order: those of a sample submission, or of the catalog.

    catalog: the items to predict. sample: None where the catalog itself is the list.
    """

    catalog: Catalog
    sample: Sample | None = None

    @property
    def items(self) -> Items:
        return Items(self.catalog.items.ids) if self.sample is None else self.sample.items

    def find_in(self, items: Items) -> np.ndarray:
        """The index of each expected id among other items; -1 where it is not there."""
        return items.find(self.items.ids) if self.sample is None else self.sample.find_in(items)

    def report_missing(self, problems: Problems) -> None:
        """A problem for each id without a file; one row if they are many."""
        at = self.find_in(self.catalog.items)
        has_file = np.append(self.catalog.files.is_not_null().to_numpy(), False)[at]
        missing = self.items.ids.filter(pl.Series(~has_file))
        noun = self.catalog.medium.noun
        file = str(self.catalog.root if self.sample is None else self.sample.path)
        expected = f"a file below {self.catalog.root} for each {noun}"
        if len(missing) > FEW:
            found = f"{len(missing)} of {len(self.items)} {noun}s without a file: {', '.join(missing.head(SHOWN))}, …"
            remedy = "get them: nothing could be predicted in their rows"
            problems.add(Problem("missing_media", file, found, expected, remedy))
            return
        for name in missing:
            remedy = "get it: nothing could be predicted in its row"
            problems.add(Problem("missing_media", file, f"no file for {name}", expected, remedy, item=name))

    def complete(self, result: PredictionResult) -> tuple[Annotations[Any], list[str]]:
        """The predictions under the expected ids, and notes on rows without a prediction of their own."""
        at = self.find_in(result.catalog.items)
        ids = result.catalog.items.ids.to_numpy().astype(object)
        ids[at[at >= 0]] = self.items.ids.to_numpy().astype(object)[at >= 0]  # spelt as in the sample
        renamed = replace(result.predictions, items=Items.of(ids.tolist()))
        rows = renamed.reindex(self.items)
        noun = self.catalog.medium.noun
        unread = np.flatnonzero(at < 0)
        content = "are empty"
        if len(unread) and CODERS[result.recipe.task].ranked:
            rows, labels = _with_common_labels(rows, unread, result)
            content = f"have the labels {labels}, the most probable ones on average"
        notes = []
        if len(unread):
            notes.append(f"{len(unread)} of {len(self.items)} rows {content}: their {noun} was not read")
        if surplus := len(result.catalog) - len(np.unique(at[at >= 0])):
            listed = self.sample.path.name if self.sample is not None else "the list"
            notes.append(f"{surplus} of {len(result.catalog)} {noun}s are not in {listed}, nor in the submission")
        return rows, notes


def _with_common_labels(
    rows: Annotations[Any], unread: np.ndarray, result: PredictionResult
) -> tuple[Annotations[Any], str]:
    """With a ranking for items that were not read: by the mean probabilities of those that were."""
    classes = len(result.metadata.classes)
    mean = result.candidates.load().probabilities.mean(axis=0) if len(result.catalog) else np.zeros(classes)
    label = np.argsort(-mean, kind="stable")[:TOP_K]
    labels = np.concatenate([rows.labels, np.tile(label, len(unread))])
    shapes = rows.shapes.concat(type(rows.shapes)(np.tile(label, len(unread))))
    item = np.concatenate([rows.item, np.repeat(unread, len(label))])
    score = np.concatenate([rows.scores, np.tile(mean[label], len(unread))])
    filled = Annotations.from_rows(rows.items, item, shapes, label=labels, score=score, classes=rows.classes)
    return filled, " ".join(map(str, label.tolist()))


def expected_rows(
    what: Challenge,
    every: Catalog,
    catalog: Catalog,
    folder: Path,
    given: Path | None,
    rule_options: DataclassInstance,
    *,
    by_default: bool,
) -> ExpectedRows | None:
    """The rows that the submission of a challenge needs; None if only predictions have rows.

    Parameters
    ----------
    every: the whole data set. catalog: the items of the chosen split. folder: where both were read from.
    given: a sample submission. Without one, that of the folder is used if the split was chosen `by_default`.
    """
    if what.sparse:
        if given is not None:
            found, expected = f"--sample {given}", "a challenge whose submissions need a row for every item"
            raise BadInput(Problem("bad_option", "predict", found, expected, "leave it out"))
        return None
    if given is not None:
        sample = _read(what, given, rule_options)
        pool = every if by_default else catalog
        at = sample.find_in(pool.items)
        _refuse_unmatched(sample, at, pool)
        return ExpectedRows(pool.select(np.unique(at[at >= 0])), sample)
    found_samples = _samples_of(what, folder, rule_options, catalog) if by_default else []
    if not found_samples:
        return ExpectedRows(catalog)
    sample = max(found_samples, key=lambda one: (int((one.find_in(catalog.items) >= 0).sum()), one.path.name))
    at = sample.find_in(catalog.items)
    if "test" not in set(catalog.split.to_list()):  # no test item is there: not to be replaced by those of training
        _refuse_unmatched(sample, at, catalog)
        return ExpectedRows(catalog.select(np.unique(at[at >= 0])), sample)
    return ExpectedRows(catalog, sample)


def _read(what: Challenge, path: Path, rule_options: DataclassInstance) -> Sample:
    problems = Problems()
    return problems.checked(read_sample(what.dialect, path, rule_options, problems))


def _samples_of(what: Challenge, folder: Path, rule_options: DataclassInstance, catalog: Catalog) -> list[Sample]:
    """The sample submissions in a folder; those beside a test folder, if they name some of its items."""
    listed = open_folder(folder, Problems())
    paths = [] if listed is None else find_samples(listed)
    if paths:
        samples = [_read(what, path, rule_options) for path in paths]
        return [sample for sample in samples if len(sample.items)]
    inside = Path(folder.resolve().name) / "item"
    if not is_folder(folder) or split_of_path(inside, Path()) != "test":
        return []
    beside = tables_at(folder.resolve().parent, "sample_submission*.csv")
    samples = [_read(what, path, rule_options) for path in beside]
    return [sample for sample in samples if (sample.find_in(catalog.items) >= 0).any()]


def _refuse_unmatched(sample: Sample, at: np.ndarray, catalog: Catalog) -> None:
    """Refuse to predict other items than those of the sample."""
    if len(at) and not (at >= 0).any():
        noun = catalog.medium.noun
        found = f"none of the {len(at)} {noun}s of {sample.path.name}"
        expected = f"the {noun}s that the submission is about, as {sample.items.ids[0]}"
        remedy = "get them, or name the split to predict instead: --split train"
        raise BadInput(Problem("no_split", str(catalog.root), found, expected, remedy))
