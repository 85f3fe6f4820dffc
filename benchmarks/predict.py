"""Inference: throughput of `tallymark predict` on a folder, beside the bare model of the same file, and beside a peer.

    python -m benchmarks.predict [CHALLENGE ...] [--preset small] [--rounds N] [--threads 2] [--workers 2]
    python -m benchmarks.predict wheat --model wheat --data FOLDER --set tta=1 --set resolution=0.75
    python -m benchmarks.predict wheat --data FOLDER --peer detector.onnx --size 640

All take turns in one process, so that a busy machine slows them alike. End to end reads and decodes files, computes
spectrograms or bird's-eye views, runs the model, decodes and post-processes; with workers, the start of their processes
is a part of it. The bare model is given one tile again and again, as often as there are tiles in the files: once with
all threads for one tile, as is usual, and once with one thread for each of several tiles, which is the most that the
machine can do. Without a model, weights are random: training changes nothing but the predictions. A peer is any
YOLO-style ONNX detector, timed on the same files from file to boxes: with all threads for one image, and with one
thread for each of several images. CPU time is that of all threads and processes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

import tallymark
from benchmarks.models import bare_model, write_untrained
from benchmarks.peers.onnx_detector import OnnxDetector
from tallymark.core.engines.choice import EngineChoice
from tallymark.core.options import parse_assignments
from tallymark.data.catalog import Catalog
from tallymark.inference.session import Runtime
from tallymark.modalities import modality_of

HOURS = {2000: 6.0, 32000: 3.0}
"""Hours of recordings at each sample rate: that of the development set and that of the test set."""
SECONDS = 1800
"""Length of a recording, as in the official test set."""
ITEMS = {"wheat": 96, "food": 400, "ships": 200, "lyft": 120}
SCENES: Mapping[str, Mapping[str, Any]] = {
    "wheat": {"size": 1024},
    "food": {"size": 512},
    "ships": {},
    "lyft": {"cameras": "none"},
}
"""Synthetic data in the sizes of the official ones."""
UNITS = {"lyft": "sweeps", "ships": "chips"}


class Work(NamedTuple):
    """A data set to predict: its name, how much of which unit it holds."""

    name: str
    amount: float
    unit: str
    catalog: Catalog


class Timed(NamedTuple):
    """Medians over rounds. seconds: wall clock. cpu: seconds of all threads and processes."""

    seconds: float
    cpu: float


def main() -> None:
    given = _arguments()
    if hasattr(os, "sched_setaffinity"):  # threads that read ahead get no core of their own
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.threads])
    fields = parse_assignments(given.set)
    print("| data | runtime | what | per second | ms per item | CPU ms per item | of bare, concurrent |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in given.challenges:
        with tempfile.TemporaryDirectory() as temporary:
            for work in works(name, Path(temporary), given.items, given.data):
                for runtime in [one for one in get_args(Runtime) if find_spec(one) is not None]:
                    compare(name, work, runtime, fields, given)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("challenges", nargs="*", default=["upcalls", *ITEMS], metavar="CHALLENGE")
    parser.add_argument("--preset", default="small")
    parser.add_argument("--model", help="a run, a model file, or a challenge; by default random weights of the preset")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a field of the recipe")
    parser.add_argument("--data", type=Path, help="a folder to predict, in place of synthetic data")
    parser.add_argument("--items", type=int, help="items of the folder, or of the synthetic data")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--workers", type=int, default=0, help="also with so many processes of one thread each")
    parser.add_argument("--peer", type=Path, help="a YOLO-style ONNX detector")
    parser.add_argument("--size", type=int, default=640, help="side of its input in pixels")
    return parser.parse_args()


def works(name: str, folder: Path, items: int | None, data: Path | None) -> Iterator[Work]:
    if data is not None:
        catalog = tallymark.read(name, data).with_media()
        catalog = catalog.select(np.arange(min(len(catalog), items or len(catalog))))
        yield Work(f"{name}, {len(catalog)} of {data.name}", len(catalog), UNITS.get(name, "images"), catalog)
    elif name == "upcalls":
        yield from _noise(folder)
    else:
        count = items or ITEMS[name]
        tallymark.synth(name, folder / "set", items=count, **SCENES[name])
        catalog = tallymark.read(name, folder / "set")
        yield Work(name, len(catalog), UNITS.get(name, "images"), catalog)


def _noise(folder: Path) -> Iterator[Work]:
    """Recordings of noise at two sample rates."""
    import soundfile

    rng = np.random.default_rng(0)
    for rate, hours in HOURS.items():
        (folder / str(rate)).mkdir()
        for number in range(round(hours * 3600 / SECONDS)):
            samples = 0.05 * rng.standard_normal(SECONDS * rate, np.float32)
            path = folder / str(rate) / f"A_20090328_{number:02}0000.wav"
            soundfile.write(path, samples, rate, subtype="PCM_16")
        yield Work(f"upcalls, {rate} Hz", hours, "h", tallymark.read("upcalls", folder / str(rate)))


def compare(name: str, work: Work, runtime: Runtime, fields: Mapping[str, Any], given: argparse.Namespace) -> None:
    """Print a row for each contender: bare model, the whole pipeline, with workers, and the peer."""
    catalog, threads = work.catalog, given.threads
    with tempfile.TemporaryDirectory() as temporary:
        model = tallymark.find_models(given.model)[0] if given.model else Path(temporary) / "model.onnx"
        if not given.model:
            classes = () if catalog.truth is None else catalog.truth.classes
            write_untrained(name, tallymark.find_preset(name, given.preset), classes, model)
        predictor = tallymark.open_model(model, runtime, threads)
        recipe = predictor.metadata.recipe.replace(**fields)
        modality = modality_of(recipe)
        tiles = [tile.data for tile in modality.open(catalog, 0, recipe).tiles]
        example = modality.rasterizer(recipe)(tiles[0])[None]
        each = sum(tile.size for tile in tiles) / tiles[0].size  # tiles of other sizes count by their size
        count = round(each * len(catalog)) * recipe.tta
        shared = bare_model(model, runtime, threads)
        apart = bare_model(model, runtime, 1, streams=threads)
        calls: dict[str, Callable[[], object]] = {
            "bare, all threads for a tile": lambda: [shared(example) for _ in range(count)],
            "bare, concurrent": lambda: _concurrently(apart, example, count, threads),
            "end to end": lambda: predictor.predict(catalog, engine=EngineChoice(workers=1), **fields),
        }
        if given.workers:
            engine = EngineChoice(workers=given.workers)
            calls[f"end to end, {given.workers} workers"] = lambda: predictor.predict(catalog, engine=engine, **fields)
        if given.peer:
            files = [path for path in map(catalog.path, range(len(catalog))) if path is not None]
            for way, concurrent in (("all threads for an image", False), ("concurrent", True)):
                peer = OnnxDetector(given.peer, given.size, runtime, threads, concurrent=concurrent)
                calls[f"{given.peer.stem} at {given.size} px, {way}"] = lambda peer=peer: peer.predict(files)
        timed = in_turns(list(calls.values()), given.rounds)
    bare = timed[1].seconds
    for what, one in zip(calls, timed, strict=True):
        row = [work.name, runtime, what, f"{work.amount / one.seconds:.3g} {work.unit}"]
        row += [f"{1000 * spent / len(catalog):.3g}" for spent in one] + [f"{bare / one.seconds:.2f}"]
        print("|", " | ".join(row), "|", flush=True)


def in_turns(calls: Sequence[Callable[[], object]], rounds: int) -> list[Timed]:
    """Each call in each round, after one round to warm up."""
    spent: list[list[Timed]] = [[] for _ in calls]
    for turn in range(rounds + 1):
        for call, took in zip(calls, spent, strict=True):
            begun, cpu = time.perf_counter(), sum(os.times()[:4])
            call()
            if turn:
                took.append(Timed(time.perf_counter() - begun, sum(os.times()[:4]) - cpu))
    return [Timed(*(statistics.median(column) for column in zip(*took, strict=True))) for took in spent]


def _concurrently(model: Callable[[np.ndarray], object], tile: np.ndarray, count: int, threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: model(tile), range(count)))


if __name__ == "__main__":
    main()
