"""What this machine has left: the cores that nobody else is using now, and memory that this process can give back."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable, Set
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

SAMPLE_SECONDS = 0.05
"""How long the use of cores is observed: five ticks of the usual clock of a core."""
IDLE_COLUMNS = (3, 4)
"""Columns of a core in /proc/stat: idle, and waiting for a disk."""
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
"""Options of the C library's `mallopt`."""
STAT = Path("/proc/stat")
CGROUP_LIMIT = Path("/sys/fs/cgroup/cpu.max")


def release_memory() -> None:
    """Give memory that is free, but kept for later, back to the system, where the C library can (glibc)."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # another C library; TypeError on Windows
        return


def keep_freed_memory() -> None:
    """Have the C library reuse freed memory for the next array: asking the system anew for each costs time.

    That is a sixth of a training step, and a tenth of making spectrograms.
    """
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "mallopt"):  # not every C library has it
        library.mallopt(M_MMAP_MAX, 0)
        library.mallopt(M_TRIM_THRESHOLD, -1)


def allow_open_files() -> None:
    """Let this process have as many files open as the system permits it, where the usual limit is lower."""
    with suppress(ImportError, OSError, ValueError):  # Windows; systems that permit less than they say
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def peak_memory() -> int | None:
    """Bytes of memory that this process has held at most; None where the system does not say (Windows)."""
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def usable_cores() -> int:
    """Cores that this process may use, by its affinity and the limit of its container."""
    return int(max(1, min(len(_affinity()), _container_limit())))


def free_cores() -> int:
    """Cores that no other process is using now, at least 1; what this process uses itself counts as free.

    Observes the machine for a moment. Where that is not possible, all usable cores count as free.
    """
    count = observe_cores()
    time.sleep(SAMPLE_SECONDS)
    return count()


def observe_cores() -> Callable[[], int]:
    """Begin to observe the machine. The function that is returned gives the `free_cores` since then.

    Other work can be done meanwhile: it waits only if less than `SAMPLE_SECONDS` have passed, and another process was
    running at their beginning or is running now.
    """
    usable = usable_cores()
    before = _Snapshot.take()
    own_before = time.process_time()
    started = time.monotonic()

    def count() -> int:
        if usable == 1 or before is None:
            return usable
        left = started + SAMPLE_SECONDS - time.monotonic()
        if left > 0 and before.alone and (now := _Snapshot.take()) is not None and now.alone:
            return usable
        time.sleep(max(0.0, left))
        after = _Snapshot.take()
        if after is None:
            return usable
        available = after.idle - before.idle + time.process_time() - own_before
        return max(1, min(usable, round(available / (time.monotonic() - started))))

    return count


class _Snapshot(NamedTuple):
    """idle: seconds that the usable cores have been idle since the machine started, in all.

    alone: whether no other process of the machine is running.
    """

    idle: float
    alone: bool

    @classmethod
    def take(cls) -> _Snapshot | None:
        """None if the system does not say."""
        cores = _affinity()
        try:
            rows = [line.split() for line in STAT.read_text().splitlines() if line]
            idle = [int(row[1 + column]) for row in rows if _core(row[0]) in cores for column in IDLE_COLUMNS]
            return cls(sum(idle) / os.sysconf("SC_CLK_TCK"), ["procs_running", "1"] in rows)
        except (OSError, ValueError, IndexError):
            return None


def _affinity() -> Set[int]:
    if hasattr(os, "sched_getaffinity"):  # not on every system
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _container_limit() -> float:
    """Cores that the control group of this process may use; infinite without a limit."""
    try:
        quota, period = CGROUP_LIMIT.read_text().split()
        return float("inf") if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        return float("inf")


def _core(name: str) -> int:
    """The number of a core; -1 for the sum over all cores, and for other lines."""
    number = name.removeprefix("cpu")
    return int(number) if number.isdecimal() else -1
