"""Losses, against values computed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from tallymark.detector.coders import CODERS
from tallymark.detector.losses import bce_dice, cuboid, focal, giou, kld, smooth_l1, soft_cross_entropy, trimmed_mean
from tallymark.geometry import Cuboids, RotatedBoxes

CUBOIDS: Any = CODERS["cuboids"]
MASKS: Any = CODERS["masks"]


def test_focal_loss_counts_little_near_a_center() -> None:
    heatmap = torch.zeros(1, 1, 5, 5)
    heatmap[0, 0, 2, 2], heatmap[0, 0, 2, 3] = 1, 0.9
    confident = torch.where(heatmap >= 1, 20.0, -20.0)
    assert focal(confident, heatmap) == pytest.approx(0, abs=1e-6)
    assert focal(-confident, heatmap) > 100
    near, far = confident.clone(), confident.clone()
    near[0, 0, 2, 3], far[0, 0, 0, 0] = 3, 3
    assert focal(near, heatmap) == pytest.approx(float(focal(far, heatmap)) * 0.1**4, rel=1e-4)
    # At a probability of one half, by hand: a peak costs log(2) / 4, and so does each empty cell.
    even = torch.zeros(1, 1, 1, 2)
    assert focal(even, torch.tensor([[[[1.0, 0.0]]]])) == pytest.approx(np.log(2) / 2)
    assert focal(even, torch.zeros(1, 1, 1, 2)) == pytest.approx(np.log(2) / 2)


def test_focal_loss_is_that_of_its_definition() -> None:
    generator = torch.Generator().manual_seed(0)
    heatmap = torch.rand(2, 3, 8, 9, generator=generator) ** 4
    heatmap[0, 1, 2, 3] = heatmap[1, 2, 7, 8] = 1
    logits = (4 * torch.randn(heatmap.shape, generator=generator)).requires_grad_()
    exact = logits.detach().double().requires_grad_()
    probability = exact.sigmoid()
    positive = (1 - probability) ** 2 * probability.log()
    negative = (1 - heatmap) ** 4 * probability**2 * (1 - probability).log()
    by_definition = -torch.where(heatmap >= 1, positive, negative).sum() / 2
    by_definition.backward()
    loss = focal(logits, heatmap)
    loss.backward()
    assert loss.item() == pytest.approx(by_definition.item(), rel=1e-5)
    assert exact.grad is not None
    assert logits.grad is not None
    assert torch.allclose(logits.grad.double(), exact.grad, atol=1e-5)


def test_giou_is_1_minus_giou() -> None:
    own = torch.tensor([[1.0, 1, 1, 1], [1, 2, 1, 2], [3, 1, 2, 5]])
    targets = torch.tensor([[2.0, 1, 1, 1], [2, 1, 2, 1], [3, 1, 2, 5]])
    # 4 of 6 shared, none around; 4 of 12 shared, 16 around; the same.
    by_hand = [1 - 4 / 6, 1 - 4 / 12 + 4 / 16, 0.0]
    assert giou(own.log(), targets.log()).tolist() == pytest.approx(by_hand, abs=1e-6)
    assert torch.isfinite(giou(torch.tensor([[-1e4, 1e4, 0, 0]]), targets[:1].log())).all()


def test_smooth_l1_is_the_sum_of_differences() -> None:
    targets = torch.zeros(2, 3)
    values = targets + torch.tensor([[1.0, -2, 0], [0, 0, 0]])
    assert smooth_l1(values, targets).tolist() == pytest.approx([3 - 2 * 0.05, 0])


def test_kld_punishes_errors_across_a_thin_box_more_than_along_it() -> None:
    thin = RotatedBoxes.of(np.array([[0.0, 0, 20, 2, 0.6]]))
    targets = torch.from_numpy(MASKS.encode(thin, np.zeros(1), np.zeros(1)))
    along, across = targets.clone(), targets.clone()
    along[:, 0] += np.cos(0.6)
    along[:, 1] += np.sin(0.6)
    across[:, 0] -= np.sin(0.6)
    across[:, 1] += np.cos(0.6)
    assert float(kld(targets, targets)) == pytest.approx(0, abs=1e-6)
    assert float(kld(across, targets)) > 1.5 * float(kld(along, targets)) > 0.1


def test_bce_dice_is_lowest_for_the_true_coverage() -> None:
    coverage = torch.zeros(1, 1, 8, 8)
    coverage[..., 2:5, 1:7] = 1
    right, wrong = 40 * coverage - 20, 20 - 40 * coverage
    alike = torch.ones(1, 1, 8, 8)
    assert float(bce_dice(right, coverage, alike)) == pytest.approx(0, abs=1e-4)
    assert float(bce_dice(wrong, coverage, alike)) > 100
    assert float(bce_dice(torch.full((1, 1, 8, 8), -20.0), 0 * alike, alike)) == pytest.approx(0, abs=1e-4)


def test_bce_dice_counts_cells_by_their_weight() -> None:
    coverage = torch.zeros(1, 1, 8, 8)
    coverage[..., :2, :2] = 1
    missed = torch.full((1, 1, 8, 8), -3.0)
    missed[..., 4:, 4:] = 3.0
    weight = torch.ones(1, 1, 8, 8)
    plain = float(bce_dice(missed, coverage, weight))
    weight[..., 4:, 4:] = 0
    assert float(bce_dice(missed, coverage, weight)) < plain - 1
    weight[..., :2, :2] = 10
    assert float(bce_dice(missed, coverage, weight)) > plain


def test_trimmed_mean_ignores_the_largest() -> None:
    losses = torch.tensor([4.0, 1, 100, 3, 2])
    assert trimmed_mean(losses, 0.2) == 2.5
    assert trimmed_mean(losses, 0.0) == 22
    assert trimmed_mean(losses, 1.0) == 1


def test_soft_cross_entropy_of_one_class_is_the_usual_one() -> None:
    logits, label = torch.randn(4, 6, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 5, 2, 2])
    probabilities = functional.one_hot(label, 6).float()
    usual = functional.cross_entropy(logits, label, reduction="none")
    assert torch.allclose(soft_cross_entropy(logits, probabilities), usual)
    mixed = 0.3 * probabilities + 0.7 * probabilities.roll(1, 0)
    other = functional.cross_entropy(logits, label.roll(1), reduction="none")
    assert torch.allclose(soft_cross_entropy(logits, mixed), 0.3 * usual + 0.7 * other)


def test_every_value_of_a_cuboid_counts() -> None:
    rng = np.random.default_rng(0)
    truth = Cuboids.of(np.column_stack([rng.uniform(1, 3, (20, 6)), rng.uniform(-4, 4, 20)]))
    targets = torch.from_numpy(CUBOIDS.encode(truth, truth.x, truth.y))
    exact = cuboid(targets, targets)
    assert float(exact.max()) < 0.011  # a heading is never quite certain
    for number in range(8):
        wrong = targets.clone()
        wrong[:, number] += 0.3
        assert float((cuboid(wrong, targets) - exact).min()) > 0.005, number
    straight = Cuboids.of([[0, 0, 1, 2, 4, 2, 0.7]])
    targets = torch.from_numpy(CUBOIDS.encode(straight, np.zeros(1), np.zeros(1)))
    lifted = targets.clone()
    lifted[:, 6] += 1  # half of the height: IoU 1 / 3
    rest = 0.5 * smooth_l1(torch.tensor([[0.5]]), torch.zeros(1, 1))
    more = cuboid(lifted, targets) - cuboid(targets, targets)
    torch.testing.assert_close(more, (2 / 3 + rest).double(), atol=1e-3, rtol=0)


def test_a_heading_is_trained_as_one_of_two_directions() -> None:
    truth = Cuboids.of([[0, 0, 1, 2, 4, 2, yaw] for yaw in (0.3, 1.9, -2.5)])
    targets = torch.from_numpy(CUBOIDS.encode(truth, np.zeros(3), np.zeros(3)))
    losses = []
    for share in (1.0, 0.5, 0.0, -0.5, -1.0):
        values = targets.clone()
        values[:, 8:] *= share
        losses.append(cuboid(values, targets))
    assert (torch.stack(losses).diff(dim=0) > 0).all()
    torch.testing.assert_close(losses[-1] - losses[0], torch.full((3,), 0.6).double())  # log odds of 3, by 0.2
    uncertain = targets.clone()
    uncertain[:, 8:] = 0
    uncertain.requires_grad_()
    cuboid(uncertain, targets).sum().backward()
    assert uncertain.grad is not None
    # Without any heading, the gradient leads straight to the true one, and is not small.
    torch.testing.assert_close(-uncertain.grad[:, 8:], 0.3 * targets[:, 8:])
