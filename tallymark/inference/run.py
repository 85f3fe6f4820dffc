"""Run: the folder of one training. With it alone, its models can be used and its score be understood.

    recipe.toml        every setting of the training             environment.json   versions, machine, times
    log.jsonl          a line for each evaluation                weights.pt         for further training
    model.onnx         the model, with its metadata              checkpoint.pt      for resuming
    tuning.csv         settings tried, with their scores         score.json         of the held-out items
    problems.csv       items that were skipped                   label_errors.csv   labels that are probably wrong
    trained_on.csv     items that the weights were trained on    agreement.csv      how often labels are confirmed
    recall.csv         recall and false positives per hour       ACKNOWLEDGEMENTS.md  licences, citations, rules
    groups.csv         scores of groups that were left out       folds.csv          the fold of each item, then
    held_out.parquet   candidates of the held-out items          held_out.csv       the same, as a submission
    report.html        a page about these predictions

The label files are written by classification, the recall files by event detection. Of the held-out items, the Parquet
file has every candidate with its score and its fold, to tune and to fuse without inference (`candidate_files.py`), and
the submission what is left at the tuned settings. A run with several models has a
folder fold-0, fold-1, … for the files of each.
"""

from __future__ import annotations

import os
import platform
import time
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl

from tallymark.core.outputs import holds_files, make_folder, write_json
from tallymark.core.problems import UNREADABLE, BadInput, Problem, Problems, shorten
from tallymark.core.recipe import Recipe
from tallymark.core.versions import version_of
from tallymark.data.folds import Folds, read_folds
from tallymark.inference.held_out_groups import HELD_OUT_GROUPS, TITLE
from tallymark.inference.recall_curve import RecallCurve
from tallymark.inference.tuning import Tuning
from tallymark.io.json_text import read_json
from tallymark.io.tables import write_frame
from tallymark.modalities import read_recipe
from tallymark.scoring.score import Score

MODEL = "model.onnx"
RECIPE = "recipe.toml"
ENVIRONMENT = "environment.json"
TUNING = "tuning.csv"
SCORE = "score.json"
PROBLEMS = "problems.csv"
RECALL = "recall.csv"
TRAINED_ON = "trained_on.csv"
"""The list of items that a model was trained on, beside its weights, in the format of a list of exclusions."""
GROUPS = "groups.csv"
FOLDS = "folds.csv"
HELD_OUT = "held_out.parquet"
HELD_OUT_SUBMISSION = "held_out.csv"


