"""A dry run: what a training takes on this machine, measured on a few of its steps, before hours are spent on it."""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from tallymark.core.console import as_text, counting, show_table
from tallymark.core.humanize import clock, count, number, plural
from tallymark.core.recipe import head_groups_of
from tallymark.core.resources import peak_memory
from tallymark.detector.network import Network
from tallymark.modalities import modality_of
from tallymark.modalities.base import Dataset
from tallymark.training.batches import Batches, ConcatDataset
from tallymark.training.devices import Rank, join_ranks
from tallymark.training.evaluator import Evaluator
from tallymark.training.linear_probe import MAX_IMAGES, starts_from_probe
from tallymark.training.loop import Trainer
from tallymark.training.network import make_network
from tallymark.training.train import HeldOutFold, TrainingPlan, hold_out

if TYPE_CHECKING:
    from rich.console import Console

WARM_UP, STEPS = 2, 6
"""Steps before any time counts, and steps that are timed."""
ENOUGH_SECONDS = 30.0
"""After so long, no further step is timed: large networks take minutes for one on a CPU."""
EVALUATED = 4
"""Held-out items that are predicted to time an evaluation."""
GPU_FLOPS = 10e12
"""Floating-point operations per second that a GPU is assumed to sustain, a fraction of what data sheets promise: small
networks are bound by memory."""
OPTIMISER_BYTES = 20
"""Bytes for each trained parameter: weight, gradient, two moments of AdamW, and EMA."""


@dataclass(frozen=True)
class DryRun:
    """What was measured and counted of a training. Prints as a table.

    models: one for each held-out fold. items, held_out: of the first fold. parameters: of the network; trained: those
    that are not frozen. probed: items of the linear probe before the first step; 0 without one. steps: of one model;
    evaluations: during them. step_seconds: of a step, with loading and augmentation; item_seconds: of an item in an
    evaluation. step_flops: floating-point operations of a step. activation_bytes: kept from the forward pass for the
    backward pass. peak_bytes: memory of the device, or on a CPU of the whole process with its data. minutes: the time
    budget, in place of the steps.
    """

    device: str
    precision: str
    threads: int
    models: int
    items: int
    held_out: int
    parameters: int
    trained: int
    probed: int
    epochs: int
    steps: int
    evaluations: int
    batch_size: int
    step_seconds: float
    item_seconds: float
    step_flops: int
    activation_bytes: int
    peak_bytes: int | None
    minutes: float | None = None

    @property
    def seconds(self) -> float:
        """Of all trainings together, their evaluations included; decoding the items for the first time is not."""
        evaluating = self.evaluations * self.held_out * self.item_seconds
        return self.models * (self.probe_seconds + self.steps * self.step_seconds + evaluating)

    @property
    def probe_seconds(self) -> float:
        """Of the linear probe of one model."""
        return self.probed * self.item_seconds

    @property
    def epochs_in_time(self) -> float:
        """Epochs of each model within the time budget; those of the recipe without one."""
        if self.minutes is None:
            return self.epochs
        probing = self.models * self.probe_seconds
        return self.epochs * max(60 * self.minutes - probing, 0.0) / (self.seconds - probing)

    @property
    def network_bytes(self) -> int:
        """Memory that the network needs in training on any device: activations, weights and optimiser."""
        return self.activation_bytes + OPTIMISER_BYTES * self.trained + 8 * (self.parameters - self.trained)

    @property
    def gpu_seconds(self) -> float:
        """Of all trainings on a GPU that sustains `GPU_FLOPS`, if loading keeps up with it."""
        return self.models * self.steps * self.step_flops / GPU_FLOPS

    def as_dict(self) -> dict[str, object]:
        """The form that `--json` prints."""
        projected = {"seconds": self.seconds, "epochs_in_time": self.epochs_in_time}
        return {**asdict(self), **projected, "network_bytes": self.network_bytes, "gpu_seconds": self.gpu_seconds}

    def __str__(self) -> str:
        return as_text(self.show)

    def show(self, to: Console) -> None:
        """Print it as a table of two columns."""
        show_table("dry run: nothing was written", ["", "value"], self.rows(), to, limit=20)

    def rows(self) -> list[tuple[str, str]]:
        """What a person wants to know, in words."""
        frozen = "" if self.trained == self.parameters else f", {count(self.trained)} of them trained"
        samples = self.batch_size / self.step_seconds
        rows = [
            ("device", f"{self.device}, {self.precision}, {plural(self.threads, 'thread')}"),
            ("network", f"{count(self.parameters)} parameters{frozen}"),
            ("items", f"{count(self.items)} to train on, {count(self.held_out)} held out"),
            ("training", f"{plural(self.models, 'model')}, {plural(self.steps, 'step')} each ({self.epochs} epochs)"),
            ("a step", f"{clock(self.step_seconds)}, {number(samples)} samples per second"),
            ("an evaluation", f"{clock(self.held_out * self.item_seconds)}, {self.evaluations} of them for each model"),
            ("all of it here", clock(self.seconds)),
        ]
        if self.probed:
            text = f"{clock(self.probe_seconds)}, of {plural(self.probed, 'item')} for each model"
            rows.insert(3, ("linear probe", text))
        if self.minutes is not None:
            rows.append((f"in {self.minutes:g} min", f"{number(self.epochs_in_time)} epochs"))
        operations = f"{self.step_flops / 1e9:,.0f} GFLOP a step"
        here = "" if self.peak_bytes is None else f"{_gigabytes(self.peak_bytes)} here; "
        return [
            *rows,
            ("on a GPU", f"{clock(self.gpu_seconds)} at {GPU_FLOPS / 1e12:g} TFLOP/s sustained ({operations})"),
            ("memory", f"{here}{_gigabytes(self.network_bytes)} for the network alone, on any device"),
        ]


