"""The training loop: schedule, step, EMA, evaluation, checkpoint."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from tallymark.core.recipe import Recipe
from tallymark.detector.network import Network
from tallymark.detector.weights import not_finite
from tallymark.training.adapter import as_detector, diverged
from tallymark.training.batches import Batch, Batches
from tallymark.training.budget import Budget
from tallymark.training.checkpoint import CHECKPOINT, Stateful, TrainingState, load_checkpoint, save_checkpoint
from tallymark.training.devices import Rank, choose_precision
from tallymark.training.ema import EMA
from tallymark.training.evaluator import Evaluation
from tallymark.training.log import TrainingLog
from tallymark.training.model_weights import restore_batch_norm
from tallymark.training.optimizer import make_optimizer
from tallymark.training.progress import Progress
from tallymark.training.schedule import set_learning_rate
from tallymark.training.threads import Threads

CHECKPOINT_SECONDS = 300.0
"""Between checkpoints, besides those at every evaluation."""
MAX_FAILED_UPDATES = 30
"""Updates in a row without a finite gradient that end a training. In half precision, the first few are often such."""
TRIM_FROM = 0.4
"""Share of a training after which the largest losses are trimmed: by then, they belong to wrong labels."""

Evaluate = Callable[[Network[Any]], Evaluation]


class Trainer:
    """One training of one network. `state`, network, EMA, optimiser and scaler are all that changes in it."""

    def __init__(
        self,
        network: Network[Any],
        batches: Batches,
        recipe: Recipe,
        folder: Path,
        rank: Rank,
        threads: int | None = None,
    ) -> None:
        self.batches = batches
        self.recipe = recipe
        self.folder = folder
        self.rank = rank
        self.threads = Threads(batches, rank, threads)
        self.network = network.to(rank.device, memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stubs lack it
        self.ema = EMA(self.network, recipe.ema_decay, recipe.weight_interpolation)
        self.optimizer = make_optimizer(self.network, recipe)
        self.precision = choose_precision(recipe, rank.device)
        self.scaler = torch.amp.GradScaler(rank.device.type, enabled=self.precision == torch.float16)
        self.state = TrainingState()
        self.failed_updates = 0
        self.log = TrainingLog(folder)

    def train(self, evaluate: Evaluate, minutes: float | None = None, *, resume: bool = False) -> dict[str, Tensor]:
        """Train to the end; returns the EMA weights with the best evaluation. minutes: a time budget."""
        recipe, rank = self.recipe, self.rank
        self._start(resume=resume)
        budget = Budget(self.steps, minutes, self.state.seconds, recipe.tta_passes)
        budget.step = self.state.step
        forward: nn.Module = self.network if rank.world == 1 else DistributedDataParallel(self.network)
        saved = time.monotonic()
        with Progress(budget, enabled=rank.first) as progress:
            if self.starts_fitted and self.state.step == 0 and self.state.evaluated_at < 0:
                self._evaluate(evaluate, budget, progress, mine=False)
            for batch in self._endless_batches(budget) if self.steps else ():
                done = rank.broadcast(budget.done())
                if done >= 1 and self._updated:
                    break
                set_learning_rate(self.optimizer, done, recipe.warmup)
                losses = self._train_step(forward, batch, trim=recipe.loss_trim if done > TRIM_FROM else 0.0)
                self.state.step += 1
                budget.step = self.state.step
                progress.update(losses)
                if not self._updated:  # checkpoints hold no gradients
                    continue
                if rank.broadcast(float(budget.due(self.state.evaluations, recipe.evaluations))):
                    self._evaluate(evaluate, budget, progress)
                    saved = time.monotonic()
                elif rank.first and time.monotonic() - saved > CHECKPOINT_SECONDS:
                    self._save(budget)
                    saved = time.monotonic()
            if self.state.evaluated_at != self.state.step:  # an evaluation may have taken all the time that was left
                self._evaluate(evaluate, budget, progress, mine=False)
        return self.state.best_weights

    @property
    def steps(self) -> int:
        """Of the whole training, if the clock does not end it."""
        accumulate = self.recipe.accumulate
        return math.ceil(self.recipe.epochs * len(self.batches) / accumulate) * accumulate

    @property
    def evaluations(self) -> int:
        """Of the whole training, if the clock does not leave some out."""
        return self.recipe.evaluations + self.starts_fitted if self.steps else 1

    @property
    def starts_fitted(self) -> bool:
        """Whether the initial network is a checkpoint to choose from too. One evaluation leaves nothing to choose."""
        return self.network.head_fitted and self.recipe.evaluations > 1

    def rehearse(self) -> Iterator[float]:
        """Train step by step without schedule, evaluation or checkpoint; yields the seconds of each."""
        if not self.state.step:
            self._start(resume=False)
        batches = self._endless_batches(Budget(max(self.steps, 1), None))
        while True:
            started = time.perf_counter()
            self._train_step(self.network, next(batches), trim=self.recipe.loss_trim)
            self.state.step += 1
            yield time.perf_counter() - started

    @property
    def _updated(self) -> bool:
        """Whether the optimiser has used all gradients so far."""
        return self.state.step % self.recipe.accumulate == 0

    def _start(self, *, resume: bool) -> None:
        """Initialise the network by a first batch, or resume from the last checkpoint."""
        batch = next(self.batches.epoch(0, lambda number: False))
        if resume and (self.folder / CHECKPOINT).exists():
            self.state = load_checkpoint(self.folder / CHECKPOINT, self._parts, self.rank.device)
            self.batches.dataset.state = self.state.dataset
            self.log.resume(self.state.evaluated_at)
        else:
            if not self.network.head_fitted:
                self.network.init_from_targets(batch.targets.to(self.rank.device))
            if self.network.batch_norm_folded:
                restore_batch_norm(self.network, batch.inputs.to(self.rank.device).float())
            self.ema.start(self.network)
        self.threads.start(self.network, batch.inputs)

    def _endless_batches(self, budget: Budget) -> Iterator[Batch[Any]]:
        """Batches from the current step on.

        Those made ahead of an evaluation are not used after it: it may have mined hard negatives, and a training that
        resumes there makes all batches anew.
        """
        count = len(self.batches)
        mix_until = 1 - self.recipe.mix_off
        while True:
            epoch, start = divmod(self.state.step, count)
            first = epoch * count

            def mix(batch: int, first: int = first) -> bool:
                # In a training counted in steps, a batch must not depend on when it is made.
                done = budget.done() if budget.seconds is not None else (first + batch) / budget.steps
                return done < mix_until

            for batch in self.batches.epoch(epoch, mix, start):
                yield batch
                if self.state.evaluated_at == self.state.step:
                    break

    def _train_step(self, forward: nn.Module, batch: Batch[Any], trim: float) -> dict[str, float]:
        """Forward and backward pass of a batch; every `accumulate` of them, an update of the weights and their EMA."""
        if not self.network.training:
            self.network.train()
        device = self.rank.device
        update = (self.state.step + 1) % self.recipe.accumulate == 0
        inputs = batch.inputs.to(device, non_blocking=True).float()
        with _gradient_sync(forward, update):
            with torch.autocast(device.type, self.precision, enabled=self.precision != torch.float32):
                outputs = forward(inputs)
            targets = batch.targets.to(device, non_blocking=True)
            losses = self.network.loss(outputs, targets, trim)
            loss = torch.stack(list(losses.values())).sum() / self.recipe.accumulate
            self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]  # torch has no type for it
        if update:
            self.scaler.unscale_(self.optimizer)
            norm = nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.grad_clip)
            finite = bool(torch.isfinite(norm))
            if self.scaler.is_enabled() or finite:  # one bad batch must not ruin the weights
                self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad(set_to_none=True)
            self._count_updates(finite)
        return {name: float(part.detach()) for name, part in losses.items()}

    def _count_updates(self, finite: bool) -> None:
        """Follow the weights by their EMA; after too many updates without a finite gradient in a row, stop."""
        if finite:
            self.failed_updates = 0
            self.ema.update_parameters(self.network)
            return
        self.failed_updates += 1
        for own, averaged in zip(self.network.buffers(), self.ema.network.buffers(), strict=True):
            if not torch.isfinite(own).all():  # statistics of batch norm are not learned, and spoiled at once
                own.copy_(averaged)
        if self.failed_updates >= MAX_FAILED_UPDATES:
            times = f"{self.failed_updates} times in a row at step {self.state.step}"
            raise diverged(f"a loss that is not a number, {times}")

    def _stop_if_diverged(self) -> None:
        """Never evaluate, nor keep, weights that are not numbers; nor the old ones after nothing but failed updates."""
        updates = (self.state.step - max(self.state.evaluated_at, 0)) // self.recipe.accumulate
        failed = bool(self.failed_updates) and self.failed_updates >= updates and not self.scaler.is_enabled()
        if failed or not_finite(self.ema.network.state_dict()):
            raise diverged(f"a loss or weights that are not numbers at step {self.state.step}")

    def _evaluate(self, evaluate: Evaluate, budget: Budget, progress: Progress, *, mine: bool = True) -> None:
        """Evaluate the EMA weights by the official rule and keep the best. mine: hard negatives with them, too."""
        self._stop_if_diverged()
        self.state.evaluations += self.state.step > 0  # those of the recipe; that of the initial weights is one more
        self.state.evaluated_at = self.state.step
        dataset = self.batches.dataset
        if self.rank.first:
            network = self.ema.network.eval()
            started = time.monotonic()
            evaluation = evaluate(network)
            evaluated = time.monotonic()
            if mine:
                dataset.mine_hard_negatives(as_detector(network, self.recipe))
            budget.evaluated(evaluated - started, time.monotonic() - evaluated)
            self._record(evaluation, budget, progress)
        if mine:
            dataset.state = self.rank.broadcast_object(dataset.state)
            self.threads.update()
        if self.rank.first:
            self._save(budget)

    def _record(self, evaluation: Evaluation, budget: Budget, progress: Progress) -> None:
        """Keep the EMA weights if they are the best so far, and log the evaluation."""
        objective = -math.inf if math.isnan(evaluation.objective) else evaluation.objective
        if objective >= self.state.best:  # without any score, the last weights are kept
            self.state.best = objective
            self.state.best_weights = {name: value.clone() for name, value in self.ema.network.state_dict().items()}
        line = {
            "step": self.state.step,
            "epoch": round(self.state.step / len(self.batches), 3),
            "done": round(budget.done(), 4),
            "seconds": round(budget.spent, 1),
            **progress.take_means(),
            **evaluation.metrics,
        }
        self.log.add(self.state.step, line)
        progress.evaluated(line)

    @property
    def _parts(self) -> dict[str, Stateful]:
        return {"network": self.network, "ema": self.ema, "optimizer": self.optimizer, "scaler": self.scaler}

    def _save(self, budget: Budget) -> None:
        self.state.seconds = budget.spent
        self.state.dataset = self.batches.dataset.state
        save_checkpoint(self.folder / CHECKPOINT, self.state, self._parts)


def _gradient_sync(forward: nn.Module, update: bool) -> AbstractContextManager[None]:
    """Processes exchange gradients only where the weights are updated."""
    if isinstance(forward, DistributedDataParallel) and not update:
        return forward.no_sync()
    return nullcontext()
