"""Functions that other processes can import."""

from __future__ import annotations

import os
import signal
import time

from tallymark.core.problems import BadInput, Problem

FATAL = 13


def square(number: int) -> int:
    time.sleep(0.001 * (number % 3))
    return number**2


def square_or_die(number: int) -> int:
    """End this process at one number, as the system does where memory runs out."""
    if number == FATAL:
        os.kill(os.getpid(), signal.SIGKILL)
    return number**2


def process(number: int) -> int:
    """The process that works on this number."""
    time.sleep(0.002)
    return os.getpid()


def refuse(number: int) -> int:
    raise BadInput(Problem("odd_number", str(number), "an odd number", "an even one", "add 1"))


def miss_a_file(number: int) -> int:
    raise FileNotFoundError(2, "No such file or directory", f"{number}.jpg")


def take_all_memory(number: int) -> int:
    raise MemoryError
