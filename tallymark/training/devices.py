"""Where a training runs and with which precision: device, processes under torchrun, and floating-point type."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist

from tallymark.core.recipe import Recipe
from tallymark.core.resources import keep_freed_memory

TIMEOUT = timedelta(days=7)
"""How long processes wait for the first one, whose evaluations may take long."""

T = TypeVar("T")


@dataclass(frozen=True)
class Rank:
    """One process of a training, of `world` processes. The first one (rank 0) evaluates, writes and prints.

    threads: of torch, at most; OMP_NUM_THREADS sets them.
    """

    device: torch.device
    rank: int = 0
    world: int = 1
    threads: int = field(default_factory=torch.get_num_threads)

    @property
    def first(self) -> bool:
        return self.rank == 0

    def broadcast(self, value: float) -> float:
        """The first process's value, in all of them."""
        if self.world == 1:
            return value
        tensor = torch.tensor([value], dtype=torch.float64, device=self.device)
        dist.broadcast(tensor, 0)
        return float(tensor.item())

    def broadcast_object(self, value: T) -> T:
        """The same for any object."""
        if self.world == 1:
            return value
        objects = [value]
        dist.broadcast_object_list(objects, 0, device=self.device)
        return objects[0]


@contextmanager
def join_ranks() -> Iterator[Rank]:
    """This process's rank, from the environment variables of torchrun. The threads of torch are restored at the end."""
    keep_freed_memory()
    threads = torch.get_num_threads()
    world = int(os.environ.get("WORLD_SIZE", "1"))
    gpu = torch.cuda.is_available()
    if world > 1:
        dist.init_process_group("nccl" if gpu else "gloo", timeout=TIMEOUT)
    try:
        if world == 1:
            yield Rank(torch.device("cuda" if gpu else "cpu"), threads=threads)
        else:
            local = int(os.environ.get("LOCAL_RANK", "0"))
            device = torch.device("cuda", local) if gpu else torch.device("cpu")
            yield Rank(device, dist.get_rank(), world, threads)
    finally:
        torch.set_num_threads(threads)
        if world > 1:
            dist.destroy_process_group()


def choose_precision(recipe: Recipe, device: torch.device) -> torch.dtype:
    """The floating-point type of a recipe; `auto` is bf16 where it is faster than fp32.

    A CPU needs instructions for bf16, without which it takes ten times as long.
    """
    if recipe.precision == "auto":
        gpu = device.type == "cuda"
        fast = torch.cuda.is_bf16_supported(including_emulation=False) if gpu else has_bf16_instructions()
        return torch.bfloat16 if fast else torch.float32
    return {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[recipe.precision]


def has_bf16_instructions() -> bool:
    """Whether the CPU computes in bf16."""
    capabilities = getattr(torch.cpu, "get_capabilities", dict)  # older releases lack it
    flags: dict[str, bool] = capabilities()
    return any(flags.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))
