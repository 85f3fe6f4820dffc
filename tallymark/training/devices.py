"""Where and how exactly it is computed: device, precision, and several processes under torchrun."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist


@dataclass(frozen=True)
class Place:
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


@contextmanager
def take_place() -> Iterator[Place]:
    """This process's place; torchrun tells it by environment variables."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    gpu = torch.cuda.is_available()
    if world == 1:
        yield Place(torch.device("cuda" if gpu else "cpu"))
        return
    dist.init_process_group("nccl" if gpu else "gloo")
    try:
        local = int(os.environ.get("LOCAL_RANK", "0"))
        device = torch.device("cuda", local) if gpu else torch.device("cpu")
        yield Place(device, dist.get_rank(), world)
    finally:
        dist.destroy_process_group()


def choose_precision(wanted: str, device: torch.device) -> torch.dtype:
    """bf16 where the machine has instructions for it: elsewhere it is ten times slower than fp32."""
    if wanted == "auto":
        fast = torch.cuda.is_bf16_supported(including_emulation=False) if device.type == "cuda" else _fast_bf16()
        return torch.bfloat16 if fast else torch.float32
    return {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[wanted]


def _fast_bf16() -> bool:
    tell = getattr(torch.cpu, "get_capabilities", dict)  # older releases do not tell
    flags: dict[str, bool] = tell()
    return any(flags.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))
