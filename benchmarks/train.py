"""Training: windows a second of the whole loop, beside the bare forward and backward pass of the same network.

    python -m benchmarks.train [CHALLENGE ...] [--preset small] [--rounds N] [--out FOLDER]

Both take turns in one process, so that a machine's bad moments hit both. Ours reads, decodes, cuts, augments and stacks
what it learns from, draws targets, computes all losses, clips, steps and averages the weights; the bare one gets one
batch again and again, and sums the network's outputs in place of a loss.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

import tallymark
from tallymark.api import models as api_models
from tallymark.core.recipe import head_groups_of
from tallymark.core.registry import challenge_names
from tallymark.training.batches import Batches
from tallymark.training.devices import Place, join_ranks
from tallymark.training.loop import Trainer
from tallymark.training.network import make_network
from tallymark.training.train import class_names, make_dataset

STEPS = 6
"""Batches in a turn."""
ITEMS = {"upcalls": 8}
"""Of a data set, where 96 are too many."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("challenges", nargs="*", default=challenge_names(), metavar="CHALLENGE")
    parser.add_argument("--preset", default="small")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out" / "train")
    arguments = parser.parse_args()
    print("| recipe | bare windows a second | whole loop | of the bare network |")
    print("| --- | --- | --- | --- |")
    with join_ranks() as place:
        for name in arguments.challenges:
            compare(name, arguments.preset, arguments.rounds, arguments.out, place)


def compare(name: str, preset: str, rounds: int, out: Path, place: Place) -> None:
    folder = out / name
    if not folder.exists():
        tallymark.synth(name, folder, items=ITEMS.get(name, 96))
    recipe = api_models.find_preset(name, preset)
    catalog = tallymark.read(name, folder)
    known = catalog.select(catalog.labelled).in_split("train")
    names = class_names(known)
    classes = max(len(names), 1)
    batches = Batches(make_dataset(known, recipe), recipe, classes)
    with tempfile.TemporaryDirectory() as temporary:
        fit = Trainer(
            make_network(recipe, classes, head_groups_of(recipe, names)), batches, recipe, Path(temporary), place
        )
    endless = (batch for epoch in range(10**6) for batch in batches.epoch(epoch, lambda k: False))
    for _ in range(len(batches)):  # every picture is decoded once before it counts, as in any later epoch
        batch = next(endless)
    fixed = batch.pictures.to(place.device)

    def whole() -> None:
        fit._learn(fit.network, next(endless), 0.0)

    def bare() -> None:
        fit.network.train()
        with torch.autocast(place.device.type, fit.precision, enabled=fit.precision != torch.float32):
            maps = fit.network(fixed.float())
        torch.stack([part.float().mean() for part in maps.values()]).sum().backward()
        fit.optimizer.zero_grad(set_to_none=True)

    both = {bare: list[float](), whole: list[float]()}
    for turn in range(rounds + 1):
        for call, seconds in both.items():
            took = timed(call)
            if turn:  # the first turn warms up
                seconds.append(took)
    rates = [recipe.batch_size * STEPS / statistics.median(seconds) for seconds in both.values()]
    print(f"| {name} {preset} | {rates[0]:.1f} | {rates[1]:.1f} | {rates[1] / rates[0]:.2f} |", flush=True)


def timed(call: Callable[[], None]) -> float:
    begun = time.perf_counter()
    for _ in range(STEPS):
        call()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
