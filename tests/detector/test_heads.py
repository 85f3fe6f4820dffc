"""Neck and heads: shapes, priors and pooling."""

from __future__ import annotations

import pytest
import torch

from tallymark.detector.heads import FPN, PRIOR, CenterHead, ClassificationHead
from tallymark.detector.mask_refinement import FINE


def pyramid(*sizes: tuple[int, int], channels: int = 4) -> list[torch.Tensor]:
    return [torch.randn(2, channels, *size, generator=torch.Generator().manual_seed(0)) for size in sizes]


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_the_pyramid_has_the_resolution_of_its_finest_level(levels: int) -> None:
    features = pyramid(*[(16 // 2**k, 24 // 2**k) for k in range(levels)])
    fpn = FPN([4] * levels, 6).eval()
    assert fpn(features).shape == (2, 6, 16, 24)


def test_coarse_features_reach_the_finest_level() -> None:
    features = pyramid((16, 16), (8, 8), (4, 4))
    fpn = FPN([4, 4, 4], 6).eval()
    before = fpn(features)
    features[-1][..., 0, 0] += 10
    changed = (fpn(features) != before).any(1)[0].nonzero()
    assert changed.min() == 0
    assert 4 <= changed.max() < 12


def test_a_one_dimensional_pyramid_pools_frequencies() -> None:
    fpn = FPN([4, 4], 6, one_dimensional=True).eval()
    features = pyramid((12, 32), (6, 16))
    assert fpn(features).shape == (2, 6, 1, 32)
    turned = [level.flip(2) for level in features]
    torch.testing.assert_close(fpn(turned), fpn(features))


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("coverage", [False, True])
def test_the_center_head_gives_its_outputs_for_every_cell(groups: int, coverage: bool) -> None:
    head = CenterHead(8, 5, 4, 6, coverage=coverage, groups=groups).eval()
    outputs = head(torch.randn(2, 8, 10, 12), torch.randn(2, 6, 2, 3))
    shapes = {"heat": (2, 5, 10, 12), "values": (2, groups * 4, 10, 12), "quality": (2, groups, 10, 12)}
    shapes["presence"] = (2,)
    if coverage:
        shapes["cover"] = (2, 1, FINE * 10, FINE * 12)
    assert {name: tuple(part.shape) for name, part in outputs.items()} == shapes


def test_untrained_heatmaps_are_at_the_prior() -> None:
    head = CenterHead(8, 5, 4, 6, coverage=True).eval()
    outputs = head(torch.zeros(1, 8, 4, 4), torch.zeros(1, 6, 1, 1))
    for name in ("heat", "cover"):
        assert outputs[name].sigmoid().mean().item() == pytest.approx(PRIOR, abs=1e-3)


def test_each_group_regresses_from_features_of_its_own() -> None:
    head = CenterHead(8, 2, 4, 6, groups=2).eval()
    before = head(torch.ones(1, 8, 3, 3), torch.zeros(1, 6, 1, 1))
    with torch.no_grad():
        head.regression.weight[5:] += 1  # of the second group
    after = head(torch.ones(1, 8, 3, 3), torch.zeros(1, 6, 1, 1))
    assert torch.equal(before["values"][:, :4], after["values"][:, :4])
    assert torch.equal(before["quality"][:, :1], after["quality"][:, :1])
    assert not torch.equal(before["values"][:, 4:], after["values"][:, 4:])


def test_generalized_mean_pooling_lies_between_mean_and_maximum() -> None:
    head = ClassificationHead([3], 2).eval()
    features = torch.rand(2, 3, 5, 5, generator=torch.Generator().manual_seed(0)) + 0.1
    mean, maximum = features.mean((2, 3)), features.amax((2, 3))
    pooled = head.pool([features])
    assert ((pooled > mean) & (pooled < maximum)).all()
    with torch.no_grad():
        head.power.fill_(1)
    torch.testing.assert_close(head.pool([features]), mean)
    assert head([features]).shape == (2, 2)


def test_levels_before_the_last_give_mean_and_spread_of_either_sign() -> None:
    head = ClassificationHead([2, 3], 4).eval()
    before, last = torch.full((1, 2, 2, 2), -3.0), torch.ones(1, 3, 1, 1)
    before[:, 1, 0] = 3
    pooled = head.pool([before, last])
    torch.testing.assert_close(pooled, torch.tensor([[-3.0, 0, 3, 3, 1, 1, 1]]))
    assert head([before, last]).shape == (1, 4)
