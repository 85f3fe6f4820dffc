"""The loop: what it keeps, when it looks back, and that neither accumulation nor a second process changes a step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tallymark.core.problems import BadInput
from tallymark.detector.network import Classifier, make_network
from tallymark.geometry import Boxes, Labels
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.sample import Sample
from tallymark.training import loop as fit
from tallymark.training.batches import Batches
from tallymark.training.devices import Place, join_ranks
from tallymark.training.loop import CHECKPOINT, LOG, Evaluation, Trainer

RECIPE = ImageRecipe().replace(width=4, neck=8, crop_size=32, epochs=2, batch_size=2, evaluations=3, precision="fp32")
ALONE = Place(torch.device("cpu"))


class Noise:
    """Twelve pictures of noise with a box or a label in each; their last pixel tells how often it was looked back."""

    def __init__(self, finds: str) -> None:
        self.finds, self.state = finds, 0

    def __len__(self) -> int:
        return 12

    def window(self, rng: np.random.Generator, item: int, calm: bool) -> Sample:
        picture = rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)
        picture[-1, -1] = self.state
        shapes = Labels(np.array([item % 3])) if self.finds == "labels" else Boxes.of(np.array([[4.0, 6, 16, 12]]))
        return Sample.of(picture, shapes, np.array([item % 3 if self.finds == "labels" else 0]))

    def mine_hard_negatives(self, model: object) -> None:
        self.state += 1


def fit_of(folder: Path, place: Place = ALONE, **changes: Any) -> Trainer:
    recipe = RECIPE.replace(**changes)
    batches = Batches(Noise(recipe.task), recipe, 3, place.rank, place.world)
    return Trainer(make_network(recipe, 3), batches, recipe, folder, place)


class Evaluate:
    """Gives out marks in turn, the last one from then on, and keeps what it saw."""

    def __init__(self, *marks: float) -> None:
        self.marks, self.seen = list(marks), list[dict[str, torch.Tensor]]()

    def __call__(self, network: torch.nn.Module) -> Evaluation:
        mark = self.marks[min(len(self.seen), len(self.marks) - 1)]
        self.seen.append({name: value.clone() for name, value in network.state_dict().items()})
        return Evaluation(mark, {"score": mark})


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(("marks", "kept"), [((0.1, 0.3, 0.2), 1), ((np.nan, 0.3, 0.2), 1), ((np.nan,), 2)])
def test_the_best_weights_are_kept_and_where_nothing_can_be_scored_the_last(
    marks: tuple[float, ...], kept: int, tmp_path: Path
) -> None:
    judge = Evaluate(*marks)
    weights = fit_of(tmp_path).run(judge, None)
    assert len(judge.seen) == 3
    assert [same(weights, seen) for seen in judge.seen] == [number == kept for number in range(3)]


def test_after_a_judgement_nothing_is_learned_that_was_made_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And after the last one, nothing is looked for."""
    learn, states = Trainer._learn, list[int]()

    def note(self: Trainer, forward: Any, batch: Any, trim: float) -> dict[str, float]:
        assert len(batch.pictures[..., -1, -1].unique()) == 1
        states.append(int(batch.pictures[0, 0, -1, -1]))
        return learn(self, forward, batch, trim)

    monkeypatch.setattr(Trainer, "_learn", note)
    training = fit_of(tmp_path)
    training.run(Evaluate(0.0), None)
    assert states == [0] * 4 + [1] * 4 + [2] * 4
    assert training.batches.source.state == 2


def test_batches_that_are_accumulated_are_one_large_batch(tmp_path: Path) -> None:
    gradients = []
    for accumulate in (1, 2):
        training = fit_of(tmp_path, finds="labels", frozen=5, batch=4 // accumulate, accumulate=accumulate)
        assert isinstance(training.network, Classifier)
        training.network.head.drop.p = 0
        weight = training.network.head.linear.weight
        training.optimizer.register_step_pre_hook(lambda *given, weight=weight: gradients.append(weight.grad.clone()))
        batches = training.batches.epoch(0, lambda batch: True)
        for _ in range(accumulate):
            training._learn(training.network, next(batches), 0.0)
            training.step += 1
    assert len(gradients) == 2
    assert gradients[0].abs().max() > 1e-3
    assert torch.allclose(gradients[0], gradients[1], atol=1e-6)


def test_the_last_step_is_a_whole_one(tmp_path: Path) -> None:
    """Twelve batches, five to a step."""
    training, judge = fit_of(tmp_path, accumulate=5), Evaluate(0.0)
    training.run(judge, None)
    assert training.step == 15
    assert training.average.steps == 3
    steps = [json.loads(line)["step"] for line in (tmp_path / LOG).read_text().splitlines()]
    assert steps == [5, 10, 15]


def test_a_finished_training_is_not_judged_again(tmp_path: Path) -> None:
    first = fit_of(tmp_path).run(Evaluate(0.1, 0.3, 0.2), None)
    judge = Evaluate(0.9)
    assert same(fit_of(tmp_path).run(judge, None, resume=True), first)
    assert not judge.seen


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    fit_of(tmp_path).run(Evaluate(0.0), None)
    path = tmp_path / CHECKPOINT
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(BadInput, match=r"bad_checkpoint: .* delete it"):
        fit_of(tmp_path).run(Evaluate(0.0), None, resume=True)
    path.unlink()
    assert fit_of(tmp_path).run(Evaluate(0.0), None, resume=True)


def test_a_kill_while_writing_leaves_the_checkpoint_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = fit_of(tmp_path)
    training.run(Evaluate(0.0), None)
    before = (tmp_path / CHECKPOINT).read_bytes()

    def half(state: object, path: Path) -> None:
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(torch, "save", half)
    with pytest.raises(KeyboardInterrupt):
        training._save(fit.Budget(1, None))
    assert (tmp_path / CHECKPOINT).read_bytes() == before


@pytest.mark.slow
def test_two_processes_have_the_same_weights_and_look_at_the_same_places(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    root, environment = Path(__file__).parents[2], {**os.environ, "OMP_NUM_THREADS": "1"}
    command += ["-m", "tests.training.test_loop", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=root, timeout=300)
    assert done.returncode == 0, done.stderr
    one, two = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2))
    assert one["seen"] != two["seen"]
    assert same(one["weights"], two["weights"])
    assert one["state"] == two["state"] == 2


def train_here(folder: Path) -> None:
    """What each of two processes does."""
    with join_ranks() as place:
        training = fit_of(folder, place, epochs=3, accumulate=2)
        seen = next(training.batches.epoch(0, lambda batch: True)).pictures.sum().item()
        training.run(Evaluate(0.0), None)
        weights = dict(training.network.named_parameters())
        told = {"weights": {name: value.detach() for name, value in weights.items()}, "seen": seen}
        torch.save(told | {"state": training.batches.source.state}, folder / f"{place.rank}.pt")


if __name__ == "__main__":
    train_here(Path(sys.argv[1]))
