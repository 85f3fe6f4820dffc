"""Free cores: those that no other process is using."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tallymark.core import resources
from tallymark.core.resources import SAMPLE_SECONDS, free_cores, observe_cores, usable_cores


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with four cores whose /proc/stat the tests write; a second passes whenever it is observed."""
    monkeypatch.setattr(resources, "STAT", tmp_path / "stat")
    monkeypatch.setattr(resources, "CGROUP_LIMIT", tmp_path / "cpu.max")
    monkeypatch.setattr(resources, "_affinity", lambda: {0, 1, 2, 3})
    monkeypatch.setattr(time, "process_time", lambda: 0.0)
    return tmp_path


def observe(machine: Path, monkeypatch: pytest.MonkeyPatch, *idle: float, own: float = 0.0) -> int:
    """free_cores() where each core is idle for so long in a second, and this process uses `own` seconds."""
    ticks = os.sysconf("SC_CLK_TCK")
    now = {"time": 0.0}

    def write(seconds: float) -> None:
        rows = [f"cpu{core} 5 0 5 {int(seconds * share * ticks)} 0 0 0" for core, share in enumerate(idle)]
        (machine / "stat").write_text("\n".join(["cpu 9 9 9 9 9 9 9", *rows, "intr 1"]))

    def sleep(seconds: float) -> None:
        now["time"] = 1.0
        write(1.0)

    write(0.0)
    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: now["time"])
    monkeypatch.setattr(time, "process_time", lambda: own * now["time"])
    return free_cores()


def test_idle_cores_are_free(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert observe(machine, monkeypatch, 1, 1, 1, 1) == 4
    assert observe(machine, monkeypatch, 0, 1, 0.9, 0.1) == 2
    assert observe(machine, monkeypatch, 0, 0, 0, 0) == 1


def test_what_this_process_uses_is_free_for_it(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert observe(machine, monkeypatch, 1, 0, 0, 0, own=2.0) == 3


def test_cores_outside_of_the_affinity_do_not_count(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "_affinity", lambda: {0, 2})
    assert observe(machine, monkeypatch, 1, 1, 0, 1) == 1
    assert observe(machine, monkeypatch, 1, 0, 1, 0) == 2


def test_a_container_limits_the_cores(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine / "cpu.max").write_text("250000 100000\n")
    assert usable_cores() == 2
    assert observe(machine, monkeypatch, 1, 1, 1, 1) == 2
    (machine / "cpu.max").write_text("50000 100000\n")
    assert usable_cores() == 1
    (machine / "cpu.max").write_text("max 100000\n")
    assert usable_cores() == 4


def test_without_statistics_all_usable_cores_are_free(machine: Path) -> None:
    assert free_cores() == 4


@pytest.mark.parametrize(
    ("running", "waited"), [((2, 2), 0.25), ((1, 2), 0.25), ((2, 1), 0.25), ((1, 1), 0.0)], ids=str
)
def test_it_waits_only_if_others_run_and_other_work_was_short(
    running: tuple[int, int], waited: float, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def write(processes: int) -> None:
        idle = int(now[0] * os.sysconf("SC_CLK_TCK"))
        rows = [f"cpu{core} 5 0 5 {idle} 0 0 0" for core in range(4)]
        (machine / "stat").write_text("\n".join([*rows, f"procs_running {processes}\n"]))

    write(running[0])
    count = observe_cores()
    now[0] = 0.75 * SAMPLE_SECONDS
    write(running[1])
    count()
    assert sum(slept) == pytest.approx(waited * SAMPLE_SECONDS)
    now[0] = 4 * SAMPLE_SECONDS
    write(3)
    assert count() == 4
    assert sum(slept) == pytest.approx(waited * SAMPLE_SECONDS)


def test_this_machine_has_some() -> None:
    assert 1 <= free_cores() <= usable_cores() <= (os.cpu_count() or 1)


FAULTS = """
import resource
import numpy as np
from tallymark.core.resources import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.ones(3_000_000, np.uint8)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

keep_freed_memory()
faults()
print(faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="for the C library of GNU")
def test_freed_memory_is_used_again() -> None:
    printed = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    assert int(printed.stdout) < 100  # each array has more than 700 pages
