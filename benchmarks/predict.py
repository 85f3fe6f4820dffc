"""Inference: throughput of `tallymark predict` on a folder, beside the bare model of the same file.

    python -m benchmarks.predict [CHALLENGE ...] [--preset small] [--rounds N] [--threads 2]

All take turns in one process, so that a busy machine slows them alike. End to end reads and decodes files, computes
spectrograms or bird's-eye views, runs the model, decodes and post-processes. The bare model is given one tile again and
again, as often as there are tiles in the files: once with all threads for one tile, as is usual, and once with one
thread for each of several tiles, which is the most that the machine can do. The weights are random: training changes
nothing but the predictions.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np

import tallymark
from tallymark.api import models as api_models
from tallymark.core.recipe import head_groups_of
from tallymark.data.catalog import Catalog
from tallymark.inference.metadata import ModelMetadata
from tallymark.inference.predictor import Predictor
from tallymark.inference.session import Runtime, Session
from tallymark.modalities import modality_of
from tallymark.training.export import export
from tallymark.training.network import make_network

HOURS = {2000: 6.0, 32000: 3.0}
"""Hours of recordings at each sample rate: that of the development set and that of the test set."""
SECONDS = 1800
"""Length of a recording, as in the official test set."""
SWEEPS = 120


class Work(NamedTuple):
    """A data set to predict: its name, how much of which unit it holds."""

    name: str
    amount: float
    unit: str
    catalog: Catalog


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("challenges", nargs="*", default=list(MAKERS), metavar="CHALLENGE")
    parser.add_argument("--preset", default="small")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # threads that read ahead get no core of their own
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.threads])
    print("| data | runtime | bare, per second | bare, concurrent | end to end | of bare | of bare, concurrent |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in given.challenges:
        for runtime in get_args(Runtime):
            if find_spec(runtime) is not None:
                with tempfile.TemporaryDirectory() as temporary:
                    for work in MAKERS[name](Path(temporary)):
                        compare(name, work, given.preset, runtime, given.threads, given.rounds)


def upcalls(folder: Path) -> Iterator[Work]:
    """Noise at two sample rates."""
    import soundfile

    rng = np.random.default_rng(0)
    for rate, hours in HOURS.items():
        (folder / str(rate)).mkdir()
        for number in range(round(hours * 3600 / SECONDS)):
            samples = 0.05 * rng.standard_normal(SECONDS * rate, np.float32)
            path = folder / str(rate) / f"A_20090328_{number:02}0000.wav"
            soundfile.write(path, samples, rate, subtype="PCM_16")
        yield Work(f"upcalls, {rate} Hz", hours, "h", tallymark.read("upcalls", folder / str(rate)))


def lyft(folder: Path) -> Iterator[Work]:
    """Synthetic sweeps."""
    tallymark.synth("lyft", folder / "set", items=SWEEPS, cameras="none")
    yield Work("lyft", SWEEPS, "sweeps", tallymark.read("lyft", folder / "set"))


def compare(name: str, work: Work, preset: str, runtime: Runtime, threads: int, rounds: int) -> None:
    """Print a row: the bare model with all threads for a tile, with one for each tile, and the whole pipeline."""
    recipe = api_models.find_preset(name, preset)
    catalog = work.catalog
    classes = () if catalog.truth is None else catalog.truth.classes
    modality = modality_of(recipe)
    tiles = [tile.data for tile in modality.open(catalog, 0, recipe).tiles]
    count = len(tiles) * len(catalog)
    example = modality.rasterizer(recipe)(tiles[0])[None]
    with tempfile.TemporaryDirectory() as temporary:
        model = Path(temporary) / "model.onnx"
        network = make_network(recipe, max(len(classes), 1), head_groups_of(recipe, classes))
        export(network.eval(), ModelMetadata(name, recipe, classes), model)
        predictor = Predictor([model], runtime, threads)
        shared = bare_model(model, runtime, threads)
    calls: list[Callable[[], object]] = [
        lambda: [shared(example) for _ in range(count)],
        lambda: run_concurrently(predictor.sessions[0], example, count, threads),
        lambda: predictor.predict(catalog),
    ]
    seconds: list[list[float]] = [[] for _ in calls]
    for turn in range(rounds + 1):
        for call, took in zip(calls, seconds, strict=True):
            begun = time.perf_counter()
            call()
            if turn:  # the first turn warms up
                took.append(time.perf_counter() - begun)
    bare, concurrent, whole = (work.amount / statistics.median(took) for took in seconds)
    speeds = (f"{speed:.3g} {work.unit}" for speed in (bare, concurrent, whole))
    ratios = (f"{whole / bare:.2f}", f"{whole / concurrent:.2f}")
    print("|", " | ".join([f"{work.name}, {preset}", runtime, *speeds, *ratios]), "|", flush=True)


def bare_model(model: Path, runtime: Runtime, threads: int) -> Callable[[np.ndarray], object]:
    """A model file as its runtime opens it, with all threads for one call."""
    if runtime == "openvino":
        import openvino

        compiled: Callable[[np.ndarray], object] = openvino.Core().compile_model(
            str(model), "CPU", {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
        )
        return compiled
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda tile: session.run(None, {name: tile})


def run_concurrently(session: Session, tile: np.ndarray, count: int, threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: session(tile), range(count)))


MAKERS: dict[str, Callable[[Path], Iterator[Work]]] = {"upcalls": upcalls, "lyft": lyft}


if __name__ == "__main__":
    main()
