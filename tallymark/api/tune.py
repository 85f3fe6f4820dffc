"""Tuning of a finished run: other thresholds on its held-out candidates, without inference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tallymark.api.corrections import correct_catalog
from tallymark.api.data import PathLike, read
from tallymark.api.known_truth import TruthChanges
from tallymark.api.predictions import CLIPS, stored_candidates, write_held_out
from tallymark.core.console import as_text, show_table
from tallymark.core.options import parse_options
from tallymark.core.outputs import replacing, write_bytes, write_json
from tallymark.core.problems import BadInput, Problem, Problems, shorten
from tallymark.core.recipe import Recipe
from tallymark.core.registry import Challenge, challenge
from tallymark.data.annotations import Annotations
from tallymark.detector.coders import CODERS
from tallymark.geometry import Geometry
from tallymark.inference.candidate_files import StoredCandidates, write_candidates
from tallymark.inference.held_out import HeldOutResult, evaluate_held_out
from tallymark.inference.held_out_groups import HELD_OUT_GROUPS, TITLE
from tallymark.inference.metadata import KEY, ModelMetadata
from tallymark.inference.onnx_file import metadata_text, read_model, with_metadata
from tallymark.inference.postprocess import postprocess
from tallymark.inference.run import GROUPS, HELD_OUT, HELD_OUT_SUBMISSION, SCORE, TUNING, Run
from tallymark.inference.tuning import Rule
from tallymark.io.tables import write_frame
from tallymark.scoring.score import Score

if TYPE_CHECKING:
    from rich.console import Console

SETTINGS = (
    "fusion", "nms_iou", "image_threshold", "score_threshold", "class_thresholds", "mask_scale", "temperature",
)  # fmt: skip

SPEEDS_REMOVED = (
    "the speeds that bench had measured are removed, since their thresholds were those of the settings before: measure "
    "them again by tallymark bench RUN DATA --write"
)


@dataclass(frozen=True, eq=False, repr=False)
class TunedRun:
    """A run with its settings as they are, and as they are best. Prints as a table.

    before: the score of the held-out items at the settings that the run has. held_out: at the tuned ones.
    folds: how many folds were held out; with several, `held_out.score` is that of each at settings of the others.
    written: the files of the run that have the tuned settings now. problems: why there is no valid submission, if so.
    notes: what the user should know about them.
    """

    run: Run
    recipe: Recipe
    before: Score
    held_out: HeldOutResult
    folds: int
    written: tuple[Path, ...] = ()
    problems: Problems | None = None
    notes: tuple[str, ...] = ()

    @property
    def tuned(self) -> Recipe:
        return self.held_out.tuning.recipe

    @property
    def after(self) -> Score:
        """The score at the tuned settings, of the items that they are tuned on."""
        return self.held_out.tuning.score

    def __repr__(self) -> str:
        return f"<TunedRun {self.run.folder} {self.before.value:.6f} -> {self.after.value:.6f}>"

    def __str__(self) -> str:
        return as_text(self.show)

    def show(self, to: Console) -> None:
        """Print the settings and the scores before and after."""
        coder = CODERS[self.recipe.task]
        shown = {*(() if coder.ranked else ("fusion", "nms_iou", "score_threshold")), *coder.search}
        if self.recipe.class_thresholds or self.tuned.class_thresholds:
            shown.add("class_thresholds")
        both = (self.recipe, self.tuned)
        rows = [(name, *(str(getattr(one, name)) for one in both)) for name in SETTINGS if name in shown]
        rows.append(("score", f"{self.before.value:.6f}", f"{self.after.value:.6f}"))
        show_table("settings", ("setting", "before", "tuned"), rows, to)
        score = self.held_out.score
        if self.folds > 1:
            to.print(f"score of each fold at settings tuned on the others: {score.value:.6f}", highlight=False)
        items = f"{len(self.held_out.candidates.items)} held-out items, {score.better} is better"
        to.print(f"baseline {score.baseline:.6f} ({score.baseline_name}); {items}", highlight=False, markup=False)

    def as_dict(self) -> dict[str, object]:
        """The form that `--json` prints."""
        numbers = {"before": self.before.value, "after": self.after.value, "score": self.held_out.score.value}
        score = self.held_out.score
        return {
            "run": str(self.run.folder),
            "challenge": score.challenge,
            **{name: value if np.isfinite(value) else None for name, value in numbers.items()},
            "baseline": score.baseline if np.isfinite(score.baseline) else None,
            "better": score.better,
            "folds": self.folds,
            "items": len(self.held_out.candidates.items),
            "settings_before": {name: getattr(self.recipe, name) for name in SETTINGS},
            "settings": {name: getattr(self.tuned, name) for name in SETTINGS},
            "written": [str(path) for path in self.written],
            "notes": list(self.notes),
            **({} if self.problems is None else self.problems.as_dict()),
        }


def tune(
    run: PathLike,
    *,
    data: PathLike | None = None,
    exclude: PathLike | None = None,
    corrections: Sequence[PathLike] = (),
    write: bool = False,
    rule_options: Mapping[str, object] | None = None,
    **recipe: object,
) -> TunedRun:
    """Tune thresholds, NMS overlap and mask scale of a run again by the official rule, without inference.

    Parameters
    ----------
    run: the folder of a training, which has the candidates of its held-out items.
    data: the data set that it was trained on, for the truth; by default where it was then.
    exclude: a CSV list of items and objects to ignore; asked for if the training was given one.
    corrections: files that a review page saved; those that the training was given are asked for.
    write: put the tuned settings into the run: its models, tuning, score and held-out predictions. Without it, nothing
        is changed.
    recipe: post-processing fields that are given, and not tuned, e.g. `fusion="wbf"` or `score_threshold=0.3`.

    Examples
    --------
    >>> tallymark.tune("run", fusion="wbf").after.value  # doctest: +SKIP
    """
    folder = Run(Path(run))
    given = dict(rule_options or {})
    stored = _stored(folder)
    what = challenge(stored.metadata.challenge)
    parse_options(what.rule_options, given)
    own = stored.metadata.recipe
    chosen = _changed(own, recipe)
    changes = TruthChanges.of(what, exclude, corrections)
    changes.refuse_missing(folder)
    truth, rule = _truth(what, folder, data, changes, stored, given)
    numbers = np.zeros(len(truth.items), int) if stored.fold is None else stored.fold
    rows = [np.flatnonzero(numbers == number) for number in np.unique(numbers)]
    parts = [stored.candidates.select(index) for index in rows]
    held_out = evaluate_held_out(
        parts,
        [truth.reindex(part.items) for part in parts],
        chosen,
        rule,
        what.baseline,
        fixed=recipe.keys(),
        folds=folder.left_out,
    )
    result = TunedRun(folder, own, rule(truth, postprocess(stored.candidates, own)), held_out, len(parts))
    return _write(result, what, stored, given) if write else result


def _stored(run: Run) -> StoredCandidates:
    """The held-out candidates of a run; a `BadInput` without them."""
    path = run.folder / HELD_OUT
    if not path.is_file():
        expected, remedy = "the folder of a training, with its held-out candidates", "train it again, or resume it"
        raise BadInput(Problem("no_candidates", str(run.folder), f"no {HELD_OUT}", expected, remedy))
    problems = Problems()
    return problems.checked(stored_candidates(None, path, problems))


def _changed(own: Recipe, changes: Mapping[str, object]) -> Recipe:
    """The recipe with the fields that are given; a `BadInput` for those that act before post-processing."""
    known = own.names_at("postprocessing")
    changed = own.replace(**changes)
    problems = Problems()
    for name, value in changes.items():
        if name not in known:
            found, expected = f"{name}={value}", f"one of {', '.join(known)}"
            problems.add(Problem("bad_option", "recipe", found, expected, "leave it out: other fields need inference"))
    problems.raise_if_any()
    return changed


def _truth(
    what: Challenge,
    run: Run,
    data: PathLike | None,
    changes: TruthChanges,
    stored: StoredCandidates,
    given: Mapping[str, object],
) -> tuple[Annotations[Geometry], Rule]:
    """The truth of the held-out items, and the rule, from the data of the training."""
    known = run.facts.get("data")
    folder = Path(data if data is not None else str(known or ""))
    if data is None and (not known or not folder.exists()):
        found = f"no {folder}, where the training had its data" if known else "no note of the data of the training"
        raise BadInput(
            Problem("no_data", str(run.folder), found, "the truth of the held-out items", "give --data FOLDER")
        )
    catalog, _ = correct_catalog(what, read(what.name, folder, exclude=changes.exclude, **given), changes.corrections)
    truth = catalog.with_truth().truth
    items = stored.candidates.items
    missing = np.flatnonzero(truth.items.find(items.ids) < 0)
    if len(missing):
        found = f"{len(missing)} of {len(items)} held-out items without truth, as {shorten(items.ids[int(missing[0])])}"
        raise BadInput(Problem("other_data", str(folder), found, "the data of the training", "give --data FOLDER"))
    if truth.classes != stored.metadata.classes:
        found, expected = (shorten(", ".join(names)) for names in (truth.classes, stored.metadata.classes))
        raise BadInput(Problem("other_data", str(folder), found, f"the classes {expected}", "give --data FOLDER"))
    rule = what.rule_on(catalog, what.parse_rule_options(given, folder, truth.classes), given)
    return truth.reindex(items), rule


def _write(result: TunedRun, what: Challenge, stored: StoredCandidates, given: Mapping[str, object]) -> TunedRun:
    """Write the tuned settings into the run: all files, or none of them."""
    folder, held_out = result.run.folder, result.held_out
    models = {path: read_model(path) for path in result.run.models}
    metadata = {path: ModelMetadata.read(metadata_text(model, KEY), path) for path, model in models.items()}
    facts = {"score": held_out.score.value, "evaluated": len(held_out.candidates.items)}
    counts = {} if held_out.counting is None else held_out.counting.as_dict()
    changed = {
        path: replace(one, recipe=result.tuned, facts={**one.facts, **facts}, counts=counts, speeds={})
        for path, one in metadata.items()
    }
    groups = held_out.score.analyses.get(HELD_OUT_GROUPS)
    names = (HELD_OUT, TUNING, SCORE, *([] if groups is None else [GROUPS]))
    with ExitStack() as together:  # files get their names when all of them are written
        new = {path: together.enter_context(replacing(path)) for path in (*(folder / name for name in names), *models)}
        for path, model in models.items():
            write_bytes(new[path], with_metadata(model, KEY, changed[path].text()))
        own = replace(stored.metadata, recipe=result.tuned)
        write_candidates(stored.candidates, new[folder / HELD_OUT], own, stored.fold)
        write_frame(new[folder / TUNING], held_out.tuning.curve)
        write_json(new[folder / SCORE], held_out.score.as_dict())
        if groups is not None:
            write_frame(new[folder / GROUPS], groups.tables[TITLE])
    form = CLIPS if held_out.truth.weak else None
    submission = folder / HELD_OUT_SUBMISSION
    problems = write_held_out(what.name, stored.candidates, result.tuned, submission, form=form, **given)
    written = (*new,) if problems else (*new, submission)
    notes = [SPEEDS_REMOVED] if any(one.speeds for one in metadata.values()) else []
    return replace(result, written=written, problems=problems or None, notes=tuple(notes))
