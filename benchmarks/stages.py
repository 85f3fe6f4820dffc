"""Stages of a prediction: CPU time of each for an item, with one thread, beside the bare network and all of it.

    python -m benchmarks.stages [CHALLENGE ...] [--items N] [--rounds N] [--set tta=1] [--model MODEL] [--data FOLDER]

CPU time says the same on a busy machine as on a quiet one, nearly. The bare network is given the tiles of these very
items, ready in memory, as the runtime of the predictor runs it. The stages are measured one after the other; end to end
is `Predictor.predict`, in the same process. All take turns, and the shortest time of each counts. Writing a submission
is not a part of end to end. Without a model, weights are random, so that there are many candidates.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import numpy as np

import tallymark
from benchmarks.models import write_untrained
from benchmarks.predict import ITEMS, Work, works
from tallymark.core.console import quiet_progress
from tallymark.core.engines.choice import EngineChoice
from tallymark.core.options import parse_assignments
from tallymark.core.recipe import head_groups_of
from tallymark.detector.coders import CODERS
from tallymark.inference.journal_pages import read_page, write_page
from tallymark.inference.pipeline import DecodedTile, LoadedItem, collect, ensemble
from tallymark.inference.postprocess import postprocess
from tallymark.inference.predictor import Predictor
from tallymark.inference.session import Runtime
from tallymark.modalities import modality_of

STAGES = ("open", "rasterise", "network", "decode", "journal", "postprocess", "write")
RESIDENT = 12
"""Items whose tiles the bare network is given, at most: they are all in memory."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("challenges", nargs="*", default=["upcalls", *ITEMS], metavar="CHALLENGE")
    parser.add_argument("--preset", default="small")
    parser.add_argument("--model", help="a run, a model file, or a challenge; by default random weights of the preset")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a field of the recipe")
    parser.add_argument("--data", type=Path, help="a folder to predict, in place of synthetic data")
    parser.add_argument("--items", type=int, help="items of the folder, or of the synthetic data")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print("| data | runtime | bare |", *(f"{stage} |" for stage in STAGES), "end to end | ratio |")
    print("|", "--- |" * (len(STAGES) + 5))
    for name in given.challenges:
        with tempfile.TemporaryDirectory() as temporary:
            for work in works(name, Path(temporary), given.items, given.data):
                for runtime in [one for one in get_args(Runtime) if find_spec(one) is not None]:
                    _print_row(name, work, runtime, given)


def _print_row(name: str, work: Work, runtime: Runtime, given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as temporary, quiet_progress():
        model = tallymark.find_models(given.model)[0] if given.model else Path(temporary) / "model.onnx"
        if not given.model:
            classes = () if work.catalog.truth is None else work.catalog.truth.classes
            write_untrained(name, tallymark.find_preset(name, given.preset), classes, model)
        predictor = tallymark.open_model(model, runtime, threads=1)
        spent = measure(predictor, work, parse_assignments(given.set), given.rounds)
    cells = [f"{1000 * seconds / len(work.catalog):.2f}" for seconds in spent.values()]
    print("|", " | ".join([work.name, runtime, *cells, f"{spent['bare'] / spent['end to end']:.2f}"]), "|", flush=True)


def measure(predictor: Predictor, work: Work, fields: Mapping[str, Any], rounds: int) -> dict[str, float]:
    """CPU seconds of the bare network, each stage, and all of it, for all items."""
    catalog, session = work.catalog, predictor.sessions[0]
    recipe = predictor.metadata.recipe.replace(**fields)
    engine = EngineChoice(workers=1)
    predictor.predict(catalog.select(np.arange(1)), engine=engine, **fields)
    modality = modality_of(recipe)
    rasterize = modality.rasterizer(recipe)
    resident = [
        np.array(rasterize(tile.data))[None]
        for item in range(min(len(catalog), RESIDENT))
        for tile in modality.open(catalog, item, recipe).tiles
    ]
    count = round(len(resident) * len(catalog) / min(len(catalog), RESIDENT)) * recipe.tta
    best: dict[str, float] = {}
    for _ in range(rounds):
        watch = _Watch()
        for number in range(count):
            session(resident[number % len(resident)])
        watch.stop("bare")
        _measure_stages(predictor, work, recipe, watch)
        predictor.predict(catalog, engine=engine, **fields)
        watch.stop("end to end")
        best = {stage: min(seconds, best.get(stage, seconds)) for stage, seconds in watch.spent.items()}
    return best


def _measure_stages(predictor: Predictor, work: Work, recipe: Any, watch: _Watch) -> None:
    catalog, classes = work.catalog, predictor.metadata.classes
    modality, coder = modality_of(recipe), CODERS[recipe.task]
    rasterize, distance = modality.rasterizer(recipe), modality.peak_distance(recipe)
    groups = np.array(head_groups_of(recipe, classes), np.int64)
    size = np.full((len(catalog), 2), np.nan)
    decoded = []
    for item in range(len(catalog)):
        opened = modality.open(catalog, item, recipe)
        tiles = list(opened.tiles)
        size[item] = opened.size
        watch.stop("open")
        for tile in tiles:
            grid = rasterize(tile.data)
            watch.stop("rasterise")
            outputs = ensemble(grid, predictor.sessions, recipe)
            watch.stop("network")
            read = coder.read_outputs(outputs, tile.inside, recipe, groups, distance)
            shifted = read._replace(x=read.x + tile.x / recipe.stride, y=read.y + tile.y / recipe.stride)
            decoded.append(DecodedTile(LoadedItem(item, opened), shifted, opened.scale * (tile.x + tile.inside[2])))
            watch.stop("decode")
    candidates = collect(decoded, catalog.items, size, recipe, classes)
    with tempfile.TemporaryDirectory() as temporary:
        write_page(Path(temporary) / "items.page", candidates)
        stored = read_page(Path(temporary) / "items.page", recipe, classes)
        watch.stop("journal")
        predictions = postprocess(stored or candidates, recipe)
        watch.stop("postprocess")
        tallymark.write(predictor.metadata.challenge, predictions, Path(temporary) / "submission.csv")
        watch.stop("write")


class _Watch:
    """Adds the CPU time since the last stop to the stage that ends."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._since = time.process_time()

    def stop(self, stage: str) -> None:
        now = time.process_time()
        self.spent[stage] = self.spent.get(stage, 0.0) + now - self._since
        self._since = time.process_time()


if __name__ == "__main__":
    main()
