"""The commands: one small function per verb. Heavy imports happen inside, so that --help is quick."""

import os
import time

# Polars, imported later, keeps free memory for half a second by default: in that time a large file is scored. A command
# reads each file once; a program that scores many in one process keeps the default, which is faster then.
os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:50,muzzy_decay_ms:0")

STARTED = time.monotonic()
"""When the command began, but for the start of Python itself; what is imported later takes seconds."""
