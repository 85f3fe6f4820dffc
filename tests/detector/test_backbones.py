"""Backbones: shapes of their features, frozen stages, and folded batch normalisation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from tallymark.core.problems import BadInput
from tallymark.detector.backbones import (
    LITE_SCALES,
    Backbone,
    EfficientNetLite,
    InvertedResidual,
    MiniResNet,
    Residual,
    fold_batch_norm,
    make_backbone,
)
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.training.network import make_network

TINY = ImageRecipe().replace(width=4, neck=8)

STRIDES = (4, 8, 16, 32)


def images(count: int, height: int, width: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).integers(0, 256, (count, 3, height, width)).astype(np.float32))


@pytest.mark.parametrize("size", [(32, 32), (64, 96), (96, 32)])
@pytest.mark.parametrize(
    ("backbone", "strides"),
    [
        (MiniResNet(4, 1), STRIDES),
        (MiniResNet(6, 2), STRIDES),
        (MiniResNet(4, 1, last=2), (16, 32)),
        *((EfficientNetLite(name), STRIDES) for name in LITE_SCALES),
        *((EfficientNetLite(name, last=4), (16, 32, 32, 32)) for name in LITE_SCALES),
    ],
    ids=["mini_resnet", "deeper", "its last", *LITE_SCALES, *(f"the last of {name}" for name in LITE_SCALES)],
)
def test_features_have_the_declared_strides_and_channels(
    backbone: Backbone, strides: tuple[int, ...], size: tuple[int, int]
) -> None:
    with torch.inference_mode():
        features = backbone.eval()(images(1, *size))
    sizes = [(1, count, size[0] // by, size[1] // by) for count, by in zip(backbone.channels, strides, strict=True)]
    assert [tuple(part.shape) for part in features] == sizes


def test_one_dimensional_features_keep_twice_the_resolution_in_time() -> None:
    backbone = MiniResNet(4, 1, in_channels=1, one_dimensional=True).eval()
    with torch.inference_mode():
        features = backbone(torch.zeros(1, 1, 96, 128))
    assert [tuple(part.shape[2:]) for part in features] == [(24, 64), (12, 32), (6, 16), (3, 8)]


def test_larger_networks_have_more_blocks_and_channels() -> None:
    made = [EfficientNetLite(name) for name in LITE_SCALES]
    assert [[len(stage) for stage in one.stages[1:]] for one in made] == [
        [1, 2, 2, 3, 3, 4, 1],
        [1, 3, 3, 4, 4, 5, 1],
        [1, 3, 3, 4, 4, 5, 1],
    ]
    assert [one.channels for one in made] == [(24, 40, 112, 320), (24, 40, 112, 320), (24, 48, 120, 352)]


def test_backbones_side_by_side_put_their_features_together() -> None:
    both = make_backbone("efficientnet_lite012", 0, 0, last=4).eval()
    given = images(1, 32, 64)
    with torch.inference_mode():
        apart = [part(given) for part in both.parts]
        together = both(given)
    assert [part.shape[1] for part in together] == list(both.channels) == [344, 592, 992, 3840]
    for level, features in enumerate(together):
        assert torch.equal(features, torch.cat([one[level] for one in apart], 1))


def test_backbones_side_by_side_are_frozen_alike() -> None:
    network = make_network(ImageRecipe().replace(task="labels", backbone="efficientnet_lite012", frozen_stages=6), 3)
    backbone = network.backbone
    network.train()
    assert (backbone.frozen_stages, len(backbone.stages)) == (6, 9)
    for part in backbone.parts:
        trained = [number for number, stage in enumerate(part.stages) if stage.training]
        assert trained == [6, 7, 8]
        assert [number for number, stage in enumerate(part.stages) if next(stage.parameters()).requires_grad] == trained
    with pytest.raises(BadInput, match="frozen_stages=10, expected at most 9"):
        backbone.freeze(10)


def test_bytes_are_normalized() -> None:
    given: list[torch.Tensor] = []
    backbone = make_backbone("efficientnet_lite0", 0, 0).eval()
    backbone.stages[0].register_forward_pre_hook(lambda _, inputs: given.append(inputs[0]))
    with torch.inference_mode():
        backbone(torch.tensor([0.0, 127.0, 255.0])[None, :, None, None].expand(1, 3, 32, 32))
    assert given[0][0, :, 0, 0].tolist() == [-127 / 128, 0, 1]


def test_other_inputs_than_images_need_mini_resnet() -> None:
    assert make_backbone("mini_resnet", 4, 1, in_channels=7).mean == 0
    with pytest.raises(BadInput, match="backbone=efficientnet_lite0, expected mini_resnet"):
        make_backbone("efficientnet_lite0", 4, 1, in_channels=7)


@pytest.mark.parametrize(
    "module", [Residual(4, 6, 2), Residual(4, 4, 1), InvertedResidual(4, 4, 5, 1, 6), InvertedResidual(4, 6, 3, 2, 1)]
)
def test_folding_batch_norm_keeps_the_outputs(module: nn.Module) -> None:
    given = torch.randn(2, 4, 16, 16)
    for _ in range(3):
        module.train()(given + 1)  # running means other than at the start
    module.eval()
    folded = fold_batch_norm(module)
    with torch.inference_mode():
        assert torch.allclose(folded(given), module(given), atol=1e-5)
    assert not any(isinstance(part, nn.BatchNorm2d) for part in folded.modules())
    assert any(isinstance(part, nn.BatchNorm2d) for part in module.modules())


def test_loaded_weights_replace_frozen_ones() -> None:
    first = make_network(TINY.replace(frozen_stages=3), 1).eval()
    second = make_network(TINY.replace(seed=1), 1).eval()
    given = images(1, 32, 32)
    with torch.inference_mode():
        before = first(given)["heat"]
        first.load_state_dict(second.state_dict())
        after, wanted = first(given)["heat"], second(given)["heat"]
    assert torch.allclose(after, wanted, atol=1e-5)
    assert not torch.allclose(before, wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("backbone", "stages"), [("mini_resnet", 5), ("efficientnet_lite0", 8), ("efficientnet_lite2", 8)]
)
def test_no_more_stages_can_be_frozen_than_there_are(backbone: str, stages: int) -> None:
    assert make_network(TINY.replace(backbone=backbone, frozen_stages=stages), 1).backbone.frozen_stages == stages
    with pytest.raises(BadInput, match=f"frozen_stages={stages + 1}, expected at most {stages}"):
        make_network(TINY.replace(backbone=backbone, frozen_stages=stages + 1), 1)
