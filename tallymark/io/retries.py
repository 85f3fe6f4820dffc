"""Reading from disks and shares that fail for a moment: a few tries, within seconds.

A failure of the system says nothing about the file. What is wrong with a file itself is never tried again.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tallymark.io.archives import BadArchive
from tallymark.io.regular import NotRegular

T = TypeVar("T")
NAMES = (
    "EIO ENOENT ESTALE ETIMEDOUT ENOTCONN ECONNRESET ECONNABORTED ECONNREFUSED EHOSTDOWN EHOSTUNREACH ENETDOWN "
    "ENETUNREACH ENETRESET EREMOTEIO ENODEV ENXIO ENOTDIR EBUSY EAGAIN EINTR ENOMEM EMFILE ENFILE"
)
PASSING = frozenset(getattr(errno, name) for name in NAMES.split() if hasattr(errno, name))
"""Errors that may pass. A file that was listed and is not there any more may be on a share that is away."""
DELAYS = (0.2, 0.8, 2.0)
"""Seconds before each further try."""
LOST = 20
"""Files in a row that failed to the end, after which no other is waited for until one can be read."""


class _Failures:
    """How many files in a row failed, in all threads of this process."""

    in_a_row = 0
    lock = threading.Lock()


def may_pass(error: OSError) -> bool:
    """Whether reading may succeed later, without a change of the file or of its permissions."""
    if isinstance(error, NotRegular):  # perhaps a link into a share that is away
        link = error.filename
        return Path(link).is_symlink() and not Path(os.path.realpath(link)).parent.is_dir()
    return error.errno in PASSING and not isinstance(error, BadArchive)


def retry(read: Callable[[], T]) -> T:
    """What `read` returns, tried again where it fails by an `OSError` that may pass; at last, the error."""
    delays = DELAYS if _Failures.in_a_row < LOST else ()
    for delay in (*delays, None):
        try:
            result = read()
        except OSError as error:
            if not may_pass(error):
                raise
            if delay is None:
                with _Failures.lock:
                    _Failures.in_a_row += 1
                raise
            time.sleep(delay)
        else:
            _Failures.in_a_row = 0
            return result
    raise AssertionError("the last try returns or raises")
