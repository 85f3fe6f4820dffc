"""The floating-point type that a training computes in."""

from __future__ import annotations

import pytest
import torch

from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.training import devices
from tallymark.training.devices import choose_precision, join_ranks

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize(
    ("precision", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16), ("fp16", torch.float16)]
)
@pytest.mark.parametrize("device", [CPU, GPU])
def test_a_named_precision_is_taken(precision: str, dtype: torch.dtype, device: torch.device) -> None:
    assert choose_precision(ImageRecipe().replace(precision=precision), device) == dtype


@pytest.mark.parametrize("backbone", ["mini_resnet", "efficientnet_lite0"])
@pytest.mark.parametrize("instructions", [False, True])
def test_a_cpu_takes_bf16_with_instructions_for_it(
    backbone: str, instructions: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "has_bf16_instructions", lambda: instructions)
    recipe = ImageRecipe().replace(backbone=backbone, precision="auto")
    assert choose_precision(recipe, CPU) == (torch.bfloat16 if instructions else torch.float32)


@pytest.mark.parametrize("supported", [False, True])
def test_a_gpu_takes_bf16_where_it_is_native(supported: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: supported)
    recipe = ImageRecipe().replace(backbone="efficientnet_lite0", precision="auto")
    assert choose_precision(recipe, GPU) == (torch.bfloat16 if supported else torch.float32)


@pytest.mark.parametrize(
    ("flags", "native"),
    [({}, False), ({"avx512_bf16": True}, True), ({"amx_bf16": True}, True), ({"avx512": True}, False)],
)
def test_instructions_are_those_that_torch_reports(
    flags: dict[str, bool], native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: flags, raising=False)
    assert devices.has_bf16_instructions() == native


def test_the_threads_of_torch_are_restored() -> None:
    before = torch.get_num_threads()
    with join_ranks() as rank:
        assert (rank.first, rank.world, rank.threads) == (True, 1, before)
        torch.set_num_threads(before + 1)
    assert torch.get_num_threads() == before
