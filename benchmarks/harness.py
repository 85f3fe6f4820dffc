"""Timing: each contender in a process of its own, called again and again; the best call counts."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SLOW = 5.0
"""A contender that takes longer than this many seconds is called once only."""
LONG_ENOUGH = 3.0
"""A quick one is called for at least this many seconds, since other processes may slow some calls."""

Timed = dict[str, Any]
"""`seconds` of the best call, the `value` that the last one returned, and `peak_mb` of the process."""


def time_calls(call: Callable[[], Any], repeat: int) -> Timed:
    """Call a contender in this process."""
    best = math.inf
    value = None
    spent = 0.0
    calls = 0
    while not calls or (best <= SLOW and (calls < repeat or spent < LONG_ENOUGH)):
        start = time.perf_counter()
        value = call()
        took = time.perf_counter() - start
        best = min(best, took)
        spent += took
        calls += 1
    return {"seconds": best, "value": value, "peak_mb": peak_memory()}


def run_apart(module: str, *words: str) -> Timed:
    """Run `python -m module words` and read the JSON that it prints."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", module, *words]
    printed = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, env=environment)
    return json.loads(printed.stdout)


def best_of_runs(contenders: list[str], run: Callable[[str], Timed]) -> dict[str, Timed]:
    """Every contender once, the first two again at the end; the better of their runs counts."""
    results: dict[str, Timed] = {}
    for contender in [*contenders, *contenders[:2]]:
        result = run(contender)
        if contender not in results or result["seconds"] < results[contender]["seconds"]:
            results[contender] = result
    return results


def peak_memory() -> int:
    """Peak memory of this process in MB (Linux; getrusage would count the parent's too)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024