@dataclass(frozen=True)
class Run:
    """The folder of a training."""

    folder: Path

    @property
    def written(self) -> list[Path]:
        """The model files that there are, one for each held-out fold."""
        own = self.folder / MODEL
        return [own] if own.exists() else sorted(self.folder.glob(f"fold-[0-9]*/{MODEL}"), key=_fold_order)

    def refuse_incomplete(self, recipe: Recipe) -> None:
        """Refuse a run that has lost some of its models: their ensemble would be another one."""
        written = self.written
        if len(written) < recipe.train_folds and self.folder not in (path.parent for path in written):
            found = f"{len(written)} of {recipe.train_folds} models, as {written[0].parent.name}/{MODEL}"
            remedy = f"resume the training with --resume, or name a single one, as {written[0].parent}"
            raise BadInput(Problem("missing_model", str(self.folder), found, "all models of the run", remedy))

    @property
    def models(self) -> list[Path]:
        """The model files; a `BadInput` if there are none."""
        written = self.written
        if not written:
            remedy = "name the folder that `tallymark train … --out` wrote, or resume it with --resume"
            raise BadInput(Problem("no_model", str(self.folder), f"no {MODEL}", "the folder of a training", remedy))
        return written

    def refuse(self, recipe: Recipe, *, resume: bool, **facts: object) -> None:
        """Refuse a folder that is in use, unless it is resumed with the same recipe.

        facts: what must be as it was when the training began, of what `begin` wrote down.
        """
        stated = self.folder / RECIPE
        if resume and stated.exists():
            if (before := self._stated_recipe(recipe)) != recipe:
                own, other = asdict(recipe), asdict(before)
                name = next(name for name in own if own[name] != other[name])
                found, expected = f"{name}={own[name]}", f"{name}={other[name]}, as the training began"
                raise BadInput(Problem("other_recipe", str(stated), found, expected, "give the same, or a new folder"))
            self._refuse_facts(facts)
            return
        if resume and (self.folder / ENVIRONMENT).exists():
            return  # the recipe was damaged, and was deleted as the user was told
        if self.folder.exists() and (not self.folder.is_dir() or holds_files(self.folder)):
            remedy = "name a new folder" if resume else "name a new folder, or resume with --resume"
            raise BadInput(Problem("not_empty", str(self.folder), "files", "a new or empty folder", remedy))

    def _refuse_facts(self, facts: Mapping[str, object]) -> None:
        """Refuse to resume with other classes: the outputs of the network would mean something else."""
        before = self.facts
        for name, value in facts.items():
            if name in before and before[name] != value:
                found, expected = (f"{name} {shorten(str(one), 200)}" for one in (value, before[name]))
                remedy = "give the same data, or a new folder"
                path = str(self.folder / ENVIRONMENT)
                raise BadInput(Problem("other_data", path, found, f"{expected}, as the training began", remedy))

    def begin(self, recipe: Recipe, **facts: object) -> None:
        """Make the folder; one that is resumed only gets what it lacks. facts: what to write down beside the recipe."""
        make_folder(self.folder)
        if not (self.folder / RECIPE).exists():
            recipe.save(self.folder / RECIPE)
        if not self.facts:
            write_json(self.folder / ENVIRONMENT, {"started": _now(), **facts, **environment()})

    def end(
        self,
        tuning: Tuning,
        score: Score,
        problems: Problems,
        curve: RecallCurve | None = None,
        folds: Folds | None = None,
    ) -> None:
        """Write the results. folds: those by which groups were left out one by one."""
        write_json(self.folder / ENVIRONMENT, {**self.facts, "finished": _now()})
        write_json(self.folder / SCORE, score.as_dict())
        write_frame(self.folder / TUNING, tuning.curve)
        if curve is not None:
            write_frame(self.folder / RECALL, curve.table)
        if folds is not None:
            folds.save(self.folder / FOLDS)
            write_frame(self.folder / GROUPS, score.analyses[HELD_OUT_GROUPS].tables[TITLE])
        rows = [asdict(problem) for problem in problems]
        (self.folder / PROBLEMS).unlink(missing_ok=True)  # of a training before, which this one resumed
        if rows:
            write_frame(self.folder / PROBLEMS, pl.DataFrame(rows, infer_schema_length=None))

    @property
    def left_out(self) -> Folds | None:
        """The folds of a training that left out one group after the other; None for other trainings."""
        path = self.folder / FOLDS
        return read_folds(path) if path.exists() else None

    @property
    def facts(self) -> dict[str, object]:
        """What is written down beside the recipe; nothing if the file is missing, empty or cut.

        A `BadInput` if the system fails to read it: what is in it must not be written anew without it.
        """
        problems = Problems()
        stated = read_json(self.folder / ENVIRONMENT, problems)
        if UNREADABLE in problems.counts and (self.folder / ENVIRONMENT).exists():
            raise BadInput(problems)
        return stated if isinstance(stated, dict) else {}

    def _stated_recipe(self, recipe: Recipe) -> Recipe:
        """The recipe that a training began with; a `BadInput` that says how to resume if its file is damaged."""
        path = self.folder / RECIPE
        found = ""
        try:
            stated = read_recipe(path)
            if missing := asdict(recipe).keys() - tomllib.loads(path.read_text("utf-8")).keys():
                found = f"no {min(missing)}"
        except BadInput as bad:
            found = next(iter(bad.problems)).found
        if found:
            remedy = "delete it: --resume then takes the settings of the command, which must be those of the first one"
            raise BadInput(Problem("bad_recipe", str(path), found, "all settings of the training", remedy))
        return stated


def environment() -> dict[str, object]:
    """What results may depend on."""
    names = ("tallymark", "numpy", "torch", "onnxruntime", "opencv-python-headless")
    packages = {name: version_of(name) for name in names}
    machine = {"system": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count()}
    return {"python": platform.python_version(), "packages": packages, **machine}


def _fold_order(path: Path) -> tuple[int, str]:
    """Fold 10 comes after fold 9."""
    name = path.parent.name
    return len(name), name


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")
