"""Backbones, heads and losses keep what they promise, on tiny pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from tallymark.core.problems import BadInput
from tallymark.detector.backbones import (
    Backbone,
    EfficientNetLite,
    InvertedResidual,
    MiniResNet,
    Residual,
    fold,
    make_backbone,
)
from tallymark.detector.coders import CODERS
from tallymark.detector.losses import focal, plain, sides, soft_cross_entropy, trimmed_mean, volumes
from tallymark.detector.mask_refinement import FINE
from tallymark.detector.network import CenterDetector, CenterTargets, make_network
from tallymark.geometry import Boxes, Cuboids, RotatedBoxes
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.sample import Sample
from tallymark.training.batches import center_targets
from tallymark.training.optimizer import make_optimizer

TINY = ImageRecipe().replace(width=4, neck=8)
FINDS = pytest.mark.parametrize("task", ["boxes", "masks"])


def pictures(count: int, height: int, width: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).integers(0, 256, (count, 3, height, width)).astype(np.float32))


def truth_of(recipe: ImageRecipe, *, empty: bool = False) -> CenterTargets:
    """Two windows of 64 pixels, with two objects and with one."""
    first: Any = Boxes.of(np.array([[4, 6, 20, 14], [40, 30, 10, 22]]))
    if recipe.task == "masks":
        first = RotatedBoxes.of(np.array([[14, 13, 20, 8, 0.4], [45, 41, 22, 6, -1.1]]))
    none = np.empty(0, np.int64)
    rows = (none, none) if empty else (np.arange(2), np.array([1]))
    blank = np.zeros((64, 64, 3), np.uint8)
    windows = [Sample.of(blank, first.take(kept), np.zeros(len(kept), int)) for kept in rows]
    return center_targets(windows, CODERS[recipe.task], 1, recipe.stride)


def perfect_maps(truth: CenterTargets) -> dict[str, torch.Tensor]:
    """Logits and values that could not be better."""
    count, _, height, width = truth.heat.shape
    values = torch.zeros(count, truth.values.shape[1], height, width)
    values[truth.picture, :, truth.y, truth.x] = truth.values
    sure = torch.where(truth.heat >= 1, 20.0, -20.0)
    quality = torch.full((count, 1, height, width), 20.0)
    maps = {"heat": sure, "values": values, "quality": quality, "presence": 40 * truth.present - 20}
    return maps if truth.cover is None else maps | {"cover": 40 * truth.cover - 20}


@pytest.mark.parametrize("size", [(32, 32), (64, 96), (96, 32)])
@pytest.mark.parametrize(
    "backbone",
    [MiniResNet(4, 1), MiniResNet(6, 2), EfficientNetLite(), EfficientNetLite(top=True)],
    ids=["mini_resnet", "deeper", "efficientnet_lite0", "lite0 with its top"],
)
def test_features_have_the_strides_and_channels_that_are_declared(backbone: Backbone, size: tuple[int, int]) -> None:
    with torch.inference_mode():
        features = backbone.eval()(pictures(1, *size))
    sizes = [
        (1, count, size[0] // by, size[1] // by) for count, by in zip(backbone.channels, (4, 8, 16, 32), strict=True)
    ]
    assert [tuple(part.shape) for part in features] == sizes


def test_bytes_are_brought_to_a_small_range() -> None:
    seen: list[torch.Tensor] = []
    backbone = make_backbone("efficientnet_lite0", 0, 0).eval()
    backbone.stages[0].register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    with torch.inference_mode():
        backbone(torch.tensor([0.0, 127.0, 255.0])[None, :, None, None].expand(1, 3, 32, 32))
    assert seen[0][0, :, 0, 0].tolist() == [-127 / 128, 0, 1]


@FINDS
@pytest.mark.parametrize("stride", [4, 8, 16])
def test_maps_have_the_stride_of_the_recipe(finds: str, stride: int) -> None:
    network = make_network(TINY.replace(task=finds, stride=stride), 3).eval()
    with torch.inference_mode():
        maps = network.readout(pictures(2, 64, 96))
    grid = (64 // stride, 96 // stride)
    shapes = {
        "heat": (2, 3, *grid),
        "values": (2, CODERS[finds].values, *grid),
        "quality": (2, 1, *grid),
        "presence": (2,),
    }
    if CODERS[finds].covers:
        shapes["cover"] = (2, 1, FINE * grid[0], FINE * grid[1])
    assert {name: tuple(part.shape) for name, part in maps.items()} == shapes
    for name in ("heat", "quality", "presence"):
        assert 0 <= maps[name].min() <= maps[name].max() <= 1
    assert maps["heat"].mean() == pytest.approx(0.05, abs=0.03)  # little is found before anything is learned


def test_chances_of_whole_pictures_sum_to_1() -> None:
    network = make_network(TINY.replace(task="labels"), 5).eval()
    with torch.inference_mode():
        chances = network.readout(pictures(3, 64, 32))["classes"]
    assert chances.shape == (3, 5)
    assert torch.allclose(chances.sum(1), torch.ones(3))


@pytest.mark.parametrize(
    "module", [Residual(4, 6, 2), Residual(4, 4, 1), InvertedResidual(4, 4, 5, 1, 6), InvertedResidual(4, 6, 3, 2, 1)]
)
def test_folding_changes_nothing_but_the_parts(module: nn.Module) -> None:
    given = torch.randn(2, 4, 16, 16)
    for _ in range(3):
        module.train()(given + 1)  # running means other than at the start
    module.eval()
    folded = fold(module)
    with torch.inference_mode():
        assert torch.allclose(folded(given), module(given), atol=1e-5)
    assert not any(isinstance(part, nn.BatchNorm2d) for part in folded.modules())
    assert any(isinstance(part, nn.BatchNorm2d) for part in module.modules())


def test_other_weights_take_the_place_of_frozen_ones() -> None:
    first, second = make_network(TINY.replace(frozen_stages=3), 1).eval(), make_network(TINY.replace(seed=1), 1).eval()
    given = pictures(1, 32, 32)
    with torch.inference_mode():
        before = first(given)["heat"]
        first.load_state_dict(second.state_dict())
        after, wanted = first(given)["heat"], second(given)["heat"]
    assert torch.allclose(after, wanted, atol=1e-5)
    assert not torch.allclose(before, wanted, atol=1e-5)


@pytest.mark.parametrize("frozen_stages", [0, 2])
def test_frozen_stages_stay_and_the_others_learn(frozen: int) -> None:
    recipe = TINY.replace(frozen_stages=frozen, learning_rate=0.01)
    network = make_network(recipe, 1)
    truth, given = truth_of(recipe), pictures(2, 64, 64)
    optimizer = make_optimizer(network, recipe)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    for _ in range(2):
        network.train()
        optimizer.zero_grad()
        sum(network.loss(network(given), truth).values()).backward()
        optimizer.step()
    for name, value in network.state_dict().items():
        stays = name.startswith("backbone.stages.") and int(name.split(".")[2]) < frozen
        assert torch.equal(value, before[name]) == stays, name
    for number, stage in enumerate(network.backbone.stages):
        assert stage.training == (number >= frozen)
        assert all(weight.requires_grad == (number >= frozen) for weight in stage.parameters())


@pytest.mark.parametrize(("backbone", "stages"), [("mini_resnet", 5), ("efficientnet_lite0", 8)])
def test_no_more_stages_can_be_frozen_than_there_are(backbone: str, stages: int) -> None:
    assert make_network(TINY.replace(backbone=backbone, frozen_stages=stages), 1).backbone.frozen == stages
    with pytest.raises(BadInput, match=f"frozen_stages={stages + 1}, expected at most {stages}"):
        make_network(TINY.replace(backbone=backbone, frozen_stages=stages + 1), 1)


@FINDS
def test_training_begins_with_the_mean_shape(finds: str) -> None:
    recipe = TINY.replace(task=finds)
    network, truth = make_network(recipe, 1), truth_of(recipe)
    assert isinstance(network, CenterDetector)
    network.begin(truth)
    bias = network.head.values.bias.detach()
    assert torch.allclose(bias[:-1], truth.values.mean(0))
    assert bias[:-1].abs().max() > 0.5
    assert bias[-1] == 0  # how good the values are is for later
    network.begin(truth_of(recipe, empty=True))
    assert torch.allclose(network.head.values.bias.detach(), bias)


@FINDS
def test_perfect_maps_cost_nothing_and_wrong_ones_do(finds: str) -> None:
    recipe = TINY.replace(task=finds)
    network, truth = make_network(recipe, 1), truth_of(recipe)
    if truth.cover is not None:  # of a cell that is covered in part, no loss is 0
        truth = replace(truth, cover=truth.cover.round())
    maps = perfect_maps(truth)
    assert {name: float(part) for name, part in network.loss(maps, truth).items()} == pytest.approx(
        dict.fromkeys(maps.keys() - {"values"} | {"shape"}, 0.0), abs=1e-3
    )
    if truth.cover is not None:
        assert network.loss({**maps, "cover": -maps["cover"]}, truth)["cover"] > 1
    shifted = {**maps, "values": maps["values"] + 1}
    wrong = network.loss(shifted, truth)
    assert wrong["shape"] > 0.5
    assert wrong["quality"] > 0.5
    assert network.loss({**maps, "presence": -maps["presence"]}, truth)["presence"] > 1


@FINDS
def test_a_batch_without_objects_can_be_learned_from(finds: str) -> None:
    recipe = TINY.replace(task=finds)
    network, truth = make_network(recipe, 1), truth_of(recipe, empty=True)
    parts = network.loss(network(pictures(2, 64, 64)), truth)
    sum(parts.values()).backward()
    assert parts["shape"] == parts["quality"] == 0
    assert parts["heat"] > 0
    assert all(torch.isfinite(weight.grad).all() for weight in network.parameters() if weight.grad is not None)


def test_focal_loss_spares_cells_near_a_middle() -> None:
    heat = torch.zeros(1, 1, 5, 5)
    heat[0, 0, 2, 2], heat[0, 0, 2, 3] = 1, 0.9
    sure = torch.where(heat >= 1, 20.0, -20.0)
    assert focal(sure, heat) == pytest.approx(0, abs=1e-6)
    assert focal(-sure, heat) > 100
    near, far = sure.clone(), sure.clone()
    near[0, 0, 2, 3], far[0, 0, 0, 0] = 3, 3
    assert focal(near, heat) == pytest.approx(float(focal(far, heat)) * 0.1**4, rel=1e-4)
    # At a chance of one half, by hand: a peak costs log(2) / 4, and so does each empty cell.
    even = torch.zeros(1, 1, 1, 2)
    assert focal(even, torch.tensor([[[[1.0, 0.0]]]])) == pytest.approx(np.log(2) / 2)
    assert focal(even, torch.zeros(1, 1, 1, 2)) == pytest.approx(np.log(2) / 2)


def test_sides_is_1_minus_giou() -> None:
    own = torch.tensor([[1.0, 1, 1, 1], [1, 2, 1, 2], [3, 1, 2, 5]])
    wanted = torch.tensor([[2.0, 1, 1, 1], [2, 1, 2, 1], [3, 1, 2, 5]])
    # 4 of 6 shared, none around; 4 of 12 shared, 16 around; the same.
    by_hand = [1 - 4 / 6, 1 - 4 / 12 + 4 / 16, 0.0]
    assert sides(own.log(), wanted.log()).tolist() == pytest.approx(by_hand, abs=1e-6)
    assert torch.isfinite(sides(torch.tensor([[-1e4, 1e4, 0, 0]]), wanted[:1].log())).all()


def test_plain_is_the_sum_of_differences() -> None:
    wanted = torch.zeros(2, 3)
    assert plain(wanted + torch.tensor([[1.0, -2, 0], [0, 0, 0]]), wanted).tolist() == pytest.approx([3 - 2 * 0.05, 0])


def test_trimmed_mean_leaves_out_the_largest() -> None:
    losses = torch.tensor([4.0, 1, 100, 3, 2])
    assert trimmed_mean(losses, 0.2) == 2.5
    assert trimmed_mean(losses, 0.0) == 22
    assert trimmed_mean(losses, 1.0) == 1


def test_soft_cross_entropy_of_one_class_is_the_usual_one() -> None:
    logits, label = torch.randn(4, 6, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 5, 2, 2])
    chances = functional.one_hot(label, 6).float()
    usual = functional.cross_entropy(logits, label, reduction="none")
    assert torch.allclose(soft_cross_entropy(logits, chances), usual)
    mixed = 0.3 * chances + 0.7 * chances.roll(1, 0)
    other = functional.cross_entropy(logits, label.roll(1), reduction="none")
    assert torch.allclose(soft_cross_entropy(logits, mixed), 0.3 * usual + 0.7 * other)


def test_the_seed_decides_the_weights() -> None:
    one, same, other = (make_network(TINY.replace(seed=seed), 1).state_dict() for seed in (3, 3, 4))
    assert all(torch.equal(value, same[name]) for name, value in one.items())
    assert any(not torch.equal(value, other[name]) for name, value in one.items())


def test_groups_of_classes_have_maps_of_their_own() -> None:
    """With one group nothing is different; with several, each shape is learned from the maps of its own group."""
    recipe, count = TINY.replace(task="boxes"), CODERS["boxes"].values
    plain, same = make_network(recipe, 3), make_network(recipe, 3, [0, 0, 0])
    assert {name: value.shape for name, value in plain.state_dict().items()} == {
        name: value.shape for name, value in same.state_dict().items()
    }
    network = make_network(recipe, 3, [0, 1, 0])
    assert isinstance(network, CenterDetector)
    maps = network(pictures(2, 64, 96))
    assert maps["values"].shape == (2, 2 * count, 16, 24)
    assert maps["quality"].shape == (2, 2, 16, 24)
    assert maps["heat"].shape == (2, 3, 16, 24)
    truth = truth_of(recipe)
    for kind, own in ((0, slice(count)), (1, slice(count, None))):
        maps = {name: part.detach().requires_grad_() for name, part in network(pictures(2, 64, 64)).items()}
        network.loss(maps, replace(truth, label=torch.full_like(truth.label, kind)))["shape"].backward()
        moved = maps["values"].grad
        assert moved is not None
        assert (moved[:, own] != 0).any()
        assert int((moved != 0).sum()) == int((moved[:, own] != 0).sum())


def test_groups_begin_with_their_own_mean_shape() -> None:
    network, truth = make_network(TINY.replace(task="boxes"), 3, [0, 1, 1]), truth_of(TINY.replace(task="boxes"))
    assert isinstance(network, CenterDetector)
    label = torch.arange(len(truth.values)) % 2
    network.begin(replace(truth, label=label))
    told = network.head.values.bias.view(2, -1)[:, :-1]  # type: ignore[union-attr]
    for group in range(2):
        torch.testing.assert_close(told[group], truth.values[label == group].mean(0))


def test_every_number_of_a_volume_counts() -> None:
    rng = np.random.default_rng(0)
    code, truth = CODERS["cuboids"], Cuboids.of(np.column_stack([rng.uniform(1, 3, (20, 6)), rng.uniform(-4, 4, 20)]))
    wanted = torch.from_numpy(code.encode(truth, truth.x, truth.y))
    exact = volumes(wanted, wanted)
    assert float(exact.max()) < 0.011  # of a heading one is never quite sure
    for number in range(8):
        wrong = wanted.clone()
        wrong[:, number] += 0.3
        assert float((volumes(wrong, wanted) - exact).min()) > 0.005, number
    straight = Cuboids.of([[0, 0, 1, 2, 4, 2, 0.7]])  # type: ignore[arg-type]
    wanted = torch.from_numpy(code.encode(straight, np.zeros(1), np.zeros(1)))
    lifted = wanted.clone()
    lifted[:, 6] += 1  # half of the height: IoU 1 / 3
    rest = 0.5 * plain(torch.tensor([[0.5]]), torch.zeros(1, 1))
    more = volumes(lifted, wanted) - volumes(wanted, wanted)
    torch.testing.assert_close(more, (2 / 3 + rest).double(), atol=1e-3, rtol=0)


def test_a_heading_is_learned_as_one_of_two_ways() -> None:
    code, truth = CODERS["cuboids"], Cuboids.of([[0, 0, 1, 2, 4, 2, yaw] for yaw in (0.3, 1.9, -2.5)])  # type: ignore[arg-type]
    wanted = torch.from_numpy(code.encode(truth, np.zeros(3), np.zeros(3)))
    costs = []
    for share in (1.0, 0.5, 0.0, -0.5, -1.0):
        told = wanted.clone()
        told[:, 8:] *= share
        costs.append(volumes(told, wanted))
    assert (torch.stack(costs).diff(dim=0) > 0).all()
    torch.testing.assert_close(costs[-1] - costs[0], torch.full((3,), 0.6).double())  # log odds of 3, by 0.2
    unsure = wanted.clone()
    unsure[:, 8:] = 0
    unsure.requires_grad_()
    volumes(unsure, wanted).sum().backward()
    assert unsure.grad is not None
    # Half and half, it is drawn straight to the true heading, and not weakly.
    torch.testing.assert_close(-unsure.grad[:, 8:], 0.3 * wanted[:, 8:])
