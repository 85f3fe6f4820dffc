"""Training and predicting, as plain functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tallymark.api.data import read, write
from tallymark.core.options import parse_options
from tallymark.core.problems import EVERY, BadInput, Problem, Problems, nearest
from tallymark.core.recipe import Recipe
from tallymark.core.registry import Challenge, challenge, challenge_names
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.detector.coders import CODERS
from tallymark.geometry import Labels
from tallymark.inference.predictor import PredictionResult, Predictor
from tallymark.inference.run import MODEL, Run
from tallymark.inference.session import Runtime
from tallymark.inference.tuning import Rule
from tallymark.io.audio import hours_of
from tallymark.scoring.score import Score

if TYPE_CHECKING:
    from tallymark.training.train import TrainingResult

PathLike = str | Path
Options = Mapping[str, Any]


def train(
    name: str,
    folder: PathLike,
    out: PathLike,
    *,
    preset: str = "small",
    minutes: float | None = None,
    resume: bool = False,
    exclude: PathLike | None = None,
    extra_data: Sequence[PathLike] = (),
    pseudo: PathLike | None = None,
    fold_table: PathLike | None = None,
    rule: Options | None = None,
    **changes: object,
) -> TrainingResult | None:
    """Train on a data set, tune by the official rule on items held out, and write a run.

    Parameters
    ----------
    preset: `tiny`, `small` or `full`, of which `changes` replace fields. minutes: fit the training into this time.
    resume: go on with what is in `out`. exclude: a list of bad items. extra_data: more data sets to train on.
    pseudo: a folder: what the run that `weights` names finds in its items without truth is learned from too.
    fold_table: a table of folds, as `tallymark.folds` makes it, in place of new ones.

    Examples
    --------
    >>> tallymark.train("wheat", "global-wheat-detection", "run", minutes=40).score.value  # doctest: +SKIP
    """
    from tallymark.data.folds import read_folds

    _need("torch", "onnx")
    from tallymark.training.train import TrainingPlan
    from tallymark.training.train import train as carry_out

    what, options = challenge(name), dict(rule or {})
    recipe = _changed(find_preset(name, preset), changes)
    if minutes is not None and not minutes > 0:
        remedy = "give e.g. 10, or leave it out"
        raise BadInput(Problem("bad_option", "train", f"minutes={minutes:g}", "a number above 0", remedy))
    chosen: Any = parse_options(what.rule_options, options)
    catalog = read(name, folder, exclude=exclude, **options)
    more, problems = [read(name, place, **options) for place in extra_data], Problems(EVERY)
    if pseudo is not None:
        more.append(_labelled_by(recipe.weights, name, pseudo, options, problems))
    plan = TrainingPlan(
        challenge=name,
        rule=_rule(what, catalog, chosen, timed="hours" in options),
        catalog=catalog,
        recipe=recipe,
        folder=Path(out),
        extra_data=tuple(found.select(found.labelled) for found in more),
        minutes=minutes,
        folds=None if fold_table is None else read_folds(fold_table),
        resume=resume,
        problems=problems,
    )
    trained = carry_out(plan)
    if trained is not None and CODERS[trained.tuning.recipe.task].ranked:
        _list_suspects(trained)
    if trained is not None and trained.curve is not None:
        from tallymark.reporting.calls import write_recall_page

        title = f"Recall of {trained.run.folder}"
        write_recall_page(
            trained.curve, trained.tuning.recipe.score_threshold, trained.run.folder / "recall.html", title=title
        )
    return trained


def _changed(preset: Recipe, changes: Options) -> Recipe:
    """A preset with some fields replaced, but not what it finds: that is how the truth of the challenge is told."""
    recipe = preset.replace(**changes)
    if recipe.task != preset.task:
        found, expected = f"task={recipe.task}", f"{preset.task}, as in the truth of the challenge"
        raise BadInput(Problem("bad_option", "recipe", found, expected, "leave it out"))
    return recipe


def _rule(what: Challenge, catalog: Catalog, rule_options: Any, *, timed: bool) -> Rule:
    """The official rule; where it asks for hours and none are given, with those of the recordings that are judged."""
    if timed or not hasattr(rule_options, "hours"):
        return lambda truth, predicted: what.score(truth, predicted, rule_options)
    paths = [catalog.path(item) for item in range(len(catalog))]
    lengths = np.array([0.0 if path is None else hours_of([path], Problems()) for path in paths])

    def score(truth: Annotations[Any], predicted: Annotations[Any]) -> Score:
        hours = round(float(lengths[catalog.items.find(truth.items.ids)].sum()), 6)
        return what.score(truth, predicted, replace(rule_options, hours=hours) if hours > 0 else rule_options)

    return score


def _need(*packages: str) -> None:
    """Say which packages are missing, before one of them is imported."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        found, remedy = f"no {' and no '.join(missing)}", "pip install 'tallymark[train]'"
        raise BadInput(Problem("not_installed", "training", found, "the packages that training needs", remedy))


