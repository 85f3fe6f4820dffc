"""Predictions from files: a submission, the candidates of a prediction, or those of a training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tallymark.api.score import write
from tallymark.core.problems import BadInput, Problem, Problems
from tallymark.core.recipe import Recipe
from tallymark.core.registry import Challenge, challenge
from tallymark.data.annotations import Annotations
from tallymark.geometry import Geometry
from tallymark.inference.candidate_files import StoredCandidates, is_candidate_file, read_candidates
from tallymark.inference.candidates import Candidates
from tallymark.inference.clip_probabilities import clip_probabilities
from tallymark.inference.postprocess import postprocess
from tallymark.inference.run import HELD_OUT

PathLike = str | Path
CLIPS = "clips"
"""The form of a submission with a probability for each clip, which is not subject to thresholds."""


def read_predictions(
    name: str, path: PathLike, *, thresholded: bool = False, **rule_options: object
) -> Annotations[Geometry]:
    """Read the predictions in a submission, in a candidate file, or in the held-out candidates of a run.

    Candidates are fused as their recipe says, but not thresholded: all are there, with their scores, in the geometry
    of the challenge's truth. With those below a score left out, they are what that score threshold predicts.

    Parameters
    ----------
    name: the challenge.
    path: a submission; a Parquet file that `predict --candidates` or a training wrote; or the folder of a run, which
        stands for its `held_out.parquet`.
    thresholded: of candidates, only those above the thresholds of their recipe.
    """
    what = challenge(name)
    problems = Problems()
    stored = stored_candidates(what, path, problems)
    if stored is not None or problems:
        known = problems.checked(stored)
        return predictions_by(known, known.metadata.recipe) if thresholded else unthresholded(known)
    return problems.checked(what.dialect.read(path, what.parse_rule_options(rule_options), problems))


def stored_candidates(what: Challenge | None, path: PathLike, problems: Problems) -> StoredCandidates | None:
    """The content of a candidate file or a run; None if the path is another file, or with problems.

    what: the challenge whose it must be; None: of any.
    """
    file = Path(path)
    if file.is_dir():
        file = file / HELD_OUT
        if not file.is_file():
            found, expected = f"no {HELD_OUT}", "a submission, a candidate file or the folder of a training"
            problems.add(Problem("no_candidates", str(path), found, expected, "train it again, or name a file"))
            return None
    if not is_candidate_file(file):
        return None
    stored = read_candidates(file, problems)
    if stored is not None and what is not None and stored.metadata.challenge != what.name:
        found, expected = f"candidates of {stored.metadata.challenge}", f"predictions of {what.name}"
        problems.add(Problem("other_challenge", str(file), found, expected, "name the files of one challenge"))
        return None
    return stored


def unthresholded(stored: StoredCandidates) -> Annotations[Geometry]:
    """The predictions that candidates are, whatever their score."""
    return predictions_by(stored, stored.metadata.recipe.replace(score_threshold=0.0, class_thresholds=""))


def predictions_by(stored: StoredCandidates, recipe: Recipe) -> Annotations[Geometry]:
    """What a recipe's fusion and thresholds make of candidates."""
    return replace(postprocess(stored.candidates, recipe), classes=stored.metadata.classes)


def write_held_out(
    name: str, candidates: Candidates, recipe: Recipe, path: Path, *, form: str | None = None, **rule_options: object
) -> Problems:
    """Write what a recipe makes of candidates as a submission; returns the problems of one that is not valid.

    A data set may have too few classes, or images of several sizes, for a valid submission to exist. That is said, but
    a training does not fail for it. A file of another time is deleted then.
    """
    predictions = replace(postprocess(candidates, recipe), classes=candidates.objects.classes)
    if form == CLIPS:
        predictions = clip_probabilities(candidates)
    try:
        write(name, predictions, path, form=form, **rule_options)
    except BadInput as bad:
        if "cannot_write" in bad.problems.counts:
            raise
        path.unlink(missing_ok=True)
        return bad.problems
    return Problems()
