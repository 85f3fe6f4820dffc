"""The training loop: checkpoint selection, hard negatives, gradient accumulation, several processes, checkpoints."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tallymark.core.problems import BadInput, Problems
from tallymark.detector.network import Classifier
from tallymark.detector.weights import read_state
from tallymark.geometry import Boxes, Labels
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.sample import ImageSample
from tallymark.training.batches import Batches
from tallymark.training.budget import Budget
from tallymark.training.checkpoint import CHECKPOINT
from tallymark.training.devices import Rank, join_ranks
from tallymark.training.evaluator import Evaluation
from tallymark.training.log import LOG, TrainingLog
from tallymark.training.loop import Trainer
from tallymark.training.network import make_network

RECIPE = ImageRecipe().replace(width=4, neck=8, crop_size=32, epochs=2, batch_size=2, evaluations=3, precision="fp32")
ALONE = Rank(torch.device("cpu"))


class Noise:
    """Twelve images of noise with a box or a label each; their last pixel counts how often negatives were mined."""

    def __init__(self, task: str) -> None:
        self.task = task
        self.state = 0
        self.problems = Problems()

    def __len__(self) -> int:
        return 12

    def sample(self, rng: np.random.Generator, item: int, *, mix: bool) -> ImageSample:
        image = rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)
        image[-1, -1] = self.state
        shapes = Labels(np.array([item % 3])) if self.task == "labels" else Boxes.of(np.array([[4.0, 6, 16, 12]]))
        return ImageSample.of(image, shapes, np.array([item % 3 if self.task == "labels" else 0]))

    def mine_hard_negatives(self, detect: object) -> None:
        self.state += 1


def trainer_of(folder: Path, rank: Rank = ALONE, **changes: Any) -> Trainer:
    folder.mkdir(exist_ok=True)
    recipe = RECIPE.replace(**changes)
    batches = Batches(Noise(recipe.task), recipe, 3, rank.rank, rank.world)
    return Trainer(make_network(recipe, 3), batches, recipe, folder, rank)


class Evaluate:
    """Gives scores in turn, the last one from then on, and keeps the weights that it was given."""

    def __init__(self, *scores: float) -> None:
        self.scores = list(scores)
        self.weights: list[dict[str, torch.Tensor]] = []

    def __call__(self, network: torch.nn.Module) -> Evaluation:
        score = self.scores[min(len(self.weights), len(self.scores) - 1)]
        self.weights.append({name: value.clone() for name, value in network.state_dict().items()})
        return Evaluation(score, {"score": score})


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(("scores", "kept"), [((0.1, 0.3, 0.2), 1), ((np.nan, 0.3, 0.2), 1), ((np.nan,), 2)])
def test_the_best_weights_are_kept_and_without_a_score_the_last(
    scores: tuple[float, ...], kept: int, tmp_path: Path
) -> None:
    evaluate = Evaluate(*scores)
    weights = trainer_of(tmp_path).train(evaluate, None)
    assert len(evaluate.weights) == 3
    assert [same(weights, one) for one in evaluate.weights] == [number == kept for number in range(3)]


def fitted(folder: Path, **changes: Any) -> Trainer:
    """A trainer whose network has a fitted head, as after a linear probe or from an earlier run."""
    training = trainer_of(folder, **changes)
    training.network.head_fitted = True
    return training


@pytest.mark.parametrize("changes", [{}, {"weight_interpolation": 0.5}, {"task": "labels"}])
def test_a_fitted_network_is_a_checkpoint_too(changes: dict[str, Any], tmp_path: Path) -> None:
    training, evaluate = fitted(tmp_path, **changes), Evaluate(0.4, 0.1, 0.3, 0.2)
    initial = {name: value.clone() for name, value in training.network.state_dict().items()}
    assert same(training.train(evaluate, None), initial)
    assert steps_of(tmp_path) == [0, 4, 8, 12]
    assert training.evaluations == 4
    assert training.batches.dataset.state == 2  # hard negatives are mined as without it


def test_the_initial_network_changes_nothing_where_a_later_one_is_better(tmp_path: Path) -> None:
    weights = trainer_of(tmp_path / "random").train(Evaluate(0.1, 0.3, 0.2), None)
    training = fitted(tmp_path / "fitted")
    training.network.init_from_targets(next(training.batches.epoch(0, lambda batch: False)).targets)
    assert same(training.train(Evaluate(0.2, 0.1, 0.3, 0.2), None), weights)


def test_with_one_evaluation_nothing_is_selected(tmp_path: Path) -> None:
    evaluate = Evaluate(0.4, 0.9)
    weights = fitted(tmp_path, evaluations=1).train(evaluate, None)
    assert [same(weights, one) for one in evaluate.weights] == [True]
    assert steps_of(tmp_path) == [12]


@pytest.mark.parametrize("minutes", [None, 1.0])
@pytest.mark.parametrize("evaluations", [1, 3])
def test_no_epoch_keeps_the_initial_network(evaluations: int, minutes: float | None, tmp_path: Path) -> None:
    training, evaluate = fitted(tmp_path, epochs=0, evaluations=evaluations), Evaluate(0.4)
    initial = {name: value.clone() for name, value in training.network.state_dict().items()}
    assert same(training.train(evaluate, minutes), initial)
    assert steps_of(tmp_path) == [0]
    assert training.evaluations == len(evaluate.weights) == 1


def test_a_training_resumes_after_its_initial_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fitted(tmp_path / "whole").train(Evaluate(0.4, 0.1, 0.5, 0.2), None)

    def killed(self: Trainer, *given: Any, **named: Any) -> dict[str, float]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "_train_step", killed)
        with pytest.raises(KeyboardInterrupt):
            fitted(tmp_path / "killed").train(Evaluate(0.4), None)
    assert steps_of(tmp_path / "killed") == [0]
    evaluate = Evaluate(0.1, 0.5, 0.2)
    assert same(trainer_of(tmp_path / "killed").train(evaluate, None, resume=True), whole)
    assert len(evaluate.weights) == 3
    assert steps_of(tmp_path / "killed") == [0, 4, 8, 12]


def test_batches_made_before_an_evaluation_are_not_used_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And after the last one, no hard negatives are mined."""
    step, states = Trainer._train_step, list[int]()

    def note(self: Trainer, forward: Any, batch: Any, trim: float) -> dict[str, float]:
        assert len(batch.inputs[..., -1, -1].unique()) == 1
        states.append(int(batch.inputs[0, 0, -1, -1]))
        return step(self, forward, batch, trim)

    monkeypatch.setattr(Trainer, "_train_step", note)
    training = trainer_of(tmp_path)
    training.train(Evaluate(0.0), None)
    assert states == [0] * 4 + [1] * 4 + [2] * 4
    assert training.batches.dataset.state == 2