def _list_suspects(trained: TrainingResult) -> None:
    """Write down which labels are probably wrong, and how often those of each class are agreed with.

    Both are of items whose models did not learn from them.
    """
    from tallymark.inference.label_errors import agreement, find_label_errors
    from tallymark.io.tables import write_frame
    from tallymark.reporting.label_errors import write_label_errors

    told, folder = trained.candidates, trained.run.folder
    seen = np.isfinite(told.size).all(axis=1)
    judged = trained.evaluated.select(seen)
    if judged.truth is None or not len(judged):
        return
    label, classes = judged.truth.shapes.label[judged.truth.offsets[:-1]], judged.truth.classes
    write_frame(folder / "agreement.csv", agreement(told.probabilities[seen], label, classes))
    suspects = find_label_errors(told.probabilities[seen], label, judged.items, classes, most=len(judged))
    write_frame(folder / "suspects.csv", suspects)
    write_label_errors(judged, suspects, folder / "suspects.html", title=f"Suspected labels in {judged.root}")


def find_preset(name: str, preset: str) -> Recipe:
    """A challenge's recipe of that name."""
    presets: dict[str, Recipe] = challenge(name).module("recipe").PRESETS
    if preset not in presets:
        raise BadInput(Problem("bad_option", "preset", f"'{preset}'", "a preset", nearest(preset, list(presets))))
    return presets[preset]


def predict(
    model: PathLike | Predictor,
    folder: PathLike,
    out: PathLike | None = None,
    *,
    split: str = "auto",
    runtime: Runtime = "onnxruntime",
    form: str | None = None,
    fp_per_hour: float | None = None,
    journal: PathLike | None = None,
    rule: Options | None = None,
    **changes: object,
) -> PredictionResult:
    """Find things in a folder by a run, a model file, or the model that comes with a challenge.

    Parameters
    ----------
    model: what to use, or the `Predictor` that `open_model` made of it.
    out: the submission to write, if any; `form` is its form. split: `train`, `val`, `test`, `all`, or `auto`: the test
        part if there is one, else all. runtime: `onnxruntime`, or `openvino`, which is faster on most CPUs.
    fp_per_hour: (recordings) choose the cut that cost at most so many false positives an hour in training.
    journal: a folder that keeps what the models say: work that was interrupted goes on from there, and another cut
        takes no time. changes: fields of the recipe, as `views="8"` or `cut=0.4`.

    Examples
    --------
    >>> tallymark.predict("wheat", "photographs").found.counts  # doctest: +SKIP
    """
    predictor = model if isinstance(model, Predictor) else open_model(model, runtime)
    options, name, notes = dict(rule or {}), predictor.metadata.challenge, []
    _refuse_form(name, form)
    refuse_paths([] if out is None else [Path(out)])
    if journal is not None and Path(journal).is_file():
        raise BadInput(Problem("bad_path", str(journal), "a file", "a folder, there or new", "name another"))
    if fp_per_hour is not None:
        if "score_threshold" in changes:
            found, remedy = (
                f"score_threshold={changes['score_threshold']} and fp_per_hour={fp_per_hour:g}",
                "leave out one of the two",
            )
            raise BadInput(Problem("bad_option", "predict", found, "one way to choose the cut", remedy))
        choice = predictor.operating_point(fp_per_hour)
        changes = {**changes, "score_threshold": choice.score_threshold}
        notes += [choice.note] if choice.note else []
    chosen: Any = parse_options(challenge(name).rule_options, options)
    every, shape = read(name, folder, **options), getattr(chosen, "shape", None)
    catalog = choose_split(every, split)
    if len(catalog) < len(every):
        looked = f"{len(catalog)} of {len(every)} {every.medium.noun}s"
        notes.append(f"predicted split {catalog.split[0]}: {looked}; --split all predicts all")
    kept = None if journal is None else Path(journal)
    predicted = predictor.predict(catalog, None if out is None else shape, kept, **changes)
    predicted.problems.merge(every.notes)
    predicted = replace(predicted, notes=(*notes, *predicted.notes))
    if out is not None:
        write(name, predicted.predictions, out, form=form, **options)
    return predicted


