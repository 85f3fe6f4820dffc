"""Predicting: what `tallymark predict` makes of a folder in a second, beside the bare model of the same file.

    python -m benchmarks.predict [CHALLENGE ...] [--preset small] [--rounds N] [--threads 2]

All take turns in one process, so that a machine's bad moments hit them alike. Ours reads and decodes files, resamples
sound and computes spectrograms, or counts the points of sweeps in bins, shows that to the model, and settles on
findings. The bare model gets one window again and again, as much as there is in the files: once with all threads on
one window, as is usual, and once with a window for each thread, which is the most that the machine can do. The model
is not trained: that changes nothing but what is found.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np

import tallymark
from tallymark.api import models as api_models
from tallymark.core.recipe import head_groups_of
from tallymark.detector.network import make_network
from tallymark.inference.metadata import Metadata
from tallymark.inference.predictor import Predictor
from tallymark.inference.session import Runtime, Session
from tallymark.modalities.image.resize import BLOCK
from tallymark.modalities.lidar.sweeps import bev_input, read_scan
from tallymark.modalities.tiling import TILE_FRAMES
from tallymark.training.export import export
from tallymark.training.train import class_names

RATES = {2000: 6.0, 32000: 3.0}
"""Samples a second of the recordings, and how many hours of these there are."""
FILE = 1800
"""Seconds of a recording, as in the official test set."""


LIDAR_SUFFIXES = 120


class Contenders(NamedTuple):
    """Calls that do the same amount of work, how much that is, and in which unit a second of it is told."""

    what: str
    amount: float
    unit: str
    bare: Callable[[], object]
    beside: Callable[[], object]
    whole: Callable[[], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("challenges", nargs="*", default=list(MAKERS), metavar="CHALLENGE")
    parser.add_argument("--preset", default="small")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # what reads ahead gets no core of its own
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.threads])
    print("| what | runtime | bare, a second | bare, side by side | end to end | of the bare | of that side by side |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in arguments.challenges:
        for runtime in get_args(Runtime):
            if find_spec(runtime) is not None:
                MAKERS[name](arguments.preset, runtime, arguments.threads, arguments.rounds)


def upcalls(preset: str, runtime: Runtime, threads: int, rounds: int) -> None:
    """Hours of audio in a second, at the rate of the development set and at that of the test set."""
    with tempfile.TemporaryDirectory() as temporary:
        model, recipe = Path(temporary) / "model.onnx", api_models.find_preset("upcalls", preset)
        export(make_network(recipe, 1).eval(), Metadata("upcalls", recipe), model)
        predictor, shared = Predictor([model], runtime, threads), bare_model(model, runtime, threads)
        for rate, hours in RATES.items():
            folder = Path(temporary) / str(rate)
            make_noise(folder, rate, hours)
            catalog = tallymark.read("upcalls", folder)
            frames = hours * 3600 / recipe.hop_seconds
            calls = range(round(frames / TILE_FRAMES))
            width = round(frames / len(calls) / BLOCK) * BLOCK
            window = np.random.default_rng(0).standard_normal((1, recipe.n_bins, width, 1)).astype(np.float32)
            compare(
                Contenders(
                    f"upcalls {preset}, {rate} Hz",
                    hours,
                    "h",
                    lambda calls=calls, window=window: [shared(window) for _ in calls],
                    lambda calls=calls, window=window: side_by_side(predictor.sessions[0], window, calls, threads),
                    lambda catalog=catalog: predictor.predict(catalog),
                ),
                runtime,
                rounds,
            )


def lyft(preset: str, runtime: Runtime, threads: int, rounds: int) -> None:
    """Sweeps in a second."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, model, recipe = (
            Path(temporary) / "set",
            Path(temporary) / "model.onnx",
            api_models.find_preset("lyft", preset),
        )
        tallymark.synth("lyft", folder, items=LIDAR_SUFFIXES, cameras="none")
        catalog = tallymark.read("lyft", folder)
        classes = class_names(catalog)
        groups = head_groups_of(recipe, classes)
        export(make_network(recipe, len(classes), groups).eval(), Metadata("lyft", recipe, classes), model)
        predictor, shared = Predictor([model], runtime, threads), bare_model(model, runtime, threads)
        window = bev_input(read_scan(catalog, 0, recipe.sweeps).points, recipe)[None]
        compare(
            Contenders(
                f"lyft {preset}",
                LIDAR_SUFFIXES,
                "sweeps",
                lambda: [shared(window) for _ in range(LIDAR_SUFFIXES)],
                lambda: side_by_side(predictor.sessions[0], window, range(LIDAR_SUFFIXES), threads),
                lambda: predictor.predict(catalog),
            ),
            runtime,
            rounds,
        )


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
    return lambda window: session.run(None, {name: window})


def make_noise(folder: Path, rate: int, hours: float) -> None:
    import soundfile

    folder.mkdir()
    chance = np.random.default_rng(0)
    for number in range(round(hours * 3600 / FILE)):
        samples = 0.05 * chance.standard_normal(FILE * rate, np.float32)
        soundfile.write(folder / f"A_20090328_{number:02}0000.wav", samples, rate, subtype="PCM_16")


def side_by_side(session: Session, window: np.ndarray, calls: range, threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: session(window), calls))


def compare(contenders: Contenders, runtime: str, rounds: int) -> None:
    calls = contenders.bare, contenders.beside, contenders.whole
    seconds: list[list[float]] = [[] for _ in calls]
    for turn in range(rounds + 1):
        for call, took in zip(calls, seconds, strict=True):
            begun = time.perf_counter()
            call()
            if turn:  # the first turn warms up
                took.append(time.perf_counter() - begun)
    bare, beside, whole = (contenders.amount / statistics.median(took) for took in seconds)
    speeds = (f"{speed:.3g} {contenders.unit}" for speed in (bare, beside, whole))
    shares = f"{whole / bare:.2f}", f"{whole / beside:.2f}"
    print("|", " | ".join([contenders.what, runtime, *speeds, *shares]), "|", flush=True)


MAKERS: dict[str, Callable[[str, Runtime, int, int], None]] = {"upcalls": upcalls, "lyft": lyft}


if __name__ == "__main__":
    main()