def test_accumulated_batches_are_one_large_batch(tmp_path: Path) -> None:
    gradients = []
    for accumulate in (1, 2):
        training = trainer_of(
            tmp_path, task="labels", frozen_stages=5, batch_size=4 // accumulate, accumulate=accumulate
        )
        assert isinstance(training.network, Classifier)
        training.network.head.dropout.p = 0
        weight = training.network.head.linear.weight
        training.optimizer.register_step_pre_hook(lambda *given, weight=weight: gradients.append(weight.grad.clone()))
        batches = training.batches.epoch(0, lambda batch: False)
        for _ in range(accumulate):
            training._train_step(training.network, next(batches), 0.0)
            training.state.step += 1
    assert len(gradients) == 2
    assert gradients[0].abs().max() > 1e-3
    assert torch.allclose(gradients[0], gradients[1], atol=1e-6)


def test_the_last_update_uses_a_full_accumulation(tmp_path: Path) -> None:
    """Twelve batches, five per update."""
    training = trainer_of(tmp_path, accumulate=5)
    training.train(Evaluate(0.0), None)
    assert training.state.step == 15
    assert training.ema.updates == 3
    assert steps_of(tmp_path) == [5, 10, 15]


def test_a_finished_training_is_not_evaluated_again(tmp_path: Path) -> None:
    first = trainer_of(tmp_path).train(Evaluate(0.1, 0.3, 0.2), None)
    evaluate = Evaluate(0.9)
    assert same(trainer_of(tmp_path).train(evaluate, None, resume=True), first)
    assert not evaluate.weights


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    trainer_of(tmp_path).train(Evaluate(0.0), None)
    path = tmp_path / CHECKPOINT
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(BadInput, match=r"bad_checkpoint: .* delete it"):
        trainer_of(tmp_path).train(Evaluate(0.0), None, resume=True)
    path.unlink()
    assert trainer_of(tmp_path).train(Evaluate(0.0), None, resume=True)


