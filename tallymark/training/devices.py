"""Where and how exactly it is computed: device, precision, and several processes under torchrun."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from tallymark.core.recipe import Recipe

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
"""Options of the C library's `mallopt`."""
PATIENCE = timedelta(days=7)
"""How long processes wait for the first one, which may have much to judge."""


@dataclass(frozen=True)
class Rank:
    """One process of a training. The first one (rank 0) judges, writes and talks."""

    device: torch.device
    rank: int = 0
    world: int = 1

    @property
    def first(self) -> bool:
        return self.rank == 0

    def agree(self, value: float) -> float:
        """The first process's value, in all of them."""
        if self.world == 1:
            return value
        told = torch.tensor([value], dtype=torch.float64, device=self.device)
        dist.broadcast(told, 0)
        return float(told.item())

    def share(self, value: Any) -> Any:
        """The same for a value of any kind."""
        if self.world == 1:
            return value
        told = [value]
        dist.broadcast_object_list(told, 0, device=self.device)
        return told[0]


@contextmanager
def join_ranks() -> Iterator[Rank]:
    """This process's place; torchrun tells it by environment variables."""
    keep_memory()
    world = int(os.environ.get("WORLD_SIZE", "1"))
    gpu = torch.cuda.is_available()
    if world == 1:
        yield Rank(torch.device("cuda" if gpu else "cpu"))
        return
    dist.init_process_group("nccl" if gpu else "gloo", timeout=PATIENCE)
    try:
        local = int(os.environ.get("LOCAL_RANK", "0"))
        device = torch.device("cuda", local) if gpu else torch.device("cpu")
        yield Rank(device, dist.get_rank(), world)
    finally:
        dist.destroy_process_group()


def keep_memory() -> None:
    """Have the C library keep what is freed for the next tensor: asking the system anew costs a sixth of a step."""
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "mallopt"):  # not every C library has it
        library.mallopt(M_MMAP_MAX, 0)
        library.mallopt(M_TRIM_THRESHOLD, -1)


def choose_precision(recipe: Recipe, device: torch.device) -> torch.dtype:
    """bf16 where it is faster than fp32.

    A CPU needs instructions for it, without which it takes ten times as long, and plain convolutions: those of single
    channels, of which `lite0` is made, are slower in bf16 than in fp32.
    """
    if recipe.precision == "auto":
        if device.type == "cuda":
            fast = torch.cuda.is_bf16_supported(including_emulation=False)
        else:
            fast = recipe.backbone == "mini_resnet" and _has_bf16()
        return torch.bfloat16 if fast else torch.float32
    return {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[recipe.precision]


def _has_bf16() -> bool:
    tell = getattr(torch.cpu, "get_capabilities", dict)  # older releases do not tell
    flags: dict[str, bool] = tell()
    return any(flags.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))
