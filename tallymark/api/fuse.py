"""Fusing: the predictions of several models or submissions as one, with settings tuned by the official rule."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tallymark.api.data import PathLike
from tallymark.api.fuse_files import FusionInputs, read_inputs
from tallymark.api.known_truth import TruthChanges, read_known_truth, run_of
from tallymark.api.score import write
from tallymark.core.console import as_text, show_table
from tallymark.core.humanize import plural
from tallymark.core.outputs import write_text
from tallymark.core.planned_outputs import refuse_outputs
from tallymark.core.problems import BadInput, Problem, Problems, nearest, shorten
from tallymark.core.registry import Challenge, challenge
from tallymark.core.stored import a_list, a_mapping, a_number, a_text
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Geometry
from tallymark.inference.ensemble import Ensemble, FusionSettings
from tallymark.inference.ensemble_tuning import cross_validate, default_settings, halves
from tallymark.io.regular import read_regular
from tallymark.scoring.compare import Comparison, compare_scores
from tallymark.scoring.score import Score

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from rich.console import Console

ALONE = {"iou": 1.0, "seconds": 0.0}
"""Settings that leave the predictions of one file as they are, but for their threshold."""


@dataclass(frozen=True, eq=False)
class FusedInput:
    """One of the files. score: of what it would submit. tuned: cross-validated, with its threshold tuned likewise."""

    file: str
    score: Score
    tuned: Score


@dataclass(frozen=True, eq=False, repr=False)
class Fusion:
    """Fused predictions, and, where the truth is known, what fusing gains. Prints as a table.

    score: cross-validated: each fold of the runs, or else each half of the items, with settings that were tuned on the
        others; None without truth.
    gain: the fused score compared with the best file alone, both cross-validated.
    """

    challenge: str
    settings: FusionSettings
    predictions: Annotations[Geometry]
    notes: tuple[str, ...] = ()
    inputs: tuple[FusedInput, ...] = ()
    score: Score | None = None
    gain: Comparison | None = None

    @property
    def better(self) -> bool | None:
        """Whether fusing is better than the best file alone, beyond chance; None without truth, or if unclear."""
        if self.gain is None or not self.gain.verdict.endswith("is better"):
            return None
        return self.gain.verdict.startswith("B")

    def __repr__(self) -> str:
        return f"<Fusion {self.challenge} {self.settings.method} of {len(self.settings.weights)} files>"

    def __str__(self) -> str:
        return as_text(self.show)

    def show(self, to: Console) -> None:
        """Print the score of each file and of their fusion, the gain, and the settings."""
        for note in self.notes:
            to.print(note, highlight=False, markup=False)
        if self.score is not None and self.gain is not None:
            rows = [(one.file, f"{one.score.value:.6f}", f"{one.tuned.value:.6f}") for one in self.inputs]
            rows.append(("fused", "", f"{self.score.value:.6f}"))
            show_table("scores", ("file", "as it is", "tuned, cross-validated"), rows, to)
            best = next(one.file for one in self.inputs if one.tuned is self.gain.a)
            low, high, items = self.gain.low, self.gain.high, plural(self.score.items.height, "item")
            to.print(
                f"gain {self.gain.difference:+.6f} over {best} alone ({self.score.better} is better), "
                f"95 % interval {low:+.6f} … {high:+.6f} of {items}: {self._verdict}",
                highlight=False, markup=False,
            )  # fmt: skip
        shown = {name: text for name, text in self._described().items() if text}
        to.print("settings: " + ", ".join(f"{name}={text}" for name, text in shown.items()), highlight=False)

    @property
    def _verdict(self) -> str:
        return {True: "fusing is better", False: "fusing is worse", None: "no clear difference"}[self.better]

    def _described(self) -> dict[str, str]:
        shapes, settings = self.predictions.shapes, self.settings
        weights = ",".join(f"{weight:g}" for weight in settings.weights)
        if not shapes.localized:
            return {"method": settings.method, "weights": weights}
        reach = {"iou": f"{settings.iou:g}"} if shapes.overlaps else {"seconds": f"{settings.seconds:g}"}
        described = {"method": settings.method, "weights": weights, **reach}
        return described | {"calibration": settings.calibration, "score_threshold": f"{settings.score_threshold:g}"}

    def as_dict(self) -> dict[str, object]:
        """The form that `--json` prints."""

        def plain(value: float) -> float | None:
            return value if math.isfinite(value) else None

        out: dict[str, object] = {"challenge": self.challenge, "settings": asdict(self.settings)}
        out |= {"items": len(self.predictions.items), "predictions": len(self.predictions), "notes": list(self.notes)}
        if self.score is not None and self.gain is not None:
            out |= {
                "score": plain(self.score.value),
                "better": self.score.better,
                "files": [
                    {"file": one.file, "score": plain(one.score.value), "tuned": plain(one.tuned.value)}
                    for one in self.inputs
                ],
                "gain": plain(self.gain.difference),
                "interval": [plain(self.gain.low), plain(self.gain.high)],
                "verdict": self._verdict,
            }
        return out


def fuse(
    name: str,
    files: Sequence[PathLike],
    out: PathLike | None = None,
    *,
    truth: PathLike | None = None,
    exclude: PathLike | None = None,
    corrections: Sequence[PathLike] = (),
    settings: PathLike | None = None,
    method: str | None = None,
    weights: Sequence[float] | None = None,
    iou: float | None = None,
    seconds: float | None = None,
    calibration: str | None = None,
    score_threshold: float | None = None,
    seed: int = 0,
    form: str | None = None,
    **rule_options: object,
) -> Fusion:
    """Fuse submissions, candidate files or runs of one challenge, and write them as one submission.

    Parameters
    ----------
    name: the challenge.
    files: submissions, Parquet files of `predict --candidates`, or runs, which stand for their held-out candidates.
    out: the submission to write, if any; form: which of its published forms.
    truth: annotations or a data folder, to tune all settings that are not given, and to measure what fusing gains.
    exclude: a CSV list of items and objects of `truth`, a data folder, to ignore. corrections: of its annotations, as a
        review page saved them. Those of a training whose run is fused are asked for.
    settings: a TOML file of settings: with `truth`, to write the tuned ones to; without, to read them from.
    method: `wbf`, `nms` or `soft_nms`; of labels `mean`, `geometric` or `votes`.
    weights: one for each file. iou: above which detections are of one object; seconds: (events) up to which.
    calibration: `none`, `threshold` or `rank`: how the scores of different models are brought to one scale.
    score_threshold: of the fused score. seed: of the halves and of the bootstrap.

    Examples
    --------
    >>> tallymark.fuse("wheat", ["run-a", "run-b"], truth="data", settings="fuse.toml").gain  # doctest: +SKIP
    """
    what = challenge(name)
    refuse_outputs([out, settings if truth is not None else None], inputs=[*files, truth], force=True)
    chosen = what.parse_rule_options(rule_options, truth)
    inputs = read_inputs(what, files, chosen)
    given: dict[str, Any] = {} if truth is not None or settings is None else _read_settings(settings, name)
    stated = {
        "method": method,
        "weights": None if weights is None else tuple(map(float, weights)),
        "iou": iou,
        "seconds": seconds,
        "calibration": calibration,
        "score_threshold": score_threshold,
    }
    given |= {option: value for option, value in stated.items() if value is not None}
    _check_settings(given, inputs.ensemble, settings if settings is not None and truth is None else "fuse")
    changes = TruthChanges.of(what, exclude, corrections)
    if truth is None:
        changes.refuse_unused()
        used = default_settings(inputs.ensemble, **given)
        result = Fusion(name, used, inputs.ensemble.predict(used), inputs.notes)
    else:
        for run in filter(None, map(run_of, files)):
            changes.refuse_missing(run)
        result = _tuned(what, inputs, truth, chosen, changes, given, seed)
    if out is not None:
        write(name, result.predictions, out, form=form, **rule_options)
    if settings is not None and truth is not None:
        _write_settings(settings, result, files)
    return result


def _tuned(
    what: Challenge,
    inputs: FusionInputs,
    truth: PathLike,
    rule_options: DataclassInstance,
    changes: TruthChanges,
    given: Mapping[str, object],
    seed: int,
) -> Fusion:
    """The ensemble with the best settings, and what it gains over the best of its members."""
    ensemble = inputs.ensemble
    answers, notes = _answers(what, truth, rule_options, changes, ensemble)
    # Without excluded items and recordings of unknown truth, and with those in which no file has found anything.
    ensemble = ensemble.reindex(answers.items)
    if not len(answers.items):
        remedy = "name other files, or fuse without truth"
        raise BadInput(Problem("no_items", str(truth), "no item in the files", "items to tune on", remedy))

    def rule(expected: Annotations[Geometry], predicted: Annotations[Geometry]) -> Score:
        return what.score(expected, predicted, rule_options)

    part = _parts(inputs, answers.items, seed)
    members = []
    for number, own in enumerate(inputs.own):
        alone = {**ALONE, "method": "nms"} if ensemble.objects.shapes.localized else {"method": ensemble.methods[0]}
        tuned = cross_validate(ensemble.only(number), answers, rule, alone, part).score
        file = ensemble.members[number].name
        members.append(FusedInput(file, rule(answers, own.reindex(answers.items)), tuned))
    fused = cross_validate(ensemble, answers, rule, given, part)
    sign = 1 if fused.score.better == "higher" else -1
    best = max(members, key=lambda one: sign * one.tuned.value if math.isfinite(one.tuned.value) else -math.inf)
    gain = compare_scores(best.tuned, fused.score, seed=seed)
    predictions = inputs.ensemble.predict(fused.settings)
    return Fusion(what.name, fused.settings, predictions, (*inputs.notes, *notes), tuple(members), fused.score, gain)


def _parts(inputs: FusionInputs, items: Items, seed: int) -> np.ndarray:
    """The part of each item in cross-validation: the folds of a training as they are, or else random halves."""
    at = inputs.ensemble.items.find(items.ids)
    known = bool((at >= 0).all())
    if inputs.fold is not None and known:
        return inputs.fold[at]
    group = inputs.group[at] if items.group is None and known else items.group
    return halves(items, items.ids if group is None else group, seed)


def _answers(
    what: Challenge, truth: PathLike, rule_options: DataclassInstance, changes: TruthChanges, ensemble: Ensemble
) -> tuple[Annotations[Geometry], list[str]]:
    """The truth of the items of an ensemble, and notes on what was left out of it."""
    problems = Problems()
    known_truth = read_known_truth(what, truth, rule_options, changes, problems)
    answers = problems.checked(known_truth.answers)
    if answers.weak:
        expected, remedy = "times of events", "fuse with the settings of another set, or without truth"
        raise BadInput(Problem("other_truth", str(truth), "labels of clips", expected, remedy))
    items = ensemble.items
    others = known_truth.unknown if what.sparse else known_truth.excluded.spelled_like(items)
    items = Items(items.ids.filter(pl.Series(others.find(items.ids) < 0)))
    left = len(ensemble.items) - len(items)
    notes = [f"{left} of {len(ensemble.items)} items of the files have no truth: not scored"] if left else []
    if what.suffix_optional:
        answers = replace(answers, items=answers.items.spelled_like(items))
    at = answers.items.find(items.ids)
    if what.sparse:
        known = items if any(member.thresholds is not None for member in ensemble.members) else _union(items, answers)
        if not len(known):
            expected, remedy = "the truth of some items of the files", "give that of the same set"
            raise BadInput(Problem("missing_truth", str(truth), "that of none", expected, remedy))
        return answers.reindex(known), [*problems.remarks, *notes, *_others(answers, known)]
    unknown = [items.ids[k] for k in range(len(items)) if at[k] < 0]
    if unknown:
        found = f"no truth of {len(unknown)} of {len(items)} items of the files, as {shorten(unknown[0])}"
        remedy = "give the data folder as truth: a table may lack items without objects"
        raise BadInput(Problem("missing_truth", str(truth), found, "the truth of every item of the files", remedy))
    group = answers.items.group
    known = Items(items.ids, None if group is None else group[at])
    return answers.reindex(known), [*problems.remarks, *notes, *_others(answers, known)]


def _union(items: Items, answers: Annotations[Geometry]) -> Items:
    return Items(pl.concat([items.ids, answers.items.ids]).unique(maintain_order=True))


def _others(answers: Annotations[Geometry], known: Items) -> list[str]:
    left = len(answers.items) - int((known.find(answers.items.ids) >= 0).sum())
    return (
        [f"{left} of {len(answers.items)} items of the truth are not in the files, and are not scored"] if left else []
    )


def _check_settings(given: Mapping[str, Any], ensemble: Ensemble, where: PathLike) -> None:
    """Raise `BadInput` for settings that do not go with the files."""
    problems = Problems()

    def refuse(option: str, expected: str, remedy: str) -> None:
        found = f"{option}={shorten(str(given[option]))}"
        problems.add(Problem("bad_option", str(where), found, expected, remedy))

    for option, allowed in (("method", ensemble.methods), ("calibration", ensemble.calibrations)):
        if option in given and given[option] not in allowed:
            refuse(option, f"one of those for these files: {', '.join(allowed)}", nearest(str(given[option]), allowed))
    count = len(ensemble.members)
    weights = given.get("weights")
    if weights is not None and len(weights) != count:
        refuse("weights", f"{count} of them, one for each file", "separate them by commas: 1,2")
    elif weights is not None and not (all(0 <= one < math.inf for one in weights) and any(weights)):
        refuse("weights", "numbers from 0 on, not all of them 0", "give e.g. 1 for each file")
    limits = {"iou": (0.0, 1.0), "seconds": (0.0, 1e6), "score_threshold": (0.0, 1.0)}
    for option, (least, most) in limits.items():
        if option in given and not least <= given[option] <= most:
            refuse(option, f"a number from {least:g} to {most:g}", "correct it")
    problems.raise_if_any()


def _read_settings(path: PathLike, name: str) -> dict[str, Any]:
    """The settings in a file that `fuse --truth` wrote."""
    try:
        stated = a_mapping(tomllib.loads(read_regular(path).decode()))
        known = {field.name: stated[field.name] for field in fields(FusionSettings)}
        known["weights"] = tuple(a_number(one, 0) for one in a_list(known["weights"]))
        for field in ("iou", "seconds", "score_threshold"):
            a_number(known[field], 0)
        for field in ("method", "calibration"):
            a_text(known[field])
        whose = a_text(stated["challenge"])
    except KeyError as missing:
        found = f"no {missing.args[0]}"
    except OSError as error:
        found = (error.strerror or str(error)).lower()
    except (ValueError, RecursionError) as error:  # TOML errors are such
        found = shorten(str(error), 100)
    else:
        if whose == name:
            return known
        found = f"settings of {shorten(whose)}"
    expected, remedy = f"settings for {name}", "write them with: tallymark fuse … --truth TRUTH --settings FILE"
    raise BadInput(Problem("bad_settings", str(path), found, expected, remedy))


def _write_settings(path: PathLike, result: Fusion, files: Sequence[PathLike]) -> None:
    import tomli_w

    stated: dict[str, Any] = {"challenge": result.challenge, "files": [Path(file).name for file in files]}
    stated |= {name: list(value) if name == "weights" else value for name, value in asdict(result.settings).items()}
    if result.score is not None and math.isfinite(result.score.value):
        stated["score"] = result.score.value
    write_text(path, tomli_w.dumps(stated))
