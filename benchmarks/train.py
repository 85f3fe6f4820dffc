"""Training: samples per second of the whole loop, beside the bare forward and backward pass of the same network.

    python -m benchmarks.train [CHALLENGE ...] [--preset small] [--set KEY=VALUE] [--rounds N] [--threads N]
                              [--out FOLDER]

Both take turns in one process, so that other work on the machine affects both. Our loop reads, decodes, crops, augments
and stacks samples, draws targets, computes all losses, clips gradients, updates the weights and their moving average;
the bare one gets the same batch every time, and sums the network's outputs in place of a loss.
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
from tallymark.core.options import parse_assignments
from tallymark.core.recipe import Recipe, head_groups_of
from tallymark.core.registry import challenge_names
from tallymark.modalities import modality_of
from tallymark.training.batches import Batches
from tallymark.training.devices import Rank, join_ranks
from tallymark.training.loop import Trainer
from tallymark.training.network import make_network

STEPS = 6
"""Batches in a turn."""
ITEMS = {"upcalls": 8}
"""Of a data set, where 96 are too many."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("challenges", nargs="*", default=challenge_names(), metavar="CHALLENGE")
    parser.add_argument("--preset", default="small")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a field of the recipe")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out" / "train")
    arguments = parser.parse_args()
    print("| recipe | precision | threads | bare samples per second | whole loop | of the bare network |")
    print("| --- | --- | --- | --- | --- | --- |")
    with join_ranks() as rank:
        for name in arguments.challenges:
            recipe = tallymark.find_preset(name, arguments.preset).replace(**parse_assignments(arguments.set))
            title = " ".join([name, arguments.preset, *arguments.set])
            compare(name, title, recipe, arguments.rounds, arguments.threads, arguments.out, rank)


def compare(name: str, title: str, recipe: Recipe, rounds: int, threads: int | None, out: Path, rank: Rank) -> None:
    folder = out / name
    if not folder.exists():
        tallymark.synth(name, folder, items=ITEMS.get(name, 96))
    catalog = tallymark.read(name, folder).with_truth().in_split("train")
    names = catalog.truth.classes
    classes = max(len(names), 1)
    batches = Batches(modality_of(recipe).dataset(catalog, recipe), recipe, classes)
    network = make_network(recipe, classes, head_groups_of(recipe, names))
    with tempfile.TemporaryDirectory() as temporary:
        trainer = Trainer(network, batches, recipe, Path(temporary), rank, threads)
        trainer._start(resume=False)
    endless = (batch for epoch in range(10**6) for batch in batches.epoch(epoch, lambda batch: True))
    for _ in range(len(batches)):  # every item is decoded once before it counts, as in any later epoch
        batch = next(endless)
    fixed = batch.inputs.to(rank.device)

    def whole() -> None:
        trainer._train_step(trainer.network, next(endless), 0.0)

    def bare() -> None:
        trainer.network.train()
        with torch.autocast(rank.device.type, trainer.precision, enabled=trainer.precision != torch.float32):
            outputs = trainer.network(fixed.float())
        torch.stack([part.float().mean() for part in outputs.values()]).sum().backward()
        trainer.optimizer.zero_grad(set_to_none=True)

    both = {bare: list[float](), whole: list[float]()}
    for turn in range(rounds + 1):
        for call, seconds in both.items():
            took = timed(call)
            if turn:  # the first turn warms up
                seconds.append(took)
    rates = [recipe.batch_size * STEPS / statistics.median(seconds) for seconds in both.values()]
    precision = str(trainer.precision).removeprefix("torch.")
    columns = [title, precision, torch.get_num_threads(), f"{rates[0]:.1f}", f"{rates[1]:.1f}"]
    print(f"| {' | '.join(map(str, columns))} | {rates[1] / rates[0]:.2f} |", flush=True)


def timed(call: Callable[[], None]) -> float:
    started = time.perf_counter()
    for _ in range(STEPS):
        call()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
