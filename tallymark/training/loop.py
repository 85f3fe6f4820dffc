"""The loop: batches, steps, judgements, checkpoints."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import Recipe
from tallymark.detector.network import Network
from tallymark.detector.weights import write_state
from tallymark.training.adapter import as_model
from tallymark.training.batches import Batch, Batches
from tallymark.training.budget import Budget
from tallymark.training.devices import Rank, choose_precision
from tallymark.training.optimizer import EMA, make_optimizer, set_learning_rate
from tallymark.training.progress import Progress

CHECKPOINT = "checkpoint.pt"
LOG = "log.jsonl"
SAVED_EVERY = 300.0
"""Seconds between checkpoints, beside those at every judgement."""
TRIMMED_FROM = 0.4
"""The share of a training after which the largest losses are left out: by then, it is wrong labels that have them."""


@dataclass(frozen=True)
class Evaluation:
    """What a network is worth on items that it was not trained with, as `better` (higher is better) and to print."""

    better: float
    shown: dict[str, float]


Evaluate = Callable[[Network], Evaluation]


class Trainer:
    """One training. Everything that changes in it is an attribute, and goes into a checkpoint."""

    def __init__(self, network: Network, batches: Batches, recipe: Recipe, folder: Path, place: Rank) -> None:
        self.batches, self.recipe, self.folder, self.place = batches, recipe, folder, place
        self.network = network.to(place.device, memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stubs lack it
        self.average = EMA(self.network, recipe.ema_decay, recipe.weight_interpolation)
        self.optimizer = make_optimizer(self.network, recipe)
        self.precision = choose_precision(recipe, place.device)
        self.scaler = torch.amp.GradScaler(place.device.type, enabled=self.precision == torch.float16)
        self.step, self.judgements = 0, 0
        self.judged_at = -1
        self.best = -float("inf")
        self.best_weights: dict[str, Tensor] = {}

    def run(self, judge: Evaluate, minutes: float | None, *, resume: bool = False) -> dict[str, Tensor]:
        """Train to the end; returns the averaged weights that the judge found best."""
        recipe, place, spent = self.recipe, self.place, 0.0
        if resume and (self.folder / CHECKPOINT).exists():
            spent = self._load()
        else:
            self._begin()
        moves = math.ceil(recipe.epochs * len(self.batches) / recipe.accumulate)
        clock = Budget(moves * recipe.accumulate, minutes, spent, recipe.tta)
        clock.step = self.step
        forward: nn.Module = self.network if place.world == 1 else DistributedDataParallel(self.network)
        last_saved = time.monotonic()
        with Progress(clock, talks=place.first) as bar:
            for batch in self._batches(clock):
                done = place.agree(clock.done())
                if done >= 1 and self._moved:
                    break
                set_learning_rate(self.optimizer, done, recipe.warmup)
                parts = self._learn(forward, batch, trim=recipe.loss_trim if done > TRIMMED_FROM else 0.0)
                self.step += 1
                clock.step = self.step
                bar.update(parts)
                if not self._moved:  # gradients are in no checkpoint
                    continue
                if place.agree(float(clock.due(self.judgements, recipe.evaluations))):
                    self._judge(judge, clock, bar)
                    last_saved = time.monotonic()
                elif place.first and time.monotonic() - last_saved > SAVED_EVERY:
                    self._save(clock)
                    last_saved = time.monotonic()
            if self.judged_at != self.step:  # a judgement may take all the time that was left
                self._judge(judge, clock, bar, last=True)
        return self.best_weights

    @property
    def _moved(self) -> bool:
        """Whether the weights moved after the last batch, so that no gradient waits for another one."""
        return self.step % self.recipe.accumulate == 0

    def _begin(self) -> None:
        """The first guess of all processes is that of the first one's first batch; unless they go on from a run."""
        if not self.network.begun:
            first = next(self.batches.epoch(0, lambda batch: True))
            truth: Any = first.truth.to(self.place.device)
            self.network.begin(truth)
        self.average.begin(self.network)

    def _batches(self, clock: Budget) -> Iterator[Batch]:
        """Batches without end, from where the training stands.

        What was made ahead of a judgement is not used after it: it may have changed where to look, and a training that
        goes on from there makes everything anew.
        """
        count, calm_from = len(self.batches), 1 - self.recipe.mix_off
        while True:
            epoch, start = divmod(self.step, count)
            first = epoch * count

            def calm(batch: int, first: int = first) -> bool:
                # In a training counted in steps, what a batch is like must not depend on when it is made.
                done = clock.done() if clock.budget is not None else (first + batch) / clock.steps
                return done >= calm_from

            for batch in self.batches.epoch(epoch, calm, start):
                yield batch
                if self.judged_at == self.step:
                    break

    def _learn(self, forward: nn.Module, batch: Batch, trim: float) -> dict[str, float]:
        """One batch; the weights move after every `accumulate` of them."""
        self.network.train()
        self.network.trim = trim
        device, moves = self.place.device, (self.step + 1) % self.recipe.accumulate == 0
        pictures = batch.pictures.to(device, non_blocking=True).float()
        with _gathering(forward, moves):
            with torch.autocast(device.type, self.precision, enabled=self.precision != torch.float32):
                maps = forward(pictures)
            truth: Any = batch.truth.to(device, non_blocking=True)
            parts: dict[str, Tensor] = self.network.loss(maps, truth)
            loss = torch.stack(list(parts.values())).sum() / self.recipe.accumulate
            self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]  # torch has no type for it
        if moves:
            self.scaler.unscale_(self.optimizer)
            norm = nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.grad_clip)
            if self.scaler.is_enabled() or torch.isfinite(norm):  # one bad batch must not ruin the weights
                self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad(set_to_none=True)
            self.average.follow(self.network)
        return {name: float(part.detach()) for name, part in parts.items()}

    def _judge(self, judge: Evaluate, clock: Budget, bar: Progress, *, last: bool = False) -> None:
        """Judge the averaged weights by the official rule; unless it is for the last time, find where to look next."""
        self.judgements, self.judged_at = self.judgements + 1, self.step
        source = self.batches.source
        if self.place.first:
            network, begun = self.average.network.eval(), time.monotonic()
            judgement = judge(network)
            judged = time.monotonic()
            if not last:
                source.mine_hard_negatives(as_model(network))
            clock.judged(judged - begun, time.monotonic() - judged)
            self._note(judgement, clock, bar)
        if not last:
            source.state = self.place.share(source.state)
        if self.place.first:
            self._save(clock)

    def _note(self, judgement: Evaluation, clock: Budget, bar: Progress) -> None:
        """Keep the averaged weights if they are the best, and write the judgement down."""
        better = -float("inf") if math.isnan(judgement.better) else judgement.better
        if better >= self.best:  # where nothing can be scored, the last is kept
            self.best = better
            self.best_weights = {name: value.clone() for name, value in self.average.network.state_dict().items()}
        line = {
            "step": self.step,
            "epoch": round(self.step / len(self.batches), 3),
            "done": round(clock.done(), 4),
            "seconds": round(clock.spent, 1),
            **bar.take(),
            **judgement.shown,
        }
        with (self.folder / LOG).open("a") as log:
            log.write(json.dumps(line) + "\n")
        bar.judged(line)

    def _save(self, clock: Budget) -> None:
        """Write down all that a training needs to go on from here."""
        state = {
            "network": self.network.state_dict(),
            "average": self.average.network.state_dict(),
            "average_steps": self.average.steps,
            "first": self.average.first,
            "optimiser": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
            "random": torch.get_rng_state(),
            "step": self.step,
            "judgements": self.judgements,
            "judged_at": self.judged_at,
            "best": self.best,
            "best_weights": self.best_weights,
            "spent": clock.spent,
            "source": self.batches.source.state,
        }
        write_state(state, self.folder / CHECKPOINT)

    def _load(self) -> float:
        """Go on from the last checkpoint; returns the seconds spent before it."""
        path = self.folder / CHECKPOINT
        try:
            state: dict[str, Any] = torch.load(path, weights_only=True, map_location=self.place.device)
        except Exception as error:  # a damaged file can raise anything
            found, remedy = str(error).split("\n")[0], "delete it: --resume then begins this model anew"
            raise BadInput(Problem("bad_checkpoint", str(path), found, "a checkpoint", remedy)) from None
        self.network.load_state_dict(state["network"])
        self.average.network.load_state_dict(state["average"])
        self.average.steps, self.average.first = state["average_steps"], state["first"]
        self.optimizer.load_state_dict(state["optimiser"])
        self.scaler.load_state_dict(state["scaler"])
        torch.set_rng_state(state["random"].cpu())
        self.step, self.judgements, self.judged_at = (state[name] for name in ("step", "judgements", "judged_at"))
        self.best, self.best_weights = state["best"], state["best_weights"]
        self.batches.source.state = state["source"]
        return float(state["spent"])


def _gathering(forward: nn.Module, moves: bool) -> AbstractContextManager[None]:
    """Processes tell one another their gradients only when the weights move by them."""
    if isinstance(forward, DistributedDataParallel) and not moves:
        return forward.no_sync()
    return nullcontext()
