"""Predict the items of a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tallymark.api.corrections import correct_result, read_files
from tallymark.api.data import PathLike, read
from tallymark.api.incomplete import remember_planned
from tallymark.api.models import open_model
from tallymark.api.predictions import CLIPS
from tallymark.api.pretrained import pretrained_note
from tallymark.api.score import write
from tallymark.api.submission_rows import expected_rows
from tallymark.core.engines.choice import BY_DEFAULT, EngineChoice
from tallymark.core.humanize import plural
from tallymark.core.options import parse_options
from tallymark.core.planned_outputs import refuse_outputs
from tallymark.core.problems import BadInput, Problem, nearest
from tallymark.core.registry import challenge
from tallymark.data.catalog import Catalog
from tallymark.data.copies import copies_note
from tallymark.detector.coders import CODERS
from tallymark.inference.clip_probabilities import clip_probabilities
from tallymark.inference.image_sizes import refuse_sizes
from tallymark.inference.journal_folder import JournalFolder, journal_place
from tallymark.inference.predictor import PredictionResult, Predictor, changed_recipe
from tallymark.inference.read_items import only_read
from tallymark.inference.speed import speed_fields
from tallymark.inference.time_limit import TimeLimit
from tallymark.modalities import modality_of
from tallymark.reporting.measurements import check_gsd, sizes_note

Options = Mapping[str, Any]


def predict(
    model: PathLike | Predictor,
    folder: PathLike,
    out: PathLike | None = None,
    *,
    split: str = "auto",
    speed: str | None = None,
    form: str | None = None,
    sample: PathLike | None = None,
    fp_per_hour: float | None = None,
    gsd: float | None = None,
    journal: PathLike | JournalFolder | None = None,
    engine: EngineChoice | None = None,
    minutes: float | TimeLimit | None = None,
    corrections: Sequence[PathLike] = (),
    rule_options: Options | None = None,
    before: Callable[[Catalog], None] | None = None,
    **recipe: object,
) -> PredictionResult:
    """Predict the items of a folder, and write them as a submission.

    Parameters
    ----------
    model: a run, a model file, the name of a challenge with a pretrained model, or the result of `open_model`, which
        chooses the runtime and the number of threads.
    folder: a data set, any folder of images or recordings, or a single one of them.
    out: the submission to write, if any; form: which of its published forms.
    split: `train`, `val`, `test` or `all`; `auto` is the test split if there is one, else all.
    speed: `fast`, `balanced` or `best`: the fields that the challenge names for it, or that `bench` measured for the
        model. By default those that it was trained and tuned with; `recipe` wins over both.
    sample: a sample submission: exactly its ids are predicted, and get a row each in its order. By default that of the
        folder is used, if it has one.
    fp_per_hour: (recordings) use the score threshold that had at most so many false positives per hour in training.
    gsd: (images) ground sampling distance in metres per pixel: a model that knows its own is shown them at its scale.
    journal: a folder that keeps raw predictions, so that thresholds can be changed instantly. By default, they are kept
        beside `out` until that is written: an interrupted call resumes in any case.
    engine: where shards of the items are worked on; by default in processes of this machine, one for each free core.
    minutes: a time limit for all of it, from the call on, or a `TimeLimit` that began earlier. To keep it, test-time
        augmentation is reduced; if that is not enough, the items that are left are empty in the submission. The result
        says which.
    corrections: files that a review page saved: predictions marked wrong are removed, those marked right are kept even
        below the threshold, and missed objects are added with score 1.
    before: called with the items before they are predicted; it may raise `BadInput`.
    recipe: fields to change, e.g. `tta=8` or `score_threshold=0.4`.

    Examples
    --------
    >>> tallymark.predict("wheat", "photographs").counted.counts  # doctest: +SKIP
    """
    limit = _time_limit(minutes)
    place = journal if isinstance(journal, JournalFolder) else _place_of(journal, out, limit)
    if limit is not None and place.kept:
        found, remedy = "a time limit and a journal", "leave out the time limit: a journal resumes what was interrupted"
        raise BadInput(Problem("bad_option", "predict", found, "one of the two", remedy))
    predictor = model if isinstance(model, Predictor) else open_model(model)
    name = predictor.metadata.challenge
    given = dict(rule_options or {})
    check_gsd(gsd)
    _check_form(name, form)
    reviews = read_files(challenge(name), corrections)
    refuse_outputs([out], filled=[place.path if place.kept else None], force=True)
    learned = pretrained_note(predictor.sessions[0].path)
    notes = [learned] if learned else []
    changes = dict(recipe)
    if fp_per_hour is not None:
        _check_one_threshold(changes, fp_per_hour)
        point = predictor.operating_point(fp_per_hour)
        changes["score_threshold"] = point.score_threshold
        notes += [point.note] if point.note else []
    fast = {} if speed is None else speed_fields(speed, name, predictor.metadata.speeds, changes)
    what = challenge(name)
    parsed = parse_options(what.rule_options, given)
    every = read(name, folder, **given)
    catalog = choose_split(every, split)
    rows = None
    if out is not None or sample is not None:
        listed = None if sample is None else Path(sample)
        chosen = what.parse_rule_options(given, folder)
        rows = expected_rows(what, every, catalog, Path(folder), listed, chosen, by_default=split == "auto")
        catalog = catalog if rows is None else rows.catalog
    if len(catalog) < len(every):
        share = f"{len(catalog)} of {len(every)} {every.medium.noun}s"
        notes.append(f"predicted split {', '.join(catalog.split.unique().sort())}: {share}; --split all predicts all")
    elif out is not None and split == "auto" and catalog.labelled.any() and "test" not in set(catalog.split):
        present = catalog.files.is_not_null().to_numpy()
        labelled = plural(int((catalog.labelled & present).sum()), catalog.medium.noun)
        notes.append(f"there is no test split: the submission is about {labelled} of the annotated data")
    catalog = catalog.with_media()
    notes += copies_note(catalog)
    asked = changed_recipe(predictor.metadata.recipe, {**fast, **changes})
    for source, missing in modality_of(asked).missing_inputs(catalog, asked).items():
        share = f"{missing} of {plural(len(catalog), catalog.medium.noun)}"
        notes.append(f"the recipe asks for a {source}, which {share} lack: expect a lower score")
    if out is not None and CODERS[predictor.metadata.recipe.task].common_size:
        refuse_sizes(catalog, what.mask_shape(parsed))
    if before is not None:
        before(catalog)
    predicted = predictor.predict(catalog, place, limit, gsd, engine or BY_DEFAULT, fast, **changes)
    remember_planned(place.path, place.outputs)
    result = correct_result(only_read(predicted), reviews)
    result.problems.merge(catalog.notes if rows is None else every.notes)
    if rows is not None:
        rows.report_missing(result.problems)
    if out is not None:
        predictions, about_rows = (result.predictions, []) if rows is None else rows.complete(result)
        notes += about_rows
        if form == CLIPS or (form is None and catalog.truth is not None and catalog.truth.weak):
            form, predictions = CLIPS, clip_probabilities(result.candidates.load())
        write(name, predictions, out, form=form, **given)
    if not isinstance(journal, JournalFolder) and not result.incomplete:
        place.complete()
    if gsd is not None:
        notes += sizes_note(result.candidates.size)
    file_note = "" if out is None else what.name_note(out)
    return replace(result, notes=(*notes, *result.notes, *every.remarks), file_note=file_note)


def _time_limit(minutes: float | TimeLimit | None) -> TimeLimit | None:
    limit = minutes if minutes is None or isinstance(minutes, TimeLimit) else TimeLimit(60 * minutes)
    if limit is not None and not limit.seconds > 0:
        remedy = "give e.g. 10, or leave it out"
        raise BadInput(Problem("bad_option", "predict", f"minutes={limit.seconds / 60:g}", "a number above 0", remedy))
    return limit


def _place_of(journal: PathLike | None, out: PathLike | None, limit: TimeLimit | None) -> JournalFolder:
    given = None if journal is None else Path(journal)
    return journal_place(given, [None if out is None else Path(out)], limited=limit is not None)


def _check_one_threshold(changes: Options, fp_per_hour: float) -> None:
    if "score_threshold" in changes:
        found = f"score_threshold={changes['score_threshold']} and fp_per_hour={fp_per_hour:g}"
        expected, remedy = "one way to choose the score threshold", "leave out one of the two"
        raise BadInput(Problem("bad_option", "predict", found, expected, remedy))


def _check_form(name: str, form: str | None) -> None:
    forms = challenge(name).dialect.FORMS
    if form is not None and form not in forms:
        raise BadInput(Problem("bad_option", "form", f"'{form}'", " or ".join(forms), nearest(form, list(forms))))


def choose_split(catalog: Catalog, split: str) -> Catalog:
    """The items of a split; `auto` is the test split if there is one, else all items."""
    splits = set(catalog.split.to_list())
    if split == "all" or (split == "auto" and "test" not in splits):
        return catalog
    wanted = "test" if split == "auto" else split
    if wanted not in splits:
        remedy = nearest(split, [*sorted(splits), "all", "auto"])
        expected = " or ".join(sorted(splits))
        raise BadInput(Problem("no_split", str(catalog.root), f"no split '{split}'", expected, remedy))
    return catalog.in_split(wanted)