def open_model(model: PathLike, runtime: Runtime = "onnxruntime") -> Predictor:
    """The models of a run, a file, or a challenge, ready to be used."""
    return Predictor(find_models(model), runtime)


def _refuse_form(name: str, form: str | None) -> None:
    forms = challenge(name).dialect.FORMS
    if form is not None and form not in forms:
        raise BadInput(Problem("bad_option", "form", f"'{form}'", " or ".join(forms), nearest(form, list(forms))))


def refuse_paths(paths: Sequence[Path]) -> None:
    """Files that could not be written are problems, before hours of work are lost with them."""
    problems, expected = Problems(), "a file in a folder that is there"
    for path in paths:
        if path.is_dir():
            problems.add(Problem("bad_path", str(path), "a folder", expected, "name a file in it"))
        elif not path.parent.is_dir():
            problems.add(
                Problem("bad_path", str(path), f"no folder {path.parent}", expected, f"mkdir -p {path.parent}")
            )
    problems.raise_if_any()


def find_models(model: PathLike) -> list[Path]:
    """The model files of a run, a file itself, or the one that comes with a challenge.

    A folder that is named like a challenge, and has no model in it, holds that challenge's data.
    """
    path, ours = Path(model), str(model) in challenge_names()
    if path.is_dir() and (not ours or Run(path).written):
        return Run(path).models
    if path.is_file():
        return [path]
    if not ours:
        expected, remedy = "the folder of a training, a model.onnx, or a challenge", "train one: tallymark train --help"
        raise BadInput(Problem("no_model", str(model), "nothing of that name", expected, remedy))
    own = challenge(str(model)).folder / MODEL
    if not own.exists():
        remedy = f"train one: tallymark train {model} FOLDER --out RUN"
        raise BadInput(Problem("no_model", str(model), "no model comes with it", "the folder of a training", remedy))
    return [own]


def choose_split(catalog: Catalog, split: str) -> Catalog:
    """The items of a split; `auto` is the test split if there is one, else everything."""
    splits = set(catalog.split.to_list())
    if split == "all" or (split == "auto" and "test" not in splits):
        return catalog
    wanted = "test" if split == "auto" else split
    if wanted not in splits:
        remedy = nearest(split, [*sorted(splits), "all", "auto"])
        expected = " or ".join(sorted(splits))
        raise BadInput(Problem("no_split", str(catalog.root), f"no split '{split}'", expected, remedy))
    return catalog.in_split(wanted)


def _labelled_by(run: str, name: str, folder: PathLike, rule_options: Options, problems: Problems) -> Catalog:
    """A folder's items without truth, with what a run finds in them as such."""
    if not Path(run).is_dir():
        expected, remedy = "the folder of a first run", "train once without, then again with weights=RUN"
        raise BadInput(Problem("no_run", "pseudo", f"weights={run}", expected, remedy))
    predictor, catalog = Predictor(find_models(run)), read(name, folder, **rule_options)
    if predictor.metadata.challenge != name:
        found, remedy = (
            f"a model for {predictor.metadata.challenge}",
            f"train one: tallymark train {name} FOLDER --out RUN",
        )
        raise BadInput(Problem("other_model", run, found, f"a model for {name}", remedy))
    if catalog.labelled.all():
        found, remedy = f"truth for all of {len(catalog)} items", "give it by --also, or name another folder"
        raise BadInput(Problem("no_unlabelled", str(folder), found, "items without truth", remedy))
    predicted = predictor.predict(catalog.select(~catalog.labelled))
    problems.merge(predicted.problems)
    truth: Any = predicted.predictions
    if isinstance(truth.shapes, Labels):  # of those told, only the likeliest
        truth = truth.filter(np.arange(len(truth)) == truth.offsets[truth.item])
    part, labelled = pl.repeat("train", len(truth.items), eager=True), np.isfinite(predicted.candidates.size[:, 0])
    return replace(predicted.catalog, truth=truth, labelled=labelled, split=part)
