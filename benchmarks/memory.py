"""Memory: peak memory of `tallymark predict` on short and long recordings.

    python -m benchmarks.memory [--hours 0.5 10] [--rate 2000] [--runtime onnxruntime]

Each recording, of noise, is predicted by a process of its own. A recording is streamed, so that the peak should not
depend on its length. The weights are random: training changes nothing but the predictions.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import get_args

import numpy as np

import tallymark
from benchmarks.harness import peak_memory, run_apart
from tallymark.api import models as api_models
from tallymark.core.recipe import head_groups_of
from tallymark.inference.metadata import ModelMetadata
from tallymark.inference.predictor import Predictor
from tallymark.inference.session import Runtime

CHUNK_SECONDS = 600
"""Noise that is written at once."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, nargs="+", default=[0.5, 10.0])
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--runtime", choices=get_args(Runtime), default="onnxruntime")
    parser.add_argument("--only", nargs=2, metavar=("MODEL", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        print(json.dumps(predict(*map(Path, given.only), given.runtime)))
        return
    print("| recording | runtime | peak MB | of the first |")
    print("| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as temporary:
        model = write_model(Path(temporary) / "model.onnx")
        first = None
        for hours in given.hours:
            folder = write_recording(Path(temporary) / f"{hours:g}", hours, given.rate)
            only = ("--only", str(model), str(folder), "--runtime", given.runtime)
            peak = run_apart("benchmarks.memory", *only)["peak_mb"]
            first = first or peak
            print(f"| {hours:g} h at {given.rate} Hz | {given.runtime} | {peak} | {peak / first:.2f} |", flush=True)


def predict(model: Path, folder: Path, runtime: Runtime) -> dict[str, int]:
    """Predict a folder in this process; its peak memory."""
    Predictor([model], runtime).predict(tallymark.read("upcalls", folder))
    return {"peak_mb": peak_memory()}


def write_model(path: Path) -> Path:
    """A model file with random weights."""
    from tallymark.training.export import export
    from tallymark.training.network import make_network

    recipe = api_models.find_preset("upcalls", "small")
    export(make_network(recipe, 1, head_groups_of(recipe, ())).eval(), ModelMetadata("upcalls", recipe, ()), path)
    return path


def write_recording(folder: Path, hours: float, rate: int) -> Path:
    """A folder with one recording of noise."""
    import soundfile

    folder.mkdir()
    rng = np.random.default_rng(0)
    with soundfile.SoundFile(folder / "A_20090328_000000.wav", "w", rate, 1, "PCM_16") as file:
        for _ in range(round(hours * 3600 / CHUNK_SECONDS)):
            file.write(0.05 * rng.standard_normal(CHUNK_SECONDS * rate, np.float32))
    return folder


if __name__ == "__main__":
    main()