def test_an_interruption_while_writing_leaves_the_checkpoint_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = trainer_of(tmp_path)
    training.train(Evaluate(0.0), None)
    before = (tmp_path / CHECKPOINT).read_bytes()

    def interrupt(number: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        training._save(Budget(1, None))
    assert (tmp_path / CHECKPOINT).read_bytes() == before


@pytest.mark.slow
def test_two_processes_have_the_same_weights_and_hard_negatives(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    root, environment = Path(__file__).parents[2], {**os.environ, "OMP_NUM_THREADS": "1"}
    command += ["-m", "tests.training.test_loop", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=root, timeout=300)
    assert done.returncode == 0, done.stderr
    one, two = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2))
    assert one["first"] != two["first"]
    assert same(one["weights"], two["weights"])
    assert one["state"] == two["state"] == 2


def train_here(folder: Path) -> None:
    """The training in each of two processes."""
    with join_ranks() as rank:
        training = trainer_of(folder, rank, epochs=3, accumulate=2)
        first = next(training.batches.epoch(0, lambda batch: False)).inputs.sum().item()
        training.train(Evaluate(0.0), None)
        weights = dict(training.network.named_parameters())
        result = {"weights": {name: value.detach() for name, value in weights.items()}, "first": first}
        torch.save(result | {"state": training.batches.dataset.state}, folder / f"{rank.rank}.pt")


if __name__ == "__main__":
    train_here(Path(sys.argv[1]))


def test_a_kill_between_log_and_checkpoint_does_not_double_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    folder.mkdir()
    trainer_of(whole).train(Evaluate(0.0), None)
    save, saved = Trainer._save, list[int]()

    def killed(self: Trainer, budget: Budget) -> None:
        saved.append(self.state.step)
        if len(saved) == 2:
            raise KeyboardInterrupt
        save(self, budget)

    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "_save", killed)
        with pytest.raises(KeyboardInterrupt):
            trainer_of(folder).train(Evaluate(0.0), None)
    assert steps_of(folder) == saved
    with (folder / LOG).open("a") as log:
        log.write('{"step": 8, "epo')  # as a full disk has left it in earlier versions
    trainer_of(folder).train(Evaluate(0.0), None, resume=True)
    assert steps_of(folder) == steps_of(whole) == [4, 8, 12]


@pytest.mark.parametrize("damage", [b"", b"\0\0\0", b"[]\n", b'{"step": "x"}\n', b"\xff\n"])
def test_a_damaged_log_does_not_keep_a_training_from_being_resumed(damage: bytes, tmp_path: Path) -> None:
    log = TrainingLog(tmp_path)
    log.path.write_bytes(damage)
    log.resume(9)
    log.add(12, {"step": 12})
    assert steps_of(tmp_path) == [12]


def test_no_message_advises_to_run_the_code_in_a_file(tmp_path: Path) -> None:
    for content in (b"text", pickle.dumps({"a": Path}), b""):
        (tmp_path / "weights.pt").write_bytes(content)
        with pytest.raises(BadInput) as bad:
            read_state(tmp_path / "weights.pt")
        assert "weights_only" not in str(bad.value)
    torch.save({"a": Path}, tmp_path / CHECKPOINT)
    with pytest.raises(BadInput) as bad:
        trainer_of(tmp_path).train(Evaluate(0.0), None, resume=True)
    assert "weights_only" not in str(bad.value)
    assert "Python objects other than tensors" in str(bad.value)


def steps_of(folder: Path) -> list[int]:
    return [json.loads(line)["step"] for line in (folder / LOG).read_text().splitlines()]
