"""Quantisation: the models of a run in int8, with what that gains in speed and costs in score."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tallymark.api.acknowledgements import ACKNOWLEDGEMENTS
from tallymark.api.data import PathLike, read
from tallymark.api.models import open_model
from tallymark.api.quantized_run import MeasuredModels, QuantizedRun
from tallymark.core.console import counting
from tallymark.core.humanize import plural
from tallymark.core.options import parse_options
from tallymark.core.outputs import filling, make_folder, write_bytes, write_json
from tallymark.core.planned_outputs import refuse_outputs
from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.core.registry import challenge
from tallymark.data.catalog import Catalog
from tallymark.inference.calibration import calibration_tiles, choose_items, items_trained_on
from tallymark.inference.metadata import KEY
from tallymark.inference.onnx_file import read_model, with_metadata
from tallymark.inference.predictor import Predictor
from tallymark.inference.quantization import quantize_model
from tallymark.inference.read_items import only_read
from tallymark.inference.run import MODEL, RECIPE
from tallymark.inference.runtimes.comparison import time_runs
from tallymark.inference.session import Session
from tallymark.modalities import modality_of
from tallymark.scoring.score import Score

QUANTIZATION = "quantization.json"
"""The result, in the folder of the new run."""
COPIED = (RECIPE, ACKNOWLEDGEMENTS)
"""Files of a run that its quantised models need too."""
MAX_SECONDS = 10.0
"""How long the speed of both is measured, at most."""
FACT = "quantized"
"""The fact in the metadata of a quantised model: its source, and what it was calibrated on."""


def quantize(
    run: PathLike,
    calibrate: PathLike,
    out: PathLike | None = None,
    *,
    items: int = 64,
    threads: int | None = None,
    force: bool = False,
    rule_options: Mapping[str, Any] | None = None,
) -> QuantizedRun:
    """Write the models of a run in int8, which are smaller and faster, and measure what that costs in score.

    Parameters
    ----------
    run: a run, a model file, or the name of a challenge with a pretrained model.
    calibrate: a folder of items like those to predict. Where they are annotated, the score of both is measured.
    out: the new run; a model file if it ends in `.onnx`. By default the name of the run with `-int8`.
    items: how many items the range of activations is measured on.
    threads: CPU threads; by default as many as there are free cores.
    force: replace a model file that exists.

    Examples
    --------
    >>> tallymark.quantize("run", "photographs").speedup  # doctest: +SKIP
    """
    if items < 1:
        raise BadInput(Problem("bad_option", "quantize", f"items={items}", "a number above 0", "give e.g. 64"))
    if find_spec("onnx") is None:
        found, remedy = "no onnx", "pip install 'tallymark[train]'"
        raise BadInput(Problem("not_installed", "quantize", found, "the package that changes model files", remedy))
    before = open_model(run, threads=threads)
    target = _default_out(run) if out is None else Path(out)
    _refuse(before, target, str(run), force=force)
    given = dict(rule_options or {})
    parse_options(challenge(before.metadata.challenge).rule_options, given)
    catalog = read(before.metadata.challenge, calibrate, **given).with_media()
    sources = [session.path for session in before.sessions]
    chosen = choose_items(catalog, items_trained_on(sources), items)
    problems = Problems(EVERY)
    problems.merge(catalog.notes)
    with tempfile.TemporaryDirectory() as temporary:
        models = {name: Path(temporary) / name for name in _names(sources)}
        for number, (session, path) in enumerate(zip(before.sessions, models.values(), strict=True)):
            make_folder(path.parent)
            unread = problems if number == 0 else Problems()  # each model is shown the same items
            write_bytes(path, _quantized(session, catalog.select(chosen.calibration), unread))
        after = Predictor(list(models.values()), threads=threads)
        result = QuantizedRun(
            str(run),
            target,
            *_measure(before, after, catalog.select(chosen.evaluation), given),
            calibrated=len(chosen.calibration),
            evaluated=len(chosen.evaluation),
            held_out=chosen.held_out,
            noun=catalog.medium.noun,
            problems=problems,
        )
        _write(result, models)
    return result


def _default_out(run: PathLike) -> Path:
    path = Path(run)
    path = path.resolve() if path.name in ("", "..") else path  # a run that is the current folder, or above it
    return path.with_name(f"{path.stem}-int8.onnx") if path.suffix == ".onnx" else path.with_name(f"{path.name}-int8")


def _refuse(predictor: Predictor, out: Path, run: str, *, force: bool) -> None:
    """Refuse outputs that cannot be written, and models that are quantised already."""
    if out.suffix == ".onnx" and len(predictor.sessions) > 1:
        found, remedy = f"a run of {len(predictor.sessions)} models", f"name a folder, as {out.with_suffix('')}"
        raise BadInput(Problem("bad_path", str(out), found, "a folder for all of them", remedy))
    single = out.suffix == ".onnx"
    refuse_outputs([out] if single else [], [] if single else [out], inputs=[run], force=force and single)
    for session in predictor.sessions:
        if FACT in session.metadata.facts:
            expected, remedy = "a model in float", "name the run that it was made from"
            raise BadInput(Problem("already_quantized", str(session.path), "a model in int8", expected, remedy))


def _names(models: list[Path]) -> list[str]:
    """The names of model files within their run."""
    return [MODEL] if len(models) == 1 else [f"{path.parent.name}/{MODEL}" for path in models]


def _quantized(session: Session, catalog: Catalog, problems: Problems) -> bytes:
    """A model in int8, with the metadata of its source, and where it comes from."""
    data = read_model(session.path)
    with counting("calibrating", len(catalog)) as advance:
        quantized = quantize_model(data, calibration_tiles(catalog, session, problems, advance))
    source = {"source": hashlib.sha256(data).hexdigest(), "calibrated_on": plural(len(catalog), catalog.medium.noun)}
    metadata = replace(session.metadata, facts={**session.metadata.facts, FACT: {"weights": "int8", **source}})
    return with_metadata(quantized, KEY, metadata.text())


def _measure(
    before: Predictor, after: Predictor, catalog: Catalog, given: Mapping[str, Any]
) -> tuple[MeasuredModels, MeasuredModels]:
    """Size, speed and, of annotated items, score of both."""
    recipe = before.metadata.recipe
    tile = modality_of(recipe).synthetic_tile(recipe, np.random.default_rng(0))[None]
    runs = {"before": before.sessions[0], "after": after.sessions[0]}
    seconds = time_runs(runs, tile, time.monotonic() + MAX_SECONDS)

    def measured(predictor: Predictor, seconds: float) -> MeasuredModels:
        sessions = predictor.sessions
        size = sum(session.path.stat().st_size for session in sessions)
        return MeasuredModels(size, len(sessions) * seconds, sessions[0].runtime_id, _score(predictor, catalog, given))

    return measured(before, seconds["before"]), measured(after, seconds["after"])


def _score(predictor: Predictor, catalog: Catalog, given: Mapping[str, Any]) -> Score | None:
    """The score of annotated items, without test-time augmentation; None if there are none, or of other classes."""
    if not len(catalog) or catalog.truth is None or catalog.truth.classes != predictor.metadata.classes:
        return None
    what = challenge(predictor.metadata.challenge)
    result = only_read(predictor.predict(catalog, tta=1))
    read = result.catalog.with_truth()
    rule = what.rule_on(read, what.parse_rule_options(given, read.root, read.truth.classes), given)
    return rule(read.truth, result.predictions)


def _write(result: QuantizedRun, models: Mapping[str, Path]) -> None:
    """Write the model file, or the run with all that it needs."""
    if result.out.suffix == ".onnx":
        write_bytes(result.out, next(iter(models.values())).read_bytes())
        return
    with filling(result.out) as folder:
        for name, path in models.items():
            make_folder((folder / name).parent)
            shutil.copyfile(path, folder / name)
        for name in COPIED:
            if (Path(result.source) / name).is_file():
                shutil.copyfile(Path(result.source) / name, folder / name)
        write_json(folder / QUANTIZATION, result.as_dict())
