"""Networks: their outputs, their loss, and how they are initialised, on tiny images."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tallymark.core.problems import BadInput
from tallymark.detector.batch_targets import CenterTargets
from tallymark.detector.coders import CODERS
from tallymark.detector.mask_refinement import FINE
from tallymark.detector.network import CenterDetector
from tallymark.geometry import Boxes, RotatedBoxes
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.sample import ImageSample
from tallymark.training.network import make_network
from tallymark.training.optimizer import make_optimizer

TINY = ImageRecipe().replace(width=4, neck=8)
TASKS = pytest.mark.parametrize("task", ["boxes", "masks"])


def images(count: int, height: int, width: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).integers(0, 256, (count, 3, height, width)).astype(np.float32))


def targets_of(recipe: ImageRecipe, *, empty: bool = False) -> CenterTargets:
    """Two crops of 64 pixels, with two objects and with one."""
    shapes: Any = Boxes.of(np.array([[4, 6, 20, 14], [40, 30, 10, 22]]))
    if recipe.task == "masks":
        shapes = RotatedBoxes.of(np.array([[14, 13, 20, 8, 0.4], [45, 41, 22, 6, -1.1]]))
    none = np.empty(0, np.int64)
    rows = (none, none) if empty else (np.arange(2), np.array([1]))
    blank = np.zeros((64, 64, 3), np.uint8)
    samples = [ImageSample.of(blank, shapes.take(kept), np.zeros(len(kept), int)) for kept in rows]
    return CODERS[recipe.task].targets(samples, 1, recipe)


def perfect_outputs(targets: CenterTargets) -> dict[str, torch.Tensor]:
    """Logits and values that could not be better."""
    count, _, height, width = targets.heatmap.shape
    values = torch.zeros(count, targets.values.shape[1], height, width)
    values[targets.image, :, targets.y, targets.x] = targets.values
    heat = torch.where(targets.heatmap >= 1, 20.0, -20.0)
    quality = torch.full((count, 1, height, width), 20.0)
    outputs = {"heat": heat, "values": values, "quality": quality, "presence": 40 * targets.presence - 20}
    return outputs if targets.coverage is None else outputs | {"cover": 40 * targets.coverage - 20}


@TASKS
@pytest.mark.parametrize("stride", [4, 8, 16])
def test_outputs_have_the_stride_of_the_recipe(task: str, stride: int) -> None:
    network = make_network(TINY.replace(task=task, stride=stride), 3).eval()
    coder: Any = CODERS[task]
    with torch.inference_mode():
        outputs = network.predict(images(2, 64, 96))
    grid = (64 // stride, 96 // stride)
    shapes = {
        "heat": (2, 3, *grid),
        "values": (2, coder.values, *grid),
        "quality": (2, 1, *grid),
        "presence": (2,),
    }
    if coder.predicts_coverage:
        shapes["cover"] = (2, 1, FINE * grid[0], FINE * grid[1])
    assert {name: tuple(part.shape) for name, part in outputs.items()} == shapes
    for name in ("heat", "quality", "presence"):
        assert 0 <= outputs[name].min() <= outputs[name].max() <= 1
    assert outputs["heat"].mean() == pytest.approx(0.05, abs=0.03)  # few detections before any training


def test_a_stride_that_the_network_does_not_have_is_refused() -> None:
    with pytest.raises(BadInput, match="stride=2, expected 4 or 8 or 16"):
        make_network(TINY.replace(stride=2), 1)


def test_class_probabilities_sum_to_1() -> None:
    network = make_network(TINY.replace(task="labels"), 5).eval()
    with torch.inference_mode():
        probabilities = network.predict(images(3, 64, 32))["classes"]
    assert probabilities.shape == (3, 5)
    assert torch.allclose(probabilities.sum(1), torch.ones(3))


def test_the_classifier_trims_the_share_that_it_is_given() -> None:
    network = make_network(TINY.replace(task="labels"), 2)
    outputs = {"classes": torch.tensor([[5.0, 0.0], [0.0, 5.0]])}
    targets = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    right, both = (float(network.loss(outputs, targets, trim)["classes"]) for trim in (0.5, 0.0))
    assert right == pytest.approx(np.log1p(np.exp(-5)), rel=1e-4)
    assert both == pytest.approx(right + 2.5, rel=1e-4)


@pytest.mark.parametrize("frozen_stages", [0, 2])
def test_frozen_stages_stay_and_the_others_are_trained(frozen_stages: int) -> None:
    recipe = TINY.replace(frozen_stages=frozen_stages, learning_rate=0.01)
    network = make_network(recipe, 1)
    targets, given = targets_of(recipe), images(2, 64, 64)
    optimizer = make_optimizer(network, recipe)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    for _ in range(2):
        network.train()
        optimizer.zero_grad()
        sum(network.loss(network(given), targets).values()).backward()
        optimizer.step()
    for name, value in network.state_dict().items():
        stays = name.startswith("backbone.stages.") and int(name.split(".")[2]) < frozen_stages
        assert torch.equal(value, before[name]) == stays, name
    for number, stage in enumerate(network.backbone.stages):
        assert stage.training == (number >= frozen_stages)
        assert all(weight.requires_grad == (number >= frozen_stages) for weight in stage.parameters())


@TASKS
def test_training_begins_with_the_mean_shape(task: str) -> None:
    recipe = TINY.replace(task=task)
    network, targets = make_network(recipe, 1), targets_of(recipe)
    assert isinstance(network, CenterDetector)
    network.init_from_targets(targets)
    bias = network.head.regression.bias.detach()
    assert torch.allclose(bias[:-1], targets.values.mean(0))
    assert bias[:-1].abs().max() > 0.5
    assert bias[-1] == 0  # the quality is trained
    network.init_from_targets(targets_of(recipe, empty=True))
    assert torch.allclose(network.head.regression.bias.detach(), bias)


@TASKS
def test_perfect_outputs_have_no_loss_and_wrong_ones_do(task: str) -> None:
    recipe = TINY.replace(task=task)
    network, targets = make_network(recipe, 1), targets_of(recipe)
    if targets.coverage is not None:  # of a cell that is covered in part, no loss is 0
        targets = replace(targets, coverage=targets.coverage.round())
    outputs = perfect_outputs(targets)
    assert {name: float(part) for name, part in network.loss(outputs, targets).items()} == pytest.approx(
        dict.fromkeys(outputs.keys() - {"values"} | {"shape"}, 0.0), abs=1e-3
    )
    if targets.coverage is not None:
        assert network.loss({**outputs, "cover": -outputs["cover"]}, targets)["cover"] > 1
    shifted = {**outputs, "values": outputs["values"] + 1}
    wrong = network.loss(shifted, targets)
    assert wrong["shape"] > 0.5
    assert wrong["quality"] > 0.5
    assert network.loss({**outputs, "presence": -outputs["presence"]}, targets)["presence"] > 1


@TASKS
def test_a_batch_without_objects_can_be_trained_on(task: str) -> None:
    recipe = TINY.replace(task=task)
    network, targets = make_network(recipe, 1), targets_of(recipe, empty=True)
    losses = network.loss(network(images(2, 64, 64)), targets)
    sum(losses.values()).backward()
    assert losses["shape"] == losses["quality"] == 0
    assert losses["heat"] > 0
    assert all(torch.isfinite(weight.grad).all() for weight in network.parameters() if weight.grad is not None)


def test_the_seed_decides_the_weights() -> None:
    one, same, other = (make_network(TINY.replace(seed=seed), 1).state_dict() for seed in (3, 3, 4))
    assert all(torch.equal(value, same[name]) for name, value in one.items())
    assert any(not torch.equal(value, other[name]) for name, value in one.items())


def test_groups_of_classes_have_outputs_of_their_own() -> None:
    """With one group nothing is different; with several, each shape is trained from the outputs of its own group."""
    recipe, count = TINY.replace(task="boxes"), CODERS["boxes"].values
    single, same = make_network(recipe, 3), make_network(recipe, 3, [0, 0, 0])
    assert {name: value.shape for name, value in single.state_dict().items()} == {
        name: value.shape for name, value in same.state_dict().items()
    }
    network = make_network(recipe, 3, [0, 1, 0])
    assert isinstance(network, CenterDetector)
    outputs = network(images(2, 64, 96))
    assert outputs["values"].shape == (2, 2 * count, 16, 24)
    assert outputs["quality"].shape == (2, 2, 16, 24)
    assert outputs["heat"].shape == (2, 3, 16, 24)
    targets = targets_of(recipe)
    targets = replace(targets, heatmap=targets.heatmap.expand(-1, 3, -1, -1))
    for label, own in ((0, slice(count)), (1, slice(count, None))):
        outputs = {name: part.detach().requires_grad_() for name, part in network(images(2, 64, 64)).items()}
        network.loss(outputs, replace(targets, label=torch.full_like(targets.label, label)))["shape"].backward()
        gradient = outputs["values"].grad
        assert gradient is not None
        assert (gradient[:, own] != 0).any()
        assert int((gradient != 0).sum()) == int((gradient[:, own] != 0).sum())


def test_groups_begin_with_their_own_mean_shape() -> None:
    network, targets = make_network(TINY.replace(task="boxes"), 3, [0, 1, 1]), targets_of(TINY.replace(task="boxes"))
    assert isinstance(network, CenterDetector)
    label = torch.arange(len(targets.values)) % 2
    network.init_from_targets(replace(targets, label=label))
    mean = network.head.regression.bias.view(2, -1)[:, :-1]
    for group in range(2):
        torch.testing.assert_close(mean[group], targets.values[label == group].mean(0))