def dry_run(plan: TrainingPlan) -> DryRun:
    """Train a few steps of the first model, predict a few held-out items, and write nothing."""
    recipe = plan.recipe
    modality_of(recipe).validate(recipe)
    with join_ranks() as rank, tempfile.TemporaryDirectory() as folder, counting("measuring", 4) as advance:
        folds = hold_out(plan)
        trainer, probed = _trainer(plan, folds[0], rank, Path(folder))
        advance()
        flops, activations = _count(trainer)
        advance()
        seconds = _step_seconds(trainer)
        advance()
        item_seconds = _evaluation_seconds(plan, folds[0], trainer.network)
        parameters = list(trainer.network.parameters())
        return DryRun(
            device=str(rank.device),
            precision=str(trainer.precision).removeprefix("torch."),
            threads=torch.get_num_threads(),
            models=len(folds),
            items=len(trainer.batches.dataset),
            held_out=len(folds[0].val),
            parameters=sum(one.numel() for one in parameters),
            trained=sum(one.numel() for one in parameters if one.requires_grad),
            probed=min(len(folds[0].train), MAX_IMAGES) if probed else 0,
            epochs=recipe.epochs,
            steps=trainer.steps,
            evaluations=trainer.evaluations,
            batch_size=recipe.batch_size * rank.world,
            step_seconds=seconds,
            item_seconds=item_seconds,
            step_flops=flops,
            activation_bytes=activations,
            peak_bytes=_peak_bytes(rank.device),
            minutes=plan.minutes,
        )


def _trainer(plan: TrainingPlan, fold: HeldOutFold, rank: Rank, folder: Path) -> tuple[Trainer, bool]:
    """The trainer of a model, and whether it begins with a linear probe, which is left out here."""
    recipe = plan.recipe
    classes = plan.catalog.with_truth().truth.classes
    initial = recipe.replace(weights=fold.weights.source)
    network = make_network(initial, max(len(classes), 1), head_groups_of(recipe, classes))
    probed = starts_from_probe(network, recipe)
    network.head_fitted |= probed
    datasets = [modality_of(recipe).dataset(catalog, recipe) for catalog in (fold.train, *plan.extra_data)]
    dataset: Dataset = datasets[0] if len(datasets) == 1 else ConcatDataset(datasets)
    batches = Batches(dataset, recipe, max(len(classes), 1), rank.rank, rank.world)
    return Trainer(network, batches, recipe, folder, rank, plan.threads), probed


def _count(trainer: Trainer) -> tuple[int, int]:
    """Floating-point operations of a step, and bytes that its forward pass keeps for the backward pass."""
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()  # several operations may keep the same
        return tensor

    steps = trainer.rehearse()
    next(steps)  # the first one starts the training
    hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with FlopCounterMode(display=False) as counter, hooks:
        next(steps)
    for parameter in trainer.network.parameters():
        kept.pop(parameter.untyped_storage().data_ptr(), None)
    return int(counter.get_total_flops()), sum(kept.values())


def _step_seconds(trainer: Trainer) -> float:
    """The median of some steps; the first ones do not count where there is time for more."""
    seconds: list[float] = []
    for took in islice(trainer.rehearse(), WARM_UP + STEPS):
        seconds.append(took)
        if sum(seconds) > ENOUGH_SECONDS:
            break
    return statistics.median(seconds[WARM_UP:] or seconds[-1:])


def _evaluation_seconds(plan: TrainingPlan, fold: HeldOutFold, network: Network[Any]) -> float:
    """Seconds of an item in an evaluation, which has no test-time augmentation."""
    some = fold.val.select(np.arange(min(EVALUATED, len(fold.val))))
    evaluator = Evaluator(some, plan.recipe.without_tta(), plan.rule)
    started = time.perf_counter()
    evaluator.predict(network.eval())
    return (time.perf_counter() - started) / len(some)


def _peak_bytes(device: torch.device) -> int | None:
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else peak_memory()


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.0f} MB"
