"""The commands: one small function per verb. Heavy imports happen inside, so that --help is quick."""

import os
import sys
import time
from pathlib import Path

STARTED = time.monotonic()
"""When the command began, but for the start of Python itself; what is imported later takes seconds."""
LARGE = 24 << 20
"""Bytes of the files of a command from which on memory counts more than 3 % of the time."""


def _size(word: str) -> int:
    try:
        return Path(word).stat().st_size
    except (OSError, ValueError):  # most words of a command are no paths
        return 0


# Polars, imported later, keeps free memory for half a second by default: in that time a large file is scored. A command
# reads each file once; a program that scores many in one process keeps the default, which is faster then.
_keep = 0 if sum(map(_size, sys.argv[1:])) >= LARGE else 50
os.environ.setdefault("_RJEM_MALLOC_CONF", f"dirty_decay_ms:{_keep},muzzy_decay_ms:0")
